//! Follows the ranks' output.

use crate::{Attempt, FileTail, RunFolder, drawn_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

/// One line of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The task's number in the ranks' step.
    pub rank: u32,
    /// As it was written, without its line feed.
    pub bytes: Vec<u8>,
}

impl LogLine {
    /// What a person sees of it: see [`drawn_text`].
    #[must_use]
    pub fn text(&self) -> String {
        drawn_text(&self.bytes)
    }
}

/// Follows the logs of one start.
#[derive(Clone, Debug)]
pub struct LogTail {
    logs: PathBuf,
    /// `<job>.<restart>.`
    start: String,
    ranks: BTreeMap<u32, FileTail>,
    /// The rank that is read next: each gets its turn.
    next: u32,
    has_more: bool,
}

/// Lines of one portion, from which on no further rank is read.
const ENOUGH_LINES: usize = 1 << 13;
/// Bytes of them.
const ENOUGH_BYTES: usize = 1 << 20;

impl LogTail {
    /// From the first lines on; no log need be there yet.
    #[must_use]
    pub fn new(folder: &RunFolder, attempt: Attempt) -> LogTail {
        LogTail {
            logs: folder.logs(),
            start: format!("{attempt}."),
            ranks: BTreeMap::new(),
            next: 0,
            has_more: false,
        }
    }

    /// The next lines since the last call, by rank: a portion, after which [`LogTail::has_more`]
    /// tells whether to call again at once. Lines that aren't whole are left for later, unless the
    /// ranks are `over`: then everything that is left comes.
    ///
    /// # Errors
    /// What the system says; logs that aren't there have no lines.
    pub fn read(&mut self, over: bool) -> io::Result<Vec<LogLine>> {
        self.find_ranks()?;
        let mut lines = Vec::new();
        let mut bytes = 0;
        let mut more = false;
        let first = self.next;
        self.next = 0;
        for (rank, tail) in self.ranks.range_mut(first..) {
            if lines.len() >= ENOUGH_LINES || bytes >= ENOUGH_BYTES {
                self.next = *rank;
                break;
            }
            let read = tail.read_bytes(over)?;
            more |= tail.has_more();
            bytes += read.iter().map(Vec::len).sum::<usize>();
            let read = read.into_iter();
            lines.extend(read.map(|bytes| LogLine { rank: *rank, bytes }));
        }
        // Ranks before the first were read in an earlier portion, which may have been too short.
        self.has_more = more || self.next > 0 || (first > 0 && self.is_behind(first));
        Ok(lines)
    }

    /// The line that each rank is drawing over, where that changed since the last call.
    pub fn redrawn(&mut self) -> Vec<LogLine> {
        let tails = self.ranks.iter_mut();
        let redrawn = tails.filter_map(|(rank, tail)| {
            let bytes = tail.redrawn()?.into_bytes();
            Some(LogLine { rank: *rank, bytes })
        });
        redrawn.collect()
    }

    /// Whether the last portion was not all there was.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    fn is_behind(&self, first: u32) -> bool {
        self.ranks.range(..first).any(|(_, tail)| tail.has_more())
    }

    fn find_ranks(&mut self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.logs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            let rank = name
                .to_str()
                .and_then(|name| name.strip_prefix(&self.start));
            if let Some(rank) = rank.and_then(|rank| rank.parse().ok()) {
                let path = self.logs.join(format!("{}{rank}", self.start));
                let tail = || FileTail::new(path);
                self.ranks.entry(rank).or_insert_with(tail);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::path::Path;

    fn append(path: &Path, bytes: &[u8]) {
        let file = File::options().create(true).append(true).open(path);
        file.unwrap().write_all(bytes).unwrap();
    }

    fn shown(lines: &[LogLine]) -> Vec<String> {
        lines
            .iter()
            .map(|line| format!("{}:{}", line.rank, line.text()))
            .collect()
    }

    #[test]
    fn whole_lines_come_once_and_the_rest_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let attempt = Attempt { job: 7, restart: 1 };
        let mut tail = LogTail::new(&folder, attempt);
        assert_eq!(tail.read(false).unwrap(), []);
        append(&folder.rank_log(attempt, 0), b"one\ntw");
        append(&folder.rank_log(attempt, 10), b" 1%\r 50%\r100%\r\n");
        append(
            &folder.rank_log(
                Attempt {
                    job: 7,
                    restart: 10,
                },
                0,
            ),
            b"other\n",
        );
        append(&folder.conductor_log(7), b"talk\n");
        assert_eq!(shown(&tail.read(false).unwrap()), ["0:one", "10:100%"]);
        append(&folder.rank_log(attempt, 0), b"o\n\xff\nlast");
        assert_eq!(shown(&tail.read(false).unwrap()), ["0:two", "0:\u{fffd}"]);
        assert_eq!(shown(&tail.read(true).unwrap()), ["0:last"]);
        assert_eq!(tail.read(true).unwrap(), []);
    }
}
