//! What both transports can do: one trait, in the words of runs and jobs.

use crate::cluster_view::ClusterView;
use crate::job_view::JobView;
use crate::output_file::OutputFile;
use api::{WhyWaiting, WouldWait};
use model::{JobId, JobRefusal, Request, RestartCount, Timestamp};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A job ready to be submitted.
#[derive(Debug)]
pub struct NewJob<'a> {
    /// The same token twice is the same job.
    pub token: &'a str,
    /// What it asks for: what the embedded engine gets.
    pub request: &'a Request,
    /// The batch script's text with its `#SBATCH` lines: what a real Slurm gets.
    pub script: &'a str,
    /// Where that script stands.
    pub script_path: &'a Path,
    /// The script's own arguments.
    pub args: &'a [String],
    /// The job's environment.
    pub environment: &'a [(String, String)],
}

/// A job of which it is asked whether it would be taken.
#[derive(Clone, Copy, Debug)]
pub struct TestedJob<'a> {
    /// What it asks for: what the embedded engine is asked.
    pub request: &'a Request,
    /// The batch script's text: what a real Slurm is asked.
    pub script: &'a str,
    /// Options of sbatch before it.
    pub flags: &'a [String],
}

/// When a job that was asked about would start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestedStart {
    /// The moment, if all that runs lasts until its limit.
    pub at: Timestamp,
    /// It comes after this job, which has no time limit: the moment is a guess.
    pub no_limit: Option<JobId>,
    /// What it would wait for, limits and jobs that wait counted, where the engine says so.
    pub waits: Option<Box<WouldWait>>,
}

/// A way to an engine: the embedded one, or a real Slurm.
pub trait Transport: Send {
    /// The cluster's name.
    fn cluster(&self) -> &str;

    /// Whether it is the embedded engine.
    fn is_embedded(&self) -> bool;

    /// Whether the engine would take a job, and when it would start if all that runs lasts until its
    /// limit, where the engine says so; nothing is queued.
    ///
    /// # Errors
    /// [`TransportError::Refused`] where it would not.
    fn test(&mut self, job: &TestedJob<'_>) -> Result<Option<TestedStart>, TransportError>;

    /// Why a job waits, with numbers; none where the engine does not tell.
    ///
    /// # Errors
    /// It does not answer, or the job does not wait.
    fn why(&mut self, _job: JobId) -> Result<Option<WhyWaiting>, TransportError> {
        Ok(None)
    }

    /// Queues a job; when this returns, the answer is on disk there.
    fn submit(&mut self, job: &NewJob<'_>) -> Result<JobId, TransportError>;

    /// The job of this user that carries a submission's token, an array by its own number: what one that was not
    /// answered may have left. Jobs that have ended only where the cluster still knows them.
    fn find(&mut self, token: &str) -> Result<Option<JobId>, TransportError>;

    /// The jobs as they are now; one that is no longer known is left out.
    fn jobs(&mut self, ids: &[JobId]) -> Result<Vec<JobView>, TransportError>;

    /// The same, for who waits for their ends: of an array's elements those that have ended may be left out while
    /// others live.
    fn jobs_to_their_end(&mut self, ids: &[JobId]) -> Result<Vec<JobView>, TransportError> {
        self.jobs(ids)
    }

    /// One element of an array as it is now: those that wait together are each shown as they all are.
    fn element(&mut self, array: JobId, element: u32) -> Result<Option<JobView>, TransportError>;

    /// The files that a batch script's job, an array, or one element of it writes; those of jobs that
    /// have begun alone, where that is known. None of a job that is no longer known.
    ///
    /// # Errors
    /// It does not answer.
    fn output_files(
        &mut self,
        job: JobId,
        element: Option<u32>,
    ) -> Result<Vec<OutputFile>, TransportError>;

    /// All live jobs of this user, and those that ended since then and are still known.
    fn snapshot(&mut self, since: Timestamp) -> Result<Vec<JobView>, TransportError>;

    /// Its nodes, and the jobs of all users that run or wait.
    fn cluster_view(&mut self) -> Result<ClusterView, TransportError>;

    /// Set to end a question that is under way, from another thread.
    fn stop(&self) -> Arc<AtomicBool> {
        Arc::default()
    }

    /// How long to leave between two looks at the same jobs. A cluster is shared: the wait grows
    /// with the time that nothing changed.
    fn pause(&self, unchanged_for: Duration) -> Duration;

    /// Ends a job, an array, or one element of it.
    fn cancel(&mut self, job: JobId, element: Option<u32>) -> Result<(), TransportError>;

    /// Puts a running job back into the queue. `element`: the array and the element that it is, where
    /// it is one: an array's last element has the number of the array.
    fn requeue(
        &mut self,
        job: JobId,
        element: Option<(JobId, u32)>,
        restart: Option<RestartCount>,
    ) -> Result<(), TransportError>;
}

/// Why a transport did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// No answer from there.
    #[error("{cluster} can't be reached: {message}")]
    Unreachable {
        /// The cluster.
        cluster: String,
        /// What was seen.
        message: String,
        /// What to do.
        todo: String,
    },
    /// It could never start there.
    #[error("{cluster} refuses the job: {}", refusal.asked)]
    Refused {
        /// The cluster.
        cluster: String,
        /// What stands against it.
        refusal: Box<JobRefusal>,
    },
    /// The job is not known, has ended, or is someone else's.
    #[error("{message}")]
    Job {
        /// In the engine's words.
        message: String,
    },
    /// The embedded engine can't write its store: nothing was changed.
    #[error("{message}")]
    Store {
        /// In the engine's words.
        message: String,
    },
    /// One of Slurm's commands failed.
    #[error("{command} failed ({status}): {message}")]
    Command {
        /// The command.
        command: String,
        /// Its exit status.
        status: String,
        /// Its stderr.
        message: String,
    },
    /// One of Slurm's commands answered something that can't be read.
    #[error("{command} answered what can't be read: {line:?}")]
    Answer {
        /// The command.
        command: String,
        /// The line.
        line: String,
    },
    /// Nothing came back in time.
    #[error("{command} did not answer within {seconds} s")]
    TimedOut {
        /// The command.
        command: String,
        /// How long it was given.
        seconds: u64,
    },
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl TransportError {
    /// Whether what was asked for may have been done all the same.
    #[must_use]
    pub fn may_have_been_done(&self) -> bool {
        match self {
            // The connection broke over it, or what came back can't be read.
            TransportError::TimedOut { .. }
            | TransportError::Unreachable { .. }
            | TransportError::Answer { .. } => true,
            TransportError::Refused { refusal, .. } => model::answer_was_lost(&refusal.there),
            TransportError::Job { .. }
            | TransportError::Store { .. }
            | TransportError::Command { .. }
            | TransportError::File { .. } => false,
        }
    }
}
