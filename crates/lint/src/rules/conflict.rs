//! Y008: options that exclude each other.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::{Given, SlurmVersion, Span};

/// Y008.
pub const RULE: Rule = Rule {
    code: "Y008",
    name: "conflict",
    severity: Severity::Error,
    summary: "options exclude each other: the script is refused",
    page: "Memory is asked for a node, a CPU or a GPU, never for two of them. CPUs are asked for a task
or for a GPU. Tasks are counted for a GPU or for a node. More nodes cannot be named than asked for.

```
#!/bin/bash
#SBATCH --mem=16G
#SBATCH --mem-per-cpu=2G
srun hostname
```

Source: slurm_opt.c and sbatch's opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let mut seen: Vec<Vec<usize>> = Vec::new();
    for diagnostic in &script.diagnostics {
        if diagnostic.code != "conflict" || diagnostic.severity != model::Severity::Error {
            continue;
        }
        let message = &diagnostic.message;
        let said = message.lines().next().unwrap_or_default();
        let named = |given: &&Given| is_named(message, given) || is_meant(message, given);
        let named: Vec<&Given> = script.directives().filter(named).collect();
        // One whose own value is refused is as good as missing, and that is another finding.
        let whole = diagnostic.span == Span::Whole;
        if whole && named.iter().any(|given| script.is_refused(given)) {
            continue;
        }
        // Two checks of Slurm's may stumble over the same options.
        let places: Vec<usize> = named
            .iter()
            .filter_map(|given| Some(script.whole(given)?.start))
            .collect();
        if !places.is_empty() && seen.contains(&places) {
            continue;
        }
        seen.push(places);
        let mut finding = match own_words(script, said) {
            Some((message, help)) => Finding::new(RULE.code, RULE.severity, message).help(help),
            None => Finding::new(RULE.code, RULE.severity, said),
        };
        finding.refused = true;
        if let Some(help) = help(said) {
            finding = finding.help(help);
        }
        for range in named.iter().filter_map(|given| script.whole(given)) {
            finding = finding.at(range, "");
        }
        if let Some(version) = script.version
            && version > SlurmVersion::V22_05
            && is_of_2205(message)
        {
            finding.severity = Severity::Warning;
            finding.refused = false;
            finding = finding.really(format!(
                "Slurm 22.05 refuses it so; of {version} it is not proved"
            ));
        }
        findings.push(finding);
    }
}

/// Checks of which only 22.05's source is known to have them: gres.c's of a job's GPUs, and that of
/// a list with more nodes than asked for, which 23.02's opt.c has no more.
fn is_of_2205(message: &str) -> bool {
    let first = message.lines().next().unwrap_or_default();
    message.contains("(gres)")
        || first.contains("GRES specification")
        || first.starts_with("Failed to ")
        || first.starts_with("Requested mem_per_tres")
        || first.starts_with("gres_job_state_validate")
        || first.starts_with("invalid number of nodes")
        || first == "--cpus-per-gpu is mutually exclusive with --cpus-per-task"
}

/// What 22.05 says of tasks names `-n`, whichever option asks for them: which do, and what they come
/// to, in words of ours, and what to do.
fn own_words(script: &Script<'_>, said: &str) -> Option<(String, String)> {
    if !said.ends_with(TASKS_DIFFER) {
        return None;
    }
    let request = script.request();
    let of_job = request.gpus.as_ref()?.count;
    let of_task = request.rare.gpus_per_task.as_ref()?.count;
    let made = of_job.checked_div(of_task)?;
    let message = format!("{of_job} GPUs with {of_task} for each task are {made} tasks, no others");
    let asked = TASKS
        .iter()
        .find_map(|name| script.named(name).next_back())?;
    let help = match asked.option.long {
        "ntasks" => format!("--ntasks={made}, or no --gpus-per-task"),
        _ => format!(
            "{} on so many nodes that they are {made}, or no --gpus-per-task",
            asked.written
        ),
    };
    Some((message, help))
}

/// The end of sbatch's words, which begin with the options that say the GPUs.
const TASKS_DIFFER: &str = "number of requested tasks differ from -n/--ntasks.";

/// Options that say how many tasks there are.
const TASKS: &[&str] = &["ntasks", "ntasks-per-node", "tasks-per-node"];

/// Options that ask for generic resources.
const RESOURCES: &[&str] = &[
    "gres",
    "gpus",
    "gpus-per-node",
    "gpus-per-socket",
    "gpus-per-task",
    "tres-per-task",
];

/// What to do about refusals that name no option.
fn help(said: &str) -> Option<&'static str> {
    if said.starts_with("Bad rlimit name") {
        return Some("names of limits such as NOFILE,MEMLOCK, or ALL or NONE");
    }
    said.starts_with("Invalid generic resource")
        .then_some("generic resources are NAME[:TYPE][:COUNT], such as gpu:v100:2")
}

/// Whether a message is about the option without naming it.
fn is_meant(message: &str, given: &Given) -> bool {
    let meant: &[&str] = match message.lines().next().unwrap_or_default() {
        first if first.contains("with and without type") => RESOURCES,
        first if first.ends_with(TASKS_DIFFER) => TASKS,
        first if first.starts_with("Bad rlimit name") => &["propagate"],
        first if first.starts_with("Invalid generic resource") => RESOURCES,
        first if first.starts_with("Requested mem_per_tres") => &["mem-per-gpu"],
        first if first.starts_with("invalid number of nodes") => &["nodes", "nodelist"],
        _ => &[],
    };
    meant.contains(&given.option.long)
}

/// Whether the first line of a message names the option: as `--mem`, not as part of
/// `--mem-per-cpu`, and as `-n`, not as a letter.
fn is_named(message: &str, given: &Given) -> bool {
    let first = message.lines().next().unwrap_or_default();
    let mut words = first.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.any(|word| match word.strip_prefix("--") {
        Some(long) => long == given.option.long,
        None => {
            let letter = word.strip_prefix('-').unwrap_or_default();
            let short = given.option.short;
            short.is_some_and(|short| letter.len() == 1 && letter.starts_with(short))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, fires, fires_in, lint, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--mem=1G»\n#SBATCH --mem-per-cpu=1G\n");
        assert_eq!(found.labels.len(), 2);
        assert!(found.refused);
        fires(&RULE, "#SBATCH «-N1» -w n[1-2]\n");
    }

    #[test]
    fn shows_all_that_it_is_about() {
        for script in [
            "#SBATCH «--gres=gpu:v100:2»\n#SBATCH --gpus-per-node=2\n",
            "#SBATCH «--cpus-per-gpu=2» --gpus=1\n#SBATCH -c 4\n",
            "#SBATCH -n1 «-N1»\n#SBATCH -w n[1-2]\n",
        ] {
            assert_eq!(fires(&RULE, script).labels.len(), 2, "of {script}");
        }
        fires(&RULE, "#SBATCH -n1 «--mem-per-gpu=2G»\n");
        // Slurm's second line speaks of gres, of which nothing is wrong.
        let found = fires(&RULE, "#SBATCH «--gpus-per-task=1» --gres=nvme:1\n");
        assert_eq!(found.labels.len(), 1);
    }

    #[test]
    fn refusals_that_name_no_option_have_a_place() {
        for script in [
            "#SBATCH «--propagate=FOO»\n",
            "#SBATCH -n 2 «--gres=gpu:a100:x»\n",
        ] {
            assert!(fires(&RULE, script).help.is_some(), "{script}");
        }
    }

    #[test]
    fn tasks_that_gpus_make_and_others() {
        let found = fires(
            &RULE,
            "#SBATCH «--gpus=8» --gpus-per-task=1\n#SBATCH --ntasks-per-node=6\n",
        );
        assert_eq!(found.labels.len(), 3);
        assert!(!found.message.contains("-n"), "{}", found.message);
        let help = found.help.unwrap();
        assert!(
            help.starts_with("--ntasks-per-node on so many nodes"),
            "{help}"
        );
        let found = fires(&RULE, "#SBATCH «--gpus=8» --gpus-per-task=1 -n 6\n");
        assert!(found.help.unwrap().starts_with("--ntasks=8"));
        // -n is there, and its value is what is wrong.
        silent(&RULE, "#SBATCH -n _N_ --gpus-per-task=1\n");
    }

    #[test]
    fn two_checks_that_mean_the_same_speak_once() {
        let setup = Setup {
            version: Some("24.05"),
            ..Setup::PLAIN
        };
        let script = "#!/bin/sh\n#SBATCH --cpus-per-gpu=2 -c 4 --gres=gpu:1\n";
        let found = lint(setup, script);
        assert_eq!(found.iter().filter(|one| one.code == "Y008").count(), 1);
    }

    #[test]
    fn what_was_seen_on_one_version_alone_is_no_claim_of_others() {
        for script in [
            "#SBATCH «--gres=gpu:v100:2»\n#SBATCH --gpus-per-node=2\n",
            "#SBATCH «-N1» -w n[1-2]\n",
        ] {
            assert!(fires_in(&RULE, "22.05", script).refused);
            let found = fires_in(&RULE, "25.11", script);
            assert_eq!((found.severity, found.refused), (Severity::Warning, false));
            assert!(found.really.unwrap().contains("not proved"));
        }
        let shared = "#SBATCH «--mem=1G» --mem-per-cpu=1G\n";
        assert!(fires_in(&RULE, "25.11", shared).refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mem=1G --ntasks=2\n#SBATCH --mem=2G\n");
    }
}
