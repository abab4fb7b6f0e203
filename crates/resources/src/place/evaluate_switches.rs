//! Which nodes Slurm takes where the network is described: of the lowest weights, leaf by leaf, the one
//! that fits best first (`_eval_nodes_topo` of its `select/cons_tres`).

use super::Attempt;
use super::evaluate::{Chosen, Rest, Usable};
use crate::cluster::Switch;

/// The switches, and what of the nodes that come into question is behind each.
struct Tree<'a> {
    switches: &'a [Switch],
    /// The switch above each.
    above: Vec<Option<usize>>,
    nodes: Vec<usize>,
    /// From the switches that are used already; none where there is no way.
    distance: Vec<Option<usize>>,
}

impl<'a> Tree<'a> {
    fn of(switches: &'a [Switch], usable: &[&Usable]) -> Tree<'a> {
        let above = |switch: &Switch| {
            switches
                .iter()
                .position(|it| it.below.contains(&switch.name))
        };
        let nodes = |switch: &Switch| usable.iter().filter(|one| is_behind(switch, one)).count();
        Tree {
            switches,
            above: switches.iter().map(above).collect(),
            nodes: switches.iter().map(nodes).collect(),
            distance: vec![Some(0); switches.len()],
        }
    }

    /// A switch and those above it.
    fn path(&self, at: usize) -> Vec<usize> {
        let path = std::iter::successors(Some(at), |at| self.above[*at]);
        path.take(self.switches.len()).collect()
    }

    fn uses(&mut self, used: usize) {
        let own = self.path(used);
        for at in 0..self.switches.len() {
            let other = self.path(at);
            let joint = other.iter().enumerate();
            let mut joint = joint.filter_map(|(up, switch)| {
                let down = own.iter().position(|own| own == switch)?;
                Some(up + down)
            });
            let way = joint.next();
            self.distance[at] = self.distance[at].zip(way).map(|(sum, way)| sum + way);
        }
    }

    /// Whether a leaf fits better than another where so many nodes are still needed.
    fn fits_better(&self, mut one: usize, mut other: usize, needed: i64) -> std::cmp::Ordering {
        let fits = |at: usize| i64::try_from(self.nodes[at]).is_ok_and(|nodes| nodes >= needed);
        loop {
            match (fits(one), fits(other)) {
                (true, true) if self.nodes[one] != self.nodes[other] => {
                    return self.nodes[other].cmp(&self.nodes[one]);
                }
                (true, false) => return std::cmp::Ordering::Greater,
                (false, true) => return std::cmp::Ordering::Less,
                (false, false) => match (self.above[one], self.above[other]) {
                    (Some(next), Some(of_other)) if next != of_other => {
                        (one, other) = (next, of_other);
                        continue;
                    }
                    _ => {}
                },
                (true, true) => {}
            }
            let levels = self.switches[other].level.cmp(&self.switches[one].level);
            return self.nodes[one].cmp(&self.nodes[other]).then(levels);
        }
    }

    /// The leaf that is next.
    fn next_leaf(&self, is_used: &[bool], needed: i64) -> Option<usize> {
        let leaves = (0..self.switches.len()).filter(|at| {
            let is_leaf = self.switches[*at].level == 0;
            is_leaf && !is_used[*at] && self.nodes[*at] > 0 && self.distance[*at].is_some()
        });
        leaves.reduce(|best, at| {
            let fit = self.fits_better(at, best, needed);
            let is_better = (self.distance[at] < self.distance[best] && fit.is_ge())
                || (self.distance[at] == self.distance[best] && fit.is_gt());
            if is_better { at } else { best }
        })
    }
}

fn is_behind(switch: &Switch, one: &Usable) -> bool {
    switch.nodes.contains(one.node)
}

impl Attempt<'_> {
    /// The nodes that Slurm takes behind few switches.
    pub(super) fn chosen_behind_switches(
        &self,
        usable: &[Usable],
        mut rest: Rest,
    ) -> Option<Chosen> {
        let switches = self.cluster.switches();
        let mut chosen = Chosen::new();
        let required: Vec<&Usable> = usable.iter().filter(|one| one.is_required).collect();
        let top = top_switch(switches, usable, &required, &rest)?;
        for one in &required {
            self.take(one, &mut rest, &mut chosen);
        }
        if !required.is_empty() && rest.is_met() {
            return Some(chosen);
        }
        if rest.most_nodes <= 0 {
            return None;
        }
        // Those of the lowest weights that are enough; all of a lower one than the last are taken.
        let others = usable.iter().filter(|one| !one.is_required && one.cpus > 0);
        let mut others: Vec<&Usable> = others.filter(|one| is_behind(top, one)).collect();
        others.sort_by_key(|one| (one.weight, one.node));
        let mut considered: Vec<&Usable> = Vec::new();
        let mut forced = 0;
        let mut groups = others.chunk_by(|one, next| one.weight == next.weight);
        while !rest.is_met_by_nodes(&considered) {
            forced = considered.len();
            considered.extend(groups.next()?);
        }
        for one in &considered[..forced] {
            if rest.most_nodes > 0 {
                self.take(one, &mut rest, &mut chosen);
            }
        }
        if forced > 0 && rest.is_met() {
            return Some(chosen);
        }
        if rest.most_nodes <= 0 {
            return None;
        }
        let left = considered.split_off(forced);
        let fixed: Vec<&Usable> = required.into_iter().chain(considered).collect();
        let all: Vec<&Usable> = fixed.iter().chain(&left).copied().collect();
        let mut tree = Tree::of(switches, &all);
        let is_of_fixed = |switch: &Switch| fixed.iter().any(|one| is_behind(switch, one));
        let mut is_used: Vec<bool> = switches.iter().map(is_of_fixed).collect();
        let used: Vec<usize> = (0..switches.len()).filter(|at| is_used[*at]).collect();
        let of_used = used.iter().filter(|at| switches[**at].level == 0);
        for leaf in of_used {
            if self.take_leaf(&switches[*leaf], &left, &mut rest, &mut chosen) {
                return Some(chosen);
            }
        }
        used.into_iter().for_each(|at| tree.uses(at));
        while let Some(leaf) = tree.next_leaf(&is_used, rest.nodes) {
            let before = rest.nodes;
            tree.uses(leaf);
            if self.take_leaf(&switches[leaf], &left, &mut rest, &mut chosen) {
                return Some(chosen);
            }
            is_used[leaf] = true;
            if rest.nodes == before {
                break;
            }
        }
        (rest.least_nodes <= 0 && rest.cpus <= 0 && rest.has_of_job()).then_some(chosen)
    }

    /// Takes nodes behind a leaf in order, and tells whether all is there.
    fn take_leaf(
        &self,
        leaf: &Switch,
        nodes: &[&Usable],
        rest: &mut Rest,
        chosen: &mut Chosen,
    ) -> bool {
        for one in nodes.iter().filter(|one| is_behind(leaf, one)) {
            let is_new = chosen.iter().all(|(node, _)| *node != one.node);
            if is_new && rest.most_nodes > 0 {
                self.take(one, rest, chosen);
                if rest.is_met() {
                    return true;
                }
            }
        }
        false
    }
}

/// The highest switch with the nodes that the job names, else the highest with enough nodes, and with those
/// of the lowest weight.
fn top_switch<'a>(
    switches: &'a [Switch],
    usable: &[Usable],
    required: &[&Usable],
    rest: &Rest,
) -> Option<&'a Switch> {
    let mut top: Option<(&Switch, u32)> = None;
    for switch in switches {
        if !required.is_empty() {
            let is_over = required.iter().any(|one| is_behind(switch, one));
            if is_over && top.is_none_or(|(top, _)| switch.level > top.level) {
                top = Some((switch, 0));
            }
            continue;
        }
        let own = usable.iter().filter(|one| is_behind(switch, one));
        let count = i64::try_from(own.clone().count()).unwrap_or(i64::MAX);
        let lowest = own.map(|one| one.weight).min();
        if let Some(lowest) = lowest.filter(|_| rest.are_enough_nodes(count))
            && top.is_none_or(|(top, weight)| switch.level >= top.level && lowest <= weight)
        {
            top = Some((switch, lowest));
        }
    }
    let (top, _) = top?;
    required
        .iter()
        .all(|one| is_behind(top, one))
        .then_some(top)
}
