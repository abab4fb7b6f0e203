//! Opening the store: refusing what is not ours to touch, bringing an older one up to date.

use super::committed::{CommittedFile, StoreFile};
use super::migrations::MIGRATIONS;
use super::stock::LeftLog;
use super::{Store, StoreError, contents, node_search};
use model::JobId;
use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use sys::fs_kind::FsKind;

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

impl Store {
    /// Opens the store at `path`, making it where there is none. The folder's lock is held. `named`
    /// is the highest job id that anything beside the store names.
    ///
    /// # Errors
    /// It lies on a network file system, is newer, is no store, or can't be opened: nothing was
    /// changed.
    pub(crate) fn open(path: &Path, named: Option<JobId>) -> Result<Store, StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError::Failed {
            path: path.to_owned(),
            what: error.to_string(),
        };
        refuse_network(path)?;
        refuse_by_header(path)?;
        let left = LeftLog::look(path).map_err(|error| failed(&error))?;
        // Before SQLite opens it, which may write to it.
        let file = StoreFile::look(path);
        let (committed, boot_id) = (CommittedFile::beside(path), sys::boot_id());
        let mut db = Connection::open(path).map_err(|error| failed(&error))?;
        refuse_foreign(path, &db)?;
        prepare(&mut db).map_err(|error| kind_of(path, &error))?;
        let found: u32 = db
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(|error| kind_of(path, &error))?;
        refuse_newer(path, found)?;
        if left.needs_check(file, committed.read().as_ref(), &boot_id) {
            refuse_inconsistent(path, &db)?;
        }
        migrate(&mut db, found).map_err(|error| kind_of(path, &error))?;
        if found < newest() {
            give_back_space(&db);
        }
        let uuid = db
            .query_row("SELECT value FROM facts WHERE name = 'uuid'", [], |row| {
                row.get(0)
            })
            .map_err(|error| kind_of(path, &error))?;
        let mut store = Store {
            db,
            path: path.to_owned(),
            uuid,
            durable: true,
            next_id: None,
            version: 0,
            untagged_below: 0,
            boot_id,
            clock: None,
            committed,
        };
        store.untagged_below = store.fact("untagged_below")?.unwrap_or(0);
        store.take_stock(left, found == 0, named)?;
        Ok(store)
    }
}

fn refuse_network(path: &Path) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match sys::fs_kind::of(folder) {
        Ok(FsKind::Network(kind)) => Err(StoreError::Network {
            folder: folder.to_owned(),
            kind: kind.to_string(),
        }),
        Ok(FsKind::Local) => Ok(()),
        Err(error) => Err(StoreError::Failed {
            path: path.to_owned(),
            what: error.to_string(),
        }),
    }
}

/// Looks at the file before SQLite does, which would write beside it.
fn refuse_by_header(path: &Path) -> Result<(), StoreError> {
    let garbage = |what: &str| StoreError::Garbage {
        path: path.to_owned(),
        what: what.to_owned(),
    };
    let mut header = Vec::new();
    match File::open(path) {
        Ok(file) => file
            .take(100)
            .read_to_end(&mut header)
            .map_err(|error| garbage(&error.to_string()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(StoreError::Failed {
                path: path.to_owned(),
                what: error.to_string(),
            });
        }
    };
    // Made but never written to: the engine was killed in between.
    if header.is_empty() {
        return Ok(());
    }
    if !header.starts_with(MAGIC) {
        return Err(garbage("it is no SQLite file"));
    }
    let Some(version) = header.get(60..64) else {
        return Err(garbage("it is cut off"));
    };
    let version = version.try_into().map(u32::from_be_bytes);
    refuse_newer(path, version.unwrap_or(0))
}

fn refuse_newer(path: &Path, found: u32) -> Result<(), StoreError> {
    let known = newest();
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(())
}

/// Tables without a version are another program's: a store of ours gets both at once.
fn refuse_foreign(path: &Path, db: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT user_version = 0 AND EXISTS (SELECT 1 FROM sqlite_schema)
               FROM pragma_user_version";
    let foreign = db.query_row(sql, [], |row| row.get(0));
    if foreign.map_err(|error| kind_of(path, &error))? {
        Err(StoreError::Garbage {
            path: path.to_owned(),
            what: "it holds another program's tables".to_owned(),
        })
    } else {
        Ok(())
    }
}

/// Pages that don't go together would give wrong answers later.
fn refuse_inconsistent(path: &Path, db: &Connection) -> Result<(), StoreError> {
    let found: String = db
        .pragma_query_value(None, "quick_check", |row| row.get(0))
        .map_err(|error| kind_of(path, &error))?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::Garbage {
        path: path.to_owned(),
        what: found,
    })
}

fn newest() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

pub(super) fn prepare(db: &mut Connection) -> rusqlite::Result<()> {
    // Alone with the file (a lock says so): no shared memory file is needed.
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let _mode: String =
        db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    db.pragma_update(None, "synchronous", "FULL")?;
    // KiB; an engine is small.
    db.pragma_update(None, "cache_size", -8192)?;
    // Above what stands in it when it is flushed into the store: written over, it needs no new blocks, which
    // would be flushed too.
    db.pragma_update(None, "journal_size_limit", 20 << 20)?;
    // Pages: each time that many were written, they are flushed, and everybody waits.
    db.pragma_update(None, "wal_autocheckpoint", 4000)?;
    db.set_prepared_statement_cache_capacity(64);
    contents::add_function(db)?;
    node_search::add_function(db)
}

pub(super) fn migrate(db: &mut Connection, found: u32) -> rusqlite::Result<()> {
    if found == newest() {
        return Ok(());
    }
    let transaction = db.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    for migration in &MIGRATIONS[found as usize..] {
        transaction.execute_batch(migration)?;
    }
    let uuid = transaction
        .query_row("SELECT value FROM facts WHERE name = 'uuid'", [], |row| {
            row.get::<_, String>(0)
        })
        .optional()?;
    if uuid.is_none() {
        transaction.execute_batch(
            "INSERT INTO facts VALUES ('uuid', lower(hex(randomblob(16)))), ('next_id', 1)",
        )?;
    }
    transaction.pragma_update(None, "user_version", newest())?;
    transaction.commit()
}

/// Of a store that a migration left half empty. One that finds no room for it stays as it is.
fn give_back_space(db: &Connection) {
    let is_half_empty = "SELECT 2 * freelist_count > page_count
                         FROM pragma_freelist_count, pragma_page_count";
    if let Ok(true) = db.query_row(is_half_empty, [], |row| row.get(0))
        && let Err(error) = db.execute_batch("VACUUM")
    {
        tracing::warn!("the store keeps the space that it needs no more: {error}");
    }
}

fn kind_of(path: &Path, error: &rusqlite::Error) -> StoreError {
    let garbage = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || matches!(
        error,
        // A table of ours is missing or of another shape.
        rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code == 1
    ) || matches!(error, rusqlite::Error::QueryReturnedNoRows);
    let (path, what) = (path.to_owned(), error.to_string());
    if garbage {
        StoreError::Garbage { path, what }
    } else {
        StoreError::Failed { path, what }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use expect_test::{Expect, expect};
    use std::fs;

    /// What opening says, with the folder's name left out; the file stays as it was.
    #[track_caller]
    fn check(before: &dyn Fn(&Path), want: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        before(&path);
        let was = fs::read(&path).unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let count = files();
        let error = Store::open(&path, None).unwrap_err();
        let text = format!("{error}\n{}", error.todo());
        let text = text.replace(&*folder.path().to_string_lossy(), "…");
        want.assert_eq(&text.replace(&format!("up to {}", newest()), "up to NEWEST"));
        assert_eq!(fs::read(&path).unwrap(), was);
        assert_eq!(files(), count);
    }

    #[test]
    fn garbage_is_refused_and_kept() {
        check(
            &|path| fs::write(path, "hello, this is no store at all").unwrap(),
            expect![[r#"
                …/store.sqlite can't be read as a store: it is no SQLite file
                restore it from a backup, or move it away to begin anew without the jobs that it knew: mv …/store.sqlite …/store.sqlite.damaged"#]],
        );
        check(
            &|path| fs::write(path, "SQLite format 3\0 and no more").unwrap(),
            expect![[r#"
                …/store.sqlite can't be read as a store: it is cut off
                restore it from a backup, or move it away to begin anew without the jobs that it knew: mv …/store.sqlite …/store.sqlite.damaged"#]],
        );
    }

    #[test]
    fn a_store_damaged_within_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        drop(Store::open(&path, None).unwrap());
        let mut bytes = fs::read(&path).unwrap();
        bytes[100..4096].fill(0xff);
        fs::write(&path, &bytes).unwrap();
        let error = Store::open(&path, None).unwrap_err();
        assert!(matches!(error, StoreError::Garbage { .. }), "{error}");
    }

    /// As an engine that is killed leaves a store: with a log, after some of it went into the file. Its last page
    /// holds nothing that opening reads.
    fn left_by_a_killed_engine(folder: &Path) -> std::path::PathBuf {
        let alive = tempfile::tempdir().unwrap();
        let path = alive.path().join("store.sqlite");
        let mut store = Store::open(&path, None).unwrap();
        let fill = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
                    INSERT INTO facts SELECT printf('zz%04d', i), hex(randomblob(20)) FROM n;
                    PRAGMA wal_checkpoint(TRUNCATE);
                    UPDATE facts SET value = 1 WHERE name = 'zz0001'";
        store.db.execute_batch(fill).unwrap();
        store.note_committed(1);
        for name in ["store.sqlite", "store.sqlite-wal", "committed"] {
            let (from, to) = (alive.path().join(name), folder.join(name));
            fs::copy(&from, &to).unwrap();
            set_time(&to, fs::metadata(&from).unwrap().modified().unwrap());
        }
        folder.join("store.sqlite")
    }

    fn set_time(path: &Path, time: std::time::SystemTime) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }

    /// Damages the last page of a store that a killed engine left, at the same time as it had, and changes something
    /// more. Whether it is refused.
    #[track_caller]
    fn damaged_and(more: impl FnOnce(&Path)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let path = left_by_a_killed_engine(folder.path());
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let last = bytes.len() - 4096;
        bytes[last..].fill(0xff);
        fs::write(&path, &bytes).unwrap();
        set_time(&path, time);
        more(&path);
        match Store::open(&path, None) {
            Ok(_) => false,
            Err(StoreError::Garbage { .. }) => true,
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn all_pages_are_looked_at_where_more_may_have_happened_than_that_the_engine_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = left_by_a_killed_engine(folder.path());
        let store = Store::open(&path, None).unwrap();
        assert_eq!(store.fact::<i64>("zz0001").unwrap(), Some(1));

        assert!(!damaged_and(|_| {}), "no page is read that is not needed");
        let later = |path: &Path| set_time(path, std::time::SystemTime::now());
        assert!(damaged_and(later), "another process wrote to the file");
        let gone = |path: &Path| fs::remove_file(path.with_file_name("committed")).unwrap();
        assert!(damaged_and(gone), "no word of the last commit");
        let booted = |path: &Path| {
            let committed = path.with_file_name("committed");
            let text = fs::read_to_string(&committed).unwrap();
            fs::write(&committed, text.replace(&sys::boot_id(), "another")).unwrap();
        };
        assert!(damaged_and(booted), "the machine was started again");
        let log = |path: &Path| {
            let log = path.with_file_name("store.sqlite-wal");
            let mut bytes = fs::read(&log).unwrap();
            bytes[17] ^= 4;
            fs::write(&log, bytes).unwrap();
        };
        assert!(damaged_and(log), "the log is damaged");
    }

    #[test]
    fn a_newer_store_is_refused_and_kept() {
        check(
            &|path| {
                drop(Store::open(path, None).unwrap());
                let db = Connection::open(path).unwrap();
                db.pragma_update(None, "user_version", 99).unwrap();
            },
            expect![[r#"
                …/store.sqlite was written by a newer yard (schema 99, known up to NEWEST)
                use the newer yard; nothing was changed in the file"#]],
        );
    }

    #[test]
    fn it_keeps_its_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        fs::write(&path, "").unwrap();
        let uuid = Store::open(&path, None).unwrap().uuid().to_owned();
        assert_eq!(Store::open(&path, None).unwrap().uuid(), uuid);
        assert_eq!(uuid.len(), 32);
    }
}
