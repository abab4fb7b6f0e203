//! What a reservation may not meet: other reservations, and jobs that run on its nodes.

use crate::{Job, State};
use model::{JobState, Reservation, ReservationDenial, ReservationFlag, Timestamp, parse_licences};
use resources::NodeSet;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

impl State {
    /// # Errors
    /// It has nodes that another one has at the same time.
    pub(super) fn clashes_with_reservations(
        &self,
        next: &Reservation,
        nodes: &NodeSet,
    ) -> Result<(), ReservationDenial> {
        if next.may_overlap() || next.is_of_cores() {
            return Ok(());
        }
        let others = self.reservations.iter();
        let mut others = others.filter(|kept| {
            let other = &kept.reservation;
            let may_share = other.may_overlap() || other.is_of_cores();
            other.name != next.name && !may_share && meet(next, other)
        });
        if others.any(|kept| overlap(nodes, &kept.nodes)) {
            return Err(ReservationDenial::Overlap);
        }
        Ok(())
    }

    /// # Errors
    /// There are no such licences, or not so many beside those of others in its time.
    pub(super) fn has_licences(&self, next: &Reservation) -> Result<(), ReservationDenial> {
        let Some(text) = next.licences.as_deref() else {
            return Ok(());
        };
        let asked = parse_licences(text).ok_or(ReservationDenial::Licences)?;
        let others = || self.reservations().filter(|other| other.name != next.name);
        let are_there = asked.iter().all(|own| {
            let there = self.cluster.licence(&own.name).unwrap_or(0);
            let others = others().filter(|other| meet(next, other));
            let taken = others.map(|other| other.licences(&own.name));
            taken.fold(own.count, u32::saturating_add) <= there
        });
        are_there.then_some(()).ok_or(ReservationDenial::Licences)
    }

    /// # Errors
    /// Jobs of others run on its nodes when it begins.
    pub(super) fn clashes_with_jobs(
        &self,
        next: &Reservation,
        nodes: &NodeSet,
    ) -> Result<(), ReservationDenial> {
        let leaves_room = next.is(ReservationFlag::IgnoreJobs) || next.is_of_cores();
        if !leaves_room && overlap(nodes, &self.busy_at(next)) {
            return Err(ReservationDenial::Busy);
        }
        Ok(())
    }

    /// Nodes on which jobs of others run at its beginning.
    pub(super) fn busy_at(&self, next: &Reservation) -> NodeSet {
        self.nodes_of_others(next)
            .into_iter()
            .fold(NodeSet::default(), |mut all, (_, nodes)| {
                all.add(&nodes);
                all
            })
    }

    /// Running jobs of others that end after its beginning, by their numbers, with their nodes.
    pub(super) fn nodes_of_others(&self, next: &Reservation) -> Vec<(model::JobId, NodeSet)> {
        let of_it = |record: &Job| record.rare.reservation.as_deref() == Some(next.name.as_str());
        let ends = self.ends(self.last_pass.0).into_iter();
        let there = ends.filter(|(end, job)| *end > next.start && !of_it(&job.record));
        let held = there.filter_map(|(_, job)| match &job.record.state {
            JobState::Running { allocation, .. } => {
                let shares = allocation.nodes.iter();
                let nodes = shares.filter_map(|share| self.cluster.node(&share.node));
                Some((job.record.id, nodes.collect()))
            }
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let mut held: Vec<(model::JobId, NodeSet)> = held.collect();
        held.sort_by_key(|(job, _)| *job);
        held
    }

    /// Nodes that other reservations have in its time.
    pub(super) fn reserved_at(&self, next: &Reservation) -> NodeSet {
        let mut taken = NodeSet::default();
        for kept in self.reservations.iter() {
            let other = &kept.reservation;
            if other.name != next.name && !other.is_of_cores() && meet(next, other) {
                taken.add(&kept.nodes);
            }
        }
        taken
    }
}

pub(super) fn overlap(one: &NodeSet, other: &NodeSet) -> bool {
    one.iter().any(|node| other.contains(node))
}

/// Whether two reservations meet within the next week. As in Slurm, those that come again weekly, on
/// weekdays or at weekends are looked at once.
pub(super) fn meet(one: &Reservation, other: &Reservation) -> bool {
    let times = |reservation: &Reservation| {
        let (step, count) = if reservation.is(ReservationFlag::Hourly) {
            (HOUR, 7 * 24)
        } else if reservation.is(ReservationFlag::Daily) {
            (DAY, 7)
        } else {
            (0, 1)
        };
        let later = move |at: Timestamp, steps: i64| Timestamp(at.0.saturating_add(steps * step));
        let (start, end) = (reservation.start, reservation.end);
        (0..count).map(move |steps| (later(start, steps), later(end, steps)))
    };
    times(one).any(|(start, end)| {
        times(other).any(|(other_start, other_end)| start < other_end && other_start < end)
    })
}
