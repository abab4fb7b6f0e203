//! What the body of a batch script prepares and starts, as far as a run file can say it.

use crate::lines::Lines;
use crate::rules::gap_in_command;
use crate::shell::{Assignment, Command, End, Shell, Word};
use crate::steps;

/// The body of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Modules that it loads, in order.
    pub modules: Vec<String>,
    /// Variables that it exports whose values no shell has to expand, each with its line.
    pub variables: Vec<(usize, Variable)>,
    /// The Python environment that it activates last.
    pub python: Option<Activated>,
    /// The command that trains: of those that compute one that a launcher starts, or whose name says so, else the
    /// first.
    pub start: Option<Start>,
    /// Further commands that compute: the line, and the command as it stands.
    pub others: Vec<(usize, String)>,
    /// Variables that it sets and does not export, each with its line; a shell may have to expand the value.
    pub own: Vec<(usize, Variable)>,
    /// The line at which it queues its own job again.
    pub requeues: Option<usize>,
    /// What it prepares that is not understood here: its line, and the command as it stands.
    pub left: Vec<(usize, String)>,
    /// Commands that compute and have a gap of a template, such as `<path to the image>`: the line, and
    /// the gap.
    pub gaps: Vec<(usize, String)>,
}

/// A variable with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, without quotes.
    pub value: String,
}

/// A Python environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activated {
    /// `conda activate NAME`
    Conda(String),
    /// `source FOLDER/bin/activate`
    Venv(String),
}

/// What starts the training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its line.
    pub line: usize,
    /// By what.
    pub by: Starter,
    /// Program and arguments, without what starts them.
    pub words: Vec<String>,
    /// A shell would expand something in the words.
    pub expands: bool,
    /// The words as they stand in the script, quotes and all.
    pub text: String,
    /// What Pyxis runs it in.
    pub container: Option<Container>,
}

/// A container that Pyxis makes for a step, as its options say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// `--container-image`
    pub image: String,
    /// `--container-mounts`
    pub mounts: Option<String>,
    /// `--container-workdir`
    pub workdir: Option<String>,
}

/// What starts the processes of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Starter {
    /// The script itself: one process.
    Script,
    /// `srun`
    Srun,
    /// torchrun, with the number of processes of a node where it is said in digits.
    Torchrun(Option<u32>),
    /// `mpirun` or `mpiexec`
    Mpi,
    /// `horovodrun`
    Horovod,
    /// `accelerate launch`
    Accelerate,
    /// `deepspeed`
    Deepspeed,
    /// A launcher whose program was not found among its words; it stays part of the command.
    Other(&'static str),
}

/// Programs that make files ready, and train nothing.
const PREPARING: &[&str] = &["mkdir", "rm", "cp", "mv", "tar", "rsync", "cat", "chmod"];

/// What changes nothing that a run would miss.
const HARMLESS: &[&str] = &[
    "",
    "hostname",
    "echo",
    "printf",
    "date",
    "env",
    "printenv",
    "nvidia-smi",
    "ls",
    "true",
    "false",
    "sleep",
    "uname",
    "df",
    "free",
    "lscpu",
    "pwd",
    "whoami",
    "which",
    "set",
    "shopt",
    "wait",
    "exit",
    "return",
    ":",
    "[",
    "[[",
    "test",
    "time",
    "break",
    "continue",
    "shift",
];

/// Programs that compute.
const PROGRAMS: &[&str] = &["Rscript", "R", "julia", "matlab"];

/// Options of torchrun without a value.
const TORCHRUN_FLAGS: &[&str] = &["standalone", "no_python", "run_path", "use_env"];

impl Body {
    /// Reads a script of a shell; of another one nothing is known.
    #[must_use]
    pub fn read(text: &str) -> Body {
        let shell = Shell::read(text, 0);
        let lines = Lines::new(text);
        let mut body = Body::default();
        let mut starts: Vec<(Start, String)> = Vec::new();
        let mut is_piped = false;
        for command in &shell.commands {
            let line = lines.number(command.range.start);
            if queues_again(command) {
                body.requeues.get_or_insert(line);
            } else if !command.substitution && !command.function {
                let before = body.left.len();
                body.take(command, text, line, &mut starts);
                if is_piped {
                    // It goes with the one whose output it reads.
                    body.left.truncate(before);
                }
                is_piped = command.end == End::Pipe;
            }
        }
        // The first of the likeliest.
        let likely = (0..starts.len())
            .rev()
            .max_by_key(|at| likelihood(&starts[*at].0));
        if let Some(at) = likely {
            body.start = Some(starts.remove(at).0);
        }
        let others = starts.into_iter();
        body.others = others.map(|(start, text)| (start.line, text)).collect();
        body
    }

    fn take(
        &mut self,
        command: &Command<'_>,
        text: &str,
        line: usize,
        starts: &mut Vec<(Start, String)>,
    ) {
        let words = command.program();
        let word = |index: usize| words.get(index).map_or("", |word| &*word.text);
        let expands = words.iter().any(|word| word.expands);
        let left = || (line, text[command.range.clone()].to_owned());
        match command.name() {
            "module" | "ml" => {
                let loads = ["load", "add"].contains(&word(1));
                let bare = word(0) == "ml" && !word(1).starts_with('-');
                let known = ["purge", "list", "avail", "unload", "swap", "use", "restore"];
                if expands {
                    self.left.push(left());
                } else if loads || bare && !known.contains(&word(1)) {
                    let names = words[if loads { 2 } else { 1 }..].iter();
                    self.modules.extend(names.map(|name| name.text.to_string()));
                } else if word(1) != "purge" && word(1) != "list" {
                    self.left.push(left());
                }
            }
            "conda" | "mamba" | "micromamba" if word(1) == "activate" => {
                self.activate(expands, Activated::Conda(word(2).to_owned()), left());
            }
            "source" | "." if word(1) == "activate" => {
                self.activate(expands, Activated::Conda(word(2).to_owned()), left());
            }
            // Conda has a program of that name, too, which gets the environment's name.
            "source" | "." if word(1).ends_with("/bin/activate") && words.len() > 2 => {
                self.activate(expands, Activated::Conda(word(2).to_owned()), left());
            }
            "source" | "." => match word(1).strip_suffix("/bin/activate") {
                Some(folder) => self.activate(expands, Activated::Venv(folder.to_owned()), left()),
                None => self.left.push(left()),
            },
            "export" => match assigned(command) {
                Some(variables) => self.variables.extend(variables.map(|own| (line, own))),
                None => self.left.push(left()),
            },
            "cd" => self.left.push(left()),
            _ => {
                let Some(start) = start(command, text, line) else {
                    if command.words.is_empty() {
                        let sets = command.sets.iter();
                        self.own.extend(sets.map(|own| (line, variable(own))));
                    } else if !HARMLESS.contains(&command.name()) {
                        self.left.push(left());
                    }
                    return;
                };
                if let Some(gap) = gap_in_command(&text[command.range.clone()]) {
                    self.gaps.push((line, gap.to_owned()));
                } else if prepares(&start) {
                    self.left.push(left());
                } else {
                    // `A=1 python train.py`
                    for own in &command.sets {
                        if own.value.expands {
                            let text = text[own.range.clone()].to_owned();
                            self.left.push((line, format!("export {text}")));
                        } else {
                            self.variables.push((line, variable(own)));
                        }
                    }
                    starts.push((start, left().1));
                }
            }
        }
    }

    /// A name that a shell would expand can't stand in a run file.
    fn activate(&mut self, expands: bool, python: Activated, left: (usize, String)) {
        let named = !matches!(&python, Activated::Conda(name) if name.is_empty());
        if expands || !named {
            self.left.push(left);
        } else {
            self.python = Some(python);
        }
    }
}

/// What an `export` sets; `None` where it does something else too, or a shell has to expand a value.
fn assigned(command: &Command<'_>) -> Option<impl Iterator<Item = Variable>> {
    // An array has no value.
    let is_literal =
        |own: &Assignment<'_>| !own.value.expands && own.range.end == own.value.range.end;
    let sets_alone = command.program().len() == 1 && !command.sets.is_empty();
    (sets_alone && command.sets.iter().all(is_literal)).then(|| command.sets.iter().map(variable))
}

fn variable(own: &Assignment<'_>) -> Variable {
    Variable {
        name: own.name.to_owned(),
        value: own.value.text.to_string(),
    }
}

/// Whether a script queues its own job again, or the script itself.
fn queues_again(command: &Command<'_>) -> bool {
    let words: Vec<&str> = command.program().iter().map(|word| &*word.text).collect();
    match words[..] {
        ["scontrol", "requeue", ..] => true,
        ["trap", action, ..] => action.contains("scontrol requeue"),
        ["sbatch", .., last] => ["$0", "${0}", "${BASH_SOURCE[0]}", "$BASH_SOURCE"].contains(&last),
        _ => false,
    }
}

/// How likely a command that computes is the one that trains.
fn likelihood(start: &Start) -> u8 {
    const NAMES: [&str; 4] = ["train", "finetune", "fine_tune", "fit"];
    let is_launched = start.by != Starter::Script;
    let name = start
        .words
        .iter()
        .find(|word| !word.starts_with('-') && word.contains(".py"));
    let name = name.map_or("", |word| word.rsplit('/').next().unwrap_or_default());
    let names = NAMES.iter().any(|part| name.contains(part));
    2 * u8::from(is_launched) + u8::from(names)
}

/// Whether a step prepares, such as `srun hostname` or `srun bash -c 'mkdir x'`.
fn prepares(start: &Start) -> bool {
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let mut words = start.words.iter().map(|word| name(word));
    let first = words.next().unwrap_or_default();
    let script = match (words.next().as_deref(), start.words.get(2)) {
        (Some("-c" | "-lc"), Some(script)) if ["bash", "sh"].contains(&&*first) => Some(script),
        _ => None,
    };
    let program = match script {
        Some(script) => name(script.split_whitespace().next().unwrap_or_default()),
        None => first,
    };
    start.by == Starter::Srun && (PREPARING.contains(&&*program) || HARMLESS.contains(&&*program))
}

/// What Pyxis makes for a step.
fn container(srun: &steps::Srun<'_, '_>) -> Option<Container> {
    let value = |name: &str| srun.value(name).map(str::to_owned);
    Some(Container {
        image: value("container-image")?,
        mounts: value("container-mounts"),
        workdir: value("container-workdir"),
    })
}

/// The program that a launcher starts: the first word that is an interpreter or its file.
fn program_of<'w, 'a>(words: &'w [Word<'a>]) -> Option<Vec<&'w Word<'a>>> {
    let is_program = |word: &Word<'_>| {
        let name = word.text.rsplit('/').next().unwrap_or_default();
        name.starts_with("python") || PROGRAMS.contains(&name) || name.ends_with(".py")
    };
    let at = words.iter().skip(1).position(is_program)? + 1;
    Some(words[at..].iter().collect())
}

fn start(command: &Command<'_>, text: &str, line: usize) -> Option<Start> {
    let words = command.program();
    if let Some(srun) = steps::srun(command) {
        if srun.inner.is_empty() {
            return None;
        }
        let (by, words) = match torchrun(srun.inner) {
            Some((count, words)) => (Starter::Torchrun(count), words),
            None => (Starter::Srun, srun.inner.iter().collect()),
        };
        return Some(Start {
            container: container(&srun),
            ..started(by, &words, text, line)
        });
    }
    if let Some((count, program)) = torchrun(words) {
        return Some(started(Starter::Torchrun(count), &program, text, line));
    }
    let name = command.name();
    let launcher = match name {
        "mpirun" | "mpiexec" => Some(("mpirun", Starter::Mpi)),
        "horovodrun" => Some(("horovodrun", Starter::Horovod)),
        _ => match steps::node_launcher(words) {
            Some(name @ "accelerate launch") => Some((name, Starter::Accelerate)),
            Some(name @ "deepspeed") => Some((name, Starter::Deepspeed)),
            Some(name) => Some((name, Starter::Other(name))),
            None => None,
        },
    };
    if let Some((name, by)) = launcher {
        let all = || (Starter::Other(name), words.iter().collect());
        let found = program_of(words).filter(|_| !matches!(by, Starter::Other(_)));
        let (by, words) = found.map_or_else(all, |program| (by, program));
        return Some(started(by, &words, text, line));
    }
    if name.starts_with("python") || PROGRAMS.contains(&name) {
        let all: Vec<&Word<'_>> = words.iter().collect();
        return Some(started(Starter::Script, &all, text, line));
    }
    None
}

fn started(by: Starter, words: &[&Word<'_>], text: &str, line: usize) -> Start {
    let source: Vec<&str> = words.iter().map(|word| &text[word.range.clone()]).collect();
    Start {
        line,
        by,
        words: words.iter().map(|word| word.text.to_string()).collect(),
        expands: words.iter().any(|word| word.expands),
        text: source.join(" "),
        container: None,
    }
}

/// The number of processes of a node, and the program that torchrun starts, as `python …`.
fn torchrun<'w, 'a>(words: &'w [Word<'a>]) -> Option<(Option<u32>, Vec<&'w Word<'a>>)> {
    let launcher = steps::node_launcher(words)?;
    let mut program: Vec<&Word<'_>> = Vec::new();
    let mut rest = match launcher {
        "torchrun" => &words[1..],
        "torch.distributed" => {
            // The interpreter starts the ranks, too.
            program.extend(words.first());
            let module = words.iter().position(|word| word.text == "-m")?;
            words.get(module + 2..)?
        }
        _ => return None,
    };
    let mut count = None;
    while let Some((first, after)) = rest.split_first() {
        let Some(option) = first.text.strip_prefix('-') else {
            break;
        };
        if ["m", "-module"].contains(&option) {
            break;
        }
        let option = option.trim_start_matches('-').replace('-', "_");
        let (name, value, used) = match option.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned(), 0),
            None if TORCHRUN_FLAGS.contains(&&*option) => (option, String::new(), 0),
            None => {
                let value = after.first().map_or("", |word| &*word.text);
                (option, value.to_owned(), 1)
            }
        };
        if name == "nproc_per_node" {
            count = value.parse().ok();
        }
        rest = after.get(used..)?;
    }
    if rest.is_empty() {
        return None;
    }
    program.extend(rest);
    Some((count, program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(body: &str, want: Expect) {
        let read = Body::read(&format!("#!/bin/bash\n{body}\n"));
        let mut shown = String::new();
        if !read.modules.is_empty() {
            shown += &format!("modules {}\n", read.modules.join(", "));
        }
        for (line, Variable { name, value }) in &read.variables {
            shown += &format!("set {line}: {name}={value}\n");
        }
        if let Some(python) = &read.python {
            shown += &format!("{python:?}\n");
        }
        if let Some(start) = &read.start {
            let expands = if start.expands { " expands" } else { "" };
            shown += &format!(
                "{}: {:?}{expands}: {:?}\n",
                start.line, start.by, start.words
            );
            shown += &format!("  {}\n", start.text);
        }
        for (line, text) in &read.others {
            shown += &format!("also {line}: {text}\n");
        }
        for (line, Variable { name, value }) in &read.own {
            shown += &format!("own {line}: {name}={value}\n");
        }
        if let Some(line) = read.requeues {
            shown += &format!("requeues {line}\n");
        }
        for (line, gap) in &read.gaps {
            shown += &format!("gap {line}: {gap}\n");
        }
        for (line, text) in &read.left {
            shown += &format!("left {line}: {text}\n");
        }
        want.assert_eq(&shown);
    }

    #[test]
    fn modules_an_environment_and_srun() {
        check(
            "module purge\nmodule load cuda/12.4 gcc\nsource ~/x.sh\nsource ../env/bin/activate\n\
             export OMP_NUM_THREADS=4\nsrun --mpi=none -n 4 python -u train.py --lr 3\necho done",
            expect![[r#"
                modules cuda/12.4, gcc
                set 6: OMP_NUM_THREADS=4
                Venv("../env")
                7: Srun: ["python", "-u", "train.py", "--lr", "3"]
                  python -u train.py --lr 3
                left 4: source ~/x.sh
            "#]],
        );
    }

    #[test]
    fn torchrun_in_its_forms() {
        check(
            "srun torchrun --nnodes 2 --nproc-per-node=4 --rdzv_endpoint $HOST:29500 train.py --x 1",
            expect![[r#"
                2: Torchrun(Some(4)): ["train.py", "--x", "1"]
                  train.py --x 1
            "#]],
        );
        check(
            "conda activate torch\npython -m torch.distributed.launch --nproc_per_node $N a.py\npython b.py",
            expect![[r#"
                Conda("torch")
                3: Torchrun(None): ["python", "a.py"]
                  python a.py
                also 4: python b.py
            "#]],
        );
    }

    #[test]
    fn variables_and_other_launchers() {
        check(
            "source $HOME/env/bin/activate\npython train.py --data $DATA \"a b\"",
            expect![[r#"
                3: Script expands: ["python", "train.py", "--data", "$DATA", "a b"]
                  python train.py --data $DATA "a b"
                left 2: source $HOME/env/bin/activate
            "#]],
        );
        check(
            "export A='x y' B=2\nexport C=$D\nexport E\nexport -n F=1\nexport G=(1 2)\nsource /opt/conda/bin/activate torch",
            expect![[r#"
                set 2: A=x y
                set 2: B=2
                Conda("torch")
                left 3: export C=$D
                left 4: export E
                left 5: export -n F=1
                left 6: export G=(1 2)
            "#]],
        );
        check(
            "accelerate launch --num_processes 4 train.py",
            expect![[r#"
                2: Accelerate: ["train.py"]
                  train.py
            "#]],
        );
        check("echo hello", expect![[""]]);
    }

    #[test]
    fn what_trains_is_the_start_and_nothing_is_dropped_in_silence() {
        check(
            "OUT=$HOME/exp\ncp -r /data/imagenet $SLURM_TMPDIR/\ntrap 'touch stop' USR1\necho begin\n\
             python prep.py\nfor seed in 1 2; do A=1 B=$C python train.py --seed $seed; done\n\
             python eval.py\ncp -r results ~/out\nscontrol requeue $SLURM_JOB_ID",
            expect![[r#"
                set 7: A=1
                7: Script expands: ["python", "train.py", "--seed", "$seed"]
                  python train.py --seed $seed
                also 6: python prep.py
                also 8: python eval.py
                own 2: OUT=$HOME/exp
                requeues 10
                left 3: cp -r /data/imagenet $SLURM_TMPDIR/
                left 4: trap 'touch stop' USR1
                left 7: export B=$C
                left 9: cp -r results ~/out
            "#]],
        );
        check(
            "python prep.py\nsrun ./solve.sh\nsbatch $0",
            expect![[r#"
                3: Srun: ["./solve.sh"]
                  ./solve.sh
                also 2: python prep.py
                requeues 4
            "#]],
        );
    }

    #[test]
    fn what_prepares_and_what_has_gaps_is_no_start() {
        check(
            "srun -l bash -c 'hostname' | sort > $NODELIST\n\
             horovodrun -np $SLURM_NTASKS -H `cat $NODELIST` python /data/mnist.py",
            expect![[r#"
                3: Horovod: ["python", "/data/mnist.py"]
                  python /data/mnist.py
                left 2: srun -l bash -c 'hostname'
            "#]],
        );
        check(
            "srun --container-image=<path to TensorFlow image> /bin/bash -c \"python -u x.py\"",
            expect![[r#"
                gap 2: <path to TensorFlow image>
            "#]],
        );
        check(
            "srun --container-image=nvcr.io#nvidia/pytorch:24.01-py3 --container-mounts=/a:/b python x.py",
            expect![[r#"
                2: Srun: ["python", "x.py"]
                  python x.py
            "#]],
        );
    }
}
