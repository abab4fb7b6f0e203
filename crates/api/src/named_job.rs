//! Jobs as they are named: by an id, or as an element of an array.

use model::JobId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is said of what an operator alone may do, or the job's own user.
pub const ACCESS_DENIED: &str = "Access/permission denied";

/// Slurm's words for a later component of a heterogeneous job where the first one has to be named.
pub const NOT_THE_LEADER: &str = "Job not heterogeneous job leader";

/// A job, an array, one element of it, or one component of a heterogeneous job. The last element that
/// waits has its array's own id, so that the id alone does not say which of both is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedJob {
    /// The job's id, or the array's.
    pub job: JobId,
    /// The index of the element that is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub element: Option<u32>,
    /// The component that is named, of the heterogeneous job whose first one has that id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<u32>,
}

impl From<JobId> for NamedJob {
    fn from(job: JobId) -> NamedJob {
        NamedJob {
            job,
            element: None,
            component: None,
        }
    }
}

impl fmt::Display for NamedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.element, self.component) {
            (Some(element), _) => write!(f, "{}_{element}", self.job),
            (None, Some(component)) => write!(f, "{}+{component}", self.job),
            (None, None) => write!(f, "{}", self.job),
        }
    }
}
