//! What is free at some moment, as the policies reckon with it.

use resources::{Amounts, Cluster, Compiled, Free, Pick, Share, place};

/// What is free at some moment. A policy keeps several: now, when the first job in the queue is
/// expected to start, at each end that comes.
pub trait Room: Clone {
    /// What a job needs.
    type Need;
    /// What a job holds.
    type Held;

    /// What a job would be given; `None` where it does not fit.
    fn find(&self, need: &Self::Need) -> Option<Self::Held>;

    /// Whether a job fits, however much that costs to find.
    fn fits(&self, need: &Self::Need) -> bool {
        self.find(need).is_some()
    }

    /// Takes what a job holds.
    fn take(&mut self, held: &Self::Held);

    /// Gives back what a job held.
    fn give(&mut self, held: &Self::Held);

    /// Keeps what is free in both.
    fn keep(&mut self, other: &Self);

    /// A bound of what several jobs need, by which all of them can be ruled out at once.
    type Least: Clone;

    /// The bound of a job and of those behind it.
    fn least(need: &Self::Need, behind: Option<&Self::Least>) -> Self::Least;

    /// Whether one of those jobs may fit.
    fn may_fit(&self, least: &Self::Least) -> bool;
}

/// A cluster that is one node: amounts are all that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneNode(pub Amounts);

impl Room for OneNode {
    type Need = Amounts;
    type Held = Amounts;

    fn find(&self, need: &Amounts) -> Option<Amounts> {
        self.0.fits(need).then_some(*need)
    }

    fn take(&mut self, held: &Amounts) {
        self.0.take(held);
    }

    fn give(&mut self, held: &Amounts) {
        self.0.give(held);
    }

    fn keep(&mut self, other: &OneNode) {
        self.0 = self.0.least(&other.0);
    }

    type Least = Amounts;

    fn least(need: &Amounts, behind: Option<&Amounts>) -> Amounts {
        behind.map_or(*need, |behind| need.least(behind))
    }

    fn may_fit(&self, least: &Amounts) -> bool {
        self.0.fits(least)
    }
}

/// A cluster of nodes.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    cluster: &'a Cluster,
    free: Free,
}

impl<'a> Nodes<'a> {
    /// All of a cluster, idle.
    #[must_use]
    pub fn idle(cluster: &'a Cluster) -> Nodes<'a> {
        Nodes {
            cluster,
            free: Free::idle(cluster),
        }
    }
}

/// What a job holds of a cluster of nodes.
#[derive(Clone, Debug)]
pub struct HeldNodes {
    shares: Vec<Share>,
    sharing: resources::Sharing,
}

impl Room for Nodes<'_> {
    type Need = Compiled;
    type Held = HeldNodes;

    fn find(&self, need: &Compiled) -> Option<HeldNodes> {
        let shares = place(self.cluster, need, &self.free, Pick::default())?;
        Some(HeldNodes {
            shares,
            sharing: need.demand.sharing,
        })
    }

    fn take(&mut self, held: &HeldNodes) {
        self.free.take(self.cluster, &held.shares, held.sharing, 0);
    }

    fn give(&mut self, held: &HeldNodes) {
        self.free.give(self.cluster, &held.shares, held.sharing, 0);
    }

    fn keep(&mut self, other: &Self) {
        self.free.keep(self.cluster, &other.free);
    }

    /// Nothing is known of several jobs at once.
    type Least = ();

    fn least(_need: &Compiled, _behind: Option<&()>) {}

    fn may_fit(&self, _least: &()) -> bool {
        true
    }
}
