//! What jobs find of the switches above their nodes.

use super::Owner;
use model::{NodeName, Variables};

/// Where a node is, from the top switch to the node.
const ADDRESS: &str = "SLURM_TOPOLOGY_ADDR";
/// What each part of that is.
const PATTERN: &str = "SLURM_TOPOLOGY_ADDR_PATTERN";

impl Owner {
    /// Puts a node's place in the network in place of its name, where the cluster has switches.
    pub(super) fn tell_topology(&self, node: &NodeName, variables: &mut Variables) {
        let cluster = self.state.cluster();
        let address = cluster
            .node(node)
            .and_then(|node| cluster.topology_address(node));
        let Some((address, pattern)) = address else {
            return;
        };
        variables.retain(|(name, _)| name != ADDRESS && name != PATTERN);
        variables.push((ADDRESS.to_owned(), address));
        variables.push((PATTERN.to_owned(), pattern));
    }
}
