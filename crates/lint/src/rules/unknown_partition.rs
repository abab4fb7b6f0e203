//! Y100: a partition that the cluster doesn't have.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::nearest;
use model::option_table::Key;
use resources::Denial;

/// Y100.
pub const RULE: Rule = Rule {
    code: "Y100",
    name: "unknown-partition",
    severity: Severity::Error,
    summary: "the cluster has no such partition",
    page: "slurmctld refuses a job for a partition that is not there (\"invalid partition specified\").
Where the cluster file has only some of the partitions ([lists], or nodes that are assumed) it is a
note.

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

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
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
    let Some(refusal) = site::refusal(script, input, Denial::Partition, Key::Partition) else {
        return;
    };
    let message = if refusal.assumed {
        format!(
            "{} is not known to have a partition {missing}",
            cluster.name
        )
    } else {
        format!("{} has no partition {missing}", cluster.name)
    };
    let finding = script
        .finding(RULE.code, RULE.severity, given, message, label)
        .help(format!("there is {}", all.join(", ")));
    findings.push(site::as_sure_as(finding, &refusal, "partitions"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, fires, lint_on, silent, silent_with};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(&RULE, "#SBATCH «-p gpus»\n").labels[0].text,
            "did you mean gpu?"
        );
        fires(&RULE, "#SBATCH «--partition=gpu,nosuch»\n");
    }

    #[test]
    fn a_file_that_knows_some_partitions_alone_makes_it_a_note() {
        let found = lint_on("satori", "#!/bin/sh\n#SBATCH -p nosuch\n");
        let found = found.iter().find(|one| one.code == RULE.code).unwrap();
        assert_eq!(found.severity, Severity::Note);
        assert_eq!(
            found.really.as_deref(),
            Some("the cluster file need not know all partitions")
        );
        let found = lint_on("wilson", "#!/bin/sh\n#SBATCH -p nosuch\n");
        let found = found.iter().find(|one| one.code == RULE.code).unwrap();
        assert_eq!(found.severity, Severity::Error);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -p gpu,batch\n");
        silent(&RULE, "#SBATCH -n 1\n");
        silent_with(&RULE, Setup::PLAIN, "#SBATCH -p nosuch\n");
    }
}
