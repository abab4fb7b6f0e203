//! Whether the nodes of a partition can serve a job at all.

use super::asked::Asked;
use super::features::wanted;
use super::fewest::{Needed, Offer, Total, needed};
use super::offer::{Trust, describe, is_uncounted, offer, spare};
use super::{Denial, Fate, Refusal, refusal};
use cluster_file::{ClusterFile, List, Named, NodeSet, Partition, PartitionNodes};
use model::{Constraint, NodeName, Request, node_list};
use std::collections::HashSet;
use std::sync::Arc;

/// The nodes among which a job's are: those of a partition, or of the whole cluster.
pub(super) struct Place<'a> {
    pub partition: Option<&'a Named<Partition>>,
    pub sets: Vec<NodeSet<'a>>,
    /// How many nodes of each of them the job excludes.
    pub excluded: Vec<u32>,
    /// The features that are asked for.
    pub features: Option<Constraint>,
}

impl<'a> Place<'a> {
    pub fn of(
        file: &'a ClusterFile,
        partition: Option<&'a Named<Partition>>,
        request: &Request,
    ) -> Place<'a> {
        let sets = match partition {
            Some(partition) => file.nodes_of(partition),
            None => {
                let whole = |nodes| NodeSet {
                    nodes,
                    count: file.count_of(nodes),
                    whole: true,
                };
                file.nodes.iter().map(whole).collect()
            }
        };
        let excluded = excluded(file, partition, &sets, &request.exclude);
        Place {
            partition,
            sets,
            excluded,
            features: wanted(request),
        }
    }

    /// Whether so much is there as far as it is known; where nothing is known it may be.
    pub fn serves(&self, request: &Request) -> bool {
        self.sets.is_empty() || self.serve(&self.asked(request), Trust::All)
    }

    /// What is asked of these nodes. More of them than the partition has are told where its limits
    /// are looked at.
    fn asked(&self, request: &Request) -> Asked {
        let asked = Asked::of(request);
        let there = self.count();
        if self.partition.is_none() || asked.nodes <= there {
            return asked;
        }
        Asked::of(&Request {
            min_nodes: u32::try_from(there).ok(),
            tasks: request
                .tasks
                .filter(|tasks| u64::from(*tasks) > asked.nodes),
            ..request.clone()
        })
    }

    fn count(&self) -> u64 {
        self.sets.iter().map(|set| u64::from(set.count)).sum()
    }

    fn spare(&self) -> u32 {
        self.partition
            .map_or(0, |partition| spare(partition, &self.sets))
    }

    fn serve(&self, asked: &Asked, trust: Trust) -> bool {
        let Some(needed) = self.needed(asked, trust) else {
            return false;
        };
        let is_open = || self.sets.iter().any(|set| is_uncounted(set.nodes));
        let there = match trust == Trust::SaidAlone && is_open() {
            true => u64::MAX,
            false => {
                let all = self.count().saturating_add(u64::from(self.spare()));
                all.saturating_sub(self.excluded.iter().map(|count| u64::from(*count)).sum())
            }
        };
        needed.are_there && needed.nodes <= there.min(asked.most_nodes).min(self.most(asked))
    }

    /// The most nodes that the partition gives a job. One that asks for more is told so already.
    fn most(&self, asked: &Asked) -> u64 {
        let most = self
            .partition
            .and_then(|partition| partition.max_nodes.as_ref());
        let most = most.map_or(u64::MAX, |most| u64::from(most.value));
        if asked.nodes > most { u64::MAX } else { most }
    }

    /// The fewest nodes; none where no node would do.
    pub fn needed(&self, asked: &Asked, trust: Trust) -> Option<Needed> {
        let (spare, features) = (self.spare(), self.features.as_ref());
        let partition = self.partition.map(|partition| &partition.body);
        let offer = |(set, excluded): (&NodeSet<'_>, &u32)| {
            let rest = NodeSet {
                count: set.count.saturating_sub(*excluded),
                ..set.clone()
            };
            offer(&rest, partition, spare, asked, features, trust)
        };
        let sets = self.sets.iter().zip(&self.excluded);
        let offers: Vec<Offer> = sets.filter_map(offer).collect();
        let total = Total {
            nodes: asked.nodes,
            cpus: asked.cpus,
            gpus: asked.gpus,
            tasks: asked.tasks.unwrap_or(0),
        };
        needed(&offers, &total)
    }
}

/// The fewest nodes of a partition, or of the whole cluster, that hold a job's tasks with their
/// CPUs, memory and GPUs, and no fewer than it asks for; as if there were more of them where
/// there are too few. None where nothing is known of them, or none of them would do.
#[must_use]
pub fn fewest_nodes(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> Option<u32> {
    let place = Place::of(file, partition, request);
    let found = place.needed(&Asked::of(request), Trust::All)?;
    u32::try_from(found.nodes).ok()
}

/// How many nodes of each set `--exclude` takes out.
fn excluded(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    sets: &[NodeSet<'_>],
    names: &[NodeName],
) -> Vec<u32> {
    if names.is_empty() {
        return vec![0; sets.len()];
    }
    let names: HashSet<&NodeName> = names.iter().collect();
    let list = partition.and_then(|partition| match &partition.nodes.as_ref()?.value {
        PartitionNodes::List(list) => node_list::expand(list).ok(),
        PartitionNodes::All | PartitionNodes::Groups(_) => None,
    });
    let list: Option<HashSet<NodeName>> = list.map(|list| list.into_iter().collect());
    let of_set = |set: &NodeSet<'_>| {
        let own = file.names_of(set.nodes);
        let is_out = |name: &&NodeName| {
            names.contains(name) && list.as_ref().is_none_or(|list| list.contains(*name))
        };
        u32::try_from(own.iter().filter(is_out).count()).unwrap_or(u32::MAX)
    };
    sets.iter().map(of_set).collect()
}

/// Why no nodes of a partition, or of all, can serve.
pub(super) fn no_nodes(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> Option<Refusal> {
    let place = Place::of(file, partition, request);
    if place.serves(request) {
        return None;
    }
    let asked = place.asked(request);
    let span = || {
        let nodes = partition.and_then(|partition| partition.nodes.as_ref());
        nodes.map_or(0..0, |nodes| nodes.span.clone())
    };
    let at = || partition.map(|partition| format!("partition.{}.nodes", partition.name));
    let name = partition.map_or_else(
        || file.name.clone(),
        |partition| format!("partition {}", partition.name),
    );
    let kinds: Vec<String> = place.sets.iter().map(describe).collect();
    let assumed = !file.knows_all(List::Nodes) || place.serve(&asked, Trust::SaidAlone);
    let with_all = Request {
        exclude: Arc::default(),
        ..request.clone()
    };
    if !request.exclude.is_empty() && Place::of(file, partition, &with_all).serves(&with_all) {
        return Some(Refusal {
            at: at(),
            span: span(),
            assumed,
            ..refusal(
                Denial::NodeConfig,
                format!("--exclude={}", node_list::fold(&*request.exclude)),
                format!("{name} has {}, with those", kinds.join("; ")),
                "exclude fewer of them",
            )
        });
    }
    Some(Refusal {
        denial: Denial::NodeConfig,
        fate: Fate::Refused,
        detail: None,
        asked: asked.text(request),
        there: format!("{name} has {}", kinds.join("; ")),
        todo: place.advice(request, &asked),
        most: None,
        at: at(),
        span: span(),
        assumed,
    })
}
