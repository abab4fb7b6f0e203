//! Y031: a folder for output that isn't there.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{FolderFact, Found, LintInput, Severity};
use model::SlurmVersion;
use model::option_table::Key;
use std::borrow::Cow;
use std::path::Path;

/// Y031.
pub const RULE: Rule = Rule {
    code: "Y031",
    name: "output-folder",
    severity: Severity::Warning,
    summary: "the folder of an output file is not there",
    page: "Before Slurm 23.02 nothing makes the folder of --output or --error: the job fails as it starts,
with exit code 0:53 and without a log to say why. A mkdir in the script comes too late. Codes in the
folder (%x, %u) are filled in at the start. From 23.02 on the folder is made.

```
#!/bin/bash
#SBATCH --job-name=train
#SBATCH --output=missing/%x/slurm-%j.out
srun python train.py
```

Source: slurmstepd's fname.c and 23.02's release notes; measured with 22.05.8.",
    holds: Holds::Between(SlurmVersion::V22_05, Some(SlurmVersion::V23_02)),
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let mut seen: Option<String> = None;
    for key in [Key::Output, Key::Error] {
        let Some(given) = script.last(key) else {
            continue;
        };
        let value = given.value.as_deref().unwrap_or_default();
        // What is wrong with the name itself is said elsewhere.
        if super::shell_variable::is_one(given)
            || super::placeholder::is_one(given)
            || value.starts_with('~')
        {
            continue;
        }
        let Some((folder, _)) = value
            .rsplit_once('/')
            .filter(|(folder, _)| !folder.is_empty())
        else {
            continue;
        };
        let filled = folder
            .replace("%x", &request.name)
            .replace("%u", input.user.unwrap_or("%u"));
        if seen.as_ref() == Some(&filled) {
            continue;
        }
        let of_its_own = is_of_a_job(&filled);
        // Folders of tasks and nodes may all have been made before.
        if filled.contains('%') && !of_its_own {
            continue;
        }
        let fact = if of_its_own {
            FolderFact::Missing
        } else {
            (input.folders)(&clean(&request.chdir.join(&filled)))
        };
        if fact != FolderFact::Missing {
            continue;
        }
        let message = if of_its_own {
            format!(
                "the output folder {} is another one for each job",
                short(folder)
            )
        } else {
            format!("output folder {} does not exist", short(&filled))
        };
        let label = match script.version {
            Some(version) => format!("on Slurm {version} the job fails without a log"),
            None => "before Slurm 23.02 the job fails without a log".to_owned(),
        };
        let mut finding = script.finding(RULE.code, RULE.severity, given, message, label);
        let name = folder
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or(folder);
        let makes = script.shell.commands.iter().find(|command| {
            command.name() == "mkdir"
                && command
                    .words
                    .iter()
                    .any(|word| word.text.trim_end_matches('/').ends_with(name))
        });
        if let Some(makes) = makes {
            let range = makes.range.start
                ..script
                    .lines
                    .range(script.lines.number(makes.range.start))
                    .end
                    .min(makes.range.end);
            finding = finding.at(
                range,
                "too late: the file is opened before the script starts",
            );
        }
        finding = if of_its_own {
            finding.help("put the codes into the file's name")
        } else {
            finding.help(format!(
                "mkdir -p {}, before it is submitted",
                short(&filled)
            ))
        };
        seen = Some(filled);
        findings.push(finding);
    }
}

/// Whether a name has the job's number in it, which is not known before: %j, %J, %A.
fn is_of_a_job(name: &str) -> bool {
    name.split('%').skip(1).any(|rest| {
        let code = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        code.starts_with(['j', 'J', 'A'])
    })
}

/// The end of a long path.
fn short(path: &str) -> Cow<'_, str> {
    const MOST: usize = 50;
    let count = path.chars().count();
    let from = path.char_indices().nth(count.saturating_sub(MOST));
    match from {
        Some((from, _)) if count > MOST => format!("…{}", &path[from..]).into(),
        _ => path.into(),
    }
}

/// Without `.` and with `..` taken back, as far as the text tells.
fn clean(path: &Path) -> std::path::PathBuf {
    let mut clean = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fires_in, silent, silent_in};

    #[test]
    fn speaks() {
        let found = fires_in(&RULE, "22.05", "#SBATCH -J a «-o missing/%x/%j.out»\n");
        assert_eq!(found.message, "output folder missing/a does not exist");
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(
            fires(&RULE, "#SBATCH «-o missing/o» -e missing/e\n").severity,
            Severity::Note
        );
        let found = fires(&RULE, "#SBATCH «-o missing/o»\nmkdir -p missing\n");
        assert_eq!(found.labels.len(), 2);
        fires(&RULE, "#SBATCH «-o logs/%j/out»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -o logs/%x.out -e %j.err\n");
        silent(&RULE, "#SBATCH -o missing.out -J x\n");
        silent_in(&RULE, "23.11", "#SBATCH -o missing/%j.out\n");
        silent(&RULE, "#SBATCH -o missing/$X.out\n");
        silent(&RULE, "#SBATCH --array=23 -o missing/%a/%N/out\n");
    }
}
