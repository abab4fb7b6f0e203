//! Whether a cluster would take a job, and when it would start.

use crate::failure::Failure;
use crate::reach::ClusterRef;
use backend::{TestedJob, TestedStart, TransportError};
use model::{Denial, JobRefusal, Request};
use serde::{Deserialize, Serialize};
use sys::Places;

/// A job of which it is asked whether it would be taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobToTest {
    /// What it asks for: what the embedded engine is asked.
    pub request: Request,
    /// The batch script's text: what a real Slurm is asked.
    pub script: String,
    /// Options of sbatch before it.
    pub flags: Vec<String>,
}

/// What a cluster answers to such a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WouldTake {
    /// It would take it, and start it then, where it says when.
    Yes(Option<TestedStart>),
    /// It would take it, and nodes that it needs are away: in words, which.
    NodesAway(String),
    /// It would not.
    No(JobRefusal),
}

/// Asks a cluster whether it would take a job; nothing is queued.
///
/// # Errors
/// It does not answer.
pub fn would_take(
    cluster: &ClusterRef,
    job: &JobToTest,
    places: &Places,
) -> Result<WouldTake, Failure> {
    let tested = cluster.open(places)?.test(&TestedJob {
        request: &job.request,
        script: &job.script,
        flags: &job.flags,
    });
    match tested {
        Ok(start) => Ok(WouldTake::Yes(start)),
        Err(TransportError::Refused { refusal, .. }) if refusal.denial == Denial::NodesAway => {
            Ok(WouldTake::NodesAway(refusal.there))
        }
        Err(TransportError::Refused { refusal, .. }) => Ok(WouldTake::No(*refusal)),
        Err(error) => Err(error.into()),
    }
}
