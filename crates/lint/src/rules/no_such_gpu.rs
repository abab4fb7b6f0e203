//! Y103: GPUs that the partition doesn't have.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use resources::{GpuLack, Lack};

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
    let lacks = resources::lacks(cluster, partition, script.request(), input.user);
    let first = lacks.into_iter().find_map(|lack| match lack {
        Lack::Gpus { keys, asked, there } => {
            let given = keys.iter().find_map(|key| script.last(*key))?;
            Some((given, asked, there))
        }
        Lack::Cpus { .. } | Lack::Memory { .. } => None,
    });
    let Some((given, asked, there)) = first else {
        return;
    };
    let kind = asked.kind.as_deref();
    let name = kind.map_or(String::new(), |kind| format!("{kind} "));
    let finding = |message: String, label: String| {
        script.finding(RULE.code, RULE.severity, given, message, label)
    };
    let finding = match there {
        GpuLack::None { elsewhere } => {
            let message = format!("partition {} has no {name}GPUs", partition.name);
            finding(message, String::new()).help(if elsewhere.is_empty() {
                format!("{} has none anywhere", cluster.name)
            } else {
                format!("there are some in {}", elsewhere.join(", "))
            })
        }
        GpuLack::Fewer { most } => {
            let message = format!(
                "a node of partition {} has {} {name}GPUs at most",
                partition.name, most.value
            );
            let finding = finding(message, format!("{} of one node", asked.count));
            site::resting_on(finding, most, "how many GPUs a node has")
        }
    };
    let finding = match partition.nodes.as_ref() {
        Some(nodes) => {
            let what = format!("which nodes partition {} has", partition.name);
            site::resting_on(finding, nodes, &what)
        }
        None => finding,
    };
    let finding = site::of_known_nodes(finding, cluster);
    findings.push(site::unless_held(finding, script));
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
