//! Files whose being there is all that they say: what was asked of a run, and who has taken
//! something upon itself that is done once; and what is noted of the job that makes the environment or the image.

use super::{RunFolder, remove_if_there};
use crate::{Attempt, FolderError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

impl RunFolder {
    /// Notes that a person cancelled the run: jobs that wait to take over end at once.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_cancelled(&self) -> Result<(), FolderError> {
        let path = self.cancelled();
        sys::atomic::write(&path, b"").map_err(|source| FolderError::Write { path, source })
    }

    /// Takes the note of [`RunFolder::write_cancelled`] back.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn clear_cancelled(&self) -> Result<(), FolderError> {
        remove_if_there(self.cancelled())
    }

    /// Whether a person cancelled the run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled().exists()
    }

    /// Notes the job that makes the environment.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_environment_job(&self, job: u32) -> Result<(), FolderError> {
        let path = self.environment_job_file();
        let former = self.environment_jobs();
        let lines = former.iter().chain([&job]).map(|job| format!("{job}\n"));
        let text: String = lines.collect();
        sys::atomic::write(&path, text.as_bytes())
            .map_err(|source| FolderError::Write { path, source })
    }

    /// The jobs that were to make the environment or the image, the newest last: those before it failed.
    /// Of a repeat they are all repeats'.
    #[must_use]
    pub fn environment_jobs(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.environment_job_file()).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.trim().parse().ok())
            .collect()
    }

    fn environment_job_file(&self) -> PathBuf {
        self.above_repeats().join("environment.job")
    }

    /// Notes the digest of the image that such a job fetched.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_image_digest(&self, digest: &str) -> Result<(), FolderError> {
        let path = self.image_digest_file();
        sys::atomic::write(&path, digest.as_bytes())
            .map_err(|source| FolderError::Write { path, source })
    }

    /// The digest of the image that such a job fetched, where it is known.
    #[must_use]
    pub fn image_digest(&self) -> Option<String> {
        fs::read_to_string(self.image_digest_file()).ok()
    }

    /// The copy of what such a job builds an image of.
    #[must_use]
    pub fn image_source(&self) -> PathBuf {
        self.above_repeats().join("image.source")
    }

    fn image_digest_file(&self) -> PathBuf {
        self.above_repeats().join("image.digest")
    }

    /// Notes that a person asked for a run again that is over: it trains on, even where it had
    /// trained to its end.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_asked_again(&self) -> Result<(), FolderError> {
        let path = self.asked_again();
        sys::atomic::write(&path, b"").map_err(|source| FolderError::Write { path, source })
    }

    /// Whether that is noted: its next start has not begun.
    #[must_use]
    pub fn is_asked_again(&self) -> bool {
        self.asked_again().exists()
    }

    /// Takes the note of [`RunFolder::write_asked_again`] away; whether there was one.
    #[must_use]
    pub fn take_asked_again(&self) -> bool {
        fs::remove_file(self.asked_again()).is_ok()
    }

    fn asked_again(&self) -> PathBuf {
        self.links().join("again")
    }

    fn cancelled(&self) -> PathBuf {
        self.links().join("cancelled")
    }

    /// Takes it upon the caller to send a message about a start; false where another process has.
    ///
    /// # Errors
    /// What the system says.
    pub fn claim_notice(&self, attempt: Attempt, about: &str) -> io::Result<bool> {
        claim(&self.links().join(format!("{attempt}.notice.{about}")))
    }
}

/// Makes a mark; false where it is there.
fn claim(mark: &Path) -> io::Result<bool> {
    match fs::File::create_new(mark) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}
