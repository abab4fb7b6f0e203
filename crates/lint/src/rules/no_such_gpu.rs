//! Y103: GPUs that the partition doesn't have.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use cluster_file::GpuKind;
use model::option_table::Key;
use model::{GpuCount, Request};

/// Y103.
pub const RULE: Rule = Rule {
    code: "Y103",
    name: "no-such-gpu",
    severity: Severity::Error,
    summary: "no node of the partition has such GPUs, or so many of them",
    page: "A job waits for ever, or is refused with \"Requested node configuration is not available\", when
no node of its partition has GPUs of that type, or as many in one node.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --gres=gpu:a100:8
srun python train.py
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
    if partition.nodes.is_none() || cluster.nodes_of(partition).is_empty() {
        return;
    }
    let request = script.request();
    let asked: [(&Option<GpuCount>, &[Key], bool); 3] = [
        (&request.gpus_per_node, &[Key::GpusPerNode, Key::Gres], true),
        (&request.gpus, &[Key::Gpus], false),
        (&request.rare.gpus_per_task, &[Key::GpusPerTask], true),
    ];
    for (gpus, keys, of_a_node) in asked {
        let Some(gpus) = gpus.as_ref().filter(|gpus| gpus.count > 0) else {
            continue;
        };
        let Some(given) = keys.iter().find_map(|key| script.last(*key)) else {
            continue;
        };
        // Of GPUs of the whole job one is looked for: how many there are in all is another finding.
        let alone = Request {
            gpus_per_node: Some(GpuCount {
                kind: gpus.kind.clone(),
                count: if of_a_node { gpus.count } else { 1 },
            }),
            ..Request::default()
        };
        if site::no_node(input, partition, alone).is_none() {
            continue;
        }
        let kinds = cluster.gpus(Some(partition));
        // GPUs of which the file names neither type nor model may be those that are meant.
        let named = |kind: &&GpuKind<'_>| {
            let gpu = kind.gpu;
            let unnamed = gpu.kind.is_none() && gpu.model.is_none() && gpu.feature.is_none();
            let called = |name| unnamed || gpu.is_called(name);
            gpus.kind.as_deref().is_none_or(called)
        };
        let fitting: Vec<_> = kinds.iter().filter(named).collect();
        let name = gpus
            .kind
            .as_deref()
            .map_or(String::new(), |kind| format!("{kind} "));
        let most = fitting
            .iter()
            .filter_map(|kind| kind.gpu.count.as_ref())
            .max_by_key(|count| count.value);
        let finding = if fitting.is_empty() {
            let surely = |kind: &GpuKind<'_>| {
                let called = |name| kind.gpu.is_called(name);
                gpus.kind.as_deref().is_none_or(called)
            };
            let where_else: Vec<&str> = cluster
                .partitions
                .iter()
                .filter(|other| cluster.gpus(Some(other)).iter().any(surely))
                .map(|other| other.name.as_str())
                .collect();
            let finding = script.finding(
                RULE.code,
                RULE.severity,
                given,
                format!("partition {} has no {name}GPUs", partition.name),
                "",
            );
            if where_else.is_empty() {
                finding.help(format!("{} has none anywhere", cluster.name))
            } else {
                finding.help(format!("there are some in {}", where_else.join(", ")))
            }
        } else if let Some(most) = most.filter(|most| of_a_node && most.value < gpus.count) {
            let finding = script.finding(
                RULE.code,
                RULE.severity,
                given,
                format!(
                    "a node of partition {} has {} {name}GPUs at most",
                    partition.name, most.value
                ),
                format!("{} of one node", gpus.count),
            );
            site::resting_on(finding, most, "how many GPUs a node has")
        } else {
            continue;
        };
        let finding = match partition.nodes.as_ref() {
            Some(nodes) => {
                let what = format!("which nodes partition {} has", partition.name);
                site::resting_on(finding, nodes, &what)
            }
            None => finding,
        };
        findings.push(site::of_known_nodes(finding, cluster));
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, input_on, lint_on, silent};
    use resources::{Denial, Finding as Denied};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -p batch «--gres=gpu:v100:1»\n");
        assert_eq!(found.help.unwrap(), "there are some in gpu");
        assert_eq!(
            fires(&RULE, "#SBATCH -p gpu «--gpus=a100:1»\n")
                .help
                .unwrap(),
            "test has none anywhere"
        );
        fires(&RULE, "#SBATCH -p gpu «--gpus-per-node=8»\n");
        fires(&RULE, "#SBATCH «-G 2»\n");
    }

    #[test]
    fn a_file_that_knows_some_nodes_alone_makes_it_a_note() {
        let script = "#!/bin/sh\n#SBATCH --gres=gpu:h100:1\n";
        for name in ["satori", "ibex", "cedar"] {
            let found = lint_on(name, script);
            let found = found.iter().find(|one| one.code == RULE.code).unwrap();
            let cluster = cluster_file::find(name).unwrap().unwrap();
            let read = Script::read(&input_on(&cluster, script));
            // What plan is sure of is no note.
            let refusals = resources::findings(&cluster, read.request(), Some("ada"));
            let sure = |one: &Denied| one.denial == Denial::NodeConfig && !one.assumed;
            let want = if refusals.iter().any(sure) {
                Severity::Error
            } else {
                Severity::Note
            };
            assert_eq!(found.severity, want, "{name}");
        }
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -p gpu --gres=gpu:V100:4\n");
        silent(&RULE, "#SBATCH -p gpu --gpus=16\n");
        silent(&RULE, "#SBATCH -p nosuch --gpus=16\n");
        silent(&RULE, "#SBATCH -p batch --gres=gpu:0\n");
        // Of these GPUs the file names no type and no model.
        silent(&RULE, "#SBATCH -p unnamed --gres=gpu:a100:1\n");
    }
}
