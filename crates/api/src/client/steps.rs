//! What a client asks of steps.

use super::{Client, confused};
use crate::{Answer, Call, CallError, NewStep, Refusal};
use model::{JobId, RestartCount, StepHolders, StepId, StepRecord};

impl Client {
    /// Steps of a job's current or last start, in ascending id.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn steps(&mut self, job: JobId) -> Result<Vec<StepRecord>, CallError> {
        match self.call_again(&Call::Steps { job })? {
            Answer::Steps { steps } => Ok(steps),
            other => Err(confused(&other)),
        }
    }

    /// Makes a step of a running job; its supervisors are being started when this returns. Its
    /// name makes a repetition harmless.
    ///
    /// An engine that is killed after its answer may not have come so far as to start them: then
    /// the step is over and none of them has connected: it is to be requested once more.
    ///
    /// # Errors
    /// Refused: [`Refusal::Busy`] says to ask again later. No engine.
    pub fn create_step(&mut self, job: JobId, step: &NewStep) -> Result<StepRecord, CallError> {
        let call = |again| {
            let mut step = Box::new(step.clone());
            step.name.again = again;
            Call::CreateStep { job, step }
        };
        let answer = match self.exchange(&call(step.name.again)) {
            Ok(Answer::Refused(Refusal::Stopping)) | Err(_) => {
                self.reconnect()?;
                self.call_again(&call(true))?
            }
            Ok(answer) => answer,
        };
        match answer {
            Answer::Step(step) => Ok(step),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }

    /// Sends a signal to a step's tasks.
    ///
    /// # Errors
    /// Refused, or the connection broke.
    pub fn signal_step(&mut self, job: JobId, step: StepId, signal: i32) -> Result<(), CallError> {
        self.done(&Call::SignalStep { job, step, signal }, false)
    }

    /// Tells that a supervisor's `exit` file is there.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn step_ended(
        &mut self,
        job: JobId,
        restart: RestartCount,
        step: StepId,
        node: u32,
    ) -> Result<(), CallError> {
        let call = Call::StepEnded {
            job,
            restart,
            step,
            node,
        };
        self.done(&call, true)
    }

    /// The processes that hold the running steps of a job, or of all.
    ///
    /// # Errors
    /// No engine.
    pub fn holders(&mut self, job: Option<JobId>) -> Result<Vec<StepHolders>, CallError> {
        match self.call_again(&Call::Holders { job })? {
            Answer::Holders { steps } => Ok(steps),
            other => Err(confused(&other)),
        }
    }
}
