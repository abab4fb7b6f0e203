//! Writing: one transaction for all that happened since the last.

use super::{StepRow, Store, StoreError};
use crate::owner::Clock;
use model::{JobId, JobRecord, JobState, StepId};
use rusqlite::{Transaction, TransactionBehavior, params};

/// All that one transaction writes.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// A client was or will be answered: flush to disk before.
    pub(crate) durable: bool,
    pub(crate) next_id: u32,
    pub(crate) clock: &'a Clock,
    pub(crate) jobs: Vec<&'a JobRecord>,
    pub(crate) steps: Vec<&'a StepRow>,
    pub(crate) submissions: Vec<&'a NewSubmission>,
}

/// What a submission brings along besides its row.
#[derive(Debug)]
pub(crate) struct NewSubmission {
    pub(crate) job: JobId,
    pub(crate) token: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) umask: u32,
    pub(crate) arguments: Vec<String>,
    pub(crate) script: Option<String>,
    /// JSON, as the file holds it.
    pub(crate) environment: String,
    /// An array's elements as submitted.
    pub(crate) elements: Option<model::ArraySpec>,
}

/// The number that stands for a step in the table.
fn step_number(step: StepId) -> i64 {
    match step {
        StepId::Batch => -1,
        StepId::Number(number) => i64::from(number),
    }
}

impl Store {
    /// Writes a batch in one transaction.
    ///
    /// # Errors
    /// Nothing of it was written.
    pub(crate) fn write(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        self.set_durable(batch.durable)
            .and_then(|()| self.try_write(batch))
            .map_err(|error| self.failed(&error))?;
        self.next_id = Some(batch.next_id);
        if self.clock.as_ref() != Some(batch.clock) {
            self.clock = Some(batch.clock.clone());
        }
        let versions = batch.jobs.iter().map(|record| record.version);
        self.version = versions.fold(self.version, u64::max);
        self.note_committed(batch.next_id);
        Ok(())
    }

    fn set_durable(&mut self, durable: bool) -> rusqlite::Result<()> {
        if self.durable != durable {
            let mode = if durable { "FULL" } else { "NORMAL" };
            self.db.pragma_update(None, "synchronous", mode)?;
            self.durable = durable;
        }
        Ok(())
    }

    fn try_write(&mut self, batch: &Batch<'_>) -> rusqlite::Result<()> {
        let transaction = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if self.next_id != Some(batch.next_id) {
            transaction
                .prepare_cached("UPDATE facts SET value = ?1 WHERE name = 'next_id'")?
                .execute([batch.next_id])?;
        }
        if self.clock.as_ref() != Some(batch.clock) {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO facts VALUES ('clock', ?1)")?
                .execute([json(batch.clock)?])?;
        }
        for record in &batch.jobs {
            write_job(&transaction, record)?;
        }
        for row in &batch.steps {
            write_step(&transaction, row)?;
        }
        for submission in &batch.submissions {
            write_submission(&transaction, submission)?;
        }
        transaction.commit()
    }

    /// Notes the boot that this engine runs in; returns the one that was noted before.
    pub(crate) fn note_boot(&mut self, boot_id: &str) -> Result<Option<String>, StoreError> {
        let former = self.fact("boot_id")?;
        self.db
            .execute(
                "INSERT OR REPLACE INTO facts VALUES ('boot_id', ?1)",
                [boot_id],
            )
            .map_err(|error| self.failed(&error))?;
        Ok(former)
    }

    /// Flushes all that was written to disk, and forgets the folders and what their submissions
    /// brought along: from here on the folders may be removed.
    pub(crate) fn forget_folders(&mut self, jobs: &[JobId]) -> Result<(), StoreError> {
        let forget = |store: &mut Store| -> rusqlite::Result<()> {
            store.set_durable(true)?;
            let transaction = store.db.transaction()?;
            for job in jobs {
                transaction.execute("DELETE FROM folders WHERE job = ?1", [job.0])?;
                transaction.execute(
                    "UPDATE submissions SET script = NULL, environment = NULL WHERE job = ?1",
                    [job.0],
                )?;
            }
            transaction.commit()
        };
        forget(self).map_err(|error| self.failed(&error))
    }
}

fn write_job(transaction: &Transaction<'_>, record: &JobRecord) -> rusqlite::Result<()> {
    let ended_at = match &record.state {
        JobState::Ended { at, .. } => Some(at.0),
        JobState::Pending { .. } | JobState::Running { .. } => None,
    };
    let array_job = record.array.as_ref().map(|place| place.array_job.0);
    transaction
        .prepare_cached(
            // Whose a job is and of which array never changes: those indexes are left alone.
            "INSERT INTO jobs
             (id, uid, gid, array_job, live, ended_at, version, comment, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (id) DO UPDATE SET live = excluded.live, ended_at = excluded.ended_at,
             version = excluded.version, record = excluded.record",
        )?
        .execute(params![
            record.id.0,
            record.uid,
            record.gid,
            array_job,
            ended_at.is_none(),
            ended_at,
            i64::try_from(record.version).unwrap_or(i64::MAX),
            record.request.comment,
            json(record)?,
        ])?;
    match ended_at {
        Some(at) => transaction
            .prepare_cached("INSERT OR REPLACE INTO folders VALUES (?1, ?2)")?
            .execute(params![record.id.0, at])?,
        // Queued again, its folder is needed again; only then can there be one to forget.
        None if record.restarts > 0 => transaction
            .prepare_cached("DELETE FROM folders WHERE job = ?1")?
            .execute([record.id.0])?,
        None => 0,
    };
    Ok(())
}

fn write_step(transaction: &Transaction<'_>, row: &StepRow) -> rusqlite::Result<()> {
    let record = &row.record;
    transaction
        .prepare_cached(
            "INSERT INTO steps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT DO UPDATE SET live = excluded.live, row = excluded.row",
        )?
        .execute(params![
            record.job.0,
            record.restart,
            step_number(record.step),
            row.uid,
            row.gid,
            matches!(record.state, model::StepState::Running),
            json(row)?,
        ])?;
    Ok(())
}

fn write_submission(
    transaction: &Transaction<'_>,
    submission: &NewSubmission,
) -> rusqlite::Result<()> {
    let elements = submission.elements.as_ref().map(json).transpose()?;
    transaction
        .prepare_cached("INSERT INTO submissions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params![
            submission.job.0,
            submission.token,
            submission.uid,
            submission.gid,
            submission.umask,
            json(&submission.arguments)?,
            submission.script.as_deref().map(str::as_bytes),
            submission.environment.as_bytes(),
            elements,
        ])?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
