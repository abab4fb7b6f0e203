//! `why`: what a job waits for.

use super::Owner;
use api::{
    Answer, ArrayThrottle, AwaitedJob, HeldAmount, JobHolds, LicenceNeed, NeverMet, NodesNeeded,
    NotPlanned, OutOfUse, PreemptedJob, Refusal, Unmet, WhyWaiting,
};
use model::{
    ArrayTask, DependencyKind, Element, JobId, JobState, JobStateName, PendingReason, Timestamp,
};
use sched::{Amount, Job, Why};

impl Owner {
    /// Why a live job waits.
    pub(super) fn why(&self, job: JobId, now: Timestamp) -> Answer {
        let Some(record) = self.state.job(job) else {
            return Answer::Refused(Refusal::NoSuchJob { job });
        };
        let Some(why) = self.state.why(job, now) else {
            return Answer::Refused(Refusal::Invalid {
                message: format!("job {job} does not wait"),
            });
        };
        Answer::Why(Box::new(self.waiting(record.id, why)))
    }

    /// What a client gets to know of a job that waits.
    fn waiting(&self, job: JobId, why: Why) -> WhyWaiting {
        let wire = |amount: Amount| HeldAmount {
            cpus: amount.cpus,
            gpus: amount.gpus,
            memory: amount.memory,
        };
        let reason = JobState::Pending { reason: why.reason };
        let holders = why.holders.into_iter().map(|holder| JobHolds {
            job: holder.job,
            element: holder
                .element
                .map(|(array, task)| name_of(array, Some(task))),
            user: holder.user,
            holds: wire(holder.holds),
            until: holder.until,
            is_suspended: holder.is_suspended,
            preempted: holder.preempted.map(|preempted| PreemptedJob {
                grace: preempted.grace,
                comes_back: preempted.comes_back,
            }),
        });
        let throttle = why.throttle.map(|throttle| ArrayThrottle {
            array: throttle.array,
            most: throttle.most,
            next: throttle.next,
        });
        let licences = why.licences.into_iter().map(|need| LicenceNeed {
            name: need.name,
            asked: need.asked,
            there: need.there,
            reserved: need.reserved,
            held: need.held,
        });
        let nodes_needed = why.nodes_needed.map(|needed| NodesNeeded {
            least: needed.least,
            with_room: needed.with_room,
            there: needed.there,
        });
        let out_of_use = why.out_of_use.into_iter().map(out_of_use);
        let unmet = why.unmet.into_iter().map(|unmet| Unmet {
            condition: unmet.condition,
            met_at: unmet.met_at,
            jobs: unmet.jobs.into_iter().map(awaited).collect(),
            more: unmet.more,
        });
        let never_met = why.never_met.into_iter().map(|never| {
            let end = self.end_of(&never);
            let (job, state) = end.unzip();
            NeverMet {
                condition: never.condition,
                job: job.unwrap_or_else(|| never.depended.job.to_string()),
                state,
            }
        });
        let waits_for_room = matches!(
            &reason,
            JobState::Pending {
                reason: PendingReason::Resources | PendingReason::Priority
            }
        );
        let cpus_held_elsewhere = waits_for_room.then(|| self.cpus.held_elsewhere());
        let (start, nodes) = why.start.map(|start| (start.at, start.nodes)).unzip();
        WhyWaiting {
            job,
            reason: model::reason_text(&reason).into_owned(),
            needs: why.needs.map(wire),
            nodes_needed,
            out_of_use: out_of_use.collect(),
            free: wire(why.free),
            free_on_one: wire(why.free_on_one),
            there: wire(why.there),
            ahead: why.ahead,
            holders: holders.collect(),
            start,
            nodes: nodes.unwrap_or_default(),
            not_planned: why.not_planned.map(|far| NotPlanned {
                not_before: far.not_before,
                ahead: far.ahead,
                tried: far.tried,
            }),
            no_limit: why.no_limit,
            unmet: unmet.collect(),
            one_is_enough: why.one_is_enough,
            never_met: never_met.collect(),
            cpus_held_elsewhere: cpus_held_elsewhere.unwrap_or_default(),
            licences: licences.collect(),
            reservations: why.reservations,
            too_late: why.too_late,
            limit: why.limit,
            partition_bound: why.partition_bound,
            throttle,
            instead: why.instead,
            smaller_untried: why.smaller_untried,
        }
    }

    /// The job or element whose end is the reason, and how it ended, as Slurm names it; `None` where that is no
    /// longer known.
    fn end_of(&self, never: &sched::NeverMet) -> Option<(String, String)> {
        let ended = self.store.ended_by_id(never.depended.job).ok()?;
        let is_named = |record: &&Job| match never.depended.element {
            Element::One(task) => task_of(record) == Some(task),
            Element::Whole | Element::All => true,
        };
        let wants_success = matches!(
            never.kind,
            DependencyKind::AfterOk | DependencyKind::AfterCorr
        );
        let is_reason = |record: &&Job| {
            !wants_success || JobStateName::of(&record.state) != JobStateName::Completed
        };
        let record = ended.iter().filter(is_named).find(is_reason)?;
        let name = name_of(never.depended.job, task_of(record));
        let state = JobStateName::of(&record.state).long().to_owned();
        Some((name, state))
    }
}

/// Which element of an array it is.
fn task_of(record: &Job) -> Option<u32> {
    match record.array.as_ref()?.task {
        ArrayTask::One(task) => Some(task),
        _ => None,
    }
}

/// Nodes that take no jobs, as clients read them.
pub(super) fn out_of_use(away: sched::OutOfUse) -> OutOfUse {
    OutOfUse {
        nodes: away.nodes,
        state: away.mark.word().to_owned(),
        reason: away.mark.reason,
        by: away.mark.user,
    }
}

/// A job, or an element of an array, as `squeue` names it.
fn name_of(job: JobId, task: Option<u32>) -> String {
    match task {
        Some(task) => format!("{job}_{task}"),
        None => job.to_string(),
    }
}

fn awaited(job: sched::Awaited) -> AwaitedJob {
    AwaitedJob {
        job: name_of(job.job, job.task),
        waits: job
            .waits
            .map(|reason| model::reason_text(&JobState::Pending { reason }).into_owned()),
        until: job.until,
        is_suspended: job.is_suspended,
    }
}
