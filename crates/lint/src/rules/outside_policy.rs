//! Y104: CPUs or memory for a GPU outside of what the site wants.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, LintInput, Severity};
use model::cluster::{Bounds, Mib, Named, PolicyOfGpu, Sourced};
use model::option_table::Key;
use model::{Given, MemoryRequest, mebibytes_text};

/// Y104.
pub const RULE: Rule = Rule {
    code: "Y104",
    name: "outside-policy",
    severity: Severity::Warning,
    summary: "CPUs or memory for each GPU outside of the site's policy",
    page: "A node's CPUs and memory are shared by those who use its GPUs. A job that takes more of them
than its GPUs' part leaves GPUs that nobody can use; one that takes less waits for its own data. The
policy is what the site's documents ask for. Where GPUs have no type and are told apart by features
of their nodes, a job without --constraint gets any of them.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --gpus=1
#SBATCH --cpus-per-gpu=32
srun python train.py
```

Source: the cluster file's [policy].",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Vec<Finding>) {
    let Some(cluster) = input.cluster else {
        return;
    };
    let request = script.request();
    let kind = [
        &request.gpus_per_node,
        &request.gpus,
        &request.gpus_per_task,
    ]
    .into_iter()
    .flatten()
    .find_map(|gpus| gpus.kind.clone());
    let words = words(script);
    let asked = |policy: &&Named<PolicyOfGpu>| match &kind {
        Some(kind) => policy.name.eq_ignore_ascii_case(kind),
        None => words
            .iter()
            .any(|word| policy.name.eq_ignore_ascii_case(word)),
    };
    let of_kind = cluster.policy.gpus.iter().find(asked);
    if kind.is_none() {
        findings.extend(any_gpu(script, input, &words));
    }
    let cpus = of_kind.and_then(|policy| policy.cpus_per_gpu.as_ref());
    let cpus = cpus.or(cluster.policy.cpus_per_gpu.as_ref());
    if let (Some(bounds), Some((given, each))) = (cpus, cpus_of_a_gpu(script)) {
        let text = |cpus: u32| format!("{cpus} CPUs");
        outside(
            script,
            cluster.name.as_str(),
            bounds,
            given,
            each,
            text,
            findings,
        );
    }
    let memory = of_kind.and_then(|policy| policy.memory_per_gpu.as_ref());
    let memory = memory.or(cluster.policy.memory_per_gpu.as_ref());
    if let (Some(bounds), Some((given, each))) = (memory, memory_of_a_gpu(script)) {
        let text = |memory: Mib| mebibytes_text(memory.0);
        outside(
            script,
            cluster.name.as_str(),
            bounds,
            given,
            Mib(each),
            text,
            findings,
        );
    }
}

/// The features that `--constraint` names.
fn words<'s>(script: &'s Script<'_>) -> Vec<&'s str> {
    let value = script.value(Key::Constraint).unwrap_or_default();
    let words = value.split(['&', '|', ',', '[', ']', '(', ')']);
    let words = words.map(|word| word.split('*').next().unwrap_or(word).trim());
    words.filter(|word| !word.is_empty()).collect()
}

/// GPUs without a word of which, where the site tells them apart by features: any kind may come.
fn any_gpu(script: &Script<'_>, input: &LintInput<'_>, words: &[&str]) -> Option<Finding> {
    let cluster = input.cluster?;
    let request = script.request();
    let counts = [
        &request.gpus,
        &request.gpus_per_node,
        &request.gpus_per_task,
    ];
    if !counts.into_iter().flatten().any(|gpus| gpus.count > 0) {
        return None;
    }
    let keys = [Key::Gpus, Key::GpusPerNode, Key::Gres, Key::GpusPerTask];
    let given = keys.into_iter().find_map(|key| script.last(key))?;
    let kinds = cluster.gpus(site::partition(script, input).map(|partition| &partition.body));
    if kinds.iter().any(|kind| kind.gpu.kind.is_some()) {
        return None;
    }
    let features: Vec<&Sourced<String>> = kinds
        .iter()
        .filter_map(|kind| kind.gpu.feature.as_ref())
        .collect();
    let first = features.first()?;
    if features
        .iter()
        .any(|feature| words.contains(&feature.as_str()))
    {
        return None;
    }
    let mut names: Vec<&str> = features.iter().map(|feature| feature.as_str()).collect();
    names.dedup();
    let finding = script
        .finding(
            RULE.code,
            Severity::Note,
            given,
            format!(
                "GPUs of any kind: {} tells them apart by --constraint",
                cluster.name
            ),
            "no word of which",
        )
        .help(format!(
            "such as --constraint={}",
            names.join(" or --constraint=")
        ));
    Some(site::resting_on(finding, first))
}

fn outside<T: PartialOrd + Copy + PartialEq + std::fmt::Display>(
    script: &Script<'_>,
    cluster: &str,
    bounds: &Sourced<Bounds<T>>,
    given: &Given,
    each: T,
    text: impl Fn(T) -> String,
    findings: &mut Vec<Finding>,
) {
    if bounds.all().any(|bounds| bounds.holds(&each)) {
        return;
    }
    let way = if each > bounds.most { "more" } else { "less" };
    let finding = script.finding(
        RULE.code,
        RULE.severity,
        given,
        format!("{} for each GPU: {way} than {cluster} wants", text(each)),
        format!("the policy is {}", bounds.value),
    );
    findings.push(site::resting_on(finding, bounds));
}

fn gpus_of_a_node(script: &Script<'_>) -> Option<u32> {
    let request = script.request();
    let per_node = request.gpus_per_node.as_ref().map(|gpus| gpus.count);
    let one_node = request.min_nodes == Some(1) && request.max_nodes == Some(1);
    let all = request
        .gpus
        .as_ref()
        .filter(|_| one_node)
        .map(|gpus| gpus.count);
    per_node.or(all).filter(|count| *count > 0)
}

fn cpus_of_a_gpu<'s>(script: &'s Script<'_>) -> Option<(&'s Given, u32)> {
    let request = script.request();
    if let Some(cpus) = request.cpus_per_gpu {
        return Some((script.last(Key::CpusPerGpu)?, cpus));
    }
    let given = script.last(Key::CpusPerTask)?;
    let cpus = request.cpus_per_task?;
    let gpus = gpus_of_a_node(script)?;
    let tasks = request.tasks_per_node.unwrap_or(1).max(1);
    Some((given, cpus.saturating_mul(tasks) / gpus))
}

fn memory_of_a_gpu<'s>(script: &'s Script<'_>) -> Option<(&'s Given, u64)> {
    match script.request().memory? {
        MemoryRequest::PerGpu(memory) => Some((script.last(Key::MemPerGpu)?, memory)),
        // All of a node's is said with other words.
        MemoryRequest::PerNode(0) | MemoryRequest::PerCpu(_) => None,
        MemoryRequest::PerNode(memory) => Some((
            script.last(Key::Mem)?,
            memory / u64::from(gpus_of_a_node(script)?),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, lint_on, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -p gpu --gpus=1 «--cpus-per-gpu=32»\n");
        assert_eq!(found.message, "32 CPUs for each GPU: more than test wants");
        fires(&RULE, "#SBATCH -p gpu --gres=gpu:4 «--mem=64G»\n");
        fires(&RULE, "#SBATCH -p gpu --gres=gpu:2 «-c 2»\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -p gpu --gpus=1 --cpus-per-gpu=6 --mem-per-gpu=90G\n",
        );
        silent(&RULE, "#SBATCH -p gpu --gres=gpu:2 -c 10\n");
        silent(&RULE, "#SBATCH -p batch -c 32 --mem=1G\n");
        silent(&RULE, "#SBATCH -p plain --gpus=1 -C any\n");
    }

    #[test]
    fn the_policy_of_a_gpu_among_other_features() {
        let script = "#!/bin/sh\n#SBATCH --gpus=1 --cpus-per-gpu=32\n\
            #SBATCH -C v100&cpu_intel_gold_6142\n";
        let found = lint_on("ibex", script);
        let found = found.iter().find(|one| one.code == RULE.code).unwrap();
        assert_eq!(found.message, "32 CPUs for each GPU: more than ibex wants");
        let found = lint_on("ibex", "#!/bin/sh\n#SBATCH --gpus=1\n");
        let found = found.iter().find(|one| one.code == RULE.code).unwrap();
        assert_eq!(found.help.as_deref(), Some("such as --constraint=v100"));
    }

    #[test]
    fn gpus_that_only_a_constraint_tells_apart() {
        let found = fires(&RULE, "#SBATCH -p plain «--gpus=2»\n");
        assert_eq!(found.help.as_deref(), Some("such as --constraint=any"));
        assert_eq!(found.severity, Severity::Note);
    }
}
