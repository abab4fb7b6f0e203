//! Removing what is remembered of jobs that ended long ago.

use super::{Store, StoreError, contents};
use model::{JobId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

impl Store {
    /// Removes the rows of jobs that ended before a moment or whose ids are lower than `below`, at
    /// most so many; how many there were.
    pub(crate) fn prune(
        &mut self,
        before: Timestamp,
        below: JobId,
        most: usize,
    ) -> Result<usize, StoreError> {
        let found = old(&self.db, before, below, most).map_err(|error| self.failed(&error))?;
        if found.is_empty() {
            return Ok(0);
        }
        let remove = |store: &mut Store| -> rusqlite::Result<()> {
            let transaction = store.db.transaction()?;
            for job in &found {
                remove(&transaction, *job)?;
            }
            transaction.commit()
        };
        remove(self).map_err(|error| self.failed(&error))?;
        Ok(found.len())
    }
}

/// Those that still have a folder may be queued again, and stay. So do the elements of an array of
/// which others wait: an element without a row of its own is one that waits.
fn old(
    db: &Connection,
    before: Timestamp,
    below: JobId,
    most: usize,
) -> rusqlite::Result<Vec<u32>> {
    let ended = "SELECT id FROM jobs WHERE live = 0 AND id NOT IN (SELECT job FROM folders)
                 AND submission NOT IN (SELECT id FROM jobs WHERE live = 1)";
    let mut found: Vec<u32> = Vec::new();
    for (bound, value) in [("ended_at < ?1", before.0), ("id < ?1", below.0.into())] {
        let left = most - found.len();
        let sql = format!("{ended} AND {bound} LIMIT ?2");
        let mut statement = db.prepare_cached(&sql)?;
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        let ids = statement.query_map(params![value, left], |row| row.get(0))?;
        for id in ids {
            let id = id?;
            if !found.contains(&id) {
                found.push(id);
            }
        }
    }
    Ok(found)
}

fn remove(db: &Connection, job: u32) -> rusqlite::Result<()> {
    let submission: Option<u32> = db
        .prepare_cached("SELECT submission FROM jobs WHERE id = ?1")?
        .query_row([job], |row| row.get(0))
        .optional()?;
    db.prepare_cached("DELETE FROM jobs WHERE id = ?1")?
        .execute([job])?;
    db.prepare_cached("DELETE FROM job_starts WHERE job = ?1")?
        .execute([job])?;
    db.prepare_cached("DELETE FROM former_sizes WHERE job = ?1")?
        .execute([job])?;
    db.prepare_cached("DELETE FROM record_changes WHERE job = ?1")?
        .execute([job])?;
    db.prepare_cached("DELETE FROM steps WHERE job = ?1")?
        .execute([job])?;
    // What was submitted goes with the last job that came of it.
    let submission = submission.unwrap_or(job);
    let is_last = db
        .prepare_cached(
            "SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 OR submission = ?1 AND task IS NOT NULL)",
        )?
        .query_row([submission], |row| row.get(0))?;
    if is_last {
        contents::forget(db, JobId(submission))?;
        db.prepare_cached("DELETE FROM submissions WHERE job = ?1")?
            .execute([submission])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn store(folder: &Path, jobs: &[(u32, Option<u32>, Option<i64>)]) -> Store {
        let store = Store::open(&folder.join("store.sqlite"), None).unwrap();
        for (id, array, ended) in jobs {
            store
                .db
                .execute(
                    "INSERT INTO jobs (id, submission, task, uid, name, partition, live, state,
                         submitted_at, ended_at, restarts, version)
                     VALUES (?1, coalesce(?2, ?1), ?2, 0, '', '', ?3, '', 0, ?4, 0, ?1)",
                    params![id, array, ended.is_none(), ended],
                )
                .unwrap();
            store
                .db
                .execute(
                    "INSERT INTO steps VALUES
                     (?1, 0, 0, '', '', 0, 0, '', '', '', '', 0, 0, NULL, NULL, NULL, NULL,
                      NULL, NULL)",
                    [id],
                )
                .unwrap();
            let change = "INSERT INTO record_changes VALUES (?1, '{}')";
            store.db.execute(change, [id]).unwrap();
            if array.is_none_or(|array| array == *id) {
                store
                    .db
                    .execute(
                        "INSERT INTO submissions VALUES
                         (?1, ?1, 0, 0, '', '', 0, '', NULL, '', 1, '', NULL, NULL, NULL)",
                        [id],
                    )
                    .unwrap();
            }
        }
        store
    }

    fn left(store: &Store, table: &str, column: &str) -> Vec<u32> {
        let sql = format!("SELECT {column} FROM {table} ORDER BY 1");
        let mut statement = store.db.prepare(&sql).unwrap();
        let ids = statement.query_map([], |row| row.get(0)).unwrap();
        ids.map(Result::unwrap).collect()
    }

    #[test]
    fn old_jobs_go_with_all_that_is_remembered_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(
            folder.path(),
            &[
                (1, None, Some(10)),
                (2, None, None),
                (3, Some(3), Some(10)),
                (4, Some(3), Some(30)),
                (5, None, Some(10)),
                (6, None, Some(30)),
            ],
        );
        store
            .db
            .execute("INSERT INTO folders VALUES (5, 10)", [])
            .unwrap();
        let prune = |store: &mut Store, before, below, most| {
            store.prune(Timestamp(before), JobId(below), most).unwrap()
        };
        assert_eq!(prune(&mut store, 10, 0, 9), 0);
        assert_eq!(prune(&mut store, 20, 0, 9), 2);
        assert_eq!(left(&store, "jobs", "id"), [2, 4, 5, 6]);
        assert_eq!(left(&store, "steps", "job"), [2, 4, 5, 6]);
        assert_eq!(left(&store, "record_changes", "job"), [2, 4, 5, 6]);
        assert_eq!(left(&store, "submissions", "job"), [2, 3, 5, 6]);
        assert_eq!(prune(&mut store, 0, 7, 1), 1);
        assert_eq!(prune(&mut store, 0, 7, 9), 1);
        assert_eq!(left(&store, "jobs", "id"), [2, 5]);
        assert_eq!(left(&store, "submissions", "job"), [2, 5]);
    }

    #[test]
    fn a_content_goes_with_the_last_submission_that_brought_it() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = [
            (1, None, Some(10)),
            (2, None, Some(20)),
            (3, None, Some(30)),
        ];
        let mut store = store(folder.path(), &jobs);
        for (job, script) in [(1, "one"), (2, "two"), (3, "one")] {
            let script = contents::keep(&store.db, script.as_bytes()).unwrap();
            let environment = contents::keep(&store.db, b"[]").unwrap();
            let sql = "UPDATE submissions SET script = ?2, environment = ?3 WHERE job = ?1";
            store.db.execute(sql, [job, script, environment]).unwrap();
        }
        let both = |store: &Store| {
            let kept = left(store, "contents", "id");
            assert_eq!(left(store, "content_uses", "content"), kept);
            kept.len()
        };
        assert_eq!(both(&store), 3);
        store.prune(Timestamp(15), JobId(0), 9).unwrap();
        assert_eq!(both(&store), 3);
        store.forget_folders(&[JobId(2)]).unwrap();
        assert_eq!(both(&store), 2);
        // What is forgotten already is not counted once more.
        store.prune(Timestamp(25), JobId(0), 9).unwrap();
        assert_eq!(both(&store), 2);
        store.prune(Timestamp(99), JobId(0), 9).unwrap();
        assert_eq!(both(&store), 0);
    }

    #[test]
    fn only_the_newest_folders_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path(), &[]);
        for job in 1..=9 {
            let ended = 10 * (10 - job);
            store
                .db
                .execute("INSERT INTO folders VALUES (?1, ?2)", [job, ended])
                .unwrap();
        }
        let due = |moment, most| {
            let (due, next) = store.folders_due(Timestamp(moment), most).unwrap();
            let due: Vec<u32> = due.into_iter().map(|job| job.0).collect();
            (due, next.map(|at| at.0))
        };
        assert_eq!(due(25, 100), (vec![8, 9], Some(30)));
        assert_eq!(due(25, 3), (vec![4, 5, 6, 7, 8, 9], Some(70)));
        assert_eq!(due(0, 100), (vec![], Some(10)));
        assert_eq!(due(1000, 100).0.len(), 9);
    }
}
