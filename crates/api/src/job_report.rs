//! Jobs as answers carry them.
//!
//! A client has them as [`JobRecord`], which Slurm's commands print from; what is on the wire may
//! change with any version, and neither the store's rows nor the scheduler's jobs with it.

use model::{
    ArrayPlace, JobHistory, JobId, JobRecord, JobStart, JobState, Request, RestartCount,
    StepRecord, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobReport {
    /// Its number.
    pub id: JobId,
    /// Its place in an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayPlace>,
    /// Owner.
    pub uid: u32,
    /// Owner's group.
    pub gid: u32,
    /// Owner's name.
    pub user: String,
    /// Owner's group's name.
    pub group: String,
    /// What it asks for, but for the elements of its array.
    pub request: Arc<Request>,
    /// The partition that it runs or ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// When it may start at the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The dependency that it still waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// Where it stands.
    pub state: JobState,
    /// Submission, or the last requeue.
    pub submitted: Timestamp,
    /// Since when it may start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<Timestamp>,
    /// When it is expected to start, by the scheduler's plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Timestamp>,
    /// 0 is held.
    pub priority: u32,
    /// How often it was requeued.
    pub restarts: RestartCount,
    /// Whether it has a batch script.
    pub batch: bool,
    /// The script's path as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Host name of the submission.
    pub submit_host: String,
}

impl From<JobReport> for JobRecord {
    fn from(report: JobReport) -> JobRecord {
        JobRecord {
            id: report.id,
            array: report.array,
            uid: report.uid,
            gid: report.gid,
            user: report.user,
            group: report.group,
            request: report.request,
            partition: report.partition,
            not_before: report.not_before,
            dependency: report.dependency,
            state: report.state,
            submitted: report.submitted,
            eligible: report.eligible,
            planned: report.planned,
            priority: report.priority,
            restarts: report.restarts,
            batch: report.batch,
            command: report.command,
            submit_host: report.submit_host,
        }
    }
}

impl From<JobRecord> for JobReport {
    fn from(record: JobRecord) -> JobReport {
        JobReport {
            id: record.id,
            array: record.array,
            uid: record.uid,
            gid: record.gid,
            user: record.user,
            group: record.group,
            request: record.request,
            partition: record.partition,
            not_before: record.not_before,
            dependency: record.dependency,
            state: record.state,
            submitted: record.submitted,
            eligible: record.eligible,
            planned: record.planned,
            priority: record.priority,
            restarts: record.restarts,
            batch: record.batch,
            command: record.command,
            submit_host: record.submit_host,
        }
    }
}

/// A job with all of its starts and steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistoryReport {
    /// As it stands.
    pub job: JobReport,
    /// Its starts, the first one first.
    pub starts: Vec<JobStart>,
    /// The steps of all of them.
    pub steps: Vec<StepRecord>,
}

impl From<HistoryReport> for JobHistory {
    fn from(report: HistoryReport) -> JobHistory {
        JobHistory {
            job: report.job.into(),
            starts: report.starts,
            steps: report.steps,
        }
    }
}
