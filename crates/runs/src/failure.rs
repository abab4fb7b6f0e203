//! Why something that was asked of this service was not done.

use backend::TransportError;
use folder::{CodeError, FolderError};
use model::Denial;
use serde::{Deserialize, Serialize};
use std::path::Path;
use train::say_bytes;

/// What was asked, what there is, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What of.
    pub kind: FailureKind,
    /// All that is wrong with what was given, one text each, where it is more than the sentence says.
    #[serde(default)]
    pub mistakes: Box<[String]>,
    /// The sentence.
    pub what: String,
    /// What was asked, in the words of the one who asked.
    pub asked: Option<String>,
    /// What there is.
    pub there: Option<String>,
    /// What to do.
    pub todo: Option<String>,
}

/// What a failure is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// What was asked for is not there, or has ended otherwise than it should.
    Failed,
    /// It was asked wrongly, or a run file can't be read as one.
    Usage,
    /// It could never start there.
    Refused,
    /// The engine or the cluster can't be reached.
    Unreachable,
    /// A file or folder can't be read or written.
    Io,
    /// The caller stopped it before anything was submitted.
    Interrupted,
}

impl Failure {
    /// A failure of which only the sentence is known so far.
    #[must_use]
    pub fn new(kind: FailureKind, what: impl Into<String>) -> Failure {
        Failure {
            kind,
            mistakes: Box::default(),
            what: what.into(),
            asked: None,
            there: None,
            todo: None,
        }
    }

    /// The caller stopped what was being prepared.
    #[must_use]
    pub fn interrupted() -> Failure {
        let what = "interrupted; nothing was submitted";
        Failure::new(FailureKind::Interrupted, what)
    }

    /// Adds what was asked.
    #[must_use]
    pub fn asked(mut self, text: impl Into<String>) -> Failure {
        self.asked = Some(text.into());
        self
    }

    /// Adds what there is.
    #[must_use]
    pub fn there(mut self, text: impl Into<String>) -> Failure {
        self.there = Some(text.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn todo(mut self, text: impl Into<String>) -> Failure {
        self.todo = Some(text.into());
        self
    }

    /// Adds what is wrong, one text each.
    #[must_use]
    pub fn mistakes(mut self, mistakes: Vec<String>) -> Failure {
        self.mistakes = mistakes.into();
        self
    }

    /// All of it in one line, for a list of notes.
    #[must_use]
    pub fn line(&self) -> String {
        let more = [&self.asked, &self.there, &self.todo];
        let more = more.into_iter().flatten().map(String::as_str);
        let parts: Vec<&str> = std::iter::once(self.what.as_str()).chain(more).collect();
        parts.join("; ")
    }
}

/// What to do where a disk does not take what is written.
const MAKE_ROOM: &str =
    "make room or give yourself the right, or set TRAINYARD_HOME to another folder";

/// The same for an engine's store. Signals need no room.
const MAKE_ROOM_FOR_STORE: &str = "make room there, then again; jobs go on until then, and \
     scancel --signal=TERM JOB reaches the processes of one";

/// A file that can't be written.
pub(crate) fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |error| {
        let what = format!("{} can't be written: {error}", path.display());
        Failure::new(FailureKind::Io, what).todo(MAKE_ROOM)
    }
}

/// A file that can't be read or written.
pub(crate) fn unusable(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |error| {
        let what = format!("{} can't be used: {error}", path.display());
        Failure::new(FailureKind::Io, what).todo(MAKE_ROOM)
    }
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Failure {
        match error {
            TransportError::Unreachable {
                cluster,
                message,
                todo,
            } => Failure::new(
                FailureKind::Unreachable,
                format!("{cluster} can't be reached"),
            )
            .there(message)
            .todo(todo),
            TransportError::Refused { cluster, refusal } => {
                let what = match refusal.denial {
                    Denial::Unspecified => format!("{cluster} refuses the job"),
                    denial => format!("{cluster} refuses the job: {}", denial.words()),
                };
                let there = refusal.there_with_limit();
                Failure::new(FailureKind::Refused, what)
                    .asked(refusal.asked)
                    .there(there)
                    .todo(refusal.todo)
            }
            TransportError::Job { message } => {
                Failure::new(FailureKind::Failed, message).todo("yard ls shows what there is")
            }
            TransportError::Store { message } => {
                Failure::new(FailureKind::Io, message).todo(MAKE_ROOM_FOR_STORE)
            }
            error @ (TransportError::Command { .. }
            | TransportError::Answer { .. }
            | TransportError::TimedOut { .. }) => {
                Failure::new(FailureKind::Unreachable, error.to_string())
            }
            TransportError::File { path, source } => unusable(&path)(source),
        }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        let (FolderError::Make { path, source, .. } | FolderError::Write { path, source }) = &error
        else {
            // Their sentences say all three parts.
            return Failure::new(FailureKind::Io, error.to_string());
        };
        let free = path
            .ancestors()
            .find_map(|folder| sys::disk_free(folder).ok());
        let free = free.map(|free| format!("; {} are free there", say_bytes(free)));
        let what = format!("{} can't be written", path.display());
        Failure::new(FailureKind::Io, what)
            .there(format!("{source}{}", free.unwrap_or_default()))
            .todo(MAKE_ROOM)
    }
}

impl From<CodeError> for Failure {
    fn from(error: CodeError) -> Failure {
        let CodeError::Copy { from, to, source } = error else {
            // Their sentences say all three parts.
            return Failure::new(FailureKind::Io, error.to_string());
        };
        let (folder, free) = to
            .ancestors()
            .find_map(|folder| {
                let free = sys::disk_free(folder).ok()?;
                Some((folder.display().to_string(), say_bytes(free)))
            })
            .unwrap_or_default();
        Failure::new(
            FailureKind::Io,
            "the code can't be copied into a run folder; nothing was submitted",
        )
        .asked(format!("{} to {}", from.display(), to.display()))
        .there(format!("{source}; {free} are free in {folder}"))
        .todo(MAKE_ROOM)
    }
}
