//! What accounting keeps beside jobs: accounts as they are set, how they became so, and when nodes took no
//! jobs.

use super::rows::{Columns, id_list, json, read_error, to_json};
use super::{Store, StoreError};
use model::{Accounting, AccountingTransaction, JobId, JobRecordChange, NodeEvent, Timestamp};
use rusqlite::{Connection, Transaction, params};
use std::collections::BTreeMap;

impl Store {
    /// Accounts, users and QOS as they were last set.
    pub(crate) fn accounting(&self) -> Result<Option<Accounting>, StoreError> {
        let text: Option<String> = self.fact("accounting")?;
        let read = |text: String| serde_json::from_str(&text).map_err(|error| self.failed(&error));
        text.map(read).transpose()
    }

    /// Keeps them, and what was changed; they are on disk when this returns.
    pub(crate) fn set_accounting(
        &mut self,
        accounting: &Accounting,
        changes: &[AccountingTransaction],
    ) -> Result<(), StoreError> {
        let text = serde_json::to_string(accounting).map_err(|error| self.failed(&error))?;
        let write = |store: &mut Store| -> rusqlite::Result<()> {
            store.set_durable(true)?;
            let transaction = store.db.transaction()?;
            let sql = "INSERT OR REPLACE INTO facts VALUES ('accounting', ?1)";
            transaction.execute(sql, [&text])?;
            for change in changes {
                write_change(&transaction, change)?;
            }
            transaction.commit()
        };
        write(self).map_err(|error| self.failed(&error))
    }

    /// Keeps what is set of jobs' records, each with what was changed; it is on disk when this returns.
    pub(crate) fn change_records(
        &mut self,
        records: &[(JobId, JobRecordChange)],
        changes: &[AccountingTransaction],
    ) -> Result<(), StoreError> {
        let write = |store: &mut Store| -> rusqlite::Result<()> {
            store.set_durable(true)?;
            let transaction = store.db.transaction()?;
            for (job, change) in records {
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO record_changes VALUES (?1, ?2)")?
                    .execute(params![job.0, to_json(change)?])?;
            }
            for change in changes {
                write_change(&transaction, change)?;
            }
            transaction.commit()
        };
        write(self).map_err(|error| self.failed(&error))
    }

    /// What was set of these jobs' records.
    pub(crate) fn record_changes(
        &self,
        jobs: &[JobId],
    ) -> Result<BTreeMap<JobId, JobRecordChange>, StoreError> {
        let read = || -> rusqlite::Result<BTreeMap<JobId, JobRecordChange>> {
            let mut statement = self.db.prepare_cached(
                "SELECT * FROM record_changes WHERE job IN (SELECT value FROM json_each(?1))",
            )?;
            let columns = Columns::of(&statement);
            let rows = statement.query_map([id_list(jobs)], |row| {
                let row = columns.name(row);
                Ok((JobId(row.get("job")?), json(&row, "change")?))
            })?;
            rows.collect()
        };
        read().map_err(|error| read_error(self, &error))
    }

    /// What was changed of the accounting, the oldest first.
    pub(crate) fn transactions(&self) -> Result<Vec<AccountingTransaction>, StoreError> {
        let read = || -> rusqlite::Result<Vec<AccountingTransaction>> {
            let sql = "SELECT at, actor, action, object, info FROM transactions ORDER BY rowid";
            let mut statement = self.db.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| {
                Ok(AccountingTransaction {
                    at: Timestamp(row.get(0)?),
                    actor: row.get(1)?,
                    action: row.get(2)?,
                    object: row.get(3)?,
                    info: row.get(4)?,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failed(&error))
    }

    /// When nodes took no jobs; with `open` only what has not ended.
    pub(crate) fn node_events(&self, open: bool) -> Result<Vec<NodeEvent>, StoreError> {
        read_events(&self.db, open).map_err(|error| self.failed(&error))
    }

    /// Forgets what ended or was changed before a moment.
    pub(crate) fn prune_accounting(&self, before: Timestamp) -> Result<(), StoreError> {
        let prune = || -> rusqlite::Result<()> {
            let rules = [
                "DELETE FROM transactions WHERE at < ?1",
                "DELETE FROM node_events WHERE ended_at < ?1",
            ];
            for sql in rules {
                self.db.prepare_cached(sql)?.execute([before.0])?;
            }
            Ok(())
        };
        prune().map_err(|error| self.failed(&error))
    }
}

fn write_change(
    transaction: &Transaction<'_>,
    change: &AccountingTransaction,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO transactions VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            change.at.0,
            change.actor,
            change.action,
            change.object,
            change.info
        ])?;
    Ok(())
}

fn read_events(db: &Connection, open: bool) -> rusqlite::Result<Vec<NodeEvent>> {
    let mut statement = db.prepare_cached(
        "SELECT node, begun_at, state, ended_at, reason, user_name FROM node_events
         WHERE NOT ?1 OR ended_at IS NULL ORDER BY begun_at",
    )?;
    let rows = statement.query_map([open], |row| {
        Ok(NodeEvent {
            node: row.get(0)?,
            begin: Timestamp(row.get(1)?),
            state: row.get(2)?,
            end: row.get::<_, Option<i64>>(3)?.map(Timestamp),
            reason: row.get(4)?,
            user: row.get(5)?,
        })
    })?;
    rows.collect()
}

/// Writes one that began or ended.
pub(super) fn write_event(db: &Transaction<'_>, event: &NodeEvent) -> rusqlite::Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO node_events VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            event.node,
            event.begin.0,
            event.state,
            event.end.map(|end| end.0),
            event.reason,
            event.user
        ])?;
    Ok(())
}
