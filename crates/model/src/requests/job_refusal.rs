//! Why an engine does not take a job, as its clients hear it.

use crate::values::Denial;
use serde::{Deserialize, Serialize};

/// Why an engine does not take a job: Slurm's answer, and ours in three parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRefusal {
    /// What Slurm answers to such a request.
    pub denial: Denial,
    /// What was asked, in the option's words.
    pub asked: String,
    /// What there is.
    pub there: String,
    /// What to do.
    pub todo: String,
    /// The key of the cluster's file that decides, such as `qos.test.max_wall`; none where no single
    /// key does.
    #[serde(default)]
    pub limit: Option<String>,
    /// What Slurm prints in the line before.
    #[serde(default)]
    pub detail: Option<String>,
}

impl JobRefusal {
    /// What there is, with the key that decides where the text doesn't name it.
    #[must_use]
    pub fn there_with_limit(&self) -> String {
        match &self.limit {
            Some(limit) if !self.there.contains(limit.as_str()) => {
                format!("{} ({limit})", self.there)
            }
            _ => self.there.clone(),
        }
    }
}
