//! What the jobs of batch scripts write, followed file by file: an array's elements together.

use crate::job_follower::{JobEvent, JobLine};
use backend::OutputFile;
use folder::FileTail;
use model::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files are dated by the kernel's coarse clock, which can lag this far behind.
const CLOCK_TICK_MS: i64 = 20;

/// Whether a file was written since then: until a job opens it, an older job's may stand there.
#[must_use]
pub fn is_written_since(path: &Path, since: Timestamp) -> bool {
    let changed = std::fs::metadata(path).and_then(|facts| facts.modified());
    let Ok(changed) = changed else { return false };
    let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(changed.as_millis()).is_ok_and(|changed| changed + CLOCK_TICK_MS >= since.0)
}

/// Follows the files of a job, or of an array's elements.
#[derive(Debug, Default)]
pub(crate) struct JobOutput {
    /// By path: elements may share one.
    files: BTreeMap<PathBuf, Followed>,
    has_more: bool,
}

/// One file that is followed.
#[derive(Debug)]
struct Followed {
    element: Option<u32>,
    tail: FileTail,
    since: Timestamp,
    stage: Stage,
}

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// More may be written.
    Open,
    /// Its writers have ended.
    Ended,
    /// All of it was returned.
    Returned,
}

impl JobOutput {
    /// Takes note of files as they are known now; `since`: when the first of their writers began, where
    /// a file does not tell it.
    pub(crate) fn see(&mut self, files: Vec<OutputFile>, since: Timestamp) {
        for file in files {
            let known = self.files.entry(file.path.clone());
            let known = known.or_insert_with(|| Followed {
                element: file.element,
                tail: FileTail::new(file.path),
                since: file.since.unwrap_or(since),
                stage: Stage::Open,
            });
            if file.is_final && known.stage == Stage::Open {
                known.stage = Stage::Ended;
            }
        }
    }

    /// All writers of all files have ended.
    pub(crate) fn end(&mut self) {
        for file in self.files.values_mut() {
            if file.stage == Stage::Open {
                file.stage = Stage::Ended;
            }
        }
    }

    /// What came since the last call, in whole lines: of each file one portion.
    pub(crate) fn news(&mut self) -> Vec<JobEvent> {
        let mut news = Vec::new();
        self.has_more = false;
        for file in self.files.values_mut() {
            self.has_more |= file.news(&mut news);
        }
        news
    }

    /// Whether there is more already than the last call told.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }
}

impl Followed {
    /// Adds what is new, and says whether more is there already; a file that can't be read has nothing.
    fn news(&mut self, news: &mut Vec<JobEvent>) -> bool {
        if self.stage == Stage::Returned {
            return false;
        }
        let over = self.stage == Stage::Ended;
        let line = |bytes: Vec<u8>| JobLine {
            element: self.element,
            bytes,
        };
        let mut has_more = false;
        if is_written_since(self.tail.path(), self.since) {
            let lines = self.tail.read_bytes(over).unwrap_or_default();
            let lines = lines.into_iter();
            news.extend(lines.map(|bytes| JobEvent::Output { line: line(bytes) }));
            has_more = self.tail.has_more();
        }
        if over && !has_more {
            self.stage = Stage::Returned;
        }
        let redrawn = self.tail.redrawn().map(String::into_bytes);
        news.extend(redrawn.map(|bytes| JobEvent::Redrawn { line: line(bytes) }));
        has_more
    }
}
