//! What has yet to happen that a job waits for.

use crate::live_job::LiveJob;
use crate::outlook::Outlook;
use crate::{Job, State};
use model::{
    Condition, DependedJob, DependencyKind, Element, JobId, JobState, PendingReason, Timestamp,
};

/// So many of the jobs of a condition are named.
const NAMED: usize = 4;

/// A condition of a job's dependency that is not met yet, as `--dependency` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// `afterok:7`, `singleton`
    pub condition: String,
    /// When it is met, where that is known: so long after a start that was.
    pub met_at: Option<Timestamp>,
    /// Jobs that have to start or end first: those that wait, then those that end last.
    pub jobs: Vec<Awaited>,
    /// So many more of them are not named.
    pub more: usize,
}

/// A job for which another waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The job, or the array of an element.
    pub job: JobId,
    /// Its place in its array, of an element that runs.
    pub task: Option<u32>,
    /// Why it waits itself; none where it runs.
    pub waits: Option<PendingReason>,
    /// When its limit is over; none has no limit, waits, or is suspended.
    pub until: Option<Timestamp>,
    /// It is suspended, and its time stands still.
    pub is_suspended: bool,
}

impl Awaited {
    fn of(job: &LiveJob) -> Awaited {
        let state = &job.record.state;
        Awaited {
            job: job.target(),
            task: job.task(),
            waits: match state {
                JobState::Pending { reason } => Some(reason.clone()),
                _ => None,
            },
            until: state.limit_ends(),
            is_suspended: state.is_suspended(),
        }
    }
}

impl State {
    /// The conditions of a job's dependency that are not met yet.
    pub(super) fn unmet(&self, record: &Job, now: Timestamp) -> Vec<Unmet> {
        let (Some(job), Some(dependency)) = (self.jobs.get(&record.id), &record.dependency) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for condition in &dependency.conditions {
            match condition {
                Condition::Singleton => all.extend(self.unmet_singleton(job)),
                Condition::Jobs { kind, jobs } => {
                    let each = jobs.iter().filter(|depended| !depended.failed);
                    all.extend(each.filter_map(|it| self.unmet_job(*kind, it, job.task(), now)));
                }
            }
        }
        all
    }

    fn unmet_singleton(&self, job: &LiveJob) -> Option<Unmet> {
        let before = self.before_singleton(job)?;
        Some(unmet(Condition::Singleton.to_string(), None, vec![before]))
    }

    fn unmet_job(
        &self,
        kind: DependencyKind,
        depended: &DependedJob,
        task: Option<u32>,
        now: Timestamp,
    ) -> Option<Unmet> {
        let Outlook::NotYet(met_at) = self.depended(kind, depended, task, now) else {
            return None;
        };
        let named = match depended.element {
            Element::Whole | Element::All => None,
            Element::One(element) => Some(element),
        };
        let mut live = self.live_of(depended.job, named);
        if kind == DependencyKind::After {
            live.retain(|job| matches!(job.record.state, JobState::Pending { .. }));
        }
        let condition = Condition::Jobs {
            kind,
            jobs: vec![*depended],
        };
        Some(unmet(condition.to_string(), met_at, live))
    }
}

fn unmet(condition: String, met_at: Option<Timestamp>, mut live: Vec<&LiveJob>) -> Unmet {
    live.sort_by_key(|job| {
        let state = &job.record.state;
        let until = state.limit_ends();
        let waits = matches!(state, JobState::Pending { .. });
        (
            !waits,
            until.is_some(),
            std::cmp::Reverse(until),
            job.record.id,
        )
    });
    Unmet {
        condition,
        met_at,
        more: live.len().saturating_sub(NAMED),
        jobs: live.into_iter().take(NAMED).map(Awaited::of).collect(),
    }
}
