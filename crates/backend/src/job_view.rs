//! A job as both transports show it.

use model::{ArrayTask, JobId, JobRecord, JobState, JobStateName, RestartCount, Timestamp};
use serde::{Deserialize, Serialize};

/// A job, seen from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// The array that it is an element of, where that is known.
    pub array: Option<JobId>,
    /// Which elements of that array it is, where that is known.
    #[serde(default)]
    pub task: Option<ArrayTask>,
    /// How often it was requeued.
    pub restarts: RestartCount,
    /// When it was submitted, where that is known.
    pub submitted: Option<Timestamp>,
    /// Where it stands.
    pub state: ViewState,
}

impl JobView {
    /// A job of a cluster that does not answer now.
    #[must_use]
    pub fn not_answered(id: JobId) -> JobView {
        JobView {
            id,
            name: String::new(),
            array: None,
            task: None,
            restarts: 0,
            submitted: None,
            state: ViewState::NotAnswered,
        }
    }

    /// Whether it is that element of that array, or several of which that is one.
    #[must_use]
    pub fn is_element(&self, array: JobId, element: u32) -> bool {
        let own = self.array.unwrap_or(self.id) == array;
        own && self.task.as_ref().is_some_and(|task| task.holds(element))
    }

    /// Not over, or over since then.
    #[must_use]
    pub fn is_recent(&self, since: Timestamp) -> bool {
        match &self.state {
            ViewState::Ended { at, .. } => at.is_none_or(|at| at >= since),
            ViewState::Waiting { .. }
            | ViewState::Running { .. }
            | ViewState::Unknown { .. }
            | ViewState::NotAnswered => true,
        }
    }
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ViewState {
    /// Waits.
    Waiting {
        /// Slurm's word for why.
        reason: String,
    },
    /// Runs, or is being ended.
    Running {
        /// Since when.
        since: Option<Timestamp>,
        /// On which nodes, folded.
        nodes: String,
    },
    /// Over.
    Ended {
        /// Slurm's word for how, such as `COMPLETED`.
        how: String,
        /// Its exit code and signal as Slurm prints them, `1:0`.
        exit: String,
        /// When.
        at: Option<Timestamp>,
    },
    /// Its cluster does not answer now.
    NotAnswered,
    /// A state that this version doesn't know.
    Unknown {
        /// As it was answered.
        text: String,
    },
}

impl ViewState {
    /// Not over yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self, ViewState::Waiting { .. } | ViewState::Running { .. })
    }

    /// Over, with success.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self, ViewState::Ended { how, .. } if how == "COMPLETED")
    }
}

impl From<&JobRecord> for JobView {
    fn from(job: &JobRecord) -> JobView {
        JobView {
            id: job.id,
            name: job.request.name.clone(),
            array: job.array.as_ref().map(|place| place.array_job),
            task: job.array.as_ref().map(|place| place.task.clone()),
            restarts: job.restarts,
            submitted: Some(job.submitted),
            state: match &job.state {
                JobState::Pending { .. } => ViewState::Waiting {
                    reason: model::reason_text(&job.state).into_owned(),
                },
                JobState::Running {
                    since, allocation, ..
                } => ViewState::Running {
                    since: Some(*since),
                    nodes: allocation
                        .nodes
                        .iter()
                        .map(|share| share.node.as_str())
                        .collect::<Vec<_>>()
                        .join(","),
                },
                JobState::Ended { outcome, at, .. } => {
                    let status = outcome.exit();
                    ViewState::Ended {
                        how: JobStateName::base_of(&job.state).long().to_owned(),
                        exit: format!("{}:{}", status.code(), status.signal_number()),
                        at: Some(*at),
                    }
                }
            },
        }
    }
}
