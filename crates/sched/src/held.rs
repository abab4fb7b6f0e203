//! What running jobs hold of the cluster, and what is free of it.

use crate::ClusterRef;
use crate::cpu_book::CpuBook;
use crate::fault::{self, Fault};
use crate::live_job::LiveJob;
use model::{Allocation, JobState, NodeShare};
use resources::{Cluster, Demand, Free, NodeId, Share, Sharing, SocketCpus};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What running jobs hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) free: Free,
    cpus: CpuBook,
    /// CPUs that jobs of others have.
    barred: Vec<u32>,
    /// Jobs hold more than there is: the cluster became smaller under them. What one gives back is
    /// then not free yet, and all is counted anew.
    pub(crate) is_overdrawn: bool,
}

/// What one job holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldShares {
    pub(crate) shares: Vec<Share>,
    pub(crate) sharing: Sharing,
    pub(crate) user: u32,
    /// The job is suspended: of its shares it keeps no CPUs.
    pub(crate) is_suspended: bool,
}

impl HeldShares {
    /// What a running job holds, as its row tells.
    pub(crate) fn of(
        cluster: &Cluster,
        demand: &Demand,
        user: u32,
        allocation: &Allocation,
        is_suspended: bool,
    ) -> HeldShares {
        let mut shares = Share::of_rows(cluster, demand, &allocation.nodes);
        if fault::is(Fault::SocketsNotTaken) {
            let all = shares.iter_mut();
            all.for_each(|share| share.sockets = SocketCpus::default());
        }
        let running = HeldShares {
            shares,
            sharing: demand.sharing,
            user,
            is_suspended: false,
        };
        if is_suspended {
            running.suspended()
        } else {
            running
        }
    }

    /// What is left of it while its job is suspended.
    pub(crate) fn suspended(&self) -> HeldShares {
        let mut kept = self.clone();
        for share in &mut kept.shares {
            share.amounts.cpus = 0;
            share.sockets = SocketCpus::default();
            if fault::is(Fault::SuspensionFreesGpus) {
                share.gpus = 0;
                share.amounts = resources::Amounts::default();
            }
        }
        kept.is_suspended = true;
        kept
    }

    /// Takes them from what is free.
    pub(crate) fn take_from(&self, cluster: &Cluster, free: &mut Free) {
        if self.is_suspended {
            free.take_kept(cluster, &self.shares);
        } else {
            free.take(cluster, &self.shares, self.sharing, self.user);
        }
    }

    /// Gives them back.
    pub(crate) fn give_to(&self, cluster: &Cluster, free: &mut Free) {
        if self.is_suspended {
            free.give_kept(cluster, &self.shares);
        } else {
            free.give(cluster, &self.shares, self.sharing, self.user);
        }
    }
}

impl Held {
    /// A node takes jobs from now on, or none any more. One of the future takes none.
    pub(crate) fn set_up(&mut self, cluster: &Cluster, node: NodeId, takes_jobs: bool) {
        let is_there = !cluster.future_nodes().contains(node);
        let takes_jobs = takes_jobs || fault::is(Fault::DrainIgnored);
        self.free.set_up(node, is_there && takes_jobs);
    }

    /// Nothing is held.
    pub(crate) fn new(cluster: &Cluster, numbers: Arc<[u32]>) -> Held {
        let mut free = Free::idle(cluster);
        for node in cluster.future_nodes().iter() {
            free.set_up(node, false);
        }
        Held {
            free,
            cpus: CpuBook::new(numbers, cluster.node_count()),
            barred: Vec::new(),
            is_overdrawn: false,
        }
    }

    /// Gives a job shares that are free, and their CPUs numbers.
    pub(crate) fn start(
        &mut self,
        cluster: &Cluster,
        demand: &Demand,
        user: u32,
        shares: &[Share],
    ) -> (Allocation, HeldShares) {
        let names = names(cluster, demand, shares.iter().map(|share| share.node));
        let rows = shares.iter().zip(names).map(|(share, node)| {
            let class = cluster.class(share.node);
            let there = class.total.cpus;
            let sockets = class.cpus_of_socket().map(|each| (share.sockets, each));
            let gpus = (0..64).filter(|gpu| share.gpus & (1 << gpu) != 0);
            NodeShare {
                node,
                cpus: self.cpus.pick(share.node, share.cpus(), there, sockets),
                memory: share.mem_mib().into(),
                gpus: gpus.collect(),
                tasks: share.tasks,
            }
        });
        let allocation = Allocation {
            nodes: rows.collect(),
        };
        let holding = HeldShares::of(cluster, demand, user, &allocation, false);
        let has = |share: &Share| self.free.has(share, holding.sharing);
        self.is_overdrawn |= !holding.shares.iter().all(has);
        holding.take_from(cluster, &mut self.free);
        (allocation, holding)
    }

    /// Marks what a running job has as held, which may be what the cluster no longer has.
    pub(crate) fn hold(
        &mut self,
        cluster: &Cluster,
        holding: &HeldShares,
        allocation: &Allocation,
    ) {
        let has = |share: &Share| self.free.has(share, holding.sharing);
        self.is_overdrawn |= !holding.shares.iter().all(has);
        holding.take_from(cluster, &mut self.free);
        if holding.is_suspended {
            return;
        }
        for row in &allocation.nodes {
            if let Some(node) = cluster.node(&row.node) {
                let there = cluster.class(node).total.cpus;
                self.cpus.hold(node, &row.cpus, there);
            }
        }
    }

    /// Works out again what a running job holds, and marks that as held. What it held before was given back.
    pub(crate) fn hold_anew(&mut self, cluster: &ClusterRef, job: &mut LiveJob) {
        job.hold_anew(cluster);
        // Then all is counted anew.
        if self.is_overdrawn {
            return;
        }
        let holding = job.derived.holding.as_ref();
        if let (JobState::Running { allocation, .. }, Some(holding)) = (&job.record.state, holding)
        {
            self.hold(cluster, holding, allocation);
        }
    }

    /// Gives back what a job had.
    pub(crate) fn give(
        &mut self,
        cluster: &Cluster,
        holding: &HeldShares,
        allocation: &Allocation,
    ) {
        if !fault::is(Fault::GivesNothingBack) {
            holding.give_to(cluster, &mut self.free);
        }
        if fault::is(Fault::GivesBackTwice) {
            holding.give_to(cluster, &mut self.free);
        }
        if holding.is_suspended {
            return;
        }
        for row in &allocation.nodes {
            if let Some(node) = cluster.node(&row.node) {
                self.cpus.give(node, &row.cpus);
            }
        }
    }

    /// Takes the CPUs of a node that jobs of others have, instead of those that they had.
    pub(crate) fn bar_cpus(&mut self, cluster: &Cluster, node: NodeId, cpus: &BTreeSet<u32>) {
        if self.barred.iter().eq(cpus) {
            return;
        }
        let count = |cpus: usize| u32::try_from(cpus).unwrap_or(u32::MAX);
        let now: Vec<u32> = cpus.iter().copied().collect();
        let before = std::mem::replace(&mut self.barred, now);
        self.cpus.give(node, &before);
        self.free.give_cpus(node, count(before.len()));
        let there = cluster.class(node).total.cpus;
        self.cpus.hold(node, &self.barred, there);
        self.free.take_cpus(node, count(self.barred.len()));
    }

    /// The numbers of this machine's CPUs, where it is the cluster.
    pub(crate) fn numbers(&self) -> Arc<[u32]> {
        Arc::clone(self.cpus.numbers())
    }
}

/// The names of a job's shares: on a node that splits those of its virtual nodes.
pub(crate) fn names(
    cluster: &Cluster,
    demand: &Demand,
    nodes: impl Iterator<Item = NodeId>,
) -> Vec<model::NodeName> {
    let nodes: Vec<NodeId> = nodes.collect();
    let splits = nodes.first().filter(|node| cluster.class(**node).splits);
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let virtual_ones = splits.and_then(|node| cluster.split_names(*node, demand, count));
    virtual_ones.unwrap_or_else(|| {
        let name = |node: &NodeId| cluster.node_name(*node).clone();
        nodes.iter().map(name).collect()
    })
}
