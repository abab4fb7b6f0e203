//! What a client submits, and what it asks of jobs.

use super::{Client, confused};
use crate::{
    Answer, AsUser, Call, CallError, JobFilter, StepPrograms, Submission, WhyWaiting, WouldStart,
};
use model::{JobHistory, JobId, JobRecord, PriorityReport, Request, StepRecord};
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

    /// Jobs as they are now, in ascending id.
    ///
    /// # Errors
    /// No engine.
    pub fn jobs(&mut self, filter: JobFilter) -> Result<Vec<JobRecord>, CallError> {
        match self.call_again(&Call::Jobs(filter))? {
            Answer::Jobs { jobs } => Ok(jobs.0),
            other => Err(confused(&other)),
        }
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

    /// Jobs with all of their starts and steps, in ascending id.
    ///
    /// # Errors
    /// No engine.
    pub fn histories(&mut self, filter: JobFilter) -> Result<Vec<JobHistory>, CallError> {
        match self.call_again(&Call::Histories(filter))? {
            Answer::Histories { jobs } => Ok(jobs.0),
            other => Err(confused(&other)),
        }
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
