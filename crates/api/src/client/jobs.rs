//! What a client submits, and what it asks of jobs.

use super::{Client, confused};
use crate::{
    Answer, AsUser, Call, CallError, JobFilter, StepPrograms, Submission, WhyWaiting, WouldStart,
};
use model::{
    ArrayTask, JobHistory, JobId, JobRecord, JobStanding, PriorityReport, Request, StepRecord,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// Changed jobs.
#[derive(Clone, Debug)]
pub struct ChangedJobs {
    /// As they are now.
    pub jobs: Vec<JobRecord>,
    /// The newest version of a row: `after` of the next call.
    pub version: u64,
}

/// A job that was queued.
#[derive(Clone, Debug)]
pub struct SubmittedJob {
    /// Its id; for an array, the array's.
    pub job: JobId,
    /// How it stands, of an allocation that lives as long as its client.
    pub now: Option<Box<JobRecord>>,
    /// What the cluster runs around its steps.
    pub programs: StepPrograms,
    /// The first step, where it was asked for and is made.
    pub step: Option<Box<StepRecord>>,
}

impl Client {
    /// Queues a job; the token makes a repetition harmless. Returns its id: on disk.
    ///
    /// A job without a script belongs to its connection, unless it was asked to stay: the job ends when
    /// this client is dropped.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn submit(&mut self, submission: Submission) -> Result<JobId, CallError> {
        self.submit_and_see(submission).map(|made| made.job)
    }

    /// [`Client::submit`]; of an allocation that lives as long as this client the answer says how it
    /// stands, too.
    ///
    /// # Errors
    /// As [`Client::submit`].
    pub fn submit_and_see(&mut self, submission: Submission) -> Result<SubmittedJob, CallError> {
        let call = Call::Submit(Box::new(submission));
        let made = match self.call_again(&call)? {
            Answer::Submitted {
                job,
                now,
                programs,
                step,
            } => SubmittedJob {
                job,
                now,
                programs,
                step,
            },
            other => return Err(confused(&other)),
        };
        if let Call::Submit(mut submission) = call
            && submission.ends_with_client()
        {
            // What is said again is whose the job is.
            submission.step = None;
            self.allocation = Some((made.job, submission));
        }
        Ok(made)
    }

    /// Asks when a job of the caller, or of another user, would start; nothing is queued.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn test(
        &mut self,
        request: Request,
        as_user: Option<AsUser>,
    ) -> Result<WouldStart, CallError> {
        let request = Box::new(request);
        match self.call_again(&Call::Test { request, as_user })? {
            Answer::WouldStart(estimate) => Ok(estimate),
            other => Err(confused(&other)),
        }
    }

    /// Why a job waits.
    ///
    /// # Errors
    /// There is no such job, it does not wait, or no engine.
    pub fn why(&mut self, job: JobId) -> Result<WhyWaiting, CallError> {
        match self.call_again(&Call::Why { job })? {
            Answer::Why(why) => Ok(*why),
            other => Err(confused(&other)),
        }
    }

    /// Jobs as they are now, in ascending id, read in portions. Of those with ended ones among them each is of
    /// a moment of its own, so that the engine answers others in between.
    ///
    /// # Errors
    /// No engine.
    pub fn jobs(&mut self, filter: JobFilter) -> Result<Vec<JobRecord>, CallError> {
        let mut all = Vec::new();
        let first = filter.ended_since.map(|_| JobId(0));
        let call = |after| Call::Jobs {
            filter: filter.clone(),
            after,
            whole: true,
        };
        self.call_in_portions(first, call, |answer| match answer {
            Answer::Jobs { jobs, rest_after } => {
                all.extend(jobs.0);
                Ok(rest_after)
            }
            other => Err(confused(&other)),
        })?;
        if filter.ended_since.is_some() {
            leave_elements_once(&mut all, |job| &job.standing, |job| &mut job.standing);
        }
        Ok(all)
    }

    /// Jobs of the filter whose rows are newer than version `after`; waits at most `wait` for one.
    /// An empty list with the same version: nothing changed.
    ///
    /// # Errors
    /// No engine.
    pub fn watch(
        &mut self,
        filter: JobFilter,
        after: u64,
        wait: Duration,
    ) -> Result<ChangedJobs, CallError> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let call = Call::Watch {
            filter,
            after,
            wait_ms,
        };
        match self.call_again(&call)? {
            Answer::Watched(watched) => Ok(ChangedJobs {
                jobs: watched.jobs.0,
                version: watched.version,
            }),
            other => Err(confused(&other)),
        }
    }

    /// Jobs with all of their starts and steps, in ascending id, read in portions. Each is of a moment of its own,
    /// so that the engine answers others in between.
    ///
    /// # Errors
    /// No engine.
    pub fn histories(&mut self, filter: JobFilter) -> Result<Vec<JobHistory>, CallError> {
        let mut histories = Vec::new();
        let call = |after: Option<JobId>| Call::Histories {
            filter: filter.clone(),
            after: after.unwrap_or(JobId(0)),
            most: u32::MAX,
            whole: true,
        };
        self.call_in_portions(None, call, |answer| match answer {
            Answer::Histories { jobs, rest_after } => {
                histories.extend(jobs.0);
                Ok(rest_after)
            }
            other => Err(confused(&other)),
        })?;
        leave_elements_once(
            &mut histories,
            |history| &history.job.standing,
            |history| &mut history.job.standing,
        );
        Ok(histories)
    }

    /// The batch script of a job.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn script(&mut self, job: JobId) -> Result<String, CallError> {
        match self.call_again(&Call::Script {
            job,
            environment: false,
        })? {
            Answer::Script { text } => Ok(text),
            other => Err(confused(&other)),
        }
    }

    /// The environment that a job was submitted with.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn environment(&mut self, job: JobId) -> Result<String, CallError> {
        match self.call_again(&Call::Script {
            job,
            environment: true,
        })? {
            Answer::Script { text } => Ok(text),
            other => Err(confused(&other)),
        }
    }

    /// What the priorities of waiting jobs are made of.
    ///
    /// # Errors
    /// No engine.
    pub fn priorities(&mut self) -> Result<PriorityReport, CallError> {
        match self.call_again(&Call::Priorities)? {
            Answer::Priorities(report) => Ok(*report),
            other => Err(confused(&other)),
        }
    }
}

/// An element of an array that started after the portion with its array's row was answered has a row of its
/// own in a later one, and is listed there alone.
fn leave_elements_once<T>(
    rows: &mut Vec<T>,
    standing: impl Fn(&T) -> &JobStanding,
    standing_mut: impl Fn(&mut T) -> &mut JobStanding,
) {
    let places = rows.iter().filter_map(|row| standing(row).array.as_ref());
    let own: BTreeSet<(JobId, u32)> = places
        .filter_map(|place| match place.task {
            ArrayTask::One(task) => Some((place.array_job, task)),
            ArrayTask::Waiting(_) => None,
        })
        .collect();
    rows.retain_mut(|row| {
        let Some(place) = &mut standing_mut(row).array else {
            return true;
        };
        let ArrayTask::Waiting(spec) = &mut place.task else {
            return true;
        };
        spec.indices
            .retain(|task| !own.contains(&(place.array_job, *task)));
        !spec.indices.is_empty()
    });
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use model::{ArrayPlace, ArraySpec, JobRecordChange, JobState, PendingReason, Timestamp};

    fn history(id: u32, task: Option<ArrayTask>) -> JobHistory {
        let array = task.map(|task| ArrayPlace {
            array_job: JobId(5),
            task,
            throttle: None,
        });
        let standing = JobStanding {
            id: JobId(id),
            array,
            partition: None,
            not_before: None,
            dependency: None,
            state: JobState::Pending {
                reason: PendingReason::None,
            },
            submitted: Timestamp(7),
            eligible: None,
            accrues: None,
            is_age_limited: false,
            limit_by_rules: None,
            resized: None,
            planned: None,
            priority: 5,
            reservation: None,
            restarts: 0,
            batch: true,
            prolog: None,
        };
        JobHistory {
            job: JobRecord {
                submitter: Default::default(),
                request: Default::default(),
                standing,
            },
            starts: Vec::new(),
            steps: Vec::new(),
            change: JobRecordChange::default(),
        }
    }

    fn once(histories: &mut Vec<JobHistory>) {
        leave_elements_once(
            histories,
            |history| &history.job.standing,
            |history| &mut history.job.standing,
        );
    }

    #[test]
    fn an_element_that_started_between_two_portions_is_listed_once() {
        let waiting = |text| Some(ArrayTask::Waiting(ArraySpec::parse(text).unwrap()));
        let mut all = vec![
            history(4, None),
            history(5, waiting("0-3")),
            history(6, Some(ArrayTask::One(0))),
            history(9, Some(ArrayTask::One(2))),
        ];
        once(&mut all);
        assert_eq!(all.len(), 4);
        assert_eq!(all[1], history(5, waiting("1,3")));
        // All started since.
        let mut all = vec![
            history(5, waiting("0")),
            history(6, Some(ArrayTask::One(0))),
        ];
        once(&mut all);
        assert_eq!(all, [history(6, Some(ArrayTask::One(0)))]);
    }
}
