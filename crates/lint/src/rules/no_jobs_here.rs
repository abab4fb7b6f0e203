//! Y105: a folder in which jobs can't run.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use cluster_file::{ClusterFile, Sourced};
use model::option_table::Key;
use std::path::Path;

/// Y105.
pub const RULE: Rule = Rule {
    code: "Y105",
    name: "no-jobs-here",
    severity: Severity::Error,
    summary: "jobs cannot run in the folder of this one, or write its output there",
    page: "A job starts in the folder from which it was submitted, or in that of --chdir. Where the nodes
don't see that folder, or may not write there, the job fails as it starts, without a log. Submit
from a folder that the nodes see, or give --chdir. Files of --output and --error are no better off
there.

```
#!/bin/bash
#SBATCH --chdir=/nashome/a/ada
srun hostname
```

Source: the cluster file's paths.no_jobs.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let Some(cluster) = input.cluster else { return };
    let start = &script.request().chdir;
    let Some(folders) = cluster.paths.no_jobs.as_ref() else {
        return;
    };
    let Some(folder) = cluster.no_jobs_in(start, input.user) else {
        outputs(script, cluster, folders, input.user, findings);
        return;
    };
    let message = format!("jobs can't run in {}", start.display());
    let finding = match script.last(Key::Chdir) {
        Some(given) => script.finding(RULE.code, RULE.severity, given, message, ""),
        None => Finding::new(RULE.code, RULE.severity, message),
    };
    let finding = finding
        .really(format!("nodes don't see {folder}, or can't write there"))
        .help("submit from another folder, or give --chdir");
    findings.push(site::resting_on(finding, folders, "where no jobs run"));
}

/// Output files in such a folder: nodes open them.
fn outputs(
    script: &Script<'_>,
    cluster: &ClusterFile,
    folders: &Sourced<Vec<String>>,
    user: Option<&str>,
    findings: &mut Found,
) {
    for key in [Key::Output, Key::Error] {
        let Some(given) = script.last(key) else {
            continue;
        };
        let path = Path::new(given.value.as_deref().unwrap_or_default());
        let Some(folder) = cluster.no_jobs_in(path, user) else {
            continue;
        };
        let finding = script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                format!("--{} lies in {folder}", given.option.long),
                "no node can write it: the job fails as it starts",
            )
            .really(format!("nodes don't see {folder}, or can't write there"))
            .help("name a folder that the nodes see");
        findings.push(site::resting_on(finding, folders, "where no jobs run"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, fires, fires_with, silent, silent_with};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «-D /nashome/ada»\n");
        let setup = Setup {
            cluster: true,
            cwd: "/nashome/ada",
            ..Setup::PLAIN
        };
        fires(&RULE, "#SBATCH «-o /nashome/ada/%j.out» -e /home/ada/e\n");
        assert_eq!(fires_with(&RULE, setup, "#SBATCH -n 1\n").labels, []);
    }

    #[test]
    fn says_nothing() {
        let setup = Setup {
            cluster: true,
            cwd: "/nashome/ada",
            ..Setup::PLAIN
        };
        silent_with(&RULE, setup, "#SBATCH -D /work1/x\n");
        silent(&RULE, "#SBATCH -D /nashomes\n");
        silent(&RULE, "#SBATCH -n 1 -o /nashomes/x\n");
    }
}
