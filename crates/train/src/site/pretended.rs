//! A cluster that the embedded engine pretends: nodes and limits are the file's, disks and programs
//! are this machine's.

use crate::{Plan, Source};
use model::{ClusterFacts, ContainerFacts};

/// Replaces what a job finds on a node by what this machine has. `engine` is what the engine says of
/// itself.
pub(super) fn adapt(facts: &mut ClusterFacts, engine: &ClusterFacts) {
    facts.node_local.clone_from(&engine.node_local);
    facts.time_granularity = engine.time_granularity;
    let here = &engine.containers.runtimes;
    let own = &facts.containers.runtimes;
    let of_both = own.iter().filter(|runtime| here.contains(runtime));
    let others = here.iter().filter(|runtime| !own.contains(runtime));
    facts.containers = ContainerFacts {
        runtimes: of_both.chain(others).copied().collect(),
        ..ContainerFacts::default()
    };
}

/// What differs from the cluster itself. `own` is what is known of that one, `engine` of what stands in for it.
pub(super) fn mark(plan: &mut Plan, own: &ClusterFacts, engine: &ClusterFacts) {
    plan.embedded = true;
    if engine.nodes_share_disk && plan.nodes.value > 1 {
        plan.notes.push(format!(
            "the pretended nodes of {} share this machine's disk, since no namespaces can be made here: files of one name \
             that two nodes write to {{checkpoints}}, {{data}} or /tmp are one file (yard engine status {})",
            plan.cluster, plan.cluster
        ));
    }
    let container = plan.environment.container.as_ref();
    if let (Some(container), Some(there)) = (container, own.containers.runtimes.first())
        && container.runtime.value != *there
        && matches!(container.runtime.source, Source::Cluster { .. })
    {
        plan.notes.push(format!(
            "{} runs containers with {there}; on this machine {} runs them",
            plan.cluster, container.runtime.value
        ));
    }
}
