//! Reservations of cores, which leave the others of their nodes to other jobs (`select_p_resv_test` of
//! 22.05's `select/cons_tres`).

use super::clash::meet;
use crate::State;
use model::{NodeName, Reservation, ReservationDenial};
use resources::{NodeId, NodeSet};
use std::collections::BTreeSet;

impl State {
    /// The nodes of one that names none: as few as it takes, or so many as are asked for. Its cores on each
    /// are noted.
    ///
    /// # Errors
    /// They have too few cores that no other reservation has.
    pub(super) fn nodes_with_cores(
        &self,
        next: &mut Reservation,
        counts: &[u32],
        cores: &[u32],
    ) -> Result<NodeSet, ReservationDenial> {
        let partition = match next.partition.as_deref() {
            Some(name) => self.cluster.find_partition(name),
            None => self.cluster.default_partition(),
        };
        let partition = partition.ok_or(ReservationDenial::NoDefaultPartition)?;
        let mut up = self.cluster.partition(partition).nodes.clone();
        up.keep(self.held.free.up());
        let mut left = up.clone();
        left.drop_all(&self.reserved_at(next));
        let found = self.pick_with_cores(next, &left, counts, cores);
        match found {
            Err(ReservationDenial::Busy) if next.may_overlap() => {
                self.pick_with_cores(next, &up, counts, cores)
            }
            found => found,
        }
    }

    /// Those of a set.
    fn pick_with_cores(
        &self,
        next: &mut Reservation,
        there: &NodeSet,
        counts: &[u32],
        cores: &[u32],
    ) -> Result<NodeSet, ReservationDenial> {
        let all = sum(cores);
        let count = sum(counts);
        let free = there.iter().map(|node| (node, self.free_cores(next, node)));
        let free: Vec<(NodeId, u32)> = free.collect();
        let with = |least: u32| {
            let enough = free.iter().filter(move |(_, cores)| *cores >= least);
            enough.copied()
        };
        let nodes: Vec<NodeId> = if count > 0 {
            let nodes = with(all.div_ceil(count)).take(count as usize);
            nodes.map(|(node, _)| node).collect()
        } else if let Some((node, _)) = with(all.max(1)).next() {
            vec![node]
        } else {
            let mut found = 0_u32;
            let nodes = with(1).take_while(|(_, cores)| {
                let goes_on = found < all;
                found = found.saturating_add(*cores);
                goes_on
            });
            nodes.map(|(node, _)| node).collect()
        };
        if nodes.is_empty() || nodes.len() < count as usize {
            return Err(ReservationDenial::Busy);
        }
        self.share_cores(next, &nodes, cores)?;
        Ok(nodes.into_iter().collect())
    }

    /// Deals cores out over nodes, evenly as far as they have them.
    ///
    /// # Errors
    /// They have too few that no other reservation has.
    pub(super) fn share_cores(
        &self,
        next: &mut Reservation,
        nodes: &[NodeId],
        cores: &[u32],
    ) -> Result<(), ReservationDenial> {
        let free: Vec<u32> = nodes
            .iter()
            .map(|node| self.free_cores(next, *node))
            .collect();
        let mut left = sum(cores);
        let mut given = vec![0_u32; nodes.len()];
        while left > 0 {
            let mut open: Vec<usize> = (0..nodes.len())
                .filter(|at| given[*at] < free[*at])
                .collect();
            let each = left / u32::try_from(open.len().max(1)).unwrap_or(u32::MAX);
            if each == 0 {
                open.truncate(left as usize);
            }
            if open.is_empty() {
                return Err(ReservationDenial::Busy);
            }
            for at in open {
                let more = each.max(1).min(free[at] - given[at]);
                given[at] += more;
                left -= more;
            }
        }
        let names = nodes
            .iter()
            .map(|node| self.cluster.node_name(*node).clone());
        next.nodes = names.collect();
        let firsts = nodes.iter().zip(&given);
        let firsts = firsts
            .map(|(node, given)| self.first_cores(next, self.cluster.node_name(*node), *given));
        next.core_ids = firsts.collect();
        next.cores = given;
        Ok(())
    }

    /// Says which cores reservations have of which only the number was kept, as an earlier engine did: one
    /// after another by name, what others have left. They are kept from then on.
    pub(crate) fn tell_cores_apart(&mut self) {
        let unknown = |it: &&Reservation| !it.cores.is_empty() && it.core_ids.is_empty();
        let all: Vec<Reservation> = self.reservations().filter(unknown).cloned().collect();
        for mut next in all {
            let counts = next.nodes.iter().zip(&next.cores);
            let ids = counts.map(|(node, count)| self.first_cores(&next, node, *count));
            next.core_ids = ids.collect();
            self.reservation_changed(next.name.clone(), Some(next));
        }
    }

    /// The first cores of a node that no other reservation has in the time of one.
    fn first_cores(&self, next: &Reservation, node: &NodeName, count: u32) -> Vec<u32> {
        let others = self.reservations();
        let others = others.filter(|other| other.name != next.name && meet(next, other));
        let taken = others.flat_map(|other| {
            let own = other.nodes.iter().zip(&other.core_ids);
            own.filter(|(own, _)| *own == node)
                .flat_map(|(_, ids)| ids.iter().copied())
        });
        let taken: BTreeSet<u32> = taken.collect();
        let free = (0..).filter(|id| !taken.contains(id));
        free.take(count as usize).collect()
    }

    /// The cores of a node that no other reservation of cores has in the time of one.
    fn free_cores(&self, next: &Reservation, node: NodeId) -> u32 {
        let class = self.cluster.class(node);
        let cores = class
            .sockets
            .map_or(class.total.cpus, |it| it.sockets.saturating_mul(it.cores));
        let name = self.cluster.node_name(node);
        let others = self
            .reservations()
            .filter(|other| other.name != next.name && meet(next, other));
        let taken = others.map(|other| {
            let own = other.nodes.iter().zip(&other.cores);
            let own = own.filter(|(own, _)| *own == name);
            own.map(|(_, cores)| *cores).sum::<u32>()
        });
        cores.saturating_sub(taken.sum())
    }
}

fn sum(counts: &[u32]) -> u32 {
    counts
        .iter()
        .fold(0, |sum, count| sum.saturating_add(*count))
}
