//! Reading: what a start needs, and what clients ask for of ended jobs.

use super::job_row::{self, LastSubmission};
use super::rows::Columns;
use super::sizes;
use super::{Store, StoreError, contents, rows};
use crate::RecordTag;
use crate::owner::Clock;
use model::{
    ArraySpec, Dependency, JobId, JobStart, NodeMark, NodeName, NodeShare, Reservation,
    RestartCount, StepRecord, Timestamp,
};
use rusqlite::{OptionalExtension, Params};
use sched::{Finished, Job, Saved};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// More versions than one engine gives to what it writes into no row.
const UNWRITTEN: u64 = 1 << 32;

/// Of ended jobs the last entry of an index; of live ones each, as they are all read then anyway.
const NEWEST_VERSION: &str = "SELECT max(
    (SELECT coalesce(max(version), 0) FROM jobs WHERE live = 0),
    (SELECT coalesce(max(version), 0) FROM jobs WHERE live = 1))";

/// A step as the table holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepRow {
    /// What clients know.
    pub(crate) record: StepRecord,
    /// What no other step of the job may hold meanwhile.
    pub(crate) holds: Vec<NodeShare>,
    /// What the request that made it is recognised by; empty for a batch script's step, and where
    /// none may be answered with this one.
    pub(crate) token: String,
}

/// What a submission brought along besides its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    pub(crate) umask: u32,
    pub(crate) arguments: Vec<String>,
}

/// A submission's files, as far as the store still has them.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) script: Option<Vec<u8>>,
    pub(crate) environment: Option<Vec<u8>>,
}

impl Store {
    pub(super) fn fact<T: rusqlite::types::FromSql>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StoreError> {
        self.db
            .query_row("SELECT value FROM facts WHERE name = ?1", [name], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| self.failed(&error))
    }

    /// All that the scheduler's state is rebuilt from.
    pub(crate) fn saved(&self) -> Result<Saved, StoreError> {
        let live = self.jobs("jobs.live = 1", "", [])?;
        let mut arrays = Vec::new();
        let array_jobs = live.iter().filter_map(|record| record.array.as_ref());
        let array_jobs: BTreeSet<JobId> = array_jobs.map(|place| place.array_job).collect();
        for job in array_jobs {
            if let Some(elements) = self.elements(job)? {
                arrays.push((job, elements));
            }
        }
        let mut history = Vec::new();
        for record in &live {
            history.extend(self.history(record.dependency.as_deref())?);
        }
        Ok(Saved {
            next_id: self.fact("next_id")?.unwrap_or(1),
            // What is in no row had versions too: a client's cursor must be older than what comes.
            version: self.version.saturating_add(UNWRITTEN),
            live,
            arrays,
            history,
            nodes: self.nodes()?,
            reservations: self.reservations()?,
            usage: self.usage()?,
            spent: self.spent()?,
            nodes_open_below: self.fact("nodes_open_below")?.unwrap_or(0),
        })
    }

    /// What users' ended jobs used.
    fn usage(&self) -> Result<Vec<(sched::Member, sched::priority::Usage)>, StoreError> {
        let read = || -> rusqlite::Result<_> {
            let columns = "SELECT account, user_name, partition, amount, at FROM usage";
            let mut statement = self.db.prepare(columns)?;
            let rows = statement.query_map([], |row| {
                let member = sched::Member {
                    account: row.get(0)?,
                    user: row.get(1)?,
                    partition: partition(row.get(2)?),
                };
                let usage = sched::priority::Usage::new(row.get(3)?, Timestamp(row.get(4)?));
                Ok((member, usage))
            })?;
            rows.collect()
        };
        read().map_err(|error| rows::read_error(self, &error))
    }

    /// What ended jobs used as limits on that count it.
    fn spent(&self) -> Result<Vec<(sched::Spending, sched::priority::Usage)>, StoreError> {
        let read = || -> rusqlite::Result<_> {
            let columns = "SELECT kind, name, account, partition, tres, amount, at FROM spent";
            let mut statement = self.db.prepare(columns)?;
            let rows = statement.query_map([], |row| {
                let name: String = row.get(1)?;
                let spender = match row.get::<_, String>(0)?.as_str() {
                    "qos" => sched::Spender::Qos(name),
                    "account" => sched::Spender::Account(name),
                    _ => sched::Spender::Member(sched::Member {
                        account: row.get(2)?,
                        user: name,
                        partition: partition(row.get(3)?),
                    }),
                };
                let tres = row.get(4)?;
                let usage = sched::priority::Usage::new(row.get(5)?, Timestamp(row.get(6)?));
                Ok((sched::Spending { spender, tres }, usage))
            })?;
            rows.collect()
        };
        read().map_err(|error| rows::read_error(self, &error))
    }

    fn reservations(&self) -> Result<Vec<Reservation>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let columns = "SELECT reservation FROM reservations ORDER BY name";
            let mut statement = self.db.prepare(columns)?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let texts = read().map_err(|error| rows::read_error(self, &error))?;
        texts.iter().map(|text| self.parse(text)).collect()
    }

    /// What is said of nodes.
    fn nodes(&self) -> Result<Vec<(NodeName, NodeMark)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(NodeName, NodeMark)>> {
            let mut statement = self.db.prepare(
                "SELECT name, down, drained, reason, user_name, at, failing FROM nodes ORDER BY name",
            )?;
            let rows = statement.query_map([], |row| {
                let name: String = row.get(0)?;
                // 2 is down and does not answer.
                let down: u8 = row.get(1)?;
                let mark = NodeMark {
                    is_down: down > 0,
                    is_lost: down > 1,
                    is_drained: row.get(2)?,
                    reason: row.get(3)?,
                    user: row.get(4)?,
                    at: Timestamp(row.get(5)?),
                    is_failing: row.get(6)?,
                };
                Ok((NodeName::from(name), mark))
            })?;
            rows.collect()
        };
        read().map_err(|error| rows::read_error(self, &error))
    }

    /// The clock that the rows go by.
    pub(crate) fn clock(&self) -> Result<Option<Clock>, StoreError> {
        let text: Option<String> = self.fact("clock")?;
        text.map(|text| self.parse(&text)).transpose()
    }

    /// What the records of a submission's steps are recognised by.
    pub(crate) fn record_tag(&self, submitted: JobId) -> Result<Option<RecordTag>, StoreError> {
        if submitted.0 < self.untagged_below {
            return Ok(None);
        }
        let token: Option<String> = self
            .db
            .prepare_cached("SELECT token FROM submissions WHERE job = ?1")
            .and_then(|mut statement| {
                let row = statement.query_row([submitted.0], |row| row.get(0));
                row.optional()
            })
            .map_err(|error| self.failed(&error))?;
        Ok(token.map(|token| RecordTag::new(&self.uuid, &token)))
    }

    /// The newest version of a row.
    pub(super) fn newest_version(&self) -> Result<u64, StoreError> {
        let version: i64 = self
            .db
            .query_row(NEWEST_VERSION, [], |row| row.get(0))
            .map_err(|error| self.failed(&error))?;
        Ok(u64::try_from(version).unwrap_or(0))
    }

    /// An array's elements as they were submitted.
    pub(crate) fn elements(&self, array_job: JobId) -> Result<Option<ArraySpec>, StoreError> {
        let text: Option<Option<String>> = self
            .db
            .query_row(
                "SELECT request -> '$.array' FROM submissions WHERE job = ?1",
                [array_job.0],
                |row| row.get(0),
            )
            .optional()
            .map_err(|error| self.failed(&error))?;
        let spec = text.flatten().map(|text| self.parse(&text)).transpose()?;
        Ok(spec.flatten())
    }

    /// What became of ended jobs that a dependency names.
    pub(crate) fn history(
        &self,
        dependency: Option<&Dependency>,
    ) -> Result<Vec<Finished>, StoreError> {
        let named = dependency.iter();
        // A list may name one job thousands of times.
        let targets: BTreeSet<JobId> = named.flat_map(|named| named.targets()).collect();
        let mut finished = Vec::new();
        for target in targets {
            for record in self.ended_by_id(target)? {
                let named = Finished::of(&record).into_iter();
                finished.extend(named.filter(|finished| finished.target == target));
            }
        }
        Ok(finished)
    }

    /// Ended jobs of this id: the job, or the elements of the array.
    pub(crate) fn ended_by_id(&self, id: JobId) -> Result<Vec<Job>, StoreError> {
        self.jobs(
            "jobs.live = 0 AND (jobs.id = ?1 OR jobs.submission = ?1 AND jobs.task IS NOT NULL)",
            "",
            [id.0],
        )
    }

    /// Jobs that ended at or after a moment.
    #[cfg(test)]
    pub(super) fn ended_since(&self, since: Timestamp) -> Result<Vec<Job>, StoreError> {
        self.jobs("jobs.live = 0 AND jobs.ended_at >= ?1", "", [since.0])
    }

    /// Ended jobs whose rows are newer than a version.
    pub(crate) fn ended_newer(&self, version: u64) -> Result<Vec<Job>, StoreError> {
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        self.jobs("jobs.live = 0 AND jobs.version > ?1", "", [version])
    }

    /// The job that a token was answered with, and its owner.
    pub(crate) fn by_token(&self, token: &str) -> Result<Option<(JobId, u32)>, StoreError> {
        self.db
            .prepare_cached("SELECT job, uid FROM submissions WHERE token = ?1")
            .and_then(|mut statement| {
                let row = statement.query_row([token], |row| Ok((JobId(row.get(0)?), row.get(1)?)));
                row.optional()
            })
            .map_err(|error| self.failed(&error))
    }

    /// What a submission brought along, under the id that it was answered with.
    pub(crate) fn brought(&self, job: JobId) -> Result<Option<Brought>, StoreError> {
        let row: Option<(u32, String)> = self
            .db
            .prepare_cached("SELECT umask, arguments FROM submissions WHERE job = ?1")
            .and_then(|mut statement| {
                let row = statement.query_row([job.0], |row| Ok((row.get(0)?, row.get(1)?)));
                row.optional()
            })
            .map_err(|error| self.failed(&error))?;
        row.map(|(umask, arguments)| {
            Ok(Brought {
                umask,
                arguments: self.parse(&arguments)?,
            })
        })
        .transpose()
    }

    /// The script and environment that a submission brought along, as its files hold them.
    pub(crate) fn files(&self, job: JobId) -> Result<Files, StoreError> {
        self.db
            .query_row(
                "SELECT script.content, environment.content, own_environment FROM submissions
                 LEFT JOIN contents AS script ON script.id = script
                 LEFT JOIN contents AS environment ON environment.id = environment
                 WHERE job = ?1",
                [job.0],
                |row| {
                    let shared: Option<Vec<u8>> = row.get(1)?;
                    let own: Option<String> = row.get(2)?;
                    let environment = shared.zip(own);
                    Ok(Files {
                        script: row.get(0)?,
                        environment: environment
                            .map(|(shared, own)| contents::joined_environment(shared, &own)),
                    })
                },
            )
            .optional()
            .map(Option::unwrap_or_default)
            .map_err(|error| self.failed(&error))
    }

    /// Whether a submission's script is still there: its jobs can be queued again.
    pub(crate) fn has_script(&self, submitted: JobId) -> Result<bool, StoreError> {
        let sql = "SELECT script IS NOT NULL FROM submissions WHERE job = ?1";
        let found = self.db.query_row(sql, [submitted.0], |row| row.get(0));
        found
            .optional()
            .map(Option::unwrap_or_default)
            .map_err(|error| self.failed(&error))
    }

    /// Steps of one of a job's starts.
    pub(crate) fn steps(
        &self,
        job: JobId,
        restart: RestartCount,
    ) -> Result<Vec<StepRow>, StoreError> {
        let sql = "SELECT * FROM steps WHERE job = ?1 AND restart = ?2 ORDER BY step";
        self.step_rows(sql, [job.0, restart])
    }

    /// Steps of all starts of jobs, by job, restart and step.
    pub(crate) fn steps_of_all_starts(&self, jobs: &[JobId]) -> Result<Vec<StepRow>, StoreError> {
        let sql = "SELECT * FROM steps WHERE job IN (SELECT value FROM json_each(?1))
                   ORDER BY job, restart, step";
        self.step_rows(sql, [rows::id_list(jobs)])
    }

    /// The starts of jobs, by job and restart.
    pub(crate) fn starts(&self, jobs: &[JobId]) -> Result<Vec<(JobId, JobStart)>, StoreError> {
        let read = || -> rusqlite::Result<Vec<(JobId, JobStart)>> {
            let jobs = rows::id_list(jobs);
            let sizes = sizes::read(&self.db, &jobs)?;
            let mut statement = self.db.prepare_cached(
                "SELECT * FROM job_starts WHERE job IN (SELECT value FROM json_each(?1))
                 ORDER BY job, restart",
            )?;
            let columns = Columns::of(&statement);
            let starts = statement.query_map([&jobs], |row| {
                let row = columns.name(row);
                Ok((JobId(row.get("job")?), rows::read_start(&row)?))
            })?;
            let starts: rusqlite::Result<Vec<(JobId, JobStart)>> = starts.collect();
            Ok(sizes::split_each(starts?, sizes))
        };
        read().map_err(|error| rows::read_error(self, &error))
    }

    fn step_rows(&self, sql: &str, params: impl Params) -> Result<Vec<StepRow>, StoreError> {
        let read = || -> rusqlite::Result<Vec<StepRow>> {
            let mut statement = self.db.prepare_cached(sql)?;
            let columns = Columns::of(&statement);
            let steps = statement.query_map(params, |row| {
                let row = columns.name(row);
                let (record, holds) = rows::read_step(&row)?;
                Ok(StepRow {
                    record,
                    holds,
                    token: row.get("token")?,
                })
            })?;
            steps.collect()
        };
        read().map_err(|error| rows::read_error(self, &error))
    }

    /// Folders whose jobs ended before a moment or are not among so many that ended last; and when
    /// the first of the others ended.
    pub(crate) fn folders_due(
        &self,
        moment: Timestamp,
        most: usize,
    ) -> Result<(Vec<JobId>, Option<Timestamp>), StoreError> {
        let read = || -> rusqlite::Result<Vec<(JobId, Timestamp)>> {
            let mut statement = self.db.prepare_cached(
                "SELECT job, ended_at FROM folders ORDER BY ended_at DESC, job DESC",
            )?;
            let rows =
                statement.query_map([], |row| Ok((JobId(row.get(0)?), Timestamp(row.get(1)?))))?;
            rows.collect()
        };
        let mut folders = read().map_err(|error| self.failed(&error))?;
        let young = folders.partition_point(|(_, ended)| *ended >= moment);
        let due = folders.split_off(young.min(most));
        let next = folders.last().map(|(_, ended)| *ended);
        Ok((due.into_iter().map(|(job, _)| job).collect(), next))
    }

    /// The ended job of this id, which may be an element or the last row of an array.
    pub(crate) fn ended_job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let found = self.jobs("jobs.live = 0 AND jobs.id = ?1", "", [id.0])?;
        Ok(found.into_iter().next())
    }

    /// Jobs for which a condition holds, in ascending id; `limit` follows.
    pub(super) fn jobs(
        &self,
        condition: &str,
        limit: &str,
        params: impl Params,
    ) -> Result<Vec<Job>, StoreError> {
        let sql = format!(
            "SELECT {} FROM {} WHERE {condition} ORDER BY jobs.id {limit}",
            job_row::JOB_COLUMNS,
            job_row::JOBS
        );
        let read = || -> rusqlite::Result<Vec<Job>> {
            let mut statement = self.db.prepare_cached(&sql)?;
            let columns = Columns::of(&statement);
            let mut last = LastSubmission::default();
            let jobs = statement.query_map(params, |row| {
                let row = columns.name(row);
                job_row::read_job(&row, &mut last, |array| self.own_rows(array))
            })?;
            jobs.collect()
        };
        read().map_err(|error| rows::read_error(self, &error))
    }

    /// The elements of an array that have rows of their own.
    fn own_rows(&self, array: JobId) -> rusqlite::Result<BTreeSet<u32>> {
        let mut statement = self
            .db
            .prepare_cached("SELECT task FROM jobs WHERE submission = ?1 AND task IS NOT NULL")?;
        let tasks = statement.query_map([array.0], |row| row.get(0))?;
        tasks.collect()
    }

    fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.garbage(&error))
    }
}

/// The partition of an association; the empty name is all.
fn partition(name: String) -> Option<String> {
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[test]
    fn the_newest_version_is_read_from_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("store.sqlite"), None).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {NEWEST_VERSION}");
        let mut plan = store.db.prepare(&sql).unwrap();
        let lines = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let lines: Vec<String> = lines.map(Result::unwrap).collect();
        let reads: Vec<&String> = lines.iter().filter(|line| line.contains("jobs")).collect();
        assert_eq!(reads.len(), 2, "{lines:?}");
        for (read, index) in reads.iter().zip(["jobs_ended_version", "jobs_live"]) {
            assert!(read.contains(index), "{lines:?}");
        }
    }
}
