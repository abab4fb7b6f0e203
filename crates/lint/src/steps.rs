//! What the body of a script starts: job steps, launchers, programs.

use crate::script::Script;
use crate::shell::{Command, Word};
use model::option_table::{Command as Slurm, OPTIONS, Opt, Takes};

/// A call of `srun`.
#[derive(Debug)]
pub struct Srun<'s, 'a> {
    /// The word `srun`.
    pub word: &'s Word<'a>,
    /// Its own options: long names, with their values.
    pub options: Vec<(&'static str, Option<&'s str>)>,
    /// The program and its words.
    pub inner: &'s [Word<'a>],
    /// A word among its options is expanded: what it becomes isn't known.
    pub unknown: bool,
}

impl Srun<'_, '_> {
    /// Whether it has one of these options.
    #[must_use]
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// The value of its last option of that name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(known, _)| *known == name);
        found.and_then(|(_, value)| *value)
    }
}

/// All calls of `srun` in the order in which they stand.
pub fn sruns<'s, 'a>(script: &'s Script<'a>) -> impl Iterator<Item = Srun<'s, 'a>> {
    script.shell.commands.iter().filter_map(srun)
}

/// The call of `srun` that a command is.
pub fn srun<'s, 'a>(command: &'s Command<'a>) -> Option<Srun<'s, 'a>> {
    let (word, mut rest) = command.program().split_first()?;
    if word.text.rsplit('/').next() != Some("srun") {
        return None;
    }
    let mut srun = Srun {
        word,
        options: Vec::new(),
        inner: &[],
        unknown: false,
    };
    while let Some((first, behind)) = rest.split_first() {
        let text = &*first.text;
        rest = behind;
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, glued) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let option = by_name(name);
            let takes = option.map_or(Takes::No, |option| option.takes);
            let value = match (takes, glued) {
                (Takes::Required, None) => {
                    let value = rest.first().map(|word| &*word.text);
                    rest = rest.get(1..).unwrap_or_default();
                    value
                }
                (_, glued) => glued,
            };
            srun.options
                .push((option.map_or("", |option| option.long), value));
            srun.unknown |= option.is_none();
        } else if text.len() > 1 && text.starts_with('-') {
            letters(&mut srun, &text[1..], &mut rest);
        } else if first.expands && first.text.starts_with('$') {
            // `srun $OPTIONS python …`: options may stand there.
            srun.unknown = true;
            let likely_option = rest.first().is_some_and(|next| next.text.starts_with('-'));
            if !likely_option {
                srun.inner = std::slice::from_ref(first);
                if !rest.is_empty() {
                    srun.inner = rest;
                }
                return Some(srun);
            }
        } else {
            let words = command.program();
            srun.inner = &words[words.len() - rest.len() - 1..];
            return Some(srun);
        }
    }
    srun.inner = rest;
    Some(srun)
}

fn letters<'s, 'a>(srun: &mut Srun<'s, 'a>, letters: &'s str, rest: &mut &'s [Word<'a>]) {
    let mut chars = letters.chars();
    while let Some(letter) = chars.next() {
        let of_srun = |option: &&Opt| option.is_of(Slurm::Srun) && option.short == Some(letter);
        let Some(option) = OPTIONS.iter().find(of_srun) else {
            srun.unknown = true;
            return;
        };
        let glued = Some(chars.as_str()).filter(|value| !value.is_empty());
        match (option.takes, glued) {
            (Takes::No, _) => srun.options.push((option.long, None)),
            (Takes::Required, None) => {
                srun.options
                    .push((option.long, rest.first().map(|word| &*word.text)));
                *rest = rest.get(1..).unwrap_or_default();
                return;
            }
            (_, glued) => {
                srun.options.push((option.long, glued));
                return;
            }
        }
    }
}

fn by_name(name: &str) -> Option<&'static Opt> {
    let mut of_srun = OPTIONS.iter().filter(|option| option.is_of(Slurm::Srun));
    let exact = of_srun.clone().find(|option| option.long == name);
    exact.or_else(|| of_srun.find(|option| option.long.starts_with(name)))
}

/// Words that start several processes, or other nodes' ones, wherever they stand in a script.
const LAUNCHERS: &[&str] = &[
    "srun",
    "mpirun",
    "mpiexec",
    "prun",
    "orterun",
    "ibrun",
    "aprun",
    "jsrun",
    "mpi",
    "torchrun",
    "torch.distributed",
    "accelerate",
    "deepspeed",
    "horovod",
    "lightning",
    "ray",
    "dask",
    "ssh",
    "pdsh",
    "clush",
    "parallel",
    "xargs",
    "spark",
    "snakemake",
    "nextflow",
    "charmrun",
    "sbatch",
    "multiprocess",
    "distributed",
    "launch",
    "colossalai",
    "composer",
    "joblib",
    "concurrent",
    "worker",
    "nproc",
    "n_jobs",
    "num_proc",
    "ntasks",
    "NTASKS",
    "NPROC",
    "PBS_NP",
];

/// Whether any word of the body may start several processes.
#[must_use]
pub fn may_launch(script: &Script<'_>) -> bool {
    let from = script
        .kinds
        .first_command
        .map_or(script.text.len(), |line| script.lines.range(line).start);
    // A line that is a comment starts nothing.
    let lines = script.text[from..].lines();
    let mut code = lines.filter(|line| !line.trim_start().starts_with('#'));
    code.any(|line| LAUNCHERS.iter().any(|word| line.contains(word)))
}

/// The launcher that a command is which starts processes on its own node alone, unless it knows of
/// others.
#[must_use]
pub fn node_launcher(words: &[Word<'_>]) -> Option<&'static str> {
    let mut words = words.iter().map(|word| &*word.text);
    let first = words.next()?;
    let name = first.rsplit('/').next().unwrap_or(first);
    match name {
        "torchrun" => return Some("torchrun"),
        "accelerate" if words.next() == Some("launch") => return Some("accelerate launch"),
        "deepspeed" => return Some("deepspeed"),
        _ => {}
    }
    if !name.starts_with("python") {
        return None;
    }
    let module = words.skip_while(|word| *word != "-m").nth(1)?;
    match module {
        "torch.distributed.run" | "torch.distributed.launch" => Some("torch.distributed"),
        _ => None,
    }
}

/// Words in a script's code that may bring a launcher to other nodes: programs, and files that name
/// hosts.
const TO_OTHERS: &[&str] = &[
    "srun", "mpirun", "mpiexec", "prun", "orterun", "ibrun", "aprun", "jsrun", "horovod", "ray",
    "dask", "ssh", "rsh", "clush", "parallel", "xargs", "spark", "sbatch", "blaunch", "charmrun",
    "hostfile", "HOSTFILE",
];

/// Options of launchers that bring them to other nodes: deepspeed's for hosts, which it reaches by
/// `ssh`, and accelerate's that may be deepspeed.
const OF_HOSTS: &[&str] = &[
    "-H",
    "-i",
    "-e",
    "--hostfile",
    "--include",
    "--exclude",
    "--launcher",
    "--config_file",
    "--config-file",
    "--use_deepspeed",
    "--use-deepspeed",
];

/// A launcher that the script starts by itself, so on its first node alone.
#[must_use]
pub fn launcher_of_first<'s, 'a>(
    script: &'s Script<'a>,
) -> Option<(&'s Command<'a>, &'static str)> {
    if !script.is_shell || !script.shell.sound {
        return None;
    }
    let mut code = script
        .text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    if code.any(|line| TO_OTHERS.iter().any(|word| line.contains(word))) {
        return None;
    }
    let commands = script.shell.commands.iter();
    let plain = |command: &&Command<'_>| !command.function && !command.substitution;
    let mut found = commands
        .filter(plain)
        .filter_map(|command| Some((command, node_launcher(command.program())?)));
    let (command, name) = found.next()?;
    let of_hosts = |word: &Word<'_>| {
        let option = word.text.split('=').next().unwrap_or_default();
        // What becomes of a variable isn't known.
        OF_HOSTS.contains(&option) || word.expands && word.text.starts_with('$')
    };
    let own = command.program().iter();
    let mut own = own.take_while(|word| !word.text.ends_with(".py"));
    let told = name != "torchrun" && name != "torch.distributed" && own.any(of_hosts);
    (!told && script.shell.heredocs.is_empty()).then_some((command, name))
}

/// Commands that start nothing which lasts or which could start something else.
const QUIET: &[&str] = &[
    "",
    "module",
    "ml",
    "cd",
    "echo",
    "export",
    "conda",
    "mkdir",
    "date",
    "hostname",
    "pwd",
    "ls",
    "cp",
    "mv",
    "rm",
    "cat",
    "printf",
    "set",
    "unset",
    "ulimit",
    "sleep",
    "which",
    "wait",
    "exit",
    "test",
    "[",
    "true",
    "touch",
    "tar",
    "ln",
    "chmod",
    "grep",
    "head",
    "tail",
    "printenv",
    "tee",
    "deactivate",
    "shopt",
    "free",
    "df",
    "lscpu",
    "uname",
    "whoami",
    "dirname",
    "basename",
    "wc",
    "nvidia-smi",
    "ml",
    "unzip",
    "source",
    ".",
    "pip",
    "pip3",
    "umask",
    "alias",
    "nvcc",
    "type",
    "trap",
    "declare",
    "local",
    "readonly",
    "seq",
    "cut",
    "sort",
    "tr",
    "rsync",
    "scontrol",
    "env",
];

/// Programs that compute, in one process unless their options say otherwise.
const WORK: &[&str] = &[
    "python", "python2", "python3", "Rscript", "R", "julia", "matlab",
];

/// A command that computes in one process; none where the script is not so simple that one can say
/// that it starts nothing else.
#[must_use]
pub fn only_work<'s, 'a>(script: &'s Script<'a>) -> Option<&'s Command<'a>> {
    if !script.is_shell || !script.shell.sound || may_launch(script) {
        return None;
    }
    let mut work = None;
    for command in &script.shell.commands {
        let name = command.name();
        if command.background {
            return None;
        }
        if matches!(name, "source" | ".") && !is_environment(command) {
            return None;
        }
        if WORK.contains(&name) {
            work = work.or(Some(command));
        } else if !QUIET.contains(&name) {
            return None;
        }
    }
    work.filter(|command| !command.substitution)
}

/// `source …/activate`, `. ~/.bashrc`, `source …/conda.sh`.
fn is_environment(command: &Command<'_>) -> bool {
    let file = command.words.get(1).map_or("", |word| &*word.text);
    [
        "activate", "conda", "bashrc", "profile", "modules", "setvars",
    ]
    .iter()
    .any(|part| file.contains(part))
}

/// How many tasks of a node a job asks for, at least; 1 where nothing is said.
#[must_use]
pub fn tasks_of_a_node(script: &Script<'_>) -> u32 {
    let request = script.request();
    let one_node = request.max_nodes == Some(1) || request.max_nodes == request.min_nodes;
    let nodes = request.min_nodes.unwrap_or(1).max(1);
    match (request.tasks_per_node, request.tasks) {
        (Some(tasks), _) => tasks,
        (None, Some(tasks)) if one_node => tasks / nodes,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folders;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(body: &str, want: Expect) {
        let text = format!("#!/bin/bash\n{body}\n");
        let zone = jiff::tz::TimeZone::UTC;
        let script = Script::read(&crate::LintInput {
            name: "job.sh",
            text: &text,
            args: &[],
            cluster: None,
            version: None,
            user: None,
            cwd: std::path::Path::new("/work"),
            zone: &zone,
            now: model::Timestamp(0),
            folders: &folders,
        });
        let lines: Vec<String> = sruns(&script)
            .map(|srun| {
                let inner: Vec<&str> = srun.inner.iter().map(|word| &*word.text).collect();
                let unknown = if srun.unknown { " ?" } else { "" };
                format!("{:?} {}{unknown}", srun.options, inner.join(" "))
            })
            .collect();
        want.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn options_of_srun_and_its_program() {
        check(
            "srun -n4 -lK1 --mpi=pmix --nodes 2 python -u x.py -n 3",
            expect![[r#"
            [("ntasks", Some("4")), ("label", None), ("kill-on-bad-exit", Some("1")), ("mpi", Some("pmix")), ("nodes", Some("2"))] python -u x.py -n 3"#]],
        );
        check(
            "time /usr/bin/srun -N 1 -- ./a",
            expect![[r#"[("nodes", Some("1"))] ./a"#]],
        );
        check("srun $OPTIONS", expect!["[] $OPTIONS ?"]);
        check(
            "srun $OPTIONS -n 2 ./a",
            expect![[r#"[("ntasks", Some("2"))] ./a ?"#]],
        );
        check("srun --site-option ./a", expect![[r#"[("", None)] ./a ?"#]]);
        check("srun -n", expect![[r#"[("ntasks", None)] "#]]);
    }
}
