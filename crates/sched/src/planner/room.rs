//! What is free at some moment, as the policies reckon with it.

use resources::{Amounts, Cluster, Compiled, Free, NodeId, NodeSet, Pick, Share, Sharing, place};

/// What is free at some moment. A policy keeps several: now, when the first job in the queue is
/// expected to start, at each end that comes.
pub trait Room: Clone {
    /// What a job needs.
    type Need;
    /// What a job holds.
    type Held;

    /// What is free is a total: a job that fits at each of some moments fits for all the time.
    const IS_TOTAL: bool;

    /// Whether one job fits nowhere where another does not; false where that is not known.
    fn needs_as_much(one: &Self::Need, other: &Self::Need) -> bool;

    /// What a job would be given; `None` where it does not fit.
    fn find(&self, need: &Self::Need) -> Option<Self::Held>;

    /// Whether it is worth to look for a place: where not, none is found, and none where less is free either.
    fn may_fit(&self, need: &Self::Need) -> bool;

    /// Takes what a job holds.
    fn take(&mut self, held: &Self::Held);

    /// Gives back what a job held.
    fn give(&mut self, held: &Self::Held);

    /// Takes all of the nodes of which a job would hold a part, once nothing is given back any
    /// more. Amounts without nodes are taken as they are.
    fn block(&mut self, held: &Self::Held);

    /// Gives nothing of these nodes any more. Amounts without nodes are all on one.
    fn withdraw(&mut self, nodes: &NodeSet);

    /// Keeps what is free in both.
    fn keep(&mut self, other: &Self);

    /// The same for one job alone: what it could not be given anyway need not be kept.
    fn keep_for(&mut self, other: &Self, need: &Self::Need);
}

/// A cluster that is one node: amounts are all that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneNode(pub Amounts);

impl Room for OneNode {
    type Need = Amounts;
    type Held = Amounts;

    const IS_TOTAL: bool = true;

    fn needs_as_much(one: &Amounts, other: &Amounts) -> bool {
        one.fits(other)
    }

    fn may_fit(&self, need: &Amounts) -> bool {
        self.0.fits(need)
    }

    fn find(&self, need: &Amounts) -> Option<Amounts> {
        self.0.fits(need).then_some(*need)
    }

    fn take(&mut self, held: &Amounts) {
        self.0.take(held);
    }

    fn give(&mut self, held: &Amounts) {
        self.0.give(held);
    }

    fn block(&mut self, held: &Amounts) {
        self.take(held);
    }

    fn withdraw(&mut self, nodes: &NodeSet) {
        if !nodes.is_empty() {
            self.0 = Amounts::default();
        }
    }

    fn keep(&mut self, other: &OneNode) {
        self.0 = self.0.least(&other.0);
    }

    fn keep_for(&mut self, other: &OneNode, _need: &Amounts) {
        self.keep(other);
    }
}

/// A cluster of nodes.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    cluster: &'a Cluster,
    free: Free,
    /// What is free on all of them together.
    total: Total,
}

/// CPUs and GPUs of several nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    cpus: u64,
    gpus: u64,
}

impl Total {
    /// Of some shares.
    fn of(shares: &[Share]) -> Total {
        Total {
            cpus: shares.iter().map(|share| u64::from(share.cpus())).sum(),
            gpus: shares
                .iter()
                .map(|share| u64::from(share.gpu_count()))
                .sum(),
        }
    }
}

/// What a job needs of a cluster of nodes.
#[derive(Clone, Debug)]
pub struct NeedOfNodes {
    compiled: Compiled,
    /// Those that it could be given of the idle cluster.
    servers: Vec<NodeId>,
    /// Less than this in all is not enough, on whichever nodes it is.
    least: Total,
}

impl NeedOfNodes {
    /// A demand, and what it would be given of the idle cluster. Of whole nodes it is
    /// given what the nodes have, and of CPUs that jobs share what others have too: nothing is known in all.
    #[must_use]
    pub fn new(cluster: &Cluster, compiled: Compiled, idle: &[Share]) -> NeedOfNodes {
        let least = match compiled.demand.sharing {
            Sharing::Whole | Sharing::Over(_) => Total::default(),
            Sharing::Any | Sharing::Beside(_) | Sharing::Forced | Sharing::User => Total::of(idle),
        };
        NeedOfNodes {
            servers: compiled.servers(cluster),
            compiled,
            least,
        }
    }
}

impl<'a> Nodes<'a> {
    /// All of a cluster, idle.
    #[must_use]
    pub fn idle(cluster: &'a Cluster) -> Nodes<'a> {
        let classes = || cluster.nodes().map(|node| cluster.class(node).total);
        Nodes {
            cluster,
            free: Free::idle(cluster),
            total: Total {
                cpus: classes().map(|total| u64::from(total.cpus)).sum(),
                gpus: classes().map(|total| u64::from(total.lane(0))).sum(),
            },
        }
    }

    /// Gives nothing of a node any more.
    fn close(&mut self, node: NodeId) {
        if self.free.up().contains(node) {
            let left = self.free.amounts(node);
            self.total.cpus = self.total.cpus.saturating_sub(left.cpus.into());
            self.total.gpus = self.total.gpus.saturating_sub(left.lane(0).into());
            self.free.set_up(node, false);
        }
    }
}

/// What a job holds of a cluster of nodes.
#[derive(Clone, Debug)]
pub struct HeldNodes {
    shares: Vec<Share>,
    sharing: Sharing,
    total: Total,
}

impl Room for Nodes<'_> {
    type Need = NeedOfNodes;
    type Held = HeldNodes;

    const IS_TOTAL: bool = false;

    fn needs_as_much(one: &NeedOfNodes, other: &NeedOfNodes) -> bool {
        std::ptr::eq(one, other)
    }

    fn may_fit(&self, need: &NeedOfNodes) -> bool {
        let is_too_little = self.total.cpus < need.least.cpus || self.total.gpus < need.least.gpus;
        !is_too_little
            && need
                .compiled
                .may_fit(self.cluster, &need.servers, &self.free)
    }

    fn find(&self, need: &NeedOfNodes) -> Option<HeldNodes> {
        if !self.may_fit(need) {
            return None;
        }
        let compiled = &need.compiled;
        let shares = place(self.cluster, compiled, &self.free, Pick::default())?;
        Some(HeldNodes {
            total: Total::of(&shares),
            shares,
            sharing: compiled.demand.sharing,
        })
    }

    fn take(&mut self, held: &HeldNodes) {
        self.free.take(self.cluster, &held.shares, held.sharing, 0);
        self.total.cpus = self.total.cpus.saturating_sub(held.total.cpus);
        self.total.gpus = self.total.gpus.saturating_sub(held.total.gpus);
    }

    fn give(&mut self, held: &HeldNodes) {
        self.free.give(self.cluster, &held.shares, held.sharing, 0);
        self.total.cpus = self.total.cpus.saturating_add(held.total.cpus);
        self.total.gpus = self.total.gpus.saturating_add(held.total.gpus);
    }

    fn block(&mut self, held: &HeldNodes) {
        for share in &held.shares {
            self.close(share.node);
        }
    }

    fn withdraw(&mut self, nodes: &NodeSet) {
        for node in nodes.iter() {
            self.close(node);
        }
    }

    /// The least of the totals is a bound: what is free in both on each node may be less.
    fn keep(&mut self, other: &Self) {
        self.free.keep(self.cluster, &other.free);
        self.total.cpus = self.total.cpus.min(other.total.cpus);
        self.total.gpus = self.total.gpus.min(other.total.gpus);
    }

    fn keep_for(&mut self, other: &Self, need: &NeedOfNodes) {
        self.free.keep_of(self.cluster, &need.servers, &other.free);
        self.total.cpus = self.total.cpus.min(other.total.cpus);
        self.total.gpus = self.total.gpus.min(other.total.gpus);
    }
}
