//! The tables' own words for what the types of `model` say, and back.

use super::StoreError;
use model::{
    Allocation, ArrayPlace, ArraySpec, ArrayTask, Ending, JobId, JobRecord, JobStart, JobState,
    JobStateName, NodeName, NodeShare, Outcome, PendingReason, Ran, Request, Seconds, StepId,
    StepRecord, StepState, Suspension, Timestamp, Usage, WaitStatus,
};
use rusqlite::Row;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns that [`read_job`] reads, from [`JOBS`].
pub(super) const JOB_COLUMNS: &str = "jobs.id, jobs.submission, jobs.task, jobs.waiting, jobs.uid, \
     submissions.gid, submissions.user_name, submissions.group_name, submissions.request, \
     submissions.batch, submissions.command, submissions.submit_host, jobs.state, \
     jobs.submitted_at, jobs.eligible_at, jobs.not_before, jobs.dependency, jobs.hold, \
     jobs.restarts, jobs.ending, jobs.outcome, jobs.ended_at, jobs.version, \
     jobs.request AS own_request, jobs.partition, job_starts.started_at, job_starts.time_limit, job_starts.shares, \
     job_starts.priority, job_starts.suspension, job_starts.partition AS start_partition";

/// Jobs with what was submitted and their last start.
pub(super) const JOBS: &str = "jobs JOIN submissions ON submissions.job = jobs.submission \
     LEFT JOIN job_starts ON job_starts.job = jobs.id AND job_starts.restart = jobs.restarts";

/// Why a job is held, in the column `hold`.
pub(super) fn hold(record: &JobRecord) -> Option<&'static str> {
    match &record.state {
        JobState::Pending {
            reason: PendingReason::LaunchFailedRequeuedHeld,
        } => Some("launch_failed"),
        JobState::Pending {
            reason: PendingReason::ReservationDeleted,
        } => Some("reservation_deleted"),
        _ if record.priority == 0 => Some("user"),
        JobState::Pending { .. } | JobState::Running { .. } | JobState::Ended { .. } => None,
    }
}

/// What a job holds or held, since when, and its limit.
pub(super) fn ran(state: &JobState) -> Option<(Timestamp, &Allocation, Option<Seconds>)> {
    match state {
        JobState::Pending { .. } => None,
        JobState::Running {
            since,
            allocation,
            limit,
            ..
        } => Some((*since, allocation, *limit)),
        JobState::Ended { ran, .. } => {
            let ran = ran.as_ref()?;
            Some((ran.since, &ran.allocation, ran.limit))
        }
    }
}

/// Nodes in Slurm's folded form.
pub(super) fn node_list(shares: &[NodeShare]) -> String {
    let names: Vec<NodeName> = shares.iter().map(|share| share.node.clone()).collect();
    model::node_list::fold(&names)
}

/// A state by Slurm's name. One that is being ended is still `RUNNING` here: its start has no end.
pub(super) fn state_name(state: &JobState) -> &'static str {
    match state {
        JobState::Running { .. } => JobStateName::Running.long(),
        state => JobStateName::of(state).long(),
    }
}

/// A step's state by Slurm's name.
pub(super) fn step_state_name(state: &StepState) -> &'static str {
    let name = match state {
        StepState::Running => JobStateName::Running,
        StepState::Ended {
            timed_out: true, ..
        } => JobStateName::Timeout,
        StepState::Ended { status, .. } if status.success() => JobStateName::Completed,
        StepState::Ended { .. } => JobStateName::Failed,
    };
    name.long()
}

/// The number that stands for a step in the table.
pub(super) fn step_number(step: StepId) -> i64 {
    match step {
        StepId::Batch => -1,
        StepId::Number(number) => i64::from(number),
    }
}

/// A job, as the columns of [`JOB_COLUMNS`] tell of it. Of an array's row that waits, `rows` are
/// the elements that have rows of their own.
pub(super) fn read_job(
    row: &Row<'_>,
    last: &mut Option<Submitted>,
    rows: impl FnOnce(JobId) -> rusqlite::Result<BTreeSet<u32>>,
) -> rusqlite::Result<JobRecord> {
    let id = JobId(row.get("id")?);
    let submission = JobId(row.get("submission")?);
    let Submitted { request, array, .. } = Submitted::of_row(row, submission, last)?;
    let request = match json_or_none::<Request>(row, "own_request")? {
        Some(own) => Arc::new(own),
        None => Arc::clone(request),
    };
    let state: String = row.get("state")?;
    let hold: Option<String> = row.get("hold")?;
    let started: Option<Timestamp> = row.get::<_, Option<i64>>("started_at")?.map(Timestamp);
    let shares: Option<Vec<NodeShare>> = json_or_none(row, "shares")?;
    let limit = count(row, "time_limit")?;
    let suspension: Option<Suspension> = json_or_none(row, "suspension")?;
    let ended_at: Option<i64> = row.get("ended_at")?;
    let ran = started.zip(shares).map(|(since, nodes)| Ran {
        since,
        allocation: Allocation { nodes },
        limit: limit.map(Seconds),
        suspended_ms: suspension.map_or(0, |it| it.until(Timestamp(ended_at.unwrap_or(0)))),
    });
    let array = match array {
        None => None,
        Some(spec) => Some(ArrayPlace {
            array_job: submission,
            task: task(row, spec, || rows(submission))?,
            throttle: spec.throttle.filter(|_| id == submission),
        }),
    };
    let priority: Option<u32> = row.get("priority")?;
    let priority = match (&hold, state.as_str(), priority) {
        (Some(_), _, _) => 0,
        (None, "PENDING", _) | (None, _, None) => sched::priority_of(&request),
        (None, _, Some(priority)) => priority,
    };
    let state = match (ended_at, ran) {
        (Some(at), ran) => JobState::Ended {
            outcome: json(row, "outcome")?,
            at: Timestamp(at),
            ran,
        },
        (None, Some(ran)) if state == "RUNNING" => JobState::Running {
            since: ran.since,
            allocation: ran.allocation,
            limit: ran.limit,
            ending: json_or_none::<Ending>(row, "ending")?,
            suspension,
        },
        (None, _) => JobState::Pending {
            reason: match hold.as_deref() {
                Some("launch_failed") => PendingReason::LaunchFailedRequeuedHeld,
                Some("reservation_deleted") => PendingReason::ReservationDeleted,
                _ => PendingReason::None,
            },
        },
    };
    let partition: Option<String> = row.get("start_partition")?;
    let version: i64 = row.get("version")?;
    Ok(JobRecord {
        id,
        array,
        uid: row.get("uid")?,
        gid: row.get("gid")?,
        user: row.get("user_name")?,
        group: row.get("group_name")?,
        request,
        partition: partition.filter(|_| !matches!(state, JobState::Pending { .. })),
        not_before: row.get::<_, Option<i64>>("not_before")?.map(Timestamp),
        dependency: row.get("dependency")?,
        state,
        submitted: Timestamp(row.get("submitted_at")?),
        eligible: row.get::<_, Option<i64>>("eligible_at")?.map(Timestamp),
        planned: None,
        priority,
        restarts: row.get("restarts")?,
        batch: row.get("batch")?,
        command: row.get("command")?,
        submit_host: row.get("submit_host")?,
        version: u64::try_from(version).unwrap_or(0),
    })
}

/// What a submission asked for, read once for the elements of its array, whose rows mostly follow
/// each other.
pub(super) struct Submitted {
    job: JobId,
    request: Arc<Request>,
    array: Option<ArraySpec>,
}

impl Submitted {
    fn of_row<'a>(
        row: &Row<'_>,
        job: JobId,
        last: &'a mut Option<Submitted>,
    ) -> rusqlite::Result<&'a Submitted> {
        let partition: Option<String> = row.get("partition")?;
        let known = last.take();
        let known = known.filter(|last| last.job == job && last.request.partition == partition);
        let submitted = match known {
            Some(known) => known,
            None => {
                let mut request: Request = json(row, "request")?;
                request.partition = partition;
                let array = request.rare.array.take();
                let request = Arc::new(request);
                Submitted {
                    job,
                    request,
                    array,
                }
            }
        };
        Ok(last.insert(submitted))
    }
}

fn task(
    row: &Row<'_>,
    submitted: &ArraySpec,
    rows: impl FnOnce() -> rusqlite::Result<BTreeSet<u32>>,
) -> rusqlite::Result<ArrayTask> {
    if let Some(task) = row.get("task")? {
        return Ok(ArrayTask::One(task));
    }
    let waiting: Option<String> = row.get("waiting")?;
    let waiting = waiting.as_deref().and_then(ArraySpec::parse);
    let mut indices = waiting.map_or_else(|| submitted.indices.clone(), |spec| spec.indices);
    let own = rows()?;
    indices.retain(|task| !own.contains(task));
    Ok(ArrayTask::Waiting(ArraySpec {
        indices,
        ..submitted.clone()
    }))
}

/// A step, of the columns of `steps`, and what no other step of the job may hold meanwhile.
pub(super) fn read_step(row: &Row<'_>) -> rusqlite::Result<(StepRecord, Vec<NodeShare>)> {
    let number: i64 = row.get("step")?;
    let ended_at: Option<i64> = row.get("ended_at")?;
    let record = StepRecord {
        job: JobId(row.get("job")?),
        restart: row.get("restart")?,
        step: u32::try_from(number).map_or(StepId::Batch, StepId::Number),
        name: row.get("name")?,
        nodes: json(row, "shares")?,
        since: Timestamp(row.get("started_at")?),
        state: match ended_at {
            None => StepState::Running,
            Some(at) => StepState::Ended {
                at: Timestamp(at),
                status: WaitStatus(row.get("exit_status")?),
                timed_out: row.get("timed_out")?,
            },
        },
        usage: usage(row)?,
    };
    Ok((record, json(row, "holds")?))
}

/// A start, of the columns of `job_starts`.
pub(super) fn read_start(row: &Row<'_>) -> rusqlite::Result<JobStart> {
    let state: String = row.get("state")?;
    let status: Option<i32> = row.get("exit_status")?;
    Ok(JobStart {
        restart: row.get("restart")?,
        state: JobStateName::parse(&state).unwrap_or(JobStateName::NodeFail),
        submitted: Timestamp(row.get("submitted_at")?),
        eligible: row.get::<_, Option<i64>>("eligible_at")?.map(Timestamp),
        since: Timestamp(row.get("started_at")?),
        ended: row.get::<_, Option<i64>>("ended_at")?.map(Timestamp),
        limit: count(row, "time_limit")?.map(Seconds),
        suspension: json_or_none(row, "suspension")?,
        nodes: json(row, "shares")?,
        priority: row.get("priority")?,
        reason: row.get("reason")?,
        status: WaitStatus(status.unwrap_or(0)),
        usage: usage(row)?,
    })
}

/// What was used, where it is known.
pub(super) fn usage(row: &Row<'_>) -> rusqlite::Result<Option<Usage>> {
    let Some(user) = count(row, "user_cpu")? else {
        return Ok(None);
    };
    Ok(Some(Usage {
        user,
        system: count(row, "system_cpu")?.unwrap_or(0),
        peak_memory: count(row, "peak_memory")?.unwrap_or(0),
    }))
}

/// A count of a column: SQLite's integers have a sign.
fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let count: Option<i64> = row.get(column)?;
    Ok(count.and_then(|count| u64::try_from(count).ok()))
}

/// What `wait` said, in a column.
pub(super) fn exit_status(outcome: &Outcome) -> i32 {
    match outcome {
        Outcome::Failed { status }
        | Outcome::Cancelled { status, .. }
        | Outcome::Timeout { status } => status.0,
        Outcome::Completed | Outcome::NodeFail => 0,
        // As Slurm shows them.
        Outcome::OutOfMemory => 125,
        Outcome::LaunchFailed { .. } => 53,
    }
}

pub(super) fn to_json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_json(&text)
}

fn json_or_none<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    text.as_deref().map(from_json).transpose()
}

fn from_json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// What a failed read means: a value that is not ours is garbage, all else the system's word.
pub(super) fn read_error(store: &super::Store, error: &rusqlite::Error) -> StoreError {
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..) => store.garbage(error),
        _ => store.failed(error),
    }
}
