//! How far the store had come, in a file beside it: so that a store which comes back shorter is
//! noticed, whichever way that happened.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longer than any: what is written over is never left over.
const LENGTH: usize = 256;

/// What had been committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Committed {
    /// The store's id.
    pub(super) store: String,
    /// The id that the next job gets.
    pub(super) next_id: u32,
    /// The newest version of a row.
    pub(super) version: u64,
    /// The boot during which it was written: after another one, changes that were never flushed may
    /// be missing, as they should.
    pub(super) boot_id: String,
    /// The store's file, as it was left then.
    #[serde(default)]
    pub(super) file: Option<StoreFile>,
}

/// What tells that a store's file was written to: its size, and when it was changed last, in seconds and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoreFile(u64, i64, i64);

impl StoreFile {
    /// Of the store at `path`; `None` where there is none to be seen.
    pub(super) fn look(path: &Path) -> Option<StoreFile> {
        let facts = std::fs::metadata(path).ok()?;
        Some(StoreFile(facts.size(), facts.mtime(), facts.mtime_nsec()))
    }
}

/// The file.
#[derive(Debug)]
pub(super) struct CommittedFile {
    path: PathBuf,
    file: Option<File>,
}

impl CommittedFile {
    /// Beside the store at `store`.
    pub(super) fn beside(store: &Path) -> CommittedFile {
        CommittedFile {
            path: store.with_file_name("committed"),
            file: None,
        }
    }

    /// What it says; `None` where it is missing or no text of ours.
    pub(super) fn read(&self) -> Option<Committed> {
        serde_json::from_slice(std::fs::read(&self.path).ok()?.trim_ascii()).ok()
    }

    /// Says it: after the commit, before the answer.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn write(&mut self, committed: &Committed) -> io::Result<()> {
        if self.file.is_none() {
            let file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&self.path)?;
            self.file = Some(file);
        }
        let mut line = serde_json::to_vec(committed)?;
        line.resize(LENGTH, b' ');
        match &self.file {
            Some(file) => file.write_all_at(&line, 0),
            None => Ok(()),
        }
    }
}

/// What is missing in a store of the same id that has come so far only; `None`: nothing.
pub(super) fn missing(was: &Committed, is: &Committed) -> Option<String> {
    if was.store != is.store {
        return None;
    }
    if was.next_id > is.next_id {
        let (first, last) = (is.next_id, was.next_id - 1);
        let jobs = if first == last {
            format!("job {first} is")
        } else {
            format!("jobs {first} to {last} are")
        };
        // Elements of an array get their ids without a flush: nothing but a start is lost then.
        let unless = if was.boot_id == is.boot_id {
            ""
        } else {
            " (elements of an array that had just started are started again)"
        };
        return Some(format!("{jobs} not in it any more{unless}"));
    }
    (was.version > is.version && was.boot_id == is.boot_id)
        .then(|| "the last changes of its jobs are not in it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(next_id: u32, version: u64) -> Committed {
        Committed {
            store: "0123456789abcdef0123456789abcdef".to_owned(),
            next_id,
            version,
            boot_id: "01234567-89ab-cdef-0123-456789abcdef".to_owned(),
            file: Some(StoreFile(1 << 40, 1 << 33, 999_999_999)),
        }
    }

    #[test]
    fn the_longest_fits_and_a_shorter_one_leaves_nothing_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = CommittedFile::beside(&folder.path().join("store.sqlite"));
        assert_eq!(file.read(), None);
        let longest = committed(u32::MAX, u64::MAX);
        assert!(serde_json::to_vec(&longest).unwrap().len() <= LENGTH);
        file.write(&longest).unwrap();
        assert_eq!(file.read(), Some(longest));
        file.write(&committed(2, 3)).unwrap();
        assert_eq!(file.read(), Some(committed(2, 3)));
    }

    #[test]
    fn only_what_the_same_store_lost_is_missing() {
        let was = committed(9, 40);
        let check = |is: Committed, want: Option<&str>| {
            assert_eq!(missing(&was, &is).as_deref(), want);
        };
        check(was.clone(), None);
        check(committed(10, 41), None);
        check(committed(8, 30), Some("job 8 is not in it any more"));
        check(committed(4, 30), Some("jobs 4 to 8 are not in it any more"));
        check(
            committed(9, 39),
            Some("the last changes of its jobs are not in it"),
        );
        let mut later = committed(9, 39);
        later.boot_id = "after a power cut".to_owned();
        check(later, None);
        let mut other = committed(1, 0);
        other.store = "another".to_owned();
        check(other, None);
    }
}
