//! A machine for tests.

use model::NodeName;
use resources::{Cluster, SingleNode};
use std::sync::Arc;

/// One node of so many CPUs, with 1000 MiB for each.
pub(crate) fn machine(cpus: u32) -> Arc<Cluster> {
    Arc::new(Cluster::single(&SingleNode {
        host: &NodeName::new("box"),
        partition: "local",
        cpus,
        mem_mib: Some(u64::from(cpus) * 1000),
        gpus: Vec::new(),
    }))
}
