//! Switches, and which nodes are behind them.

use super::Cluster;
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
