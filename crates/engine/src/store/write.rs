//! Writing: one transaction for all that happened since the last.

use super::hold::Hold;
use super::job_row::JobRow;
use super::rows::{self, to_json as json};
use super::sizes;
use super::start_row::StartRow;
use super::{Batch, EndedStart, NewStart, NewSubmission, StepRow, Store, StoreError, contents};
use model::{JobId, JobState, JobStateName, NodeMark, NodeName, Reservation};
use rusqlite::{Transaction, TransactionBehavior, params};
use sched::priority::Usage;
use sched::{Job, Spender, Spending};
use std::os::unix::ffi::OsStrExt;

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

    pub(super) fn set_durable(&mut self, durable: bool) -> rusqlite::Result<()> {
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
        for submission in &batch.submissions {
            write_submission(&transaction, submission)?;
        }
        for ended in batch.ended_starts {
            write_ended_start(&transaction, ended)?;
        }
        if batch.clock_set_by_ms != 0 {
            sizes::shift(&transaction, batch.clock_set_by_ms)?;
        }
        for size in batch.former_sizes {
            sizes::write(&transaction, size)?;
        }
        for record in &batch.jobs {
            write_job(&transaction, record)?;
            if batch.updated.contains(&record.id) {
                write_request(&transaction, record)?;
            }
            if let JobState::Running { .. } = record.state {
                write_start(&transaction, record, batch.started.get(&record.id))?;
            }
        }
        for row in &batch.steps {
            write_step(&transaction, row)?;
        }
        for (node, mark) in &batch.nodes {
            write_node(&transaction, node, *mark)?;
        }
        for event in &batch.events {
            super::accounting::write_event(&transaction, event)?;
        }
        for (name, reservation) in &batch.reservations {
            write_reservation(&transaction, name, *reservation)?;
        }
        for (member, usage) in batch.usage {
            let (amount, at) = usage.kept();
            let partition = member.partition.as_deref().unwrap_or_default();
            transaction
                .prepare_cached("INSERT OR REPLACE INTO usage VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![
                    member.account,
                    member.user,
                    partition,
                    amount,
                    at.0
                ])?;
        }
        for (spending, usage) in batch.spent {
            write_spent(&transaction, spending, usage)?;
        }
        transaction.commit()
    }

    /// Notes the boot that this engine runs in.
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
                contents::forget(&transaction, *job)?;
            }
            transaction.commit()
        };
        forget(self).map_err(|error| self.failed(&error))
    }
}

fn write_job(transaction: &Transaction<'_>, job: &Job) -> rusqlite::Result<()> {
    let row = JobRow::of(job);
    let start = StartRow::of(job);
    let request = &job.request;
    transaction
        .prepare_cached(
            // Whose a job is and what it is called never changes: those indexes are left alone.
            "INSERT INTO jobs (id, submission, task, waiting, uid, name, account, partition, qos,
                 comment, live, state, submitted_at, eligible_at, not_before, dependency, hold,
                 started_at, ended_at, node_list, restarts, ending, outcome, version, resized_at,
                 accrues_at, reservation, priority_set, request)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28,
                 (SELECT own.request FROM jobs own WHERE own.id = ?2 AND ?1 <> ?2))
             ON CONFLICT (id) DO UPDATE SET task = excluded.task, waiting = excluded.waiting,
                 live = excluded.live, state = excluded.state, partition = excluded.partition,
                 submitted_at = excluded.submitted_at, eligible_at = excluded.eligible_at,
                 not_before = excluded.not_before, dependency = excluded.dependency,
                 hold = excluded.hold, started_at = excluded.started_at,
                 ended_at = excluded.ended_at, node_list = excluded.node_list,
                 restarts = excluded.restarts, ending = excluded.ending,
                 outcome = excluded.outcome, version = excluded.version,
                 resized_at = excluded.resized_at,
                 accrues_at = excluded.accrues_at, reservation = excluded.reservation,
                 priority_set = excluded.priority_set",
        )?
        .execute(params![
            job.id.0,
            row.submission.0,
            row.task,
            row.waiting,
            job.submitter.uid,
            request.name,
            request.account,
            request.partition,
            request.qos,
            request.rare.comment,
            row.ended_at.is_none(),
            row.state.long(),
            job.submitted.0,
            job.eligible.map(|at| at.0),
            job.rare.not_before.map(|at| at.0),
            job.dependency.as_ref().map(ToString::to_string),
            row.hold.map(Hold::text),
            start.as_ref().map(|start| start.started_at.0),
            row.ended_at.map(|at| at.0),
            start.as_ref().map(StartRow::node_list),
            job.restarts,
            row.ending.as_ref().map(json).transpose()?,
            row.outcome.as_ref().map(json).transpose()?,
            i64::try_from(job.version).unwrap_or(i64::MAX),
            job.rare.resized.map(|at| at.0),
            job.rare.accrues.map(|at| at.0),
            job.rare.reservation,
            job.rare.priority_set,
        ])?;
    match row.ended_at {
        Some(at) => transaction
            .prepare_cached("INSERT OR REPLACE INTO folders VALUES (?1, ?2)")?
            .execute(params![job.id.0, at.0])?,
        // Queued again, its folder is needed again; only then can there be one to forget.
        None if job.restarts > 0 => transaction
            .prepare_cached("DELETE FROM folders WHERE job = ?1")?
            .execute([job.id.0])?,
        None => 0,
    };
    Ok(())
}

/// A job asks for something else than before.
fn write_request(transaction: &Transaction<'_>, record: &Job) -> rusqlite::Result<()> {
    let request = &record.request;
    if record.restarts > 0 {
        // Accounting keeps the name under which a job started; one that runs has its new name at once.
        transaction
            .prepare_cached(
                "UPDATE job_starts SET name = jobs.name FROM jobs
                 WHERE jobs.id = ?1 AND job_starts.job = ?1 AND job_starts.restart < ?2
                     AND job_starts.name IS NULL AND jobs.name <> ?3",
            )?
            .execute(params![record.id.0, record.restarts, request.name])?;
    }
    transaction
        .prepare_cached(
            "UPDATE jobs SET request = ?2, name = ?3, account = ?4, qos = ?5, comment = ?6
             WHERE id = ?1",
        )?
        .execute(params![
            record.id.0,
            json(&**request)?,
            request.name,
            request.account,
            request.qos,
            request.rare.comment,
        ])?;
    Ok(())
}

/// A job was started, or something changed while it runs: its start moves where the clock was set.
fn write_start(
    transaction: &Transaction<'_>,
    job: &Job,
    new: Option<&NewStart>,
) -> rusqlite::Result<()> {
    let Some(start) = StartRow::of(job) else {
        return Ok(());
    };
    let limit = start.limit.map(|limit| number(limit.0));
    let Some(NewStart { reason, by }) = new else {
        transaction
            .prepare_cached(
                "UPDATE job_starts SET started_at = ?3, time_limit = ?4, suspension = ?5,
                     end_moved_ms = ?6
                 WHERE job = ?1 AND restart = ?2",
            )?
            .execute(params![
                job.id.0,
                job.restarts,
                start.started_at.0,
                limit,
                start.suspension.as_ref().map(json).transpose()?,
                start.end_moved_ms,
            ])?;
        if job.rare.resized.is_some() {
            transaction
                .prepare_cached(
                    "UPDATE job_starts SET node_list = ?3, shares = ?4
                     WHERE job = ?1 AND restart = ?2",
                )?
                .execute(params![
                    job.id.0,
                    job.restarts,
                    start.node_list(),
                    start.shares_text()?,
                ])?;
        }
        return Ok(());
    };
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO job_starts (job, restart, partition, qos, state, submitted_at,
                 eligible_at, started_at, time_limit, node_list, shares, priority, reason,
                 started_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            job.id.0,
            job.restarts,
            start.partition,
            job.request.qos,
            JobStateName::Running.long(),
            job.submitted.0,
            job.eligible.map(|at| at.0),
            start.started_at.0,
            limit,
            start.node_list(),
            start.shares_text()?,
            start.priority,
            model::reason_text(&JobState::Pending {
                reason: reason.clone()
            }),
            by.flag(),
        ])?;
    Ok(())
}

fn write_ended_start(transaction: &Transaction<'_>, ended: &EndedStart) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE job_starts SET state = ?3, ended_at = ?4, exit_status = ?5, user_cpu = ?6,
                 system_cpu = ?7, peak_memory = ?8, addresses = ?9
             WHERE job = ?1 AND restart = ?2",
        )?
        .execute(params![
            ended.job.0,
            ended.restart,
            ended.state.long(),
            ended.at.0,
            rows::exit_status(&ended.outcome),
            ended.usage.map(|usage| number(usage.user)),
            ended.usage.map(|usage| number(usage.system)),
            ended.usage.map(|usage| number(usage.peak_memory)),
            ended.usage.and_then(|usage| usage.addresses).map(number),
        ])?;
    Ok(())
}

fn write_node(
    transaction: &Transaction<'_>,
    node: &NodeName,
    mark: Option<&NodeMark>,
) -> rusqlite::Result<()> {
    let Some(mark) = mark else {
        transaction
            .prepare_cached("DELETE FROM nodes WHERE name = ?1")?
            .execute([node.as_str()])?;
        return Ok(());
    };
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO nodes (name, down, drained, reason, user_name, at, failing)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            node.as_str(),
            u8::from(mark.is_down) + u8::from(mark.is_lost),
            mark.is_drained,
            mark.reason,
            mark.user,
            mark.at.0,
            mark.is_failing,
        ])?;
    Ok(())
}

fn write_spent(db: &Transaction<'_>, spending: &Spending, usage: &Usage) -> rusqlite::Result<()> {
    let (kind, name, account, partition) = match &spending.spender {
        Spender::Qos(name) => ("qos", name, "", ""),
        Spender::Account(name) => ("account", name, "", ""),
        Spender::Member(member) => {
            let partition = member.partition.as_deref().unwrap_or_default();
            ("user", &member.user, &*member.account, partition)
        }
    };
    let (amount, at) = usage.kept();
    db.prepare_cached("INSERT OR REPLACE INTO spent VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![
            kind,
            name,
            account,
            partition,
            spending.tres,
            amount,
            at.0
        ])?;
    Ok(())
}

fn write_reservation(
    transaction: &Transaction<'_>,
    name: &str,
    reservation: Option<&Reservation>,
) -> rusqlite::Result<()> {
    match reservation {
        None => transaction
            .prepare_cached("DELETE FROM reservations WHERE name = ?1")?
            .execute([name])?,
        Some(reservation) => transaction
            .prepare_cached("INSERT OR REPLACE INTO reservations VALUES (?1, ?2)")?
            .execute(params![name, json(reservation)?])?,
    };
    Ok(())
}

fn write_step(transaction: &Transaction<'_>, row: &StepRow) -> rusqlite::Result<()> {
    let record = &row.record;
    let (ended_at, status, timed_out) = match record.state {
        model::StepState::Running => (None, None, false),
        model::StepState::Ended {
            at,
            status,
            timed_out,
        } => (Some(at.0), Some(status.0), timed_out),
    };
    transaction
        .prepare_cached(
            "INSERT INTO steps (job, restart, step, name, state, started_at, ended_at, node_list,
                 shares, holds, token, exit_status, timed_out, user_cpu, system_cpu, peak_memory,
                 cancelled_by, tasks_usage, submit_line)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19)
             ON CONFLICT DO UPDATE SET state = excluded.state, started_at = excluded.started_at,
                 ended_at = excluded.ended_at, token = excluded.token,
                 exit_status = excluded.exit_status, timed_out = excluded.timed_out, user_cpu = excluded.user_cpu,
                 system_cpu = excluded.system_cpu, peak_memory = excluded.peak_memory,
                 cancelled_by = excluded.cancelled_by, tasks_usage = excluded.tasks_usage",
        )?
        .execute(params![
            record.job.0,
            record.restart,
            rows::step_number(record.step),
            record.name,
            rows::step_state_name(&record.state),
            record.since.0,
            ended_at,
            rows::node_list(&record.nodes),
            json(&record.nodes)?,
            json(&row.holds)?,
            row.token,
            status,
            timed_out,
            record.usage.map(|usage| number(usage.user)),
            record.usage.map(|usage| number(usage.system)),
            record.usage.map(|usage| number(usage.peak_memory)),
            record.cancelled_by,
            record.tasks_usage.as_ref().map(json).transpose()?,
            record.submit_line,
        ])?;
    Ok(())
}

fn write_submission(
    transaction: &Transaction<'_>,
    submission: &NewSubmission,
) -> rusqlite::Result<()> {
    let submitter = &submission.submitter;
    let keep = |content: &[u8]| contents::keep(transaction, content);
    // A script is kept as it was given; in the text that came, characters stand for bytes that are no UTF-8.
    let script = submission.script.as_deref().map(sys::odd_text::bytes);
    let script = script.map(|bytes| keep(bytes.as_bytes())).transpose()?;
    let environment = keep(submission.environment.as_bytes())?;
    transaction
        .prepare_cached(
            "INSERT INTO submissions (job, token, uid, gid, user_name, group_name, umask,
                 arguments, command, submit_host, batch, request, script, environment, own_environment)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            submission.job.0,
            submission.token,
            submitter.uid,
            submitter.gid,
            submitter.user,
            submitter.group,
            submission.umask,
            json(&submission.arguments)?,
            submitter.command,
            submitter.host,
            submission.script.is_some(),
            submission.request,
            script,
            environment,
            submission.own_environment,
        ])?;
    Ok(())
}

/// A count in a column: SQLite's integers have a sign.
fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
