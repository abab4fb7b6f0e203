//! Sizes that starts had before their jobs lost nodes or gave some back: a row each, shown as starts of
//! their own.

use super::rows::{self, Columns, to_json};
use model::{JobId, JobStart, JobStateName, NodeShare, RestartCount, Suspension, Timestamp};
use rusqlite::{Connection, Transaction, params};
use sched::Job;

/// What a start held until a moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormerSize {
    pub(crate) job: JobId,
    pub(crate) restart: RestartCount,
    pub(crate) until: Timestamp,
    /// For how long the start was suspended until then.
    pub(crate) suspended_ms: i64,
    pub(crate) shares: Vec<NodeShare>,
}

impl FormerSize {
    /// What a running job holds; `None` of another, and of one that is being ended, which keeps what it has.
    pub(crate) fn of(job: &Job, until: Timestamp) -> Option<FormerSize> {
        let model::JobState::Running {
            allocation,
            ending: None,
            ..
        } = &job.state
        else {
            return None;
        };
        Some(FormerSize {
            job: job.id,
            restart: job.restarts,
            until,
            suspended_ms: job.state.suspended_ms(until),
            shares: allocation.nodes.clone(),
        })
    }
}

/// Of two changes in one moment the first is kept: what came between lasted for no time.
pub(super) fn write(transaction: &Transaction<'_>, size: &FormerSize) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT OR IGNORE INTO former_sizes VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![
            size.job.0,
            size.restart,
            size.until.0,
            size.suspended_ms,
            to_json(&size.shares)?,
        ])?;
    Ok(())
}

/// Moves those of starts that run by so many milliseconds.
pub(super) fn shift(transaction: &Transaction<'_>, by_ms: i64) -> rusqlite::Result<()> {
    // Below zero in between, where none stands: two of a start may be as far apart as the clock was set.
    for change in ["until_at = -(until_at + ?1)", "until_at = -until_at"] {
        let which = if change.contains("?1") {
            ""
        } else {
            "until_at < 0 AND ?1 = ?1 AND"
        };
        transaction.execute(
            &format!(
                "UPDATE former_sizes SET {change} WHERE {which} EXISTS (SELECT 1 FROM jobs WHERE jobs.id = \
                 former_sizes.job AND jobs.restarts = former_sizes.restart AND jobs.state = ?2)"
            ),
            params![by_ms, JobStateName::Running.long()],
        )?;
    }
    Ok(())
}

/// The former sizes of jobs, in the order of starts; `jobs` is their ids as JSON.
pub(super) fn read(db: &Connection, jobs: &str) -> rusqlite::Result<Vec<FormerSize>> {
    let mut statement = db.prepare_cached(
        "SELECT * FROM former_sizes WHERE job IN (SELECT value FROM json_each(?1))
         ORDER BY job, restart, until_at",
    )?;
    let columns = Columns::of(&statement);
    let sizes = statement.query_map([jobs], |row| {
        let row = columns.name(row);
        Ok(FormerSize {
            job: JobId(row.get("job")?),
            restart: row.get("restart")?,
            until: Timestamp(row.get("until_at")?),
            suspended_ms: row.get("suspended_ms")?,
            shares: rows::json(&row, "shares")?,
        })
    })?;
    sizes.collect()
}

/// Starts as their sizes; both come by job and restart.
pub(super) fn split_each(
    starts: Vec<(JobId, JobStart)>,
    sizes: Vec<FormerSize>,
) -> Vec<(JobId, JobStart)> {
    let mut all = Vec::with_capacity(starts.len() + sizes.len());
    let mut sizes = sizes.into_iter().peekable();
    for (job, start) in starts {
        let of_start = (job, start.restart);
        // Those of a start that is not there are passed over.
        while sizes
            .next_if(|size| (size.job, size.restart) < of_start)
            .is_some()
        {}
        let own = std::iter::from_fn(|| sizes.next_if(|size| (size.job, size.restart) == of_start));
        let own: Vec<FormerSize> = own.collect();
        all.extend(split(start, &own).into_iter().map(|part| (job, part)));
    }
    all
}

/// A start as its sizes, the last one last. It is suspended in the last one where it still is.
fn split(start: JobStart, sizes: &[FormerSize]) -> Vec<JobStart> {
    let mut parts = Vec::with_capacity(sizes.len() + 1);
    let (mut since, mut suspended_ms) = (start.since, 0);
    for size in sizes {
        let suspended = size.suspended_ms - suspended_ms;
        parts.push(JobStart {
            state: JobStateName::Resizing,
            since,
            ended: Some(size.until),
            suspension: (suspended > 0).then_some(Suspension {
                at: size.until,
                is_now: false,
                before_ms: suspended,
                is_preempted: false,
                is_stopped: false,
            }),
            nodes: size.shares.clone(),
            status: model::WaitStatus::default(),
            usage: None,
            ..start.clone()
        });
        (since, suspended_ms) = (size.until, size.suspended_ms);
    }
    let suspension = start.suspension.map(|suspension| Suspension {
        before_ms: suspension.before_ms - suspended_ms,
        ..suspension
    });
    parts.push(JobStart {
        since,
        suspension,
        ..start
    });
    parts
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]

    use super::*;
    use model::{NodeName, WaitStatus};

    fn share(node: &str) -> NodeShare {
        NodeShare {
            node: NodeName::new(node),
            cpus: vec![0],
            memory: 1,
            gpus: Vec::new(),
            tasks: 1,
        }
    }

    fn size(until: i64, suspended_ms: i64) -> FormerSize {
        FormerSize {
            job: JobId(7),
            restart: 1,
            until: Timestamp(until),
            suspended_ms,
            shares: vec![share("n1"), share("n2")],
        }
    }

    /// From 10 to 90, and suspended for so long.
    fn start(restart: RestartCount, suspended_ms: i64) -> JobStart {
        JobStart {
            restart,
            state: JobStateName::Completed,
            partition: None,
            qos: None,
            name: None,
            submitted: Timestamp(1),
            eligible: None,
            since: Timestamp(10),
            ended: Some(Timestamp(90)),
            limit: None,
            suspension: Some(Suspension {
                at: Timestamp(20),
                is_now: false,
                before_ms: suspended_ms,
                is_preempted: false,
                is_stopped: false,
            }),
            nodes: vec![share("n1")],
            priority: Some(5),
            reason: None,
            started_by: None,
            status: WaitStatus::exit(3),
            usage: None,
        }
    }

    /// The parts of a start from 10 to 90 that was suspended for so long: state, begin, end, suspension.
    #[track_caller]
    fn check(suspended_ms: i64, sizes: &[FormerSize], want: &[(&str, i64, i64, i64)]) {
        let parts = split(start(1, suspended_ms), sizes);
        let parts = parts.iter().map(|part| {
            let ended = part.ended.unwrap();
            let suspended = part.suspension.map_or(0, |it| it.until(ended));
            (part.state.long(), part.since.0, ended.0, suspended)
        });
        assert_eq!(parts.collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_start_is_shown_as_its_sizes() {
        check(5, &[], &[("COMPLETED", 10, 90, 5)]);
        check(
            5,
            &[size(30, 2), size(40, 2)],
            &[
                ("RESIZING", 10, 30, 2),
                ("RESIZING", 30, 40, 0),
                ("COMPLETED", 40, 90, 3),
            ],
        );
    }

    #[test]
    fn those_of_starts_that_run_move_with_the_clock() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "CREATE TABLE jobs (id INTEGER PRIMARY KEY, restarts INTEGER, state TEXT);
             INSERT INTO jobs VALUES (7, 1, 'RUNNING'), (8, 0, 'COMPLETED');
             CREATE TABLE former_sizes (job INTEGER, restart INTEGER, until_at INTEGER,
                 suspended_ms INTEGER, shares TEXT, PRIMARY KEY (job, restart, until_at));",
        )
        .unwrap();
        let transaction = db.transaction().unwrap();
        for (job, restart, until) in [(7, 0, 10), (7, 1, 20), (7, 1, 30), (8, 0, 10)] {
            let size = FormerSize {
                job: JobId(job),
                restart,
                ..size(until, 0)
            };
            write(&transaction, &size).unwrap();
        }
        shift(&transaction, 10).unwrap();
        transaction.commit().unwrap();
        let sizes = read(&db, "[7, 8]").unwrap();
        let sizes = sizes
            .iter()
            .map(|size| (size.job.0, size.restart, size.until.0));
        let want = [(7, 0, 10), (7, 1, 30), (7, 1, 40), (8, 0, 10)];
        assert_eq!(sizes.collect::<Vec<_>>(), want);
    }

    /// Starts and sizes as `JOB.RESTART`: what each part is of, with `+` where it is a former size.
    #[track_caller]
    fn check_each(starts: &str, sizes: &str, want: &str) {
        let read = |words: &str| -> Vec<(JobId, RestartCount)> {
            let names = words.split_whitespace().map(|word| {
                let (job, restart) = word.split_once('.').unwrap();
                (JobId(job.parse().unwrap()), restart.parse().unwrap())
            });
            names.collect()
        };
        let sizes = read(sizes).into_iter().zip(20..);
        let sizes = sizes.map(|((job, restart), until)| FormerSize {
            job,
            restart,
            ..size(until, 0)
        });
        let starts = read(starts).into_iter();
        let starts = starts.map(|(job, restart)| (job, start(restart, 0)));
        let parts = split_each(starts.collect(), sizes.collect());
        let parts = parts.iter().map(|(job, part)| {
            let is_former = part.state == JobStateName::Resizing;
            let sign = if is_former { "+" } else { "" };
            format!("{job}.{}{sign}", part.restart)
        });
        assert_eq!(parts.collect::<Vec<_>>().join(" "), want);
    }

    #[test]
    fn each_start_has_its_own_sizes() {
        check_each("1.0 1.1 3.0", "", "1.0 1.1 3.0");
        check_each(
            "1.0 1.1 3.0 4.0",
            "1.1 1.1 4.0",
            "1.0 1.1+ 1.1+ 1.1 3.0 4.0+ 4.0",
        );
        check_each("2.1 9.0", "1.0 2.0 2.1 5.0 9.0 9.1", "2.1+ 2.1 9.0+ 9.0");
    }
}
