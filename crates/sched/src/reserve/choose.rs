//! Which nodes a reservation gets that does not name them (`_select_nodes`, `_pick_nodes_ordered` and
//! `_resize_resv` of 22.05).

use crate::State;
use model::{Reservation, ReservationDenial, ReservationFlag};
use resources::{NodeId, NodeSet};

impl State {
    /// So many nodes for each count, of its partition or of `pool`.
    ///
    /// # Errors
    /// There are none. Fewer than asked are taken where there are no more.
    pub(super) fn choose_nodes(
        &self,
        next: &Reservation,
        counts: &[u32],
        pool: Option<NodeSet>,
    ) -> Result<NodeSet, ReservationDenial> {
        let partition = match next.partition.as_deref() {
            Some(name) => self.cluster.find_partition(name),
            None => self.cluster.default_partition(),
        };
        let partition = partition.ok_or(ReservationDenial::NoDefaultPartition)?;
        let there = pool.unwrap_or_else(|| self.cluster.partition(partition).nodes.clone());
        let mut up = there.clone();
        up.keep(self.held.free.up());
        let mut left = up.clone();
        left.drop_all(&self.reserved_at(next));
        // The best first.
        let mut sets = vec![left];
        if next.may_overlap() {
            sets.push(up);
        }
        if next.is(ReservationFlag::Maint) {
            sets.push(there);
        }
        if let Some(features) = next.features.as_deref().filter(|text| !text.is_empty()) {
            let last = sets.last().cloned().unwrap_or_default();
            let with = self.with_features(features, &last)?;
            if with.len() < counts.iter().sum() {
                return Err(ReservationDenial::TooMany);
            }
            sets.iter_mut().for_each(|set| set.keep(&with));
        }
        let mut chosen = NodeSet::default();
        for count in counts {
            let mut missing = *count;
            for set in &mut sets {
                set.drop_all(&chosen);
                if missing == 0 || set.is_empty() {
                    continue;
                }
                if let Some(nodes) = self.pick(next, set, missing) {
                    missing = missing.saturating_sub(nodes.len());
                    chosen.add(&nodes);
                }
            }
        }
        if chosen.is_empty() {
            return Err(ReservationDenial::Busy);
        }
        Ok(chosen)
    }

    /// So many nodes of a set, or all of it where it has no more; `None` where jobs hold too many.
    fn pick(&self, next: &Reservation, set: &NodeSet, count: u32) -> Option<NodeSet> {
        let count = count.min(set.len());
        let ignores_jobs = next.is(ReservationFlag::IgnoreJobs);
        if ignores_jobs && count == set.len() {
            return Some(set.clone());
        }
        let of_others = self.nodes_of_others(next);
        let mut free = set.clone();
        of_others.iter().for_each(|(_, nodes)| free.drop_all(nodes));
        let mut jobs = of_others.iter();
        while free.len() < count {
            // As few jobs as it takes lose their nodes.
            let (_, nodes) = jobs.next().filter(|_| ignores_jobs)?;
            let mut nodes = nodes.clone();
            nodes.keep(set);
            free.add(&nodes);
        }
        Some(first(&free, count))
    }

    /// Nodes of a set with features: `a&b`, `a|b`.
    fn with_features(&self, text: &str, of: &NodeSet) -> Result<NodeSet, ReservationDenial> {
        let known = |name: &str| {
            let name = name.split('*').next().unwrap_or_default();
            let nodes = self.cluster.with_feature(name);
            nodes.cloned().ok_or(ReservationDenial::Feature)
        };
        if text.contains(['[', '(']) {
            return Err(ReservationDenial::Feature);
        }
        let mut all = NodeSet::default();
        for alternative in text.split('|') {
            let mut nodes = of.clone();
            for name in alternative.split(['&', ',']) {
                nodes.keep(&known(name)?);
            }
            all.add(&nodes);
        }
        Ok(all)
    }

    /// The nodes of one that is to have so many.
    ///
    /// # Errors
    /// There are no more.
    pub(super) fn resized(
        &self,
        next: &Reservation,
        mut own: NodeSet,
        count: u32,
    ) -> Result<NodeSet, ReservationDenial> {
        let now = own.len();
        if count >= now {
            let more = count - now;
            if more == 0 {
                return Ok(own);
            }
            let partition = match next.partition.as_deref() {
                Some(name) => self.cluster.find_partition(name),
                None => self.cluster.default_partition(),
            };
            let partition = partition.ok_or(ReservationDenial::NoDefaultPartition)?;
            let mut pool = self.cluster.partition(partition).nodes.clone();
            pool.drop_all(&own);
            own.add(&self.choose_nodes(next, &[more], Some(pool))?);
            return Ok(own);
        }
        let mut idle = own.clone();
        idle.keep(self.held.free.idle_nodes());
        idle.keep(self.held.free.up());
        own.drop_all(&first(&idle, now - count));
        Ok(first(&own, count))
    }
}

/// The first of some nodes.
fn first(nodes: &NodeSet, count: u32) -> NodeSet {
    let nodes: Vec<NodeId> = nodes.iter().take(count as usize).collect();
    nodes.into_iter().collect()
}
