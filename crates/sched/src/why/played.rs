//! What comes when running jobs last until their limits.

use super::budget::Budget;
use super::{Amount, Planned};
use crate::expected_ends::expected_end;
use crate::{Action, Event, Job, State};
use model::{JobId, JobState, Outcome, PlannedStart, Timestamp};

/// What came of a state that was played on.
pub(super) enum Played {
    /// The job started.
    Starts(Planned),
    /// Nothing else comes, and it still waits.
    Never,
    /// That takes too much work to say.
    TooMuch,
}

impl Played {
    pub(super) fn start(self) -> Option<Planned> {
        match self {
            Played::Starts(planned) => Some(planned),
            Played::Never | Played::TooMuch => None,
        }
    }
}

impl State {
    /// When a job, or the first element of its row, starts if running jobs last until their limits
    /// and no other job comes.
    pub(super) fn played_start(&self, record: &Job, now: Timestamp, budget: &Budget) -> Played {
        if !self.is_pass_short() {
            return Played::TooMuch;
        }
        let mut later = self.clone();
        later.priorities.fix();
        let (mut at, mut ended) = (now, Vec::new());
        while budget.pay(&later) {
            let started: Vec<JobId> = starts(&later.schedule(at)).collect();
            // Elements that start leave their row under ids of their own.
            let own = started.into_iter().find_map(|id| {
                let job = later.job(id)?;
                let of_row = |job: &Job| job.array.as_ref().map(|place| place.array_job);
                let is_it =
                    id == record.id || (record.array.is_some() && of_row(job) == of_row(record));
                match &job.state {
                    JobState::Running { allocation, .. } if is_it => {
                        Some((allocation.clone(), later.jobs[&id].task()))
                    }
                    _ => None,
                }
            });
            if let Some((allocation, element)) = own {
                return Played::Starts(Planned {
                    needs: Amount::of(&allocation),
                    start: PlannedStart {
                        at,
                        nodes: allocation.nodes.into_iter().map(|it| it.node).collect(),
                    },
                    element,
                    ended,
                });
            }
            let ends: Vec<(Timestamp, JobId)> = later
                .running()
                .filter_map(|job| Some((expected_end(&job.state, now)?, job.id)))
                .collect();
            let next_end = ends.iter().map(|(end, _)| *end).min();
            let next = [next_end, later.next_due()].into_iter().flatten().min();
            let Some(next) = next else {
                return Played::Never;
            };
            at = at.max(next);
            let over = |end: &&(Timestamp, JobId)| end.0 <= at;
            for (_, job) in ends.iter().filter(over) {
                if self
                    .job(*job)
                    .is_some_and(|job| matches!(job.state, JobState::Running { .. }))
                {
                    ended.push(*job);
                }
                later.apply(Event::Gone {
                    job: *job,
                    outcome: Outcome::Completed,
                    at,
                });
            }
        }
        Played::TooMuch
    }
}

pub(super) fn starts(actions: &[Action]) -> impl Iterator<Item = JobId> {
    actions.iter().filter_map(|action| match action {
        Action::Start { job, .. } => Some(*job),
        Action::Expire(_) | Action::Preempt(_) | Action::Suspend(_) | Action::Resume(_) => None,
    })
}
