//! A start of a job, and what became of it: a requeued job has several.

use crate::records::{
    JobInfo, JobRecord, JobRecordChange, JobStateName, StartedBy, StepRecord, StepState,
    Suspension, WaitStatus,
};
use crate::values::{NodeShare, RestartCount, Seconds, StepId, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// One start of a job, or a size that it had in one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStart {
    /// Which, counted from 0.
    pub restart: RestartCount,
    /// How it ended, or that it runs; `RESIZING` is a size that the job had before it lost nodes or gave
    /// some back.
    pub state: JobStateName,
    /// The partition that it was in, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Box<str>>,
    /// The QOS that the job asked for then, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<Box<str>>,
    /// The name that the job had until it was given another after this start; its job's where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Box<str>>,
    /// The submission or requeue that led to it.
    pub submitted: Timestamp,
    /// Since when it could have been.
    pub eligible: Option<Timestamp>,
    /// When it was.
    pub since: Timestamp,
    /// Its end.
    pub ended: Option<Timestamp>,
    /// Its time limit; `None` is unlimited.
    pub limit: Option<Seconds>,
    /// That it is or was suspended.
    #[serde(default)]
    pub suspension: Option<Suspension>,
    /// What it holds or held.
    pub nodes: Vec<NodeShare>,
    /// The job's priority at the start, where it is known.
    pub priority: Option<u32>,
    /// Why the job waited last, by Slurm's name; `None` where that is not known.
    pub reason: Option<String>,
    /// What started it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_by: Option<StartedBy>,
    /// What `wait` said of the batch script.
    pub status: WaitStatus,
    /// What its ended steps used, where that was counted.
    pub usage: Option<Usage>,
}

impl JobStart {
    /// The partition that it was in; where that is not known, its job's.
    #[must_use]
    pub fn partition_of<'a>(&'a self, job: &'a JobInfo) -> &'a str {
        self.partition.as_deref().unwrap_or(&job.partition)
    }

    /// The QOS that it had; where that is not known, its job's.
    #[must_use]
    pub fn qos_of<'a>(&'a self, job: &'a JobInfo) -> &'a str {
        self.qos.as_deref().unwrap_or(&job.qos)
    }

    /// The name that the job had.
    #[must_use]
    pub fn name_of<'a>(&'a self, job: &'a JobInfo) -> &'a str {
        self.name.as_deref().unwrap_or(job.name())
    }
}

/// A job with all of its starts and steps.
#[derive(Clone, Debug, PartialEq)]
pub struct JobHistory {
    /// As it stands.
    pub job: JobRecord,
    /// Its starts, the first one first.
    pub starts: Vec<JobStart>,
    /// The steps of all of them.
    pub steps: Vec<StepRecord>,
    /// What `sacctmgr` changed of what is recorded.
    pub change: JobRecordChange,
}

impl JobHistory {
    /// The worst end of a start's numbered steps, as Slurm compares them.
    #[must_use]
    pub fn derived_status(&self, restart: RestartCount) -> WaitStatus {
        let mut starts = self.starts.iter().rev();
        let start = starts.find(|start| start.restart == restart);
        // What the end of the job ended does not count.
        let all_count = start.is_none_or(|start| {
            matches!(
                start.state,
                JobStateName::Running
                    | JobStateName::Completed
                    | JobStateName::Failed
                    | JobStateName::OutOfMemory
            )
        });
        let steps = self.steps.iter().filter(|it| it.restart == restart);
        let ends = steps.filter_map(|it| match (it.step, &it.state) {
            (StepId::Number(_), StepState::Ended { status, .. }) => Some(*status),
            _ => None,
        });
        let ends = ends.filter(|status| all_count || status.signal_number() == 0);
        ends.max_by_key(|status| status.0).unwrap_or_default()
    }
}
