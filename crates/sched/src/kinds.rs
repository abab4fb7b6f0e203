//! Demands, worked out against the cluster once for all jobs that ask the same.

use crate::ClusterRef;
use crate::fault::{self, Fault};
use crate::reserved::{Closed, ClosedCpus};
use model::{PendingReason, Request, Timestamp};
use resources::{Compiled, Demand, Free, NodeSet, Order, PartId, Pick, Share, Sharing, place};
use std::collections::HashMap;
use std::sync::Arc;

/// One of the partitions in which a job may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) partition: PartId,
    /// Its priority there.
    pub(crate) priority: u32,
    /// What it needs there.
    pub(crate) need: Arc<Need>,
    /// In a pass: until when it takes no nodes behind more switches than it asks for.
    pub(crate) few_until: Option<Timestamp>,
}

/// What jobs that ask the same need in a partition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) compiled: Compiled,
    /// The idle cluster has a place for it.
    pub(crate) is_possible: bool,
    /// That place, where limits ask what it holds.
    pub(crate) when_idle: Vec<Share>,
    /// What it waits for in a partition that is smaller than what it asks for, whatever its nodes have.
    pub(crate) beyond: Option<PendingReason>,
}

/// All needs of live jobs. What it remembers follows from the cluster and the demands: it is no part
/// of what two states are compared by.
#[derive(Clone, Debug)]
pub(crate) struct Kinds {
    known: HashMap<(PartId, Demand), Arc<Need>>,
    idle: Arc<Free>,
    /// How many there were when those that no job has were last forgotten.
    kept: usize,
}

impl PartialEq for Kinds {
    fn eq(&self, _other: &Kinds) -> bool {
        true
    }
}

impl Kinds {
    pub(crate) fn new(cluster: &ClusterRef) -> Kinds {
        Kinds {
            known: HashMap::new(),
            idle: Arc::new(Free::idle(cluster)),
            kept: 0,
        }
    }

    /// All of the cluster, idle and up.
    pub(crate) fn idle(&self) -> &Free {
        &self.idle
    }

    /// Whether one of them lets no other user onto its nodes.
    pub(crate) fn has_private(&self) -> bool {
        let mut demands = self.known.keys().map(|(_, demand)| demand);
        demands.any(|demand| demand.sharing == Sharing::User)
    }

    pub(crate) fn need(
        &mut self,
        cluster: &ClusterRef,
        partition: PartId,
        demand: Demand,
    ) -> Arc<Need> {
        let key = (partition, demand);
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        if self.known.len() > 2 * self.kept + 256 {
            self.known.retain(|_, need| Arc::strong_count(need) > 1);
            self.kept = self.known.len();
        }
        let compiled = Compiled::new(cluster, Some(partition), key.1.clone());
        // One that asks for more nodes than its partition gives waits for the partition to change.
        let asked = compiled.demand.nodes.most;
        let most = cluster.partition(partition).max_nodes;
        let asks_too_much = asked.zip(most).is_some_and(|(asked, most)| asked > most);
        let place = if asks_too_much {
            place(cluster, &compiled, &self.idle, Pick::default())
        } else {
            find(cluster, partition, &compiled, &self.idle, 0, None)
        };
        let need = Arc::new(Need {
            is_possible: place.is_some() || fault::is(Fault::ClassIgnored),
            when_idle: place.filter(|_| cluster.has_limits()).unwrap_or_default(),
            beyond: beyond(cluster, partition, &compiled.demand),
            compiled,
        });
        self.known.insert(key, Arc::clone(&need));
        need
    }
}

/// What a request needs in a partition, or by the defaults of the whole cluster.
pub(crate) fn demand_of(
    cluster: &ClusterRef,
    partition: Option<PartId>,
    request: &Request,
) -> Demand {
    let mut demand = Demand::of(request, cluster.defaults(partition));
    if fault::is(Fault::SharedByOneMore)
        && let Sharing::Over(jobs) = &mut demand.sharing
    {
        *jobs += 1;
    }
    demand
}

/// Whether a partition has fewer CPUs or nodes than a job asks for (`_part_access_check` of job_mgr.c). A machine that
/// is split into virtual nodes has other bounds.
fn beyond(cluster: &ClusterRef, partition: PartId, demand: &Demand) -> Option<PendingReason> {
    let nodes = &cluster.partition(partition).nodes;
    let is_split = nodes.iter().any(|node| cluster.class(node).splits);
    // One without nodes takes no job at all.
    if is_split || nodes.is_empty() {
        None
    } else if demand.least_cpus() > cluster.cpus_of(partition) {
        Some(PendingReason::PartitionConfig)
    } else if demand.nodes.least > nodes.len() {
        Some(PendingReason::PartitionNodeLimit)
    } else if demand.is_over_memory {
        Some(PendingReason::OverLimit("MaxMemPerLimit".to_owned()))
    } else {
        None
    }
}

/// A place for a job of a user in a partition among what is free, but for what reservations close to
/// it; none where those leave it nothing.
pub(crate) fn find_unreserved(
    cluster: &ClusterRef,
    choice: &Choice,
    free: &Free,
    pick: Pick<'_>,
    closed: Closed,
) -> Option<Vec<Share>> {
    let (partition, compiled) = (choice.partition, &choice.need.compiled);
    let find = |pick| find_as(cluster, partition, compiled, free, pick);
    match closed {
        Closed::All => None,
        Closed::Nothing => find(pick),
        Closed::Cpus(nodes, cpus) => {
            let mut left = free.clone();
            for (node, closed) in cpus {
                let there = left.amounts(node).cpus;
                left.take_cpus(
                    node,
                    match closed {
                        ClosedCpus::Some(some) => some.min(there),
                        ClosedCpus::AllBut(most) => there.saturating_sub(most),
                    },
                );
            }
            let closed = Closed::Nodes(nodes);
            find_unreserved(cluster, choice, &left, pick, closed)
        }
        Closed::Nodes(mut nodes) => {
            if let Some(without) = pick.without {
                nodes.add(without);
            }
            find(Pick {
                without: Some(&nodes),
                ..pick
            })
        }
    }
}

/// A place for a job of a user in a partition, among what is free but for `without`.
pub(crate) fn find(
    cluster: &ClusterRef,
    partition: PartId,
    compiled: &Compiled,
    free: &Free,
    user: u32,
    without: Option<&NodeSet>,
) -> Option<Vec<Share>> {
    let pick = Pick {
        user,
        without,
        ..Pick::default()
    };
    find_as(cluster, partition, compiled, free, pick)
}

/// The same for one that also says how the nodes are picked.
pub(crate) fn find_as(
    cluster: &ClusterRef,
    partition: PartId,
    compiled: &Compiled,
    free: &Free,
    pick: Pick<'_>,
) -> Option<Vec<Share>> {
    let of_partition = cluster.partition(partition);
    let order = if of_partition.least_loaded {
        Order::LeastLoaded
    } else {
        pick.order
    };
    // One that asks for more waits, unless its QOS has the flag `PartitionMaxNodes`.
    let asked = compiled.demand.nodes.most;
    let most = of_partition.max_nodes;
    let most = most.filter(|most| asked.is_none_or(|asked| asked <= *most));
    let pick = Pick { order, ..pick };
    let is_ignored = match compiled.demand.sharing {
        Sharing::Whole => fault::is(Fault::WholeIgnored),
        Sharing::User => fault::is(Fault::UserIgnored),
        _ => false,
    };
    let mut shares = if is_ignored {
        let mut of_any = compiled.clone();
        of_any.demand.sharing = Sharing::Any;
        place(cluster, &of_any, free, pick)?
    } else {
        place(cluster, compiled, free, pick)?
    };
    if fault::is(Fault::TypeIgnored) {
        for share in &mut shares {
            let there = free.gpus(share.node);
            let free = (0..64).map(|gpu| 1 << gpu).filter(|gpu| there & gpu != 0);
            let count = share.gpus.count_ones() as usize;
            share.gpus = free.take(count).fold(0, |all, gpu| all | gpu);
        }
    }
    let count = u32::try_from(shares.len()).unwrap_or(u32::MAX);
    most.is_none_or(|most| count <= most).then_some(shares)
}
