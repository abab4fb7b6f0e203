//! What reservations leave to a job: the nodes, and CPUs of nodes, that they close to it, and why it waits for that.

use crate::fault::{self, Fault};
use crate::kinds::{Choice, find};
use crate::possible_start::Attempt;
use crate::preempt::rules;
use crate::reservations::{Kept, Reservations, named};
use crate::reserve::ends_within;
use crate::{ClusterRef, Job, State};
use model::{JobId, PendingReason, Request, ReservationFlag, Seconds, Timestamp};
use resources::{NodeId, NodeSet, Sharing};
use std::collections::HashMap;

/// What reservations leave of the cluster to a job.
#[derive(Clone, Debug)]
pub(crate) struct Reserved<'a> {
    all: &'a Reservations,
    own: Option<&'a Kept>,
    /// It names one that there isn't.
    is_lost: bool,
    /// It ends so soon after its signal (`--signal=R:`): those with a longer `MaxStartDelay` are no others.
    ends_within: Option<Seconds>,
}

/// A reservation's number, and how soon a job ends that borrows from others.
pub(crate) type Kind = (usize, Option<Seconds>);

/// In a pass: whether what some reservations leave is too little for what a job needs, by the address of that and
/// their numbers. Jobs that start make it otherwise.
#[derive(Debug, Default)]
pub(crate) struct TooFew(HashMap<(usize, Vec<usize>), bool>);

/// Nodes that reservations close to a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Closed {
    Nothing,
    Nodes(NodeSet),
    /// Nodes, and CPUs of others.
    Cpus(NodeSet, Vec<(NodeId, ClosedCpus)>),
    All,
}

/// Which CPUs of a node are closed to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedCpus {
    /// So many of those that are free.
    Some(u32),
    /// All that are free but so many.
    AllBut(u32),
}

impl Reservations {
    /// Those in which a user's job may run now that names none, or several, with what they leave to it.
    pub(crate) fn tried<'a>(
        &'a self,
        record: &'a Job,
        now: Timestamp,
    ) -> impl Iterator<Item = Reserved<'a>> {
        let (who, request) = (&record.submitter, &record.request);
        let own = record.rare.reservation.as_deref();
        let draws = move |kept: &&Kept| {
            let one = &kept.reservation;
            own.is_none()
                && one.is(ReservationFlag::Magnetic)
                && one.is_active(now)
                && one.admits(&who.user, &who.group, request.account.as_deref())
        };
        let has_several = own.is_some_and(|names| names.contains(','));
        let of_list = named(own).filter(move |_| has_several);
        let of_list = of_list.filter_map(|name| self.get(name));
        let all = self.iter().filter(draws).chain(of_list);
        all.map(|own| Reserved {
            all: self,
            own: Some(own),
            is_lost: false,
            ends_within: ends_within(request),
        })
    }

    /// What they leave to a job; to one that names several, the first of them.
    pub(crate) fn left_to_job(&self, record: &Job) -> Reserved<'_> {
        self.left_to(record.rare.reservation.as_deref(), &record.request)
    }

    /// The same for a request that names some.
    pub(crate) fn left_to(&self, names: Option<&str>, request: &Request) -> Reserved<'_> {
        let own = named(names).find_map(|name| self.get(name));
        Reserved {
            all: self,
            own,
            is_lost: names.is_some() && own.is_none(),
            ends_within: ends_within(request),
        }
    }
}

impl Reserved<'_> {
    /// The reservation that the job is in.
    pub(crate) fn name(&self) -> Option<&str> {
        self.own.map(|own| own.reservation.name.as_str())
    }

    /// The number of the reservation that the job is in; 0 is none.
    pub(crate) fn number(&self) -> usize {
        self.own.map_or(0, |own| own.number)
    }

    /// Tells jobs apart to which something else is left.
    pub(crate) fn kind(&self) -> Kind {
        let ends_within = self.ends_within.filter(|_| self.all.lend());
        (self.number(), ends_within)
    }

    /// The nodes that a job is not given if it begins at a moment and may last for so long; both in
    /// milliseconds.
    pub(crate) fn closed(&self, cluster: &ClusterRef, at: i64, limit: i64) -> Closed {
        if fault::is(Fault::ReservationIgnored) {
            return Closed::Nothing;
        }
        if self.is_lost {
            return Closed::All;
        }
        let (from, until) = (Timestamp(at), Timestamp(at.saturating_add(limit)));
        let mut closed = NodeSet::default();
        let mut cpus = Vec::new();
        if let Some(kept) = self.own {
            let (reservation, nodes) = (&kept.reservation, &kept.nodes);
            if !reservation.is(ReservationFlag::Flex) {
                if !reservation.is_active(from) {
                    return Closed::All;
                }
                if !reservation.is(ReservationFlag::AnyNodes) {
                    closed = NodeSet::first(cluster.node_count());
                    closed.drop_all(nodes);
                }
            }
            cpus.extend(
                kept.left(from)
                    .map(|(node, left)| (node, ClosedCpus::AllBut(left))),
            );
            if reservation.may_overlap() {
                return Closed::of(closed, cpus);
            }
        }
        for other in self.all.iter() {
            let is_own = self.own.is_some_and(|own| own.number == other.number);
            if is_own || other.is_lent(self.ends_within) || !other.reservation.overlaps(from, until)
            {
                continue;
            }
            if other.reservation.is_of_cores() {
                cpus.extend(
                    other
                        .left(from)
                        .map(|(node, left)| (node, ClosedCpus::Some(left))),
                );
            } else {
                closed.add(&other.nodes);
            }
        }
        Closed::of(closed, cpus)
    }
}

impl Reserved<'_> {
    /// Whether others have all nodes of the reservation that the job is in.
    fn is_taken(&self, closed: &Closed) -> bool {
        let (Some(own), Closed::Nodes(nodes) | Closed::Cpus(nodes, _)) = (self.own, closed) else {
            return false;
        };
        let mut left = own.nodes.clone();
        left.drop_all(nodes);
        !own.nodes.is_empty() && left.is_empty() && !own.reservation.is(ReservationFlag::AnyNodes)
    }
}

impl Closed {
    fn of(nodes: NodeSet, cpus: Vec<(NodeId, ClosedCpus)>) -> Closed {
        match (nodes.is_empty(), cpus.is_empty()) {
            (_, false) => Closed::Cpus(nodes, cpus),
            (true, true) => Closed::Nothing,
            (false, true) => Closed::Nodes(nodes),
        }
    }
}

impl State {
    /// What reservations leave to a live job.
    pub(crate) fn reserved_for(&self, job: JobId) -> Reserved<'_> {
        match self.jobs.get(&job) {
            Some(job) => self.reservations.left_to_job(&job.record),
            None => self.reservations.left_to(None, &Request::default()),
        }
    }

    /// Why a job that is given no place waits, where that is for a reservation; it keeps no other job
    /// waiting then.
    pub(crate) fn waits_for_reservation(
        &self,
        attempt: &Attempt,
        named: &NodeSet,
        known: &mut TooFew,
        now: Timestamp,
    ) -> Option<PendingReason> {
        let record = &self.jobs[&attempt.job].record;
        let (partition, limit) = (attempt.choice.partition, attempt.span.length);
        if record.rare.reservation.is_some() {
            let reserved = self.reservations.left_to_job(record);
            return match reserved.closed(&self.cluster, now.0, limit) {
                Closed::All => Some(PendingReason::Reservation),
                closed => reserved
                    .is_taken(&closed)
                    .then_some(PendingReason::ReservedForMaintenance),
            };
        }
        let until = Timestamp(now.0.saturating_add(limit));
        let ends_within = ends_within(&record.request);
        let there = self.reservations.iter();
        let before_its_end = there.filter(|kept| {
            let own = &kept.reservation;
            !own.is_of_cores() && own.overlaps(now, until) && !kept.is_lent(ends_within)
        });
        let before_its_end: Vec<&Kept> = before_its_end.collect();
        // One of all nodes of a cluster or a partition is taken for maintenance, as in Slurm.
        let is_maintained = |kept: &Kept| {
            let has = |flag| kept.reservation.is(flag);
            let is_of_partition = kept.reservation.partition.as_ref()
                == Some(&self.cluster.partition(partition).name);
            has(ReservationFlag::Maint)
                || has(ReservationFlag::AllNodes)
                || (has(ReservationFlag::PartNodes) && is_of_partition)
        };
        let is_named = |kept: &&&Kept| kept.nodes.iter().any(|node| named.contains(node));
        if let Some(kept) = before_its_end.iter().find(is_named) {
            return Some(if is_maintained(kept) {
                PendingReason::ReservedForMaintenance
            } else {
                PendingReason::ReservedForOthers
            });
        }
        // Nothing of the partition is left.
        let all = &self.cluster.partition(partition).nodes;
        let mut left = all.clone();
        let numbers = before_its_end.iter().map(|kept| kept.number).collect();
        let (mut has_maintained, mut has_reserved) = (false, false);
        for kept in before_its_end {
            let overlaps = kept.nodes.iter().any(|node| left.contains(node));
            has_maintained |= overlaps && is_maintained(kept);
            has_reserved |= overlaps;
            left.drop_all(&kept.nodes);
        }
        if left.is_empty() && has_maintained {
            return Some(PendingReason::ReservedForMaintenance);
        }
        let is_up = || all.iter().all(|node| self.held.free.up().contains(node));
        let is_too_few = has_reserved
            && *known.0.entry((attempt.need(), numbers)).or_insert_with(|| {
                is_up()
                    && !self.is_any_busy(attempt, &left)
                    && !self.would_do(&attempt.choice, &left)
            });
        is_too_few.then_some(PendingReason::ReservedForOthers)
    }

    /// Whether a job is kept off one of some nodes by another there, whatever is free: one of them has its
    /// nodes alone. One that preempts counts on all.
    fn is_any_busy(&self, attempt: &Attempt, nodes: &NodeSet) -> bool {
        if rules::is_on(&self.cluster) {
            return false;
        }
        let compiled = &attempt.choice.need.compiled;
        let mut nodes = nodes.clone();
        nodes.keep(&compiled.candidates());
        let is_alone = compiled.demand.sharing == Sharing::Whole;
        let running = self.running.iter();
        let mut held = running.filter_map(|id| self.jobs[id].derived.holding.as_deref());
        held.any(|held| {
            let mut there = held.shares.iter();
            (is_alone || held.sharing == Sharing::Whole) && there.any(|it| nodes.contains(it.node))
        })
    }

    /// Whether some nodes would do for a job, were they idle.
    fn would_do(&self, choice: &Choice, nodes: &NodeSet) -> bool {
        let (compiled, idle) = (&choice.need.compiled, self.kinds.idle());
        let mut others = self.cluster.partition(choice.partition).nodes.clone();
        others.drop_all(nodes);
        find(
            &self.cluster,
            choice.partition,
            compiled,
            idle,
            0,
            Some(&others),
        )
        .is_some()
    }
}
