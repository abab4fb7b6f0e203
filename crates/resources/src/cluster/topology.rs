//! Switches, and which nodes are behind them.

use super::Cluster;
use super::NodeId;
use crate::NodeSet;
use cluster_file::ClusterFile;
use model::node_list;

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// 0 has nodes at it, each other one is above the highest of its switches.
    pub level: u32,
    /// All nodes behind it.
    pub nodes: NodeSet,
    /// The switches right below it.
    pub below: Vec<String>,
    /// `LinkSpeed`; 1 where it isn't said.
    pub link_speed: u32,
}

impl Cluster {
    /// The switches, low ones first, else in the order of the cluster file; empty where the network
    /// is not described.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The switches above a node from the top on, and the node, as `top.s1.n1`; and what these are, as
    /// `switch.switch.node`. None where the network is not described.
    #[must_use]
    pub fn topology_address(&self, node: NodeId) -> Option<(String, String)> {
        let top = self.switches.last()?.level;
        let (mut address, mut pattern) = (String::new(), String::new());
        for level in (0..=top).rev() {
            let above = self
                .switches
                .iter()
                .filter(|switch| switch.level == level && switch.nodes.contains(node));
            let names: Vec<&str> = above.map(|switch| switch.name.as_str()).collect();
            address.push_str(&format!("{}.", names.join(",")));
            pattern.push_str("switch.");
        }
        address.push_str(self.node_name(node).as_str());
        pattern.push_str("node");
        Some((address, pattern))
    }

    /// The switches of a file. One that is below itself, or above one that there isn't, is none.
    pub(super) fn take_switches(&mut self, file: &ClusterFile) {
        let expand = |list: &Option<cluster_file::Sourced<String>>| -> Vec<String> {
            let list = list.as_ref().map_or("", |list| list.value.as_str());
            let names = node_list::expand(list).unwrap_or_default();
            names.iter().map(ToString::to_string).collect()
        };
        let mut waiting: Vec<Switch> = Vec::new();
        let mut found: Vec<Switch> = Vec::new();
        for named in &file.switches {
            let nodes = named.nodes.as_ref().map(|nodes| self.listed(&nodes.value));
            let switch = Switch {
                name: named.name.clone(),
                level: 0,
                nodes: nodes.unwrap_or_default(),
                below: expand(&named.switches),
                link_speed: named.link_speed.as_ref().map_or(1, |speed| speed.value),
            };
            if switch.below.is_empty() {
                found.push(switch);
            } else {
                waiting.push(switch);
            }
        }
        // Each round finds the switches above those that are known.
        loop {
            let (mut ready, rest): (Vec<Switch>, Vec<Switch>) =
                waiting.into_iter().partition(|switch| {
                    let is_known = |name: &String| found.iter().any(|known| known.name == *name);
                    switch.below.iter().all(is_known)
                });
            if ready.is_empty() {
                break;
            }
            for switch in &mut ready {
                for known in found
                    .iter()
                    .filter(|known| switch.below.contains(&known.name))
                {
                    switch.level = switch.level.max(known.level + 1);
                    switch.nodes.add(&known.nodes);
                }
            }
            found.append(&mut ready);
            waiting = rest;
        }
        found.sort_by_key(|switch| switch.level);
        self.switches = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trust;

    /// As `srun env` printed it on a real Slurm 22.05.8 with this topology.conf.
    #[test]
    fn an_address_goes_from_the_top_to_the_node() {
        let check = |switches: &str, node: &str, want: Option<(&str, &str)>| {
            let text = format!("[nodes.n]\nnames = \"node[1-4]\"\ncpus = 2\n{switches}");
            let file = ClusterFile::parse("lab", &text).expect("it can be read");
            let cluster = Cluster::build(&file, Trust::All);
            let node = cluster
                .node(&model::NodeName::new(node))
                .expect("it is there");
            let want = want.map(|(address, pattern)| (address.to_owned(), pattern.to_owned()));
            assert_eq!(cluster.topology_address(node), want);
        };
        let tree = "[switch.s1]\nnodes = \"node[1-2]\"\n[switch.s2]\nnodes = \"node[3-4]\"\n\
                    [switch.top]\nswitches = \"s[1-2]\"\n";
        let pattern = "switch.switch.node";
        check(tree, "node1", Some(("top.s1.node1", pattern)));
        check(tree, "node3", Some(("top.s2.node3", pattern)));
        check("", "node1", None);
    }
}
