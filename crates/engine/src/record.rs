//! A supervisor's record of a step: who holds it ([`PidFile`]) and how it ended ([`ExitFile`]).
//!
//! ```text
//! {"pid":…}                    the holder
//! 7.0.batch.0 {"at":…}         how a step ended that it held, a line each
//! 8.0.batch.0 {"at":…}
//! ```
//! The file has a name for each of these steps. The name claims the step: it is given with the
//! first line written, and never taken from another, so of two supervisors that were forked for one
//! step, before and after an engine's death, the first alone runs it. That a supervisor has one
//! file for several steps is for speed: a new name is cheap, a new file is not.
//!
//! The line of a step is its supervisor's last act. None of it is flushed: after a power cut the
//! boot that holder and end name tells what they are worth.

use crate::SupervisorKey;
use crate::spec::{ExitFile, PidFile};
use api::EngineFolder;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Most steps of one file: it is read whole, and some file systems bear few names for one.
const MOST: u32 = 64;

/// The record of a step that this process holds.
#[derive(Debug)]
pub(crate) struct Record {
    file: File,
    /// Its newest name.
    path: PathBuf,
    key: SupervisorKey,
    /// Where the next line begins.
    end: u64,
    names: u32,
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
    /// Claims the step `key` at `path` for the process `holder`, which has the record of the step
    /// before, if there was one.
    ///
    /// # Errors
    /// `AlreadyExists`: another has it. What the system says.
    pub(crate) fn claim(
        path: PathBuf,
        key: SupervisorKey,
        holder: &PidFile,
        former: Option<Record>,
    ) -> io::Result<Record> {
        if let Some(former) = former.filter(|former| former.names < MOST) {
            match std::fs::hard_link(&former.path, &path) {
                Ok(()) => {
                    return Ok(Record {
                        path,
                        key,
                        names: former.names + 1,
                        ..former
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                // It was removed meanwhile, or names are one a file here.
                Err(_) => {}
            }
        }
        let mut line = serde_json::to_vec(holder)?;
        line.push(b'\n');
        let create = || sys::atomic::create(&path, &line);
        let file = create().or_else(|error| match (error.kind(), path.parent()) {
            (io::ErrorKind::NotFound, Some(folder)) => {
                std::fs::create_dir_all(folder)?;
                create()
            }
            _ => Err(error),
        })?;
        Ok(Record {
            file,
            path,
            key,
            end: line.len() as u64,
            names: 1,
        })
    }

    /// Says how the step ended. May be tried again: what an attempt left is written over.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn end(&mut self, exit: &ExitFile) -> io::Result<()> {
        let line = format!("{} {}\n", self.key, serde_json::to_string(exit)?);
        self.file.write_all_at(line.as_bytes(), self.end)?;
        self.end += line.len() as u64;
        Ok(())
    }

    /// Whether anybody could read it: it has not been removed.
    pub(crate) fn is_there(&self) -> bool {
        self.file.metadata().is_ok_and(|facts| facts.nlink() > 0)
    }
}

/// What the supervisor of `key` left; `None` where none has begun.
///
/// # Errors
/// It can't be told now, as where this process may open no further file: of this nothing follows.
pub(crate) fn look(engine: &EngineFolder, key: SupervisorKey) -> io::Result<Option<Found>> {
    match read(&key.record(engine))? {
        None if key.tag.is_none() => former(&key.former_folder(engine)),
        found => Ok(found),
    }
}

/// Reads the record of the step that a path names; `None` where there is none.
///
/// # Errors
/// As for [`look`].
pub fn read(path: &Path) -> io::Result<Option<Found>> {
    let text = bytes_of(path)?;
    Ok(text.and_then(|text| parse(path, std::str::from_utf8(&text).ok()?)))
}

/// `None`: there is no such file.
fn bytes_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(path: &Path, text: &str) -> Option<Found> {
    let key = path.file_name()?.to_str()?;
    let mut lines = text.split_inclusive('\n');
    let holder = serde_json::from_str(lines.next()?).ok()?;
    let exit = lines
        // Half a line is one that is being written, or never was to its end.
        .filter(|line| line.ends_with('\n'))
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    Some(Found {
        holder,
        exit: exit.and_then(|json| serde_json::from_str(json).ok()),
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
fn former(folder: &Path) -> io::Result<Option<Found>> {
    let holder = bytes_of(&folder.join("pid"))?;
    let Some(holder) = holder.and_then(|bytes| serde_json::from_slice(&bytes).ok()) else {
        return Ok(None);
    };
    let exit = bytes_of(&folder.join("exit"))?;
    Ok(Some(Found {
        holder,
        exit: exit.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        socket: folder.join("sock"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordTag;
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
            usage: None,
        }
    }

    fn key(job: u32) -> SupervisorKey {
        SupervisorKey {
            job: JobId(job),
            restart: 1,
            step: StepId::Batch,
            node: 0,
            tag: None,
        }
    }

    #[test]
    fn claimed_once_and_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("steps/7.1.batch.0");
        let claim = || Record::claim(path.clone(), key(7), &holder(), None);
        assert_eq!(read(&path).unwrap(), None);
        let mut record = claim().unwrap();
        assert_eq!(claim().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(read(&path).unwrap().unwrap().exit, None);
        // An attempt that found no room for all of it.
        let half = b"7.1.batch.0 {\"boot_id\":\"boot\",\"at\":9,\"tasks\":[],\"launch_e";
        record.file.write_all_at(half, record.end).unwrap();
        assert_eq!(read(&path).unwrap().unwrap().exit, None);
        record.end(&exit("a reason")).unwrap();
        let found = read(&path).unwrap().unwrap();
        assert_eq!(found.holder, holder());
        assert_eq!(found.exit, Some(exit("a reason")));
        assert!(record.is_there());
        std::fs::remove_file(&path).unwrap();
        assert!(!record.is_there());
    }

    #[test]
    fn one_file_for_the_steps_of_a_supervisor() {
        let folder = tempfile::tempdir().unwrap();
        let path = |job: u32| folder.path().join(key(job).to_string());
        let end = |job: u32| read(&path(job)).unwrap().unwrap().exit;
        let mut former = None;
        for job in 1..=MOST + 1 {
            let claim = |former| Record::claim(path(job), key(job), &holder(), former);
            let mut record = claim(former).unwrap();
            assert_eq!(end(job), None);
            record.end(&exit(&job.to_string())).unwrap();
            assert_eq!(
                claim(None).unwrap_err().kind(),
                io::ErrorKind::AlreadyExists
            );
            former = Some(record);
        }
        for job in 1..=MOST + 1 {
            assert_eq!(end(job), Some(exit(&job.to_string())));
        }
        let links = |job| std::fs::metadata(path(job)).unwrap().nlink();
        assert_eq!((links(1), links(MOST + 1)), (u64::from(MOST), 1));
        // Another has the next step, or the last one's record was removed.
        let taken = Record::claim(path(100), key(100), &holder(), None).unwrap();
        let claim = |former| Record::claim(path(100), key(100), &holder(), former);
        assert_eq!(
            claim(former).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        std::fs::remove_file(path(100)).unwrap();
        let next = Record::claim(path(101), key(101), &holder(), Some(taken)).unwrap();
        assert_eq!(next.names, 1);
    }

    #[test]
    fn a_record_of_another_store_or_submission_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let of = |store, token| SupervisorKey {
            tag: Some(RecordTag::new(store, token)),
            ..key(7)
        };
        let claim = |key: SupervisorKey| {
            let record = Record::claim(key.record(&engine), key, &holder(), None);
            record.unwrap().end(&exit("x")).unwrap();
        };
        claim(key(7));
        claim(of("store", "token"));
        assert!(look(&engine, of("store", "token")).unwrap().is_some());
        assert_eq!(look(&engine, of("restored", "token")).unwrap(), None);
        assert_eq!(look(&engine, of("store", "another token")).unwrap(), None);
        // It stands in no way of the one that is meant.
        claim(of("restored", "token"));
        assert_eq!(
            look(&engine, of("restored", "token"))
                .unwrap()
                .unwrap()
                .exit,
            Some(exit("x"))
        );
    }

    #[test]
    fn what_a_former_version_left_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let key = key(7);
        assert_eq!(look(&engine, key).unwrap(), None);
        let own = folder.path().join("jobs/7/1/batch/0");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("pid"), serde_json::to_vec(&holder()).unwrap()).unwrap();
        let found = look(&engine, key).unwrap().unwrap();
        assert_eq!((found.exit, found.socket), (None, own.join("sock")));
        std::fs::write(own.join("exit"), serde_json::to_vec(&exit("x")).unwrap()).unwrap();
        assert_eq!(look(&engine, key).unwrap().unwrap().exit, Some(exit("x")));
    }
}
