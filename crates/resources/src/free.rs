//! What of a cluster no job holds.

use crate::demand::{CpuCap, Sharing};
use crate::node_jobs::NodeJobs;
use crate::{Amounts, Cluster, NodeId, NodeSet, PartId, Share, SocketCpus};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is free, node by node. Scratch work clones it.
///
/// What was taken is given back with the same words: [`Free::take`] and [`Free::give`] undo each
/// other in any order, so that a state that is rebuilt from what jobs hold is the same state.
#[derive(Clone, Debug, PartialEq)]
pub struct Free {
    amounts: Vec<Amounts>,
    /// Free CPUs by socket. Those of jobs that share their CPUs count as free.
    sockets: Vec<SocketCpus>,
    /// Free GPUs by index; barred ones among them.
    gpus: Vec<u64>,
    /// GPUs that are in use by others than jobs.
    barred: Vec<u64>,
    /// Jobs on each node, by user; clones share it until one changes it.
    users: Arc<Vec<NodeJobs>>,
    /// CPUs of jobs that share theirs with others; clones share it until one changes it.
    over: Arc<Vec<Layered>>,
    /// Jobs on each node with CPUs of their own, of partitions that share none.
    alone: Vec<u32>,
    /// CPUs of nodes that the jobs of a partition have together, where that gives them no more than so many;
    /// clones share it until one changes it.
    capped: Arc<BTreeMap<(PartId, NodeId), u32>>,
    up: NodeSet,
    idle: NodeSet,
    /// Nodes with at least 1, 2, 4, 8 free GPUs.
    with_gpus: [NodeSet; 4],
}

/// CPUs that several jobs share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Layered {
    /// Of all jobs together.
    cpus: u32,
    /// Of each, ascending.
    jobs: Vec<u32>,
    /// So many jobs are on each.
    layers: u32,
}

impl Layered {
    /// CPUs that they are: no job has one twice.
    fn held(&self) -> u32 {
        self.held_with(0, self.layers)
    }

    /// The same with one more job of so many.
    fn held_with(&self, more: u32, layers: u32) -> u32 {
        let each = self.cpus.saturating_add(more).div_ceil(layers.max(1));
        let largest = self.jobs.last().copied().unwrap_or(0);
        each.max(largest).max(more)
    }

    fn change(&mut self, cpus: u32, layers: u32, comes: bool) {
        self.layers = layers;
        let at = self.jobs.binary_search(&cpus);
        if comes {
            self.cpus = self.cpus.saturating_add(cpus);
            self.jobs.insert(at.unwrap_or_else(|at| at), cpus);
        } else {
            self.cpus = self.cpus.saturating_sub(cpus);
            if let Ok(at) = at {
                self.jobs.remove(at);
            }
        }
        if self.cpus == 0 {
            *self = Layered::default();
        }
    }
}

/// From how many free GPUs on a node is in each of the sets.
const LEVELS: [u16; 4] = [1, 2, 4, 8];

impl Free {
    /// All of a cluster: every node is up and idle.
    #[must_use]
    pub fn idle(cluster: &Cluster) -> Free {
        let nodes = cluster.node_count() as usize;
        let mut free = Free {
            amounts: cluster
                .nodes()
                .map(|node| cluster.class(node).total)
                .collect(),
            sockets: cluster
                .nodes()
                .map(|node| SocketCpus::idle(cluster.class(node)))
                .collect(),
            gpus: cluster
                .nodes()
                .map(|node| cluster.class(node).gpu_indices())
                .collect(),
            barred: vec![0; nodes],
            users: Arc::new(vec![NodeJobs::default(); nodes]),
            over: Arc::new(vec![Layered::default(); nodes]),
            alone: vec![0; nodes],
            capped: Arc::default(),
            up: NodeSet::first(cluster.node_count()),
            idle: NodeSet::first(cluster.node_count()),
            with_gpus: Default::default(),
        };
        cluster
            .nodes()
            .for_each(|node| free.count_gpus(cluster, node));
        free
    }

    /// What is free of a node.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn amounts(&self, node: NodeId) -> &Amounts {
        &self.amounts[node.0 as usize]
    }

    /// Free CPUs of a node by socket; none where sockets are not distinguished.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn sockets(&self, node: NodeId) -> &SocketCpus {
        &self.sockets[node.0 as usize]
    }

    /// Free GPUs of a node by index, without barred ones.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn gpus(&self, node: NodeId) -> u64 {
        self.gpus[node.0 as usize] & !self.barred[node.0 as usize]
    }

    /// Whether all of a share is free. GPUs that others than jobs use count as free.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn has(&self, share: &Share, sharing: Sharing) -> bool {
        let at = share.node.0 as usize;
        let has_sockets =
            matches!(sharing, Sharing::Over(_)) || self.sockets[at].has(&share.sockets);
        self.fits(share.node, &share.amounts, sharing)
            && has_sockets
            && share.gpus & !self.gpus[at] == 0
    }

    /// Nodes that can be given.
    #[must_use]
    pub fn up(&self) -> &NodeSet {
        &self.up
    }

    /// Nodes that hold no job.
    #[must_use]
    pub fn idle_nodes(&self) -> &NodeSet {
        &self.idle
    }

    /// A node can be given again, or no more; what runs there stays.
    pub fn set_up(&mut self, node: NodeId, is_up: bool) {
        self.up.set(node, is_up);
    }

    /// Which GPUs of a node others than jobs use now.
    ///
    /// # Panics
    /// The node is another cluster's.
    pub fn bar_gpus(&mut self, cluster: &Cluster, node: NodeId, gpus: u64) {
        self.barred[node.0 as usize] = gpus;
        self.count_gpus(cluster, node);
    }

    /// So many CPUs of a node others than jobs use from now on.
    ///
    /// # Panics
    /// The node is another cluster's.
    pub fn take_cpus(&mut self, node: NodeId, cpus: u32) {
        self.amounts[node.0 as usize].take(&Amounts::new(cpus, 0));
    }

    /// So many CPUs of a node others than jobs no longer use.
    ///
    /// # Panics
    /// The node is another cluster's.
    pub fn give_cpus(&mut self, node: NodeId, cpus: u32) {
        self.amounts[node.0 as usize].give(&Amounts::new(cpus, 0));
    }

    /// Nodes of a set that may have so many free GPUs.
    pub(crate) fn keep_with_gpus(&self, nodes: &mut NodeSet, count: u64) {
        let level = LEVELS.iter().rposition(|level| u64::from(*level) <= count);
        if let Some(level) = level {
            nodes.keep(&self.with_gpus[level]);
        }
    }

    /// Whether a node's other jobs let one of a user come.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn is_open(&self, node: NodeId, sharing: Sharing, user: u32) -> bool {
        let at = node.0 as usize;
        let jobs = self.users[at].each();
        let mut others = jobs.iter().filter(|one| one.user != user);
        let over = &self.over[at];
        let is_like = |layers| over.cpus == 0 || over.layers == layers;
        match sharing {
            Sharing::Whole => jobs.is_empty(),
            Sharing::User => others.next().is_none() && over.cpus == 0,
            Sharing::Any => !others.any(|one| one.private > 0) && over.cpus == 0,
            Sharing::Beside(layers) => !others.any(|one| one.private > 0) && is_like(layers),
            Sharing::Forced => !others.any(|one| one.private > 0) && self.alone[at] == 0,
            // As in Slurm, those that share CPUs come to no node whose jobs don't, though these come to theirs.
            Sharing::Over(layers) => {
                !others.any(|one| one.private > 0) && is_like(layers) && self.alone[at] == 0
            }
        }
    }

    /// How many CPUs of a node are left to the jobs of a partition that gives them no more than so many.
    pub(crate) fn left_under(&self, node: NodeId, cap: CpuCap) -> u32 {
        let held = self.capped.get(&(cap.partition, node));
        cap.most.saturating_sub(held.copied().unwrap_or(0))
    }

    /// Whether an open node has what is needed of it.
    pub(crate) fn fits(&self, node: NodeId, need: &Amounts, sharing: Sharing) -> bool {
        let free = self.amounts(node);
        match sharing {
            Sharing::Over(layers) => {
                free.fits(&need.with_cpus(self.more_cpus(node, need.cpus, layers)))
            }
            Sharing::Any
            | Sharing::Beside(_)
            | Sharing::Forced
            | Sharing::Whole
            | Sharing::User => free.fits(need),
        }
    }

    /// How many CPUs less are free when a job that shares gets so many.
    fn more_cpus(&self, node: NodeId, cpus: u32, layers: u32) -> u32 {
        let over = &self.over[node.0 as usize];
        over.held_with(cpus, layers).saturating_sub(over.held())
    }

    /// Keeps what is free in both: a job that fits then fits in each. Jobs of both close their
    /// nodes to whom they close them in either.
    ///
    /// # Panics
    /// The other is another cluster's.
    pub fn keep(&mut self, cluster: &Cluster, other: &Free) {
        self.keep_on(cluster, cluster.nodes(), other);
    }

    /// The same of some nodes, for a job that is given no others: what else is free stays as it is.
    ///
    /// # Panics
    /// The other is another cluster's.
    pub fn keep_of(&mut self, cluster: &Cluster, nodes: &[NodeId], other: &Free) {
        self.keep_on(cluster, nodes.iter().copied(), other);
    }

    fn keep_on(&mut self, cluster: &Cluster, nodes: impl Iterator<Item = NodeId>, other: &Free) {
        let has_same_jobs = Arc::ptr_eq(&self.users, &other.users);
        let has_same_layers = Arc::ptr_eq(&self.over, &other.over);
        for node in nodes {
            let at = node.0 as usize;
            let gpus = |free: &Free| (free.amounts[at].lane(0), free.gpus[at], free.barred[at]);
            let before = gpus(self);
            self.amounts[at] = self.amounts[at].least(&other.amounts[at]);
            self.sockets[at] = self.sockets[at].least(&other.sockets[at]);
            self.gpus[at] &= other.gpus[at];
            self.barred[at] |= other.barred[at];
            if !has_same_layers && other.over[at].cpus > self.over[at].cpus {
                Arc::make_mut(&mut self.over)[at] = other.over[at].clone();
            }
            self.alone[at] = self.alone[at].max(other.alone[at]);
            if gpus(self) != before {
                self.count_gpus(cluster, node);
            }
            if !has_same_jobs {
                self.keep_jobs(node, &other.users[at]);
            }
        }
        if !Arc::ptr_eq(&self.capped, &other.capped) {
            let own = Arc::make_mut(&mut self.capped);
            for (place, held) in other.capped.iter() {
                let most = own.entry(*place).or_default();
                *most = (*most).max(*held);
            }
        }
        self.up.keep(&other.up);
        self.idle.keep(&other.idle);
    }

    /// Adds jobs of a node that are not among its own.
    fn keep_jobs(&mut self, node: NodeId, others: &NodeJobs) {
        let at = node.0 as usize;
        for one in others.each() {
            if self.users[at].lacks(one) {
                Arc::make_mut(&mut self.users)[at].raise(one);
            }
        }
    }

    /// Whether a job shares its nodes with no other user.
    #[must_use]
    pub fn has_private_jobs(&self) -> bool {
        let mut jobs = self.users.iter().flat_map(NodeJobs::each);
        jobs.any(|jobs| jobs.private > 0)
    }

    /// Gives a job its shares.
    ///
    /// # Panics
    /// A node is another cluster's.
    pub fn take(&mut self, cluster: &Cluster, shares: &[Share], sharing: Sharing, user: u32) {
        self.change(cluster, shares, sharing, user, true);
    }

    /// Gives a job's shares back; sharing and user are those with which they were taken.
    ///
    /// # Panics
    /// A node is another cluster's.
    pub fn give(&mut self, cluster: &Cluster, shares: &[Share], sharing: Sharing, user: u32) {
        self.change(cluster, shares, sharing, user, false);
    }

    /// Takes what a suspended job keeps. Such a job closes its nodes to no other.
    ///
    /// # Panics
    /// A node is another cluster's.
    pub fn take_kept(&mut self, cluster: &Cluster, shares: &[Share]) {
        for share in shares {
            let at = share.node.0 as usize;
            self.amounts[at].take(&share.amounts);
            self.gpus[at] &= !share.gpus;
            self.count_gpus(cluster, share.node);
        }
    }

    /// Gives back what [`Free::take_kept`] took.
    ///
    /// # Panics
    /// A node is another cluster's.
    pub fn give_kept(&mut self, cluster: &Cluster, shares: &[Share]) {
        for share in shares {
            let at = share.node.0 as usize;
            self.amounts[at].give(&share.amounts);
            self.gpus[at] |= share.gpus;
            self.count_gpus(cluster, share.node);
        }
    }

    fn change(
        &mut self,
        cluster: &Cluster,
        shares: &[Share],
        sharing: Sharing,
        user: u32,
        takes: bool,
    ) {
        for (index, share) in shares.iter().enumerate() {
            let (node, at) = (share.node, share.node.0 as usize);
            let mut amounts = share.amounts;
            if let Sharing::Over(layers) = sharing {
                let before = self.over[at].held();
                Arc::make_mut(&mut self.over)[at].change(share.amounts.cpus, layers, takes);
                amounts.cpus = self.over[at].held().abs_diff(before);
            }
            let is_shared = matches!(sharing, Sharing::Over(_));
            match (is_shared, takes) {
                (true, _) => {}
                (false, true) => self.sockets[at].take(&share.sockets),
                (false, false) => self.sockets[at].give(&share.sockets),
            }
            if takes {
                self.amounts[at].take(&amounts);
                self.gpus[at] &= !share.gpus;
            } else {
                self.amounts[at].give(&amounts);
                self.gpus[at] |= share.gpus;
            }
            if let Some(partition) = share.capped_in {
                self.count_capped((partition, node), share.amounts.cpus, takes);
            }
            // A node that splits carries several shares of one job.
            let is_first = shares[..index].iter().all(|before| before.node != node);
            if is_first {
                self.count_job(node, user, sharing == Sharing::User, takes);
                let alone = &mut self.alone[at];
                let is_shared = is_shared || sharing == Sharing::Forced;
                *alone = match (is_shared, takes) {
                    (true, _) => *alone,
                    (false, true) => *alone + 1,
                    (false, false) => alone.saturating_sub(1),
                };
            }
            self.count_gpus(cluster, node);
        }
    }

    fn count_capped(&mut self, place: (PartId, NodeId), cpus: u32, takes: bool) {
        let all = Arc::make_mut(&mut self.capped);
        let held = all.entry(place).or_default();
        *held = if takes {
            held.saturating_add(cpus)
        } else {
            held.saturating_sub(cpus)
        };
        if *held == 0 {
            all.remove(&place);
        }
    }

    fn count_job(&mut self, node: NodeId, user: u32, is_private: bool, comes: bool) {
        let jobs = &mut Arc::make_mut(&mut self.users)[node.0 as usize];
        jobs.count(user, is_private, comes);
        let is_idle = jobs.each().is_empty();
        self.idle.set(node, is_idle);
    }

    fn count_gpus(&mut self, cluster: &Cluster, node: NodeId) {
        let at = node.0 as usize;
        let counted = self.amounts[at].lane(0);
        let free = match cluster.class(node).gpu_indices() {
            0 => counted,
            _ => u16::try_from(self.gpus(node).count_ones()).unwrap_or(counted),
        };
        for (level, set) in LEVELS.iter().zip(&mut self.with_gpus) {
            set.set(node, free >= *level);
        }
    }
}
