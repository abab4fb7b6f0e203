//! The tables' own words for what the types of `model` say, and back.

use super::StoreError;
use model::{
    JobId, JobStart, JobStateName, NodeName, NodeShare, Outcome, Seconds, StartedBy, StepId,
    StepRecord, StepState, Timestamp, Usage, WaitStatus,
};
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Row, Statement};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::HashMap;

/// The columns of a statement by name, looked for once and not again at each row.
pub(super) struct Columns(HashMap<String, usize>);

impl Columns {
    pub(super) fn of(statement: &Statement<'_>) -> Columns {
        let names = statement.column_names().map(str::to_owned);
        Columns(names.zip(0..).collect())
    }

    pub(super) fn name<'a>(&'a self, row: &'a Row<'a>) -> NamedRow<'a> {
        NamedRow { row, columns: self }
    }
}

/// A row whose columns are asked for by name.
pub(super) struct NamedRow<'a> {
    row: &'a Row<'a>,
    columns: &'a Columns,
}

impl NamedRow<'_> {
    fn index(&self, column: &str) -> rusqlite::Result<usize> {
        let index = self.columns.0.get(column).copied();
        index.ok_or_else(|| rusqlite::Error::InvalidColumnName(column.to_owned()))
    }

    pub(super) fn get<T: FromSql>(&self, column: &str) -> rusqlite::Result<T> {
        self.row.get(self.index(column)?)
    }

    pub(super) fn get_ref(&self, column: &str) -> rusqlite::Result<ValueRef<'_>> {
        self.row.get_ref(self.index(column)?)
    }
}

/// Nodes in Slurm's folded form.
pub(super) fn node_list(shares: &[NodeShare]) -> String {
    let names: Vec<NodeName> = shares.iter().map(|share| share.node.clone()).collect();
    model::node_list::fold(&names)
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

/// A step, of the columns of `steps`, and what no other step of the job may hold meanwhile.
pub(super) fn read_step(row: &NamedRow<'_>) -> rusqlite::Result<(StepRecord, Vec<NodeShare>)> {
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
        tasks_usage: json_or_none(row, "tasks_usage")?.map(Box::new),
        cancelled_by: row.get("cancelled_by")?,
        submit_line: row.get("submit_line")?,
        srun: None,
    };
    Ok((record, json(row, "holds")?))
}

/// A start, of the columns of `job_starts`.
pub(super) fn read_start(row: &NamedRow<'_>) -> rusqlite::Result<JobStart> {
    let state: String = row.get("state")?;
    let status: Option<i32> = row.get("exit_status")?;
    let addresses = count(row, "addresses")?;
    Ok(JobStart {
        restart: row.get("restart")?,
        state: JobStateName::parse(&state).unwrap_or(JobStateName::NodeFail),
        partition: row.get("partition")?,
        qos: row.get("qos")?,
        name: row.get("name")?,
        submitted: Timestamp(row.get("submitted_at")?),
        eligible: row.get::<Option<i64>>("eligible_at")?.map(Timestamp),
        since: Timestamp(row.get("started_at")?),
        ended: row.get::<Option<i64>>("ended_at")?.map(Timestamp),
        limit: count(row, "time_limit")?.map(Seconds),
        suspension: json_or_none(row, "suspension")?,
        nodes: json(row, "shares")?,
        priority: row.get("priority")?,
        reason: row.get("reason")?,
        started_by: started_by(row)?,
        status: WaitStatus(status.unwrap_or(0)),
        usage: usage(row)?.map(|usage| Usage { addresses, ..usage }),
    })
}

fn started_by(row: &NamedRow<'_>) -> rusqlite::Result<Option<StartedBy>> {
    let flag: Option<String> = row.get("started_by")?;
    Ok(flag.as_deref().and_then(StartedBy::of_flag))
}

/// What was used, where it is known.
pub(super) fn usage(row: &NamedRow<'_>) -> rusqlite::Result<Option<Usage>> {
    let Some(user) = count(row, "user_cpu")? else {
        return Ok(None);
    };
    Ok(Some(Usage {
        user,
        system: count(row, "system_cpu")?.unwrap_or(0),
        peak_memory: count(row, "peak_memory")?.unwrap_or(0),
        addresses: None,
    }))
}

/// Jobs as one parameter of a statement.
pub(super) fn id_list(jobs: &[JobId]) -> String {
    let ids: Vec<String> = jobs.iter().map(|job| job.0.to_string()).collect();
    format!("[{}]", ids.join(","))
}

/// A count of a column: SQLite's integers have a sign.
pub(super) fn count(row: &NamedRow<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let count: Option<i64> = row.get(column)?;
    Ok(count.and_then(|count| u64::try_from(count).ok()))
}

/// What `wait` said, in a column.
pub(super) fn exit_status(outcome: &Outcome) -> i32 {
    match outcome {
        Outcome::Failed { status }
        | Outcome::Cancelled { status, .. }
        | Outcome::Timeout { status }
        | Outcome::Preempted { status } => status.0,
        Outcome::Completed | Outcome::NodeFail => 0,
        // As Slurm shows them.
        Outcome::ScriptLost => 9,
        Outcome::OutOfMemory => 125,
        Outcome::LaunchFailed { .. } => 53,
        // It has no start.
        Outcome::Deadline => 0,
    }
}

pub(super) fn to_json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

pub(super) fn json<T: DeserializeOwned>(row: &NamedRow<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_json(&text)
}

pub(super) fn json_or_none<T: DeserializeOwned>(
    row: &NamedRow<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
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
