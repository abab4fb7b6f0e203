//! The last start of a job, as its row says it.

use super::rows::{NamedRow, count, json_or_none, node_list, to_json};
use model::{JobState, NodeShare, Seconds, Suspension, Timestamp};
use sched::Job;
use std::borrow::Cow;

/// What a row of `job_starts` says of a job that runs or ran.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StartRow<'a> {
    pub(super) partition: Option<Cow<'a, str>>,
    pub(super) started_at: Timestamp,
    pub(super) limit: Option<Seconds>,
    pub(super) shares: Cow<'a, [NodeShare]>,
    pub(super) priority: Option<u32>,
    pub(super) suspension: Option<Suspension>,
    /// By how much its end lies behind that of its limit.
    pub(super) end_moved_ms: i64,
}

impl<'a> StartRow<'a> {
    /// The start of a job that runs or ran.
    pub(super) fn of(job: &'a Job) -> Option<StartRow<'a>> {
        let (started_at, allocation, limit, suspension, end_moved_ms) = match &job.state {
            JobState::Pending { .. } => return None,
            JobState::Running {
                since,
                allocation,
                limit,
                suspension,
                end_moved_ms,
                ..
            } => {
                let suspension = suspension.as_deref().copied();
                (*since, allocation, *limit, suspension, *end_moved_ms)
            }
            JobState::Ended { ran, .. } => {
                let ran = ran.as_ref()?;
                (ran.since, &ran.allocation, ran.limit, None, 0)
            }
        };
        Some(StartRow {
            partition: job.partition.as_deref().map(Cow::Borrowed),
            started_at,
            limit,
            shares: Cow::Borrowed(&allocation.nodes),
            priority: Some(job.priority),
            suspension,
            end_moved_ms,
        })
    }

    /// As the columns of [`super::job_row::JOB_COLUMNS`] tell of it; none where it never started.
    pub(super) fn read(row: &NamedRow<'_>) -> rusqlite::Result<Option<StartRow<'static>>> {
        let started_at: Option<i64> = row.get("started_at")?;
        let shares: Option<Vec<NodeShare>> = json_or_none(row, "shares")?;
        let (Some(started_at), Some(shares)) = (started_at, shares) else {
            return Ok(None);
        };
        let partition: Option<String> = row.get("start_partition")?;
        Ok(Some(StartRow {
            partition: partition.map(Cow::Owned),
            started_at: Timestamp(started_at),
            limit: count(row, "time_limit")?.map(Seconds),
            shares: Cow::Owned(shares),
            priority: row.get("priority")?,
            suspension: json_or_none(row, "suspension")?,
            end_moved_ms: row.get::<Option<i64>>("end_moved_ms")?.unwrap_or(0),
        }))
    }

    /// The nodes in Slurm's folded form.
    pub(super) fn node_list(&self) -> String {
        node_list(&self.shares)
    }

    pub(super) fn shares_text(&self) -> rusqlite::Result<String> {
        to_json(&self.shares)
    }
}
