//! Y101: more time than the partition or the QOS allows.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;
use resources::Fate;

/// Y101.
pub const RULE: Rule = Rule {
    code: "Y101",
    name: "time-over-limit",
    severity: Severity::Error,
    summary: "more time than the partition or the QOS allows",
    page: "A job that asks for more time than its partition's MaxTime or its QOS's MaxWall is refused, or
waits for ever with PartitionTimeLimit or QOSMaxWallDurationPerJobLimit. Where the cluster file only
assumes the limit this is a note.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --time=2-00:00:00
srun python train.py
```

Source: the cluster file; slurm.conf's MaxTime and EnforcePartLimits.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let (Some(cluster), Some(given)) = (input.cluster, script.last(Key::Time)) else {
        return;
    };
    let verdict = resources::verdict(cluster, script.request(), input.user);
    let Some(over) = verdict.time_limit(script.request()) else {
        return;
    };
    // Of a disputed limit the longest is taken: only what is over all of them is over.
    let (Some(most), Some(key)) = (over.most_said, over.at.key()) else {
        return;
    };
    let really = match &over.fate {
        Fate::Cut => "the job is started, and ended at that limit".to_owned(),
        Fate::WaitsOnceReleased(reason) => site::once_released(reason),
        Fate::Refused | Fate::Waits(_) => "the job is refused, or waits for ever".to_owned(),
    };
    let table = key.rsplit_once('.').map_or(&*key, |(table, _)| table);
    let allows = format!("{} allows {}", table.replacen('.', " ", 1), length(most));
    let mut finding = script
        .finding(
            RULE.code,
            RULE.severity,
            given,
            allows,
            "more time than that",
        )
        .really(really);
    if matches!(over.fate, Fate::Cut | Fate::WaitsOnceReleased(_)) {
        finding.severity = Severity::Warning;
    }
    findings.push(site::doubted(finding, over.doubt, "this limit"));
}

/// As Slurm writes it: `1-12:00:00`.
fn length(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    match days {
        0 => clock,
        days => format!("{days}-{clock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -p gpu «--time=13:00:00»\n");
        assert_eq!(found.message, "partition gpu allows 12:00:00");
        assert_eq!(
            fires(&RULE, "#SBATCH «-t 2-0» -q short\n").message,
            "qos short allows 01:00:00"
        );
        assert_eq!(
            fires(&RULE, "#SBATCH «-t UNLIMITED»\n").message,
            "partition batch allows 1-00:00:00"
        );
        let of_two = fires(&RULE, "#SBATCH -p gpu,batch «-t 2-0»\n");
        assert_eq!(of_two.message, "partition gpu allows 12:00:00");
        assert_eq!(
            fires(&RULE, "#SBATCH -p long «-t 3-0»\n").severity,
            Severity::Note
        );
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -p gpu -t 12:00:00\n");
        silent(&RULE, "#SBATCH -p nosuch -t 12-0\n");
        silent(&RULE, "#SBATCH -p gpu\n");
    }
}
