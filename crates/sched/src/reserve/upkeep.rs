//! What becomes of reservations by themselves: one that floats moves, one without jobs goes, nodes that can't
//! be used any more make room for others (`job_resv_check`, `_validate_node_choice` and
//! `_resv_node_replace` of 22.05).

use super::clash::overlap;
use crate::State;
use model::{Reservation, ReservationFlag, Timestamp};
use resources::NodeSet;

impl State {
    /// Moves those that float, and ends those that no job has used for a while.
    pub(crate) fn keep_reservations(&mut self, now: Timestamp) {
        self.reservations.float(now);
        let to_purge = self
            .reservations()
            .filter(|one| one.is(ReservationFlag::PurgeComp));
        let to_purge: Vec<Reservation> = to_purge.cloned().collect();
        for mut reservation in to_purge {
            let name = reservation.name.clone();
            let is_used = || self.jobs_of_reservation(&name).next().is_some();
            let since = reservation.unused_since.unwrap_or(now);
            let unused = (reservation.start <= now && !is_used()).then_some(since);
            if reservation.unused_since != unused {
                reservation.unused_since = unused;
                self.reservation_changed(name.clone(), Some(reservation.clone()));
            }
            if reservation.purged_at().is_none_or(|at| at > now) {
                continue;
            }
            reservation.unused_since = None;
            let next = reservation.next_start().map(|next| {
                let length = reservation.end.since(reservation.start);
                reservation.start = next;
                reservation.end = Timestamp(next.0.saturating_add(length));
                reservation
            });
            self.reservation_changed(name, next);
        }
    }

    /// Gives reservations whose nodes were not named others for those that are down or drained, and, where
    /// they say so, for those that jobs use. Whether any got some.
    pub(crate) fn replace_nodes(&mut self, now: Timestamp) -> bool {
        let is_fixed = |one: &Reservation| {
            [ReservationFlag::SpecNodes, ReservationFlag::Static]
                .iter()
                .any(|flag| one.is(*flag))
                || one.is_of_cores()
        };
        let up = self.held.free.up();
        let kept = self.reservations.iter().filter(|kept| {
            let one = &kept.reservation;
            let is_needy = || {
                let replaces = one.is(ReservationFlag::Replace);
                kept.nodes.iter().any(|node| {
                    !up.contains(node) || replaces && !self.held.free.idle_nodes().contains(node)
                })
            };
            !is_fixed(one) && one.end > now && is_needy()
        });
        let names: Vec<String> = kept.map(|kept| kept.reservation.name.clone()).collect();
        let mut any = false;
        for name in names {
            if let Some(next) = self.with_other_nodes(&name) {
                self.reservation_changed(name, Some(next));
                any = true;
            }
        }
        any
    }

    /// A reservation with as many nodes that can be used, where there are others than its own.
    fn with_other_nodes(&self, name: &str) -> Option<Reservation> {
        let kept = self.reservations.get(name)?;
        let mut next = kept.reservation.clone();
        let usable = |nodes: &NodeSet| {
            let mut nodes = nodes.clone();
            nodes.keep(self.held.free.up());
            if next.is(ReservationFlag::Replace) {
                nodes.keep(self.held.free.idle_nodes());
            }
            nodes
        };
        let mut own = usable(&kept.nodes);
        let missing = kept.nodes.len() - own.len();
        let partition = next.partition.as_deref();
        let partition = partition.and_then(|name| self.cluster.find_partition(name));
        let partition = partition.or_else(|| self.cluster.default_partition())?;
        let mut pool = usable(&self.cluster.partition(partition).nodes);
        pool.drop_all(&kept.nodes);
        let new = self.choose_nodes(&next, &[missing], Some(pool)).ok()?;
        if overlap(&new, &kept.nodes) {
            return None;
        }
        own.add(&new);
        // What could not be replaced stays.
        let mut rest = kept.nodes.clone();
        rest.drop_all(&own);
        let short = kept.nodes.len().saturating_sub(own.len());
        let rest: NodeSet = rest.iter().take(short as usize).collect();
        own.add(&rest);
        next.nodes = self.names_of(&own);
        Some(next)
    }
}
