//! Preemption by hand: a running job loses its place at a person's word.

use crate::{Answer, Call, CallError, Client, NamedJob};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};

/// What becomes of a job that loses its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossOfPlace {
    /// It goes back to the queue.
    Requeue,
    /// It ends.
    Cancel,
    /// Its processes stop until it is resumed.
    Suspend,
}

/// A job that lost its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostPlace {
    /// Which.
    pub job: JobId,
    /// What becomes of it.
    pub mode: LossOfPlace,
    /// The end of its grace time, until which it may end by itself; none has none.
    pub until: Option<Timestamp>,
}

impl Client {
    /// Takes the place of a running job, of an array's running elements or the one that is named, or of
    /// all components of a heterogeneous job. Without a mode that of its QOS, partition or cluster.
    ///
    /// # Errors
    /// It doesn't run, can't be requeued, has no mode of its own, or the caller is no operator; or the
    /// connection broke.
    pub fn preempt(
        &mut self,
        job: NamedJob,
        mode: Option<LossOfPlace>,
    ) -> Result<Vec<LostPlace>, CallError> {
        // Not sent again: the job may run once more by then.
        match self.call(&Call::Preempt { job, mode })? {
            Answer::Preempted { jobs } => Ok(jobs),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(crate::client::confused(&other)),
        }
    }
}
