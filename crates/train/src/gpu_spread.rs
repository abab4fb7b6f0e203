//! From GPUs in all to nodes: the same number on each, or different ones where the launcher takes that.

use crate::describe::describe;
use crate::node_choice::gpus_asked;
use crate::show::{either, plural};
use crate::{Launcher, Refusal, RefusalKind, Resolved, ResourceSection, Source};
use model::{ClusterFacts, GpuGroup, NodeGroup};
use resources::NodeKinds;

/// Puts `nodes` and `gpus_per_node` in place of `gpus`, on as few nodes as can have them. Where a named
/// number of nodes leaves them with different numbers, `gpus_per_node` is the most that a node may get, and
/// all GPUs are returned.
///
/// # Errors
/// Counts that contradict each other, that leave nodes with different numbers which the launcher does
/// not take, or that the cluster has not.
pub(crate) fn spread(
    launcher: Launcher,
    asked: &mut ResourceSection,
    facts: &ClusterFacts,
) -> Result<Option<Resolved<u32>>, Refusal> {
    let Some(all) = asked.gpus.take() else {
        return Ok(None);
    };
    if asked.nodes.is_some() && asked.gpus_per_node.is_some() {
        // A habit gives way to what is asked of this run.
        asked.nodes.take_if(|nodes| nodes.source.is_habit());
        asked.gpus_per_node.take_if(|each| each.source.is_habit());
    }
    let kind = asked.gpu_type.as_ref();
    let least = asked.gpu_memory.as_ref();
    let is_wanted = |gpus: &GpuGroup| {
        let is_large = |size: u64| least.is_none_or(|least| size >= least.value.0);
        kind.is_none_or(|kind| gpus.is_kind(&kind.value)) && gpus.memory_mib.is_none_or(is_large)
    };
    let wanted_of = |group: &NodeGroup| {
        let own = group.gpus.iter().filter(|gpus| is_wanted(gpus));
        let own = own.map(|gpus| gpus.count).fold(0, u32::saturating_add);
        own.saturating_mul(group.count)
    };
    let there = facts.nodes.iter().map(wanted_of);
    let spread = Spread {
        launcher,
        all: &all,
        kind,
        facts,
        kinds: NodeKinds::of(facts, is_wanted).by_gpus(),
        there: there.fold(0, u32::saturating_add),
    };
    let each = |each: u32, nodes: u32| {
        let why = format!("{} on {}", all.value, plural(nodes, "node", "nodes"));
        Resolved::new(each, Source::derived(why, &all.source))
    };
    match (&asked.nodes, &asked.gpus_per_node) {
        (Some(nodes), Some(of_node)) => spread.check_agree(nodes, of_node)?,
        (Some(nodes), None) => {
            let is_uneven = !all.value.is_multiple_of(nodes.value);
            let most = if is_uneven {
                spread
                    .most_of_one(nodes.value)
                    .ok_or_else(|| spread.uneven(nodes))?
            } else {
                all.value / nodes.value
            };
            let of_node = each(most, nodes.value);
            if is_uneven {
                a_rank_a_gpu(&all, nodes, asked.ranks_per_node.as_ref())?;
                // A habit gives way.
                asked.ranks_per_node = None;
            }
            asked.gpus_per_node = Some(of_node);
            if is_uneven {
                return Ok(Some(all));
            }
        }
        (None, Some(of_node)) => {
            let one = of_node.value;
            if one == 0 && all.value > 0 || one > 0 && !all.value.is_multiple_of(one) {
                return Err(spread.no_whole_nodes(of_node));
            }
            let nodes = all.value.checked_div(one).unwrap_or(0).max(1);
            let why = format!("{} with {one} on each node", all.value);
            asked.nodes = Some(Resolved::new(nodes, Source::derived(why, &all.source)));
        }
        (None, None) if all.value == 0 || launcher == Launcher::None => {
            asked.gpus_per_node = Some(all.clone());
        }
        (None, None) => {
            let nodes = spread
                .nodes_for(all.value)
                .ok_or_else(|| spread.nowhere())?;
            asked.gpus_per_node = Some(each(all.value / nodes, nodes));
            let why = match nodes {
                1 => format!("a node has {} GPUs", all.value),
                _ => format!("the fewest that have {} GPUs in equal parts", all.value),
            };
            asked.nodes = Some(Resolved::new(nodes, Source::cluster(why)));
        }
    }
    Ok(None)
}

/// Of nodes with different numbers of GPUs each GPU has a rank: Slurm places the tasks with them.
fn a_rank_a_gpu(
    all: &Resolved<u32>,
    nodes: &Resolved<u32>,
    ranks: Option<&Resolved<u32>>,
) -> Result<(), Refusal> {
    let Some(ranks) = ranks.filter(|ranks| !ranks.source.is_habit()) else {
        return Ok(());
    };
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: "ranks_per_node is set, and the nodes have different numbers of GPUs".to_owned(),
        asked: format!(
            "ranks_per_node = {} ({}), gpus = {} ({}), nodes = {} ({})",
            ranks.value, ranks.source, all.value, all.source, nodes.value, nodes.source
        ),
        there: "where the GPUs do not divide evenly each of them has a rank".to_owned(),
        todo: "leave ranks_per_node out".to_owned(),
    })
}

struct Spread<'a> {
    launcher: Launcher,
    all: &'a Resolved<u32>,
    kind: Option<&'a Resolved<String>>,
    facts: &'a ClusterFacts,
    /// Its nodes with such GPUs.
    kinds: NodeKinds,
    /// All such GPUs of the cluster: more nodes than these have none of them.
    there: u32,
}

impl Spread<'_> {
    /// Whether the cluster has so many nodes with so many GPUs.
    fn has(&self, nodes: u32, each: u32) -> bool {
        let asked = gpus_asked(nodes, each);
        self.kinds.serve(&self.kinds.serving(&asked), &asked)
    }

    /// The most that one of so many nodes may get where they have unequal parts: Slurm fills the first
    /// and leaves at least one for each of the others. `None` where the launcher takes none, or there
    /// are no such nodes.
    fn most_of_one(&self, nodes: u32) -> Option<u32> {
        let all = self.all.value;
        if !self.launcher.takes_uneven() || all < nodes {
            return None;
        }
        let parts = all.div_ceil(nodes)..=all - nodes + 1;
        parts.rev().find(|most| self.has(nodes, *most))
    }

    /// The fewest nodes that have so many GPUs in equal parts.
    fn nodes_for(&self, all: u32) -> Option<u32> {
        let whole = |nodes: &u32| all.is_multiple_of(*nodes) && self.has(*nodes, all / nodes);
        (1..=all.min(self.there)).find(whole)
    }

    fn asked(&self) -> String {
        format!("gpus = {} ({})", self.all.value, self.all.source)
    }

    fn check_agree(&self, nodes: &Resolved<u32>, each: &Resolved<u32>) -> Result<(), Refusal> {
        let product = nodes.value.saturating_mul(each.value);
        if product == self.all.value {
            return Ok(());
        }
        Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!(
                "{} with {} each have {product}, not {}",
                plural(nodes.value, "node", "nodes"),
                plural(each.value, "GPU", "GPUs"),
                self.all.value
            ),
            asked: format!(
                "{}, nodes = {} ({}), gpus_per_node = {} ({})",
                self.asked(),
                nodes.value,
                nodes.source,
                each.value,
                each.source
            ),
            there: "each of the three follows from the other two".to_owned(),
            todo: "leave one of them out".to_owned(),
        })
    }

    /// Nodes with different numbers of GPUs.
    fn uneven(&self, nodes: &Resolved<u32>) -> Refusal {
        let (all, count) = (self.all.value, nodes.value);
        let fewer = all / count;
        let mut instead: Vec<String> = [fewer, fewer + 1]
            .into_iter()
            .filter(|each| *each > 0 && self.has(count, *each))
            .map(|each| format!("gpus = {}", each * count))
            .collect();
        let whole = |nodes: &u32| all.is_multiple_of(*nodes) && self.has(*nodes, all / nodes);
        let below = (1..count.min(self.there.saturating_add(1)))
            .rev()
            .find(whole);
        let above = (count + 1..=all.min(self.there)).find(whole);
        let others = below.into_iter().chain(above);
        instead.extend(others.map(|nodes| format!("nodes = {nodes}")));
        let instead: Vec<&str> = instead.iter().map(String::as_str).collect();
        Refusal {
            kind: RefusalKind::Usage,
            message: match all {
                1 => format!("1 GPU is not enough for {count} nodes"),
                _ => format!("{all} GPUs do not divide evenly among {count} nodes"),
            },
            asked: format!("{}, nodes = {count} ({})", self.asked(), nodes.source),
            there: if !self.launcher.takes_uneven() {
                format!(
                    "launcher {} starts the same number of ranks on every node",
                    self.launcher
                )
            } else if all < count {
                "each node of a run has at least one GPU".to_owned()
            } else {
                describe(self.facts)
            },
            todo: if instead.is_empty() {
                format!("see what {} has: yard cluster show", self.facts.name)
            } else {
                either(&instead)
            },
        }
    }

    fn no_whole_nodes(&self, each: &Resolved<u32>) -> Refusal {
        let (all, one) = (self.all.value, each.value);
        let fewer = all.checked_div(one).unwrap_or(0) * one;
        let instead = [fewer, fewer + one].into_iter().filter(|count| *count > 0);
        let instead: Vec<String> = instead.map(|count| format!("gpus = {count}")).collect();
        let mut instead: Vec<&str> = instead.iter().map(String::as_str).collect();
        instead.push("leave gpus_per_node out");
        Refusal {
            kind: RefusalKind::Usage,
            message: format!("{all} GPUs are no whole number of nodes with {one}"),
            asked: format!("{}, gpus_per_node = {one} ({})", self.asked(), each.source),
            there: "every node of a run has the same number of GPUs".to_owned(),
            todo: either(&instead),
        }
    }

    fn nowhere(&self) -> Refusal {
        let all = self.all.value;
        let fewer = 1..all.min(self.there.saturating_add(1));
        let fewer = fewer.rev().find(|fewer| self.nodes_for(*fewer).is_some());
        let what = match self.kind {
            Some(kind) => kind.value.clone(),
            None => "GPUs".to_owned(),
        };
        let cluster = &self.facts.name;
        Refusal {
            kind: RefusalKind::NeverFits,
            message: if self.there > 0 {
                format!("{cluster} has no nodes that have {all} {what} in equal parts")
            } else if self.kind.is_some() {
                format!("{cluster} has no {what}")
            } else {
                format!("{cluster} has no GPU")
            },
            asked: self.asked(),
            there: describe(self.facts),
            todo: match fewer {
                Some(fewer) => format!("gpus = {fewer}"),
                None if self.kind.is_some() => "another gpu_type".to_owned(),
                None => "leave gpus out, or name a cluster that has some with --on".to_owned(),
            },
        }
    }
}
