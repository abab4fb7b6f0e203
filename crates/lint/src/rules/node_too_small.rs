//! Y107: more than a node of the partition has.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use cluster_file::{Named, Partition};
use model::option_table::Key;
use model::{Given, mebibytes_text};
use resources::Lack;

/// Y107.
pub const RULE: Rule = Rule {
    code: "Y107",
    name: "node-too-small",
    severity: Severity::Error,
    summary: "no node of the partition has so many CPUs or so much memory",
    page: "What is asked for a task, or for a node, must fit into one node. A job that fits into none is
refused (\"Requested node configuration is not available\") or waits for ever.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --cpus-per-task=64
srun hostname
```

Source: the cluster file.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let (Some(cluster), Some(partition)) = (input.cluster, site::partition(script, input)) else {
        return;
    };
    for lack in resources::lacks(cluster, partition, script.request(), input.user) {
        let finding = match lack {
            Lack::Cpus { asked, most } => {
                let keys = [Key::CpusPerTask, Key::TasksPerNode];
                let given = keys.into_iter().find_map(|key| script.last(key));
                let there = format!("{} CPUs", most.value);
                let asked = format!("{asked} CPUs on a node");
                let finding = given.map(|given| too_small(script, partition, given, &there, asked));
                finding.map(|finding| site::resting_on(finding, most, "the nodes' CPUs"))
            }
            Lack::Memory { asked, most } => {
                let given = script.last(Key::Mem);
                let there = format!("{} of memory", most.value);
                let asked = format!("{} on a node", mebibytes_text(asked));
                let finding = given.map(|given| too_small(script, partition, given, &there, asked));
                finding.map(|finding| site::resting_on(finding, most, "the nodes' memory"))
            }
            Lack::Gpus { .. } => None,
        };
        if let Some(finding) = finding {
            let finding = site::of_known_nodes(finding, cluster);
            findings.push(site::unless_held(finding, script));
        }
    }
}

fn too_small(
    script: &Script<'_>,
    partition: &Named<Partition>,
    given: &Given,
    there: &str,
    asked: String,
) -> Finding {
    let message = format!("a node of partition {} has {there} at most", partition.name);
    script.finding(RULE.code, RULE.severity, given, message, asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -p gpu «-c 64»\n");
        fires(&RULE, "#SBATCH -p gpu «-c 8» --ntasks-per-node=8\n");
        fires(&RULE, "#SBATCH -p batch «--mem=1T»\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -p gpu -c 8 --ntasks-per-node=4 --mem=380G\n",
        );
        silent(&RULE, "#SBATCH -p nosuch -c 64\n");
    }
}
