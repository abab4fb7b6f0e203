//! Whether the machine of an embedded engine takes a job: what the engine itself looks at, so that both say the same.

use super::{Finding, beyond_default_array, never_on_one, no_licence};
use crate::{Cluster, NodeId, SingleNode};
use cluster_file::ClusterFile;
use model::{NodeName, Request};

/// What stands against a job on a machine that is called `host`, of which the file says the rest.
pub(super) fn findings(file: &ClusterFile, host: &str, request: &Request) -> Vec<Finding> {
    // An engine of one's own has Slurm's own bound on arrays, and no licences.
    let refused = beyond_default_array(request).or_else(|| no_licence(&[], request));
    let never = || never_on_one(&cluster(file, host), NodeId(0), request).map(|found| *found);
    refused.or_else(never).into_iter().collect()
}

/// The machine as the engine has it.
fn cluster(file: &ClusterFile, host: &str) -> Cluster {
    let node = file.nodes.first();
    let value = |of: fn(&cluster_file::Nodes) -> Option<u64>| node.and_then(|node| of(node));
    let gpus = node.into_iter().flat_map(|node| &node.gpus);
    let products = gpus.flat_map(|gpu| {
        let product = gpu.kind.as_ref().map_or("", |kind| kind.value.as_str());
        let count = gpu.count.as_ref().map_or(0, |count| count.value);
        std::iter::repeat_n(product, count as usize)
    });
    Cluster::single(&SingleNode {
        host: &NodeName::new(host),
        partition: file.default_partition().map_or("", |own| &own.name),
        cpus: value(|node| Some(node.cpus.as_ref()?.value.into()))
            .map_or(u32::MAX, |cpus| u32::try_from(cpus).unwrap_or(u32::MAX)),
        mem_mib: value(|node| Some(node.memory.as_ref()?.value.0)),
        gpus: (0..).zip(products).collect(),
    })
}
