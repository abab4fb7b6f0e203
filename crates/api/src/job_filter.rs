//! Which jobs a client asks for.

use model::{JobId, JobStateName, NodeName, Submitter, Timestamp};
use serde::{Deserialize, Serialize};

/// Which jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobFilter {
    /// None: all. An array's id stands for its elements.
    pub ids: Option<Vec<JobId>>,
    /// Leaves out what ended before this moment; `None` leaves out all that ended (squeue).
    pub ended_since: Option<Timestamp>,
    /// Only those with this comment (a run's token).
    pub comment: Option<String>,
    /// Only those of these users, by name or number.
    pub users: Option<Vec<String>>,
    /// The id of a heterogeneous job stands for all its components.
    pub components: bool,
    /// Leaves out ended jobs that differ. Jobs that have not ended are not looked at for it.
    pub ended: EndedFilter,
}

/// What an ended job must be for an answer to have it. `None` is whatever it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedFilter {
    /// Submitted until this moment, or queued again since.
    pub submitted_until: Option<Timestamp>,
    /// One of these names.
    pub names: Option<Vec<String>>,
    /// In one of these accounts; one without an account has an empty name.
    pub accounts: Option<Vec<String>>,
    /// Ran in one of these partitions at one of its starts, or asked for them and never ran.
    pub partitions: Option<Vec<String>>,
    /// Of one of these QOS at one of its starts. Those that named none are left in: which is theirs, the client knows.
    pub qos: Option<Vec<String>>,
    /// Held one of these nodes at one of its starts; one that gave back nodes is left in.
    pub nodes: Option<Vec<NodeName>>,
    /// Ended in one of these states, or one of its starts did.
    pub states: Option<Vec<JobStateName>>,
}

impl JobFilter {
    /// Whether a job of this user, with this comment, is one of them as far as those decide.
    #[must_use]
    pub fn wants(&self, submitter: &Submitter, comment: Option<&str>) -> bool {
        let is_own = |users: &Vec<String>| {
            users
                .iter()
                .any(|user| *user == submitter.user || user.parse() == Ok(submitter.uid))
        };
        self.users.as_ref().is_none_or(is_own)
            && (self.comment.is_none() || self.comment.as_deref() == comment)
    }

    /// These jobs, ended ones too; an array's id stands for its elements.
    #[must_use]
    pub fn of(ids: &[JobId]) -> JobFilter {
        JobFilter {
            ids: Some(ids.to_vec()),
            ended_since: Some(Timestamp(0)),
            ..JobFilter::default()
        }
    }
}
