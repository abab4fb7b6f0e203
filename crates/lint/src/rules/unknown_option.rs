//! Y001: an option that `sbatch` doesn't have.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::slip::is_slip;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::option_table::{Command, Dialect, OPTIONS, Opt, options_in};
use model::{Diagnostic, SlurmVersion, nearest};

/// Y001.
pub const RULE: Rule = Rule {
    code: "Y001",
    name: "unknown-option",
    severity: Severity::Error,
    summary: "sbatch has no such option: the script is refused",
    page: "sbatch reads the directives as one command line. An option that it doesn't know ends it
with status 255, and nothing is submitted. Mostly a name is misspelt (--cpus-per-gpus),
was dropped long ago (--workdir, --share), belongs to srun alone (--mpi, --cpu-bind),
came with a later Slurm, or is brought by a plugin that one site has.

```
#!/bin/bash
#SBATCH --gpus=2
#SBATCH --cpus-per-gpus=6
srun python train.py
```

Source: getopt_long as slurm_opt.c of 22.05 to 25.11 uses it; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Names that older Slurms had, and what became of them.
const RENAMED: &[(&str, &str)] = &[
    ("workdir", "chdir"),
    ("share", "oversubscribe"),
    ("mem_bind", "mem-bind"),
    ("cpus_per_task", "cpus-per-task"),
    ("walltime", "time"),
    ("name", "job-name"),
    ("queue", "partition"),
    ("memory", "mem"),
    ("email", "mail-user"),
    ("email-user", "mail-user"),
    ("include", "nodelist"),
];
/// Those of them that mean the very same.
const THE_SAME: &[&str] = &["workdir", "share", "mem_bind", "cpus_per_task"];

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    for diagnostic in &script.diagnostics {
        if diagnostic.code == "unknown-option" && !diagnostic.message.contains("is ambiguous") {
            findings.push(finding(script, input, diagnostic));
        }
    }
}

fn finding(script: &Script<'_>, input: &LintInput<'_>, diagnostic: &Diagnostic) -> Finding {
    let word = diagnostic.message.split('\'').nth(1).unwrap_or_default();
    let Some(text) = word.strip_prefix("--") else {
        return letter(script, diagnostic, word);
    };
    let name = text.split(['=', ':']).next().unwrap_or(text);
    let shown = shorten(name);
    let mut finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("sbatch has no option --{shown}"),
    )
    .refused();
    let range = script.bytes(&diagnostic.span);
    let label = range.map(|range| {
        let end = (range.start + 2 + name.len()).min(range.end);
        range.start..end
    });
    if let Some(option) = elsewhere(script, name) {
        return place(later_or_plugin(script, input, finding, option), label, "");
    }
    let meant = RENAMED
        .iter()
        .find(|(old, _)| *old == name)
        .map(|(_, new)| *new);
    let known = options_in(Command::Sbatch, dialect(script)).map(|option| option.long);
    let Some(meant) = meant.or_else(|| nearest(name, known)) else {
        let of_srun = |option: &&Opt| option.is_of(Command::Srun) && option.long == name;
        if OPTIONS.iter().any(|option| of_srun(&option)) {
            finding = finding.help(format!(
                "it is srun's: write it behind srun, as in: srun --{shown} …"
            ));
        } else {
            finding.message = format!("Slurm's own sbatch has no option --{shown}");
            finding = finding.help("a plugin of the site may bring it: only there it is taken");
        }
        return place(finding, label, "");
    };
    let hint = format!("did you mean --{meant}?");
    if let Some(label) = &label
        && (THE_SAME.contains(&name) || is_slip(name, meant))
        && script.text.get(label.start + 2..label.end) == Some(name)
    {
        finding = finding.fix([Edit::new(label.start + 2..label.end, meant)]);
    }
    place(finding, label, &hint)
}

fn place(finding: Finding, range: Option<std::ops::Range<usize>>, text: &str) -> Finding {
    match range {
        Some(range) => finding.at(range, text),
        None if text.is_empty() => finding,
        None => finding.help(text),
    }
}

fn letter(script: &Script<'_>, diagnostic: &Diagnostic, letter: &str) -> Finding {
    let finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("sbatch has no option -{letter}"),
    )
    .refused();
    let Some(range) = script.bytes(&diagnostic.span) else {
        return finding;
    };
    let long = script.text[range.clone()].trim_start_matches('-');
    let long = long.split('=').next().unwrap_or(long);
    let is_long = long.len() > 1
        && options_in(Command::Sbatch, dialect(script)).any(|option| option.long == long);
    if is_long {
        finding.at(range, format!("a long name has two dashes: --{long}"))
    } else {
        finding.at(range, "")
    }
}

fn dialect(script: &Script<'_>) -> Dialect {
    Dialect::Slurm {
        version: script.version.unwrap_or(SlurmVersion::V22_05),
        pyxis: false,
    }
}

/// An option of that name in another version or from a plugin.
fn elsewhere(script: &Script<'_>, name: &str) -> Option<&'static Opt> {
    let known = OPTIONS
        .iter()
        .filter(|option| option.is_of(Command::Sbatch));
    let mut fitting = known.filter(|option| option.long == name);
    fitting.find(|option| !dialect(script).has(option))
}

fn later_or_plugin(
    script: &Script<'_>,
    input: &LintInput<'_>,
    mut finding: Finding,
    option: &Opt,
) -> Finding {
    let name = option.long;
    if let Some(plugin) = option.plugin {
        finding.message =
            format!("--{name} is known where the plugin {plugin} is loaded, and refused elsewhere");
        finding.severity = Severity::Warning;
        finding.refused = false;
        // As yard plan says it: a file that doesn't know of the plugin proves nothing.
        if let Some(cluster) = input.cluster {
            finding.severity = Severity::Note;
            let name = &cluster.name;
            return finding.really(format!("{name} is not known to have the plugin {plugin}"));
        }
        return finding;
    }
    let when = match option.until {
        Some(until) if script.version.is_some_and(|version| version >= until) => {
            format!("was dropped with Slurm {until}")
        }
        _ => format!("came with Slurm {}", option.since),
    };
    match script.version {
        Some(version) => {
            finding.message = format!("sbatch {version} has no option --{name}: it {when}");
            finding = script.as_sure_as_version(finding);
        }
        None => {
            finding.message = format!("--{name} {when}: sbatch of another version refuses it");
            finding.severity = Severity::Note;
            finding.refused = false;
        }
    }
    finding
}

fn shorten(name: &str) -> String {
    if name.chars().count() > 60 {
        name.chars().take(60).chain(['…']).collect()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fires_in, fixes, silent, silent_in};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--cpus-per-gpus»=6\n");
        assert!(found.refused);
        assert_eq!(found.labels[0].text, "did you mean --cpus-per-gpu?");
        assert_eq!(fires(&RULE, "#SBATCH «--include»=n1\n").fix, None);
        fires(&RULE, "#SBATCH -n 1 «--blublu»\n");
        let found = fires(&RULE, "#SBATCH «--mpi»=pmix\n");
        assert!(found.help.unwrap().contains("srun"));
        fires(&RULE, "#SBATCH «-y»\n");
        let found = fires(&RULE, "#SBATCH «--container-image»=x\n");
        assert!(!found.refused, "a plugin may bring it");
        assert!(fires_in(&RULE, "22.05", "#SBATCH «--tres-per-task»=cpu:1\n").refused);
        assert!(!fires(&RULE, "#SBATCH «--tres-per-task»=cpu:1\n").refused);
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH --cpus-per-gpu=6 --mem 1G -n4\n##SBATCH --nosuch\n# --nosuch\n",
        );
        silent(&RULE, "true\n#SBATCH --nosuch\n");
        silent_in(&RULE, "24.05", "#SBATCH --tres-per-task=cpu:1\n");
    }

    #[test]
    fn fixes_slips() {
        fixes(
            &RULE,
            "#SBATCH --cpus-per-gpus=6\n",
            "#SBATCH --cpus-per-gpu=6\n",
        );
        fixes(&RULE, "#SBATCH --paritition x\n", "#SBATCH --partition x\n");
        fixes(
            &RULE,
            "#SBATCH --cpus_per_task=2\n",
            "#SBATCH --cpus-per-task=2\n",
        );
        fixes(&RULE, "#SBATCH --workdir=/x\n", "#SBATCH --chdir=/x\n");
    }
}
