//! Nodes behind few switches: as Slurm's `topology/tree` takes them, else behind the lowest switch that
//! has enough of them, of such the one with the fewest; there whole leaves first, the one that is
//! just enough for the rest last.

use super::Attempt;
use crate::cluster::{NodeId, Switch};
use crate::compiled::Form;
use crate::{NodeSet, Share};
use std::cmp::Reverse;

impl Attempt<'_> {
    /// Takes of nodes that all could serve as many as are needed, behind as few switches as are asked.
    pub(super) fn behind_switches(
        &self,
        nodes: Vec<NodeId>,
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        let evaluated = self.evaluated(&nodes, required, groups);
        let shares = evaluated.or_else(|| self.by_switch(nodes, required, groups))?;
        let asked = self.compiled.demand.switches;
        let asked = asked.filter(|_| self.pick.few_switches);
        let is_few = asked.is_none_or(|asked| self.leaves_of(&shares) <= asked.count as usize);
        is_few.then_some(shares)
    }

    /// Takes them of the lowest switch that has enough.
    fn by_switch(
        &self,
        nodes: Vec<NodeId>,
        required: &[NodeId],
        groups: &[(NodeSet, u32)],
    ) -> Option<Vec<Share>> {
        let there = self.cluster.switches();
        let behind = |switch: &Switch| -> Vec<NodeId> {
            let own = nodes.iter().filter(|node| switch.nodes.contains(**node));
            own.copied().collect()
        };
        let least = self.least_nodes();
        let mut found: Vec<(&Switch, Vec<NodeId>)> = there
            .iter()
            .map(|switch| (switch, behind(switch)))
            .filter(|(_, own)| own.len() >= least && required.iter().all(|node| own.contains(node)))
            .collect();
        found.sort_by_key(|(switch, own)| (switch.level, own.len()));
        let of_switch = found.into_iter().find_map(|(switch, own)| {
            if switch.level == 0 {
                return self.sorted(own, required, groups);
            }
            self.in_order(self.by_leaves(&own), required, groups)
        });
        // Nodes that no switch has in common.
        of_switch.or_else(|| self.sorted(nodes, required, groups))
    }

    fn least_nodes(&self) -> usize {
        match self.compiled.form {
            Form::Alike { nodes, .. } => nodes as usize,
            Form::Spanning => 1,
        }
    }

    /// Nodes by their leaves.
    fn by_leaves(&self, nodes: &[NodeId]) -> Vec<NodeId> {
        let leaves = self.cluster.switches().iter();
        let leaves = leaves.filter(|switch| switch.level == 0);
        let mut groups: Vec<Vec<NodeId>> = leaves
            .map(|leaf| {
                let own = nodes.iter().filter(|node| leaf.nodes.contains(**node));
                own.copied().collect()
            })
            .filter(|own: &Vec<NodeId>| !own.is_empty())
            .collect();
        let (mut rest, mut taken) = (self.least_nodes(), Vec::with_capacity(nodes.len()));
        while !groups.is_empty() {
            let enough = (0..groups.len()).filter(|at| groups[*at].len() >= rest);
            let tightest = enough.min_by_key(|at| (groups[*at].len(), *at));
            let largest = || (0..groups.len()).min_by_key(|at| (Reverse(groups[*at].len()), *at));
            let Some(at) = tightest.filter(|_| rest > 0).or_else(largest) else {
                break;
            };
            let mut group = groups.remove(at);
            self.sort(&mut group);
            rest = rest.saturating_sub(group.len());
            taken.extend(group);
        }
        let mut seen = NodeSet::default();
        taken.retain(|node| {
            let is_new = !seen.contains(*node);
            seen.insert(*node);
            is_new
        });
        taken
    }

    /// How many leaves the shares are behind.
    fn leaves_of(&self, shares: &[Share]) -> usize {
        let leaves = self.cluster.switches().iter();
        let leaves = leaves.filter(|switch| switch.level == 0);
        let has_one = |leaf: &&Switch| shares.iter().any(|share| leaf.nodes.contains(share.node));
        leaves.filter(has_one).count()
    }
}
