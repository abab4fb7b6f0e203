//! Why a call changed nothing.

use model::{JobId, JobRefusal};
use serde::{Deserialize, Serialize};

/// Why a call changed nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Refusal {
    /// No such job.
    #[error("there is no job {job}")]
    NoSuchJob {
        /// Asked.
        job: JobId,
    },
    /// It ended already.
    #[error("job {job} has already ended")]
    AlreadyEnded {
        /// Asked.
        job: JobId,
    },
    /// It does not run.
    #[error("job {job} is not running")]
    NotRunning {
        /// Asked.
        job: JobId,
    },
    /// `--no-requeue`, or no batch script.
    #[error("job {job} can't be requeued: {because}")]
    NotRequeueable {
        /// Asked.
        job: JobId,
        /// Why.
        because: String,
    },
    /// The job could never start here.
    #[error("{}: {}", .0.asked, .0.there)]
    NeverFits(Box<JobRefusal>),
    /// Other steps hold what this one needs: ask again.
    #[error("requested nodes are busy")]
    Busy,
    /// So it is of some elements of an array; with the others it was done.
    #[error("elements of job {job}: {}", each.first().map_or("", |(_, words)| words.as_str()))]
    OfElements {
        /// The array.
        job: JobId,
        /// Elements, and why it was not done with them, in Slurm's words.
        each: Vec<(Vec<u32>, String)>,
    },
    /// Someone else's.
    #[error("access denied: job {job} belongs to {owner}")]
    NotYours {
        /// Asked.
        job: JobId,
        /// Its owner.
        owner: String,
    },
    /// The request itself is wrong.
    #[error("{message}")]
    Invalid {
        /// In Slurm's words where it has them.
        message: String,
    },
    /// The store could not be written; nothing was accepted.
    #[error("the engine's store can't be written, and nothing was changed: {message}")]
    Store {
        /// What the system said.
        message: String,
    },
    /// The engine is handing over or stopping: connect again.
    #[error("the engine is stopping")]
    Stopping,
}

impl Refusal {
    /// What was asked can't be, in Slurm's words or ours.
    #[must_use]
    pub fn invalid(message: &str) -> Refusal {
        Refusal::Invalid {
            message: message.to_owned(),
        }
    }
}
