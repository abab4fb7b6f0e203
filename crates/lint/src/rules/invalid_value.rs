//! Y003: a value that `sbatch` doesn't take.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::option_table::{Effect, Key};
use model::{Given, SlurmVersion};

/// Y003.
pub const RULE: Rule = Rule {
    code: "Y003",
    name: "invalid-value",
    severity: Severity::Error,
    summary: "sbatch does not take this value: the script is refused",
    page:
        "Values are checked before anything is submitted. Times are MINUTES, MM:SS, HH:MM:SS, D-HH,
D-HH:MM or D-HH:MM:SS; memory is a whole number with K, M, G or T behind it (no 1.5G, no
16Gi); numbers of nodes, tasks and CPUs are whole and above zero.

```
#!/bin/bash
#SBATCH --time=2h
#SBATCH --mem=1.5G
srun hostname
```

What a later Slurm takes (--nodes=1,2,4, --exclusive=topo) is a note as long as no version is known.

Source: slurm_opt.c, proc_args.c and parse_time.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Codes of refusals for which there is another rule.
const OTHERS: &[&str] = &[
    "unknown-option",
    "missing-value",
    "unexpected-value",
    "directive-word",
    "directive-syntax",
    "conflict",
    "script-empty",
    "script-interpreter",
    "script-nul",
    "script-size",
    "script-line-ends",
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for diagnostic in &script.diagnostics {
        if diagnostic.severity != model::Severity::Error || OTHERS.contains(&diagnostic.code) {
            continue;
        }
        let given = script.given_at(&diagnostic.span).or_else(|| {
            // The controller names no option.
            let of_least = diagnostic.message.contains("time-min");
            script.last(Key::TimeMin).filter(|_| of_least)
        });
        // Other rules say what there is to say of a variable, a gap of a template, a NUL, and nothing.
        if given.is_some_and(|given| {
            super::shell_variable::is_one(given)
                || super::placeholder::is_one(given)
                || given
                    .value
                    .as_deref()
                    .is_some_and(|value| value.contains('\0'))
                || super::short_with_equals::is_one(script, given)
                || super::empty_value::of(script, given).is_some()
        }) {
            continue;
        }
        let array = given.is_some_and(|given| given.option.effect == Effect::Sets(Key::Array));
        if array {
            continue;
        }
        let since = given.and_then(later);
        if let (Some(since), Some(version)) = (since, script.version)
            && version >= since
        {
            continue;
        }
        let lines: Vec<&str> = diagnostic.message.lines().collect();
        let said = lines
            .iter()
            .find(|line| line.contains("nvalid"))
            .or(lines.first());
        let said = said.map_or("sbatch refuses this", |line| line);
        let mut finding = Finding::new(RULE.code, RULE.severity, said).refused();
        if let Some(help) = given.and_then(|given| help(given.option.effect)) {
            finding = finding.help(help);
        }
        let range = match given {
            Some(given) => script.value_bytes(given),
            None => script.bytes(&diagnostic.span),
        };
        if let Some(range) = range {
            finding = finding.at(range, "sbatch refuses this value");
        }
        if let Some(since) = since {
            finding = finding.really(format!("Slurm {since} and later take it"));
            if script.version.is_none() {
                finding.severity = Severity::Note;
                finding.refused = false;
            }
            finding = script.as_sure_as_version(finding);
        }
        findings.push(finding);
    }
}

/// The first Slurm that takes a value which 22.05 refuses.
fn later(given: &Given) -> Option<SlurmVersion> {
    let value = given.value.as_deref()?;
    let Effect::Sets(key) = given.option.effect else {
        return None;
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = |words: &[&str]| {
        let upper = value.to_ascii_uppercase();
        words.iter().any(|word| upper.contains(word))
    };
    match key {
        // proc_args.c's verify_node_count: a list such as 1,2,4 or 2-8:2.
        Key::Nodes if value.contains([',', ':']) && value.split([',', ':', '-']).all(number) => {
            Some(SlurmVersion::V23_02)
        }
        // proc_args.c's table of signals.
        Key::Signal if word(&["CHLD", "PIPE"]) => Some(SlurmVersion::V23_11),
        // slurm_opt.c's arg_set_exclusive.
        Key::Exclusive if value.eq_ignore_ascii_case("topo") => Some(SlurmVersion::V24_05),
        // parse_time.c.
        Key::Begin | Key::Deadline if word(&["ELEVENSES"]) => Some(SlurmVersion::V24_05),
        _ => None,
    }
}

fn help(effect: Effect) -> Option<&'static str> {
    let Effect::Sets(key) = effect else {
        return None;
    };
    Some(match key {
        Key::Time | Key::TimeMin => {
            "times are MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS"
        }
        Key::Mem | Key::MemPerCpu | Key::MemPerGpu => {
            "memory is a whole number with K, M, G or T, such as 1500M or 16G"
        }
        Key::Nodes => "nodes are N or LEAST-MOST, such as 2 or 2-4",
        Key::Tasks | Key::TasksPerNode | Key::CpusPerTask | Key::CpusPerGpu => {
            "a whole number above zero"
        }
        Key::Gres => "generic resources are NAME[:TYPE][:COUNT], such as gpu:v100:2",
        Key::Gpus | Key::GpusPerNode | Key::GpusPerTask => {
            "GPUs are [TYPE:]COUNT, such as 2 or v100:2"
        }
        Key::MailType => "words such as BEGIN,END,FAIL or ALL",
        Key::Signal => "signals are [R][B][:]NAME[@SECONDS], such as B:USR1@120",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fires_in, silent, silent_in};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH --time=«2h»\n").refused);
        fires(&RULE, "#SBATCH -n 1 --mem «1.5G» # lots\n");
        fires(&RULE, "#SBATCH -N«x»\n");
        fires(&RULE, "#SBATCH --cpus-per-task=«0»\n");
    }

    #[test]
    fn the_least_time_past_the_deadline_has_its_line() {
        let script = "#SBATCH --deadline=now+1hour\n#SBATCH --time-min=«2-0»\n";
        assert!(fires(&RULE, script).refused);
    }

    #[test]
    fn says_nothing() {
        // The sign is what is wrong: Y018 says it.
        silent(&RULE, "#SBATCH -n=4\n");
        silent(&RULE, "#SBATCH -n 4\0\n");
        silent(
            &RULE,
            "#SBATCH --time=2:00:00 --mem=1500M -N2 -n 4 --signal=B:USR1@120\n",
        );
        silent(&RULE, "#SBATCH -N $NODES\n");
        silent(&RULE, "#SBATCH --time=<time>\n");
    }

    #[test]
    fn values_that_a_later_slurm_takes() {
        for (value, since, before) in [
            ("--nodes=«1,2,4»", "23.02", "22.05"),
            ("--nodes=«2-8:2»", "23.02", "22.05"),
            ("--signal=«B:CHLD@60»", "23.11", "23.02"),
            ("--exclusive=«topo»", "24.05", "23.11"),
            ("--begin=«elevenses»", "24.05", "23.11"),
        ] {
            let script = format!("#SBATCH {value}\n");
            assert!(fires_in(&RULE, before, &script).refused, "{value}");
            let found = fires(&RULE, &script);
            assert_eq!((found.severity, found.refused), (Severity::Note, false));
            assert!(found.really.unwrap().contains(since), "{value}");
            silent_in(&RULE, since, &script.replace(['«', '»'], ""));
        }
        assert!(fires_in(&RULE, "25.11", "#SBATCH --nodes=«1,x»\n").refused);
    }

    #[test]
    fn a_long_value_is_cut_in_the_headline() {
        let script = format!("#SBATCH -n «{}»\n", "x".repeat(1 << 21));
        let found = fires(&RULE, &script);
        assert!(found.message.len() < 200, "{}", found.message.len());
    }
}
