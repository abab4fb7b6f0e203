//! A supervisor's record: one file of two lines of JSON, who holds the step ([`PidFile`]) and how
//! it ended ([`ExitFile`]).
//!
//! The first line claims the step: the file is made with it, and never in place of another, so of
//! two supervisors that were forked for one step, before and after an engine's death, the first
//! alone runs it. The second line is the supervisor's last act. Neither is flushed: after a power
//! cut the boot that both name tells what they are worth.

use crate::SupervisorKey;
use crate::spec::{ExitFile, PidFile};
use api::EngineFolder;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The record of a step that this process holds.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    /// Where the second line begins.
    second: u64,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Who holds the step.
    pub holder: PidFile,
    /// How it ended; `None` while it runs, or when its holder was killed.
    pub exit: Option<ExitFile>,
    /// Where the holder answers, from the moment at which it is asked to ([`crate::spec::LISTEN`]).
    pub socket: PathBuf,
}

impl Record {
    /// Claims the step for the process `holder`.
    ///
    /// # Errors
    /// `AlreadyExists`: another has it. What the system says.
    pub(crate) fn claim(path: &Path, holder: &PidFile) -> io::Result<Record> {
        let line = line(holder)?;
        let create = || sys::atomic::create(path, &line);
        let file = create().or_else(|error| match (error.kind(), path.parent()) {
            (io::ErrorKind::NotFound, Some(folder)) => {
                std::fs::create_dir_all(folder)?;
                create()
            }
            _ => Err(error),
        })?;
        Ok(Record {
            file,
            second: line.len() as u64,
        })
    }

    /// Says how the step ended. May be tried again: what an attempt left is written over.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn end(&self, exit: &ExitFile) -> io::Result<()> {
        self.file.write_all_at(&line(exit)?, self.second)
    }

    /// Whether anybody could read it: it has not been removed.
    pub(crate) fn is_there(&self) -> bool {
        self.file.metadata().is_ok_and(|facts| facts.nlink() > 0)
    }
}

fn line(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// What the supervisor of `key` left; `None` where none has begun.
pub(crate) fn look(engine: &EngineFolder, key: SupervisorKey) -> Option<Found> {
    read(&key.record(engine)).or_else(|| former(&key.former_folder(engine)))
}

/// Reads a record; `None` where there is none.
#[must_use]
pub fn read(path: &Path) -> Option<Found> {
    let text = std::fs::read(path).ok()?;
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let holder = serde_json::from_slice(lines.next()?).ok()?;
    // Half a line is one that is being written, or never was to its end.
    let exit = lines.next().filter(|line| line.ends_with(b"\n"));
    Some(Found {
        holder,
        exit: exit.and_then(|line| serde_json::from_slice(line).ok()),
        socket: socket(path),
    })
}

/// Where the holder of a record answers.
pub(crate) fn socket(record: &Path) -> PathBuf {
    let mut path = record.as_os_str().to_owned();
    path.push(".sock");
    path.into()
}

/// What yard 0.1.0 wrote before there were records: files `pid` and `exit`, and a socket, in a
/// folder of the supervisor's own. Its supervisors may still run when this engine takes over.
fn former(folder: &Path) -> Option<Found> {
    let holder = std::fs::read(folder.join("pid")).ok()?;
    let exit = std::fs::read(folder.join("exit")).ok();
    Some(Found {
        holder: serde_json::from_slice(&holder).ok()?,
        exit: exit.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        socket: folder.join("sock"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{JobId, StepId, Timestamp};

    fn holder() -> PidFile {
        PidFile {
            pid: 7,
            start_time: 8,
            boot_id: "boot".to_owned(),
        }
    }

    fn exit(launch_error: &str) -> ExitFile {
        ExitFile {
            boot_id: "boot".to_owned(),
            at: Timestamp(9),
            tasks: Vec::new(),
            launch_error: Some(launch_error.to_owned()),
            ended_by: None,
        }
    }

    #[test]
    fn claimed_once_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("steps/7.0.batch.0");
        assert_eq!(read(&path), None);
        let record = Record::claim(&path, &holder()).unwrap();
        let error = Record::claim(&path, &holder()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).unwrap().exit, None);
        // An attempt that found no room for all of it.
        let half = b"{\"boot_id\":\"boot\",\"at\":9,\"tasks\":[],\"launch_error\":\"a";
        record.file.write_all_at(half, record.second).unwrap();
        assert_eq!(read(&path).unwrap().exit, None);
        record.end(&exit("a longer reason")).unwrap();
        let found = read(&path).unwrap();
        assert_eq!(found.holder, holder());
        assert_eq!(found.exit, Some(exit("a longer reason")));
        assert!(record.is_there());
        std::fs::remove_file(&path).unwrap();
        assert!(!record.is_there());
    }

    #[test]
    fn what_a_former_version_left_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let key = SupervisorKey {
            job: JobId(7),
            restart: 1,
            step: StepId::Batch,
            node: 0,
        };
        assert_eq!(look(&engine, key), None);
        let own = folder.path().join("jobs/7/1/batch/0");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("pid"), serde_json::to_vec(&holder()).unwrap()).unwrap();
        let found = look(&engine, key).unwrap();
        assert_eq!((found.exit, found.socket), (None, own.join("sock")));
        std::fs::write(own.join("exit"), serde_json::to_vec(&exit("x")).unwrap()).unwrap();
        assert_eq!(look(&engine, key).unwrap().exit, Some(exit("x")));
    }
}
