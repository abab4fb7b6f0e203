//! The files that the supervisor of a batch step needs: script and environment, which a submission
//! left in the store. They are written at the first start, so that a submission costs none.

use super::{Owner, rights};
use crate::message::Peer;
use crate::spec::StepSpec;
use crate::store::StoreError;
use api::{Answer, Refusal};
use model::JobId;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Why a job's files could not be written.
#[derive(Debug)]
pub(super) struct NotWritten {
    /// For a person.
    pub(super) message: String,
    /// Whether it may be over in a while.
    pub(super) may_pass: bool,
}

impl Owner {
    /// A job's batch script, for those who may change the job.
    pub(super) fn script(
        &self,
        job: JobId,
        environment: bool,
        peer: Peer,
    ) -> Result<Answer, Refusal> {
        let refused = |error: StoreError| super::submit::store_refusal(&error);
        let live = self.state.job(job).cloned();
        let record = match live.or_else(|| self.state.rows_of_array(job).next().cloned()) {
            Some(record) => record,
            None => {
                let ended = self.store.ended_by_id(job).map_err(refused)?;
                let first = ended.into_iter().next();
                first.ok_or(Refusal::NoSuchJob { job })?
            }
        };
        if !rights::may_change(peer.uid, record.submitter.uid) {
            return Err(Refusal::NotYours {
                job,
                owner: record.submitter.user.clone(),
            });
        }
        let array = record.array.as_ref().map(|place| place.array_job);
        let files = self
            .store
            .files(array.unwrap_or(record.id))
            .map_err(refused)?;
        if environment {
            let pairs: Vec<(String, String)> = files
                .environment
                .and_then(|bytes| serde_json::from_slice(&bytes).ok())
                .unwrap_or_default();
            let lines = pairs
                .iter()
                .map(|(name, value)| format!("{name}={value}\n"));
            return Ok(Answer::Script {
                text: lines.collect(),
            });
        }
        // That of an allocation is none.
        let bytes = files.script.ok_or(Refusal::NoSuchJob { job })?;
        Ok(Answer::Script {
            text: sys::odd_text::text(OsStr::from_bytes(&bytes)),
        })
    }

    /// Writes what the batch step of a spec needs, unless this engine has done so. What a former
    /// one left is replaced: it may have been killed, or the machine may have lost power.
    ///
    /// # Errors
    /// What the store or the system says.
    pub(super) fn write_job_files(&mut self, spec: &StepSpec) -> Result<(), NotWritten> {
        let submitted = spec.array.map_or(spec.job, |(array, _)| array);
        if self.has_files.contains(&submitted) {
            return Ok(());
        }
        let files = self.store.files(submitted);
        let files = files.map_err(|error| NotWritten {
            message: error.to_string(),
            may_pass: false,
        })?;
        let script = self.folder.script(submitted);
        let environment = self.folder.environment(submitted);
        let write_both = || -> io::Result<()> {
            let own = self.folder.job(submitted);
            for folder in own.parent().into_iter().chain([own.as_path()]) {
                let to_pass = Permissions::from_mode(0o711);
                DirBuilder::new().recursive(true).create(folder)?;
                fs::set_permissions(folder, to_pass)?;
            }
            if let Some(bytes) = &files.script {
                replace(&script, bytes, Some((spec.uid, spec.gid)))?;
            }
            match &files.environment {
                Some(bytes) => replace(&environment, bytes, None),
                None => Ok(()),
            }
        };
        write_both().map_err(|error| NotWritten {
            message: format!("{}: {error}", script.display()),
            may_pass: sys::disk_errors::may_pass(&error),
        })?;
        self.has_files.insert(submitted);
        Ok(())
    }

    /// The files of these submissions are about to be removed.
    pub(super) fn forget_job_files(&mut self, submitted: &[JobId]) {
        for job in submitted {
            self.has_files.remove(job);
        }
    }
}

/// In one act for whoever reads it. Not flushed: the store has it too. A script is for its job's user
/// alone to read and to run, whatever umask the engine was started with; the other file for the engine alone.
fn replace(path: &Path, bytes: &[u8], runs_as: Option<(u32, u32)>) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(bytes)?;
    if let Some((user, group)) = runs_as {
        file.set_permissions(Permissions::from_mode(0o700))?;
        if user != sys::process::user() {
            fchown(&file, Some(user), Some(group))?;
        }
    }
    drop(file);
    fs::rename(&new, path)
}
