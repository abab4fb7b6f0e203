//! Y100: a partition that the cluster doesn't have.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, LintInput, Severity};
use model::nearest;
use model::option_table::Key;

/// Y100.
pub const RULE: Rule = Rule {
    code: "Y100",
    name: "unknown-partition",
    severity: Severity::Error,
    summary: "the cluster has no such partition",
    page: "slurmctld refuses a job for a partition that is not there (\"invalid partition specified\").

```
#!/bin/bash
#SBATCH --partition=gpus
srun hostname
```

Source: the cluster file.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Vec<Finding>) {
    let (Some(cluster), Some(given)) = (input.cluster, script.last(Key::Partition)) else {
        return;
    };
    if cluster.partitions.is_empty() {
        return;
    }
    let value = given.value.as_deref().unwrap_or_default();
    let known = || {
        cluster
            .partitions
            .iter()
            .map(|partition| partition.name.as_str())
    };
    let missing = value
        .split(',')
        .find(|name| !name.is_empty() && cluster.partition(name).is_none());
    let Some(missing) = missing else {
        return;
    };
    let all: Vec<&str> = known().collect();
    let label = match nearest(missing, known()) {
        Some(near) => format!("did you mean {near}?"),
        None => String::new(),
    };
    findings.push(
        script
            .finding(
                RULE.code,
                RULE.severity,
                given,
                format!("{} has no partition {missing}", cluster.name),
                label,
            )
            .help(format!("there is {}", all.join(", "))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, fires, silent, silent_with};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «-p gpus»\n").labels[0].text,
            "did you mean gpu?"
        );
        fires(&RULE, "#SBATCH «--partition=gpu,nosuch»\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -p gpu,batch\n");
        silent(&RULE, "#SBATCH -n 1\n");
        silent_with(&RULE, Setup::PLAIN, "#SBATCH -p nosuch\n");
    }
}
