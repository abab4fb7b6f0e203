//! Why a job waits: what it lacks, who holds that, when it would start, and what smaller request
//! would start now.
//!
//! All of it is asked of the scheduler itself: its plan says when the job starts. Where that does not
//! reach so far a copy of the state is played on, in which running jobs last until their limits; in
//! another the job asks for less.

mod behind_plan;
mod budget;
mod fewer_gpus;
mod holders;
mod if_submitted;
mod never;
mod no_limit;
mod nodes;
mod over_limit;
mod partition_bound;
mod played;
mod smaller;
mod tries;
mod unmet;

use crate::{Job, State};
pub use behind_plan::NotPlanned;
use budget::Budget;
pub use holders::{Holder, Preempted, Throttle};
pub use if_submitted::WouldWait;
use model::{
    Allocation, JobId, JobState, PartitionBound, PendingReason, PlannedStart, ReachedLimit,
    Reservation, Timestamp, parse_licences,
};
pub use never::NeverMet;
pub(crate) use no_limit::runs_without_limit;
pub use nodes::{NodesNeeded, OutOfUse};
use played::Played;
use resources::Share;
#[cfg(test)]
pub(crate) use smaller::share_nodes;
use tries::Tries;
pub use unmet::{Awaited, Unmet};

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Slurm's word for it.
    pub reason: PendingReason,
    /// What it would hold by the plan, or on an idle cluster.
    pub needs: Option<Amount>,
    /// The nodes that it needs.
    pub nodes_needed: Option<NodesNeeded>,
    /// Nodes that it could have and that take no jobs now.
    pub out_of_use: Vec<OutOfUse>,
    /// What is free now on all nodes together that take jobs and that it could have.
    pub free: Amount,
    /// The most that is free on one of them, by GPUs, then by CPUs.
    pub free_on_one: Amount,
    /// What there is on nodes that it could have.
    pub there: Amount,
    /// Jobs of its partitions that wait and come before it.
    pub ahead: Vec<JobId>,
    /// Running jobs on nodes that it could have that end before it starts, by the plan, those that end last first; else those that count
    /// under the limit that it would pass, or the elements that its array runs.
    pub holders: Vec<Holder>,
    /// When it would start if all jobs ran until their limits, and on which nodes.
    pub start: Option<PlannedStart>,
    /// The start is not known because the plan does not reach so far, and to plan on, or to play on what comes,
    /// would have taken too much work.
    pub not_planned: Option<NotPlanned>,
    /// The start is not known because it comes after this job, which has no time limit.
    pub no_limit: Option<JobId>,
    /// What has yet to happen that it waits for; one of these is enough where its dependency says so (`?`).
    pub unmet: Vec<Unmet>,
    /// One of what has yet to happen is enough.
    pub one_is_enough: bool,
    /// What can no longer happen that it waits for.
    pub never_met: Vec<NeverMet>,
    /// The limit of a QOS, an account or a user that it would pass.
    pub limit: Option<ReachedLimit>,
    /// What its partition says against it.
    pub partition_bound: Option<PartitionBound>,
    /// Its array, where that runs as many elements as it may.
    pub throttle: Option<Throttle>,
    /// Licences that it asks for and that are not free.
    pub licences: Vec<LicenceNeed>,
    /// Reservations that close nodes of its partitions to it if it started now, and its own where that
    /// has not begun.
    pub reservations: Vec<Reservation>,
    /// When it ends if it has not started by then: its shortest limit no longer fits before its
    /// deadline.
    pub too_late: Option<Timestamp>,
    /// Its request with less in it, as options: each alone would let it start now.
    pub instead: Vec<String>,
    /// Nothing of that was tried, as it would have taken too much work.
    pub smaller_untried: bool,
}

/// Licences that a job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LicenceNeed {
    /// Their name.
    pub name: String,
    /// How many it asks for.
    pub asked: u32,
    /// How many there are.
    pub there: u32,
    /// How many of these reservations keep from it.
    pub reserved: u32,
    /// Running jobs that hold some, and how many each.
    pub held: Vec<(JobId, u32)>,
}

/// GPUs, CPUs and memory; ordered by GPUs first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    /// GPUs.
    pub gpus: u64,
    /// CPUs.
    pub cpus: u64,
    /// MiB.
    pub memory: u64,
}

impl Amount {
    fn of(allocation: &Allocation) -> Amount {
        Amount {
            cpus: allocation.cpus() as u64,
            gpus: allocation.gpus() as u64,
            memory: allocation.nodes.iter().map(|share| share.memory).sum(),
        }
    }

    pub(crate) fn of_shares(shares: &[Share]) -> Amount {
        let sum = |of: fn(&Share) -> u32| shares.iter().map(|share| u64::from(of(share))).sum();
        Amount {
            cpus: sum(Share::cpus),
            gpus: sum(Share::gpu_count),
            memory: sum(|share| share.amounts.mem_mib),
        }
    }
}

/// A start that was planned.
struct Planned {
    start: PlannedStart,
    needs: Amount,
    /// Of a row of an array, the element that starts.
    element: Option<u32>,
    /// Jobs that run now and end before it, in that order.
    ended: Vec<JobId>,
}

impl State {
    /// Why a job waits; none where it doesn't. Nothing changes.
    #[must_use]
    pub fn why(&self, job: JobId, now: Timestamp) -> Option<Why> {
        let record = self.job(job)?;
        let JobState::Pending { reason } = &record.state else {
            return None;
        };
        let ahead = self.ahead_of(record);
        let budget = Budget::new();
        let (planned, not_planned) = match self.by_plan(record, now) {
            Some(planned) => (Some(planned), None),
            None => match self.played_start(record, now, &budget) {
                Played::Starts(planned) => (Some(planned), None),
                Played::Never => (None, None),
                Played::TooMuch => match self.planned_behind(record, &ahead, now) {
                    Ok(planned) => (Some(planned), None),
                    Err(far) => (None, Some(far)),
                },
            },
        };
        let waits_for_room = matches!(reason, PendingReason::Resources | PendingReason::Priority);
        let less_may_do = matches!(
            reason,
            PendingReason::OverLimit(_)
                | PendingReason::ReservedForOthers
                | PendingReason::ReservedForMaintenance
                | PendingReason::PartitionTimeLimit
                | PendingReason::PartitionNodeLimit
        );
        let lacks_nodes = matches!(
            reason,
            PendingReason::NodesUnavailable(_) | PendingReason::NodesDownOrReserved
        );
        let over = matches!(reason, PendingReason::OverLimit(_))
            .then(|| self.over_limit(job, now))
            .flatten();
        let (limit, under) = over.unzip();
        let array = record.array.as_ref().map(|place| place.array_job);
        let array = array.filter(|_| *reason == PendingReason::JobArrayTaskLimit);
        let elements = array.map_or_else(Vec::new, |array| self.running_elements(array));
        let throttle = array.and_then(|array| {
            Some(Throttle {
                array,
                most: self.array_facts(array)?.throttle?,
                next: planned.as_ref().and_then(|planned| planned.element),
            })
        });
        let could_have = self.could_have(record);
        let holders = planned.as_ref().filter(|_| waits_for_room);
        let holders = holders
            .iter()
            .flat_map(|planned| planned.ended.iter().rev())
            .filter(|holder| self.is_on(**holder, &could_have))
            .chain(under.iter().flatten())
            .chain(&elements);
        let is_tried = waits_for_room || less_may_do || lacks_nodes;
        let budget = Budget::new();
        let tries = is_tried.then(|| Tries::new(self, record, now, &budget));
        let instead = tries.iter().flatten().flat_map(Tries::smaller);
        let instead: Vec<String> = instead.collect();
        let smaller_untried =
            matches!(tries, Some(None)) || (instead.is_empty() && budget.is_spent());
        let (mut there, mut free) = (Amount::default(), Amount::default());
        let mut free_on_one = Amount::default();
        for node in could_have.iter() {
            let total = self.cluster().class(node).total;
            there.cpus += u64::from(total.cpus);
            there.gpus += u64::from(total.lane(0));
            there.memory += u64::from(total.mem_mib);
            if !self.free().up().contains(node) {
                continue;
            }
            let own = self.free_on(node);
            free.cpus += own.cpus;
            free.gpus += own.gpus;
            free.memory += own.memory;
            free_on_one = free_on_one.max(own);
        }
        let no_limit = planned
            .as_ref()
            .and_then(|planned| self.without_limit(planned, &ahead, now));
        let start = planned.as_ref().filter(|_| no_limit.is_none());
        let needs = planned.as_ref().map(|planned| planned.needs);
        let needs = needs.or_else(|| self.needs_if_idle(record).filter(|_| is_tried));
        Some(Why {
            reason: reason.clone(),
            needs,
            nodes_needed: (waits_for_room
                || lacks_nodes
                || *reason == PendingReason::PartitionConfig)
                .then(|| self.nodes_needed(record, needs, &could_have))
                .flatten(),
            out_of_use: if waits_for_room || lacks_nodes {
                self.out_of_use(record)
            } else {
                Vec::new()
            },
            free,
            free_on_one,
            there,
            ahead,
            holders: holders.filter_map(|holder| self.holder(*holder)).collect(),
            start: start.map(|planned| planned.start.clone()),
            not_planned,
            no_limit,
            unmet: if *reason == PendingReason::Dependency {
                self.unmet(record, now)
            } else {
                Vec::new()
            },
            one_is_enough: record.dependency.as_ref().is_some_and(|all| all.any),
            never_met: if *reason == PendingReason::DependencyNeverSatisfied {
                self.never_met(record, now)
            } else {
                Vec::new()
            },
            limit,
            partition_bound: self.partition_bound(record, reason),
            throttle,
            licences: self.licences_that_lack(record, now),
            reservations: self.reservations_that_close(record, now),
            too_late: self.jobs.get(&job).and_then(|job| self.too_late(job)),
            instead,
            smaller_untried,
        })
    }

    /// Reservations that keep a job from nodes of its partitions now, as long as it may last.
    fn reservations_that_close(&self, record: &Job, now: Timestamp) -> Vec<Reservation> {
        let Some(job) = self.jobs.get(&record.id) else {
            return Vec::new();
        };
        let own = record.rare.reservation.as_deref();
        let closes = |kept: &&crate::reservations::Kept| {
            let reservation = &kept.reservation;
            if crate::reservations::named(own).any(|own| own == reservation.name) {
                return !reservation.is_active(now);
            }
            if kept.is_lent(crate::reserve::ends_within(&record.request)) {
                return false;
            }
            job.derived.choices.iter().any(|choice| {
                let limit = self.limit_of(job, choice);
                let until = now + limit.unwrap_or(crate::expected_ends::UNLIMITED);
                let nodes = &self.cluster.partition(choice.partition).nodes;
                reservation.overlaps(now, until)
                    && kept.nodes.iter().any(|node| nodes.contains(node))
            })
        };
        let all = self.reservations.iter().filter(closes);
        all.map(|kept| kept.reservation.clone()).collect()
    }

    fn licences_that_lack(&self, record: &Job, now: Timestamp) -> Vec<LicenceNeed> {
        let choices = self
            .jobs
            .get(&record.id)
            .map(|job| (job, job.derived.choices.first()));
        let limit = choices.and_then(|(job, choice)| Some(self.limit_of(job, choice?)));
        let asked = |record: &Job| {
            let text = record.request.rare.licenses.as_deref();
            text.and_then(parse_licences).unwrap_or_default()
        };
        let mut needs: Vec<LicenceNeed> = Vec::new();
        for licence in asked(record) {
            let there = self.cluster.licence(&licence.name).unwrap_or(0);
            let held = self.ledger.licences(&licence.name);
            let reservations = &self.reservations;
            let own = record.rare.reservation.as_deref();
            let limit = limit.flatten();
            let reserved = reservations.licences_kept(own, &licence.name, now, limit);
            if held.saturating_add(licence.count).saturating_add(reserved) > there {
                let holds = |job: &Job| {
                    let own = asked(job).into_iter();
                    let own = own.filter(|own| own.name == licence.name);
                    own.map(|own| (job.id, own.count)).next()
                };
                needs.push(LicenceNeed {
                    held: self.running().filter_map(holds).collect(),
                    name: licence.name,
                    asked: licence.count,
                    reserved,
                    there,
                });
            }
        }
        needs
    }

    /// Those that wait for a place in a partition of the job's and come before it there.
    fn ahead_of(&self, record: &Job) -> Vec<JobId> {
        let mut ahead: Vec<JobId> = Vec::new();
        let choices = self.jobs.get(&record.id).into_iter();
        for choice in choices.flat_map(|job| &job.derived.choices) {
            let own = self.key(record, choice.priority);
            let id = self.queue_of(record, choice.partition);
            if !self
                .ready
                .get(&id)
                .is_some_and(|queue| queue.contains(&own))
            {
                continue;
            }
            let queues = self.ready.iter();
            for (other, queue) in queues.filter(|(it, _)| it.partition == choice.partition) {
                let all = self.goes_first(*other, id);
                let none = self.goes_first(id, *other);
                let before = queue.iter().filter(|key| all || (!none && **key < own));
                ahead.extend(before.map(|key| key.job));
            }
        }
        ahead.sort_unstable();
        ahead.dedup();
        ahead
    }

    /// When a job starts by the plan of the last pass.
    fn by_plan(&self, record: &Job, now: Timestamp) -> Option<Planned> {
        let needs = self.expected_start(record.id)?.needs;
        let mut start = self.planned_on(record.id)?;
        let ends = self.ends(now).into_iter();
        let before = ends.take_while(|(end, _)| *end <= start.at);
        let ended = before.map(|(_, job)| job.record.id).collect();
        start.at = start.at.max(now);
        Some(Planned {
            start,
            needs,
            element: None,
            ended,
        })
    }
}

#[cfg(test)]
mod could_have_tests;
#[cfg(test)]
mod tests;
