//! Y107: more than a node of the partition has.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;
use model::{Given, MemoryRequest, Request, mebibytes_text};

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
    let sets = cluster.nodes_of(partition);
    let cpus = sets.iter().map(|set| set.nodes.cpus.as_ref());
    let memory = sets.iter().map(|set| set.nodes.memory.as_ref());
    let request = script.request();
    // A kind of node of which nothing is known may be large enough.
    let cpus = cpus.collect::<Option<Vec<_>>>().unwrap_or_default();
    if let Some(most) = cpus.into_iter().max_by_key(|cpus| cpus.value) {
        let each = request.cpus_per_task.unwrap_or(1);
        let asked = each.saturating_mul(request.tasks_per_node.unwrap_or(1).max(1));
        let keys = [Key::CpusPerTask, Key::TasksPerNode];
        let given = keys.into_iter().find_map(|key| script.last(key));
        let of_cpus = || Request {
            cpus_per_task: request.cpus_per_task,
            tasks_per_node: request.tasks_per_node,
            ..Request::default()
        };
        let too_many = |_: &&Given| site::no_node(input, partition, of_cpus()).is_some();
        if let Some(given) = given.filter(too_many) {
            let finding = script.finding(
                RULE.code,
                RULE.severity,
                given,
                format!(
                    "a node of partition {} has {} CPUs at most",
                    partition.name, most.value
                ),
                format!("{asked} CPUs on a node"),
            );
            let finding = site::resting_on(finding, most, "the nodes' CPUs");
            findings.push(site::of_known_nodes(finding, cluster));
        }
    }
    let memory = memory.collect::<Option<Vec<_>>>().unwrap_or_default();
    let of_memory = || Request {
        memory: request.memory,
        ..Request::default()
    };
    let too_much = |_: &&Given| site::no_node(input, partition, of_memory()).is_some();
    if let Some(most) = memory.into_iter().max_by_key(|memory| memory.value)
        && let Some(MemoryRequest::PerNode(asked)) = request.memory
        && let Some(given) = script.last(Key::Mem).filter(too_much)
    {
        let finding = script.finding(
            RULE.code,
            RULE.severity,
            given,
            format!(
                "a node of partition {} has {} of memory at most",
                partition.name, most.value
            ),
            format!("{} on a node", mebibytes_text(asked)),
        );
        let finding = site::resting_on(finding, most, "the nodes' memory");
        findings.push(site::of_known_nodes(finding, cluster));
    }
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
