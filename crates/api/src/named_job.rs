//! Jobs as they are named: by an id, or as an element of an array.

use model::JobId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A job, an array, or one element of it. The last element that waits has its array's own id, so that
/// the id alone does not say which of both is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedJob {
    /// The job's id, or the array's.
    pub job: JobId,
    /// The index of the element that is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<u32>,
}

impl From<JobId> for NamedJob {
    fn from(job: JobId) -> NamedJob {
        NamedJob { job, element: None }
    }
}

impl fmt::Display for NamedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            None => write!(f, "{}", self.job),
            Some(element) => write!(f, "{}_{element}", self.job),
        }
    }
}
