//! What a client changes of jobs.

use super::{Client, confused};
use crate::{Answer, Call, CallError, CancelRequest, NamedJob, Refusal};
use model::{JobChange, JobId, RequeueHold, RestartCount, WaitStatus};

impl Client {
    /// Cancels or signals jobs or a step.
    ///
    /// # Errors
    /// Refused, or no engine. A signal is not sent twice: a connection that breaks is an error.
    pub fn cancel(&mut self, request: CancelRequest) -> Result<(), CallError> {
        let repeatable = request.signal.is_none();
        self.done(&Call::Cancel(request), repeatable)
    }

    /// Cancels several, as [`Client::cancel`] would one after another, in the time of one; for each
    /// why nothing was changed.
    ///
    /// # Errors
    /// No engine.
    pub fn cancel_each(
        &mut self,
        requests: Vec<CancelRequest>,
    ) -> Result<Vec<Option<Refusal>>, CallError> {
        let repeatable = requests.iter().all(|request| request.signal.is_none());
        let call = Call::CancelEach { requests };
        let answer = if repeatable {
            self.call_again(&call)?
        } else {
            self.call(&call)?
        };
        match answer {
            Answer::Cancelled { refusals } => Ok(refusals),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }

    /// Requeues a job; `restart` makes a repetition harmless.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn requeue(
        &mut self,
        job: impl Into<NamedJob>,
        hold: RequeueHold,
        restart: Option<RestartCount>,
    ) -> Result<(), CallError> {
        let job = job.into();
        let call = Call::Requeue {
            job,
            hold,
            restart,
            only_running: false,
        };
        self.done(&call, restart.is_some())
    }

    /// Requeues a job, or what of an array is named; `only_running` leaves those that don't run as they are.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn requeue_named(
        &mut self,
        job: NamedJob,
        hold: RequeueHold,
        only_running: bool,
    ) -> Result<(), CallError> {
        let call = Call::Requeue {
            job,
            hold,
            restart: None,
            only_running,
        };
        self.done(&call, false)
    }

    /// Sends a line to where a running job's user sees it.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn notify(&mut self, job: JobId, text: &str) -> Result<(), CallError> {
        let text = text.to_owned();
        self.done(&Call::Notify { job, text }, false)
    }

    /// Suspends a running job or resumes it.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn suspend(&mut self, job: impl Into<NamedJob>, suspend: bool) -> Result<(), CallError> {
        let job = job.into();
        // A repeated `resume` would be told that the job is not suspended.
        self.done(&Call::Suspend { job, suspend }, suspend)
    }

    /// Holds or releases a job; held for its `user`, its owner may release it.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn hold(
        &mut self,
        job: impl Into<NamedJob>,
        hold: bool,
        user: bool,
    ) -> Result<(), CallError> {
        let job = job.into();
        self.done(&Call::Hold { job, hold, user }, true)
    }

    /// Changes a job, or all elements of an array: all that is asked, or nothing.
    ///
    /// # Errors
    /// Refused, in Slurm's words; or no engine.
    pub fn update(
        &mut self,
        job: impl Into<NamedJob>,
        changes: Vec<JobChange>,
    ) -> Result<(), CallError> {
        let job = job.into();
        self.done(&Call::Update { job, changes }, false)
    }

    /// Ends an allocation that has no batch script.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn release(&mut self, job: JobId, status: WaitStatus) -> Result<(), CallError> {
        self.done(&Call::Release { job, status }, true)?;
        self.allocation
            .take_if(|(allocation, _)| *allocation == job);
        Ok(())
    }
}
