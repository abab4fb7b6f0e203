//! Follows the ranks' output.

use crate::{Attempt, RunFolder};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// One line of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The task's number in the ranks' step.
    pub rank: u32,
    /// Without its line feed. Where a program drew over its line with carriage returns, what it
    /// drew last; what is no UTF-8 is replaced.
    pub text: String,
}

/// Follows the logs of one start.
#[derive(Clone, Debug)]
pub struct LogTail {
    logs: PathBuf,
    /// `<job>.<restart>.`
    start: String,
    ranks: BTreeMap<u32, Followed>,
}

/// How far one rank's log was read.
#[derive(Clone, Debug, Default)]
struct Followed {
    offset: u64,
    /// What came after the last line feed.
    rest: Vec<u8>,
}

/// Of one log at a time: a rank that writes without end must not keep the others waiting.
const AT_ONCE: u64 = 1 << 20;
/// A longer line is broken.
const LONGEST_LINE: usize = 1 << 16;

impl LogTail {
    /// From the first lines on; no log need be there yet.
    #[must_use]
    pub fn new(folder: &RunFolder, attempt: Attempt) -> LogTail {
        LogTail {
            logs: folder.logs(),
            start: format!("{attempt}."),
            ranks: BTreeMap::new(),
        }
    }

    /// The lines since the last call, by rank. Lines that aren't whole are left for later, unless
    /// the ranks are `over`: then everything that is left comes.
    ///
    /// # Errors
    /// What the system says; logs that aren't there have no lines.
    pub fn read(&mut self, over: bool) -> io::Result<Vec<LogLine>> {
        self.find_ranks()?;
        let mut lines = Vec::new();
        for (rank, followed) in &mut self.ranks {
            let path = self.logs.join(format!("{}{rank}", self.start));
            while followed.take(&path)? == AT_ONCE && over {
                followed.lines(*rank, false, &mut lines);
            }
            followed.lines(*rank, over, &mut lines);
        }
        Ok(lines)
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
                self.ranks.entry(rank).or_default();
            }
        }
        Ok(())
    }
}

impl Followed {
    /// Reads what is new, at most [`AT_ONCE`]; returns how much that was.
    fn take(&mut self, path: &std::path::Path) -> io::Result<u64> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            file => file?,
        };
        if file.metadata()?.len() < self.offset {
            // Emptied: a program that truncates its own output.
            *self = Followed::default();
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let read = file.take(AT_ONCE).read_to_end(&mut self.rest)? as u64;
        self.offset += read;
        Ok(read)
    }

    fn lines(&mut self, rank: u32, over: bool, lines: &mut Vec<LogLine>) {
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            lines.push(line(rank, &self.rest[start..start + length]));
            start += length + 1;
        }
        while self.rest.len() - start > LONGEST_LINE {
            lines.push(line(rank, &self.rest[start..start + LONGEST_LINE]));
            start += LONGEST_LINE;
        }
        if over && start < self.rest.len() {
            lines.push(line(rank, &self.rest[start..]));
            start = self.rest.len();
        }
        self.rest.drain(..start);
    }
}

fn line(rank: u32, bytes: &[u8]) -> LogLine {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let drawn = bytes.rsplit(|byte| *byte == b'\r').next().unwrap_or(bytes);
    LogLine {
        rank,
        text: String::from_utf8_lossy(drawn).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::Path;

    fn append(path: &Path, bytes: &[u8]) {
        let file = File::options().create(true).append(true).open(path);
        file.unwrap().write_all(bytes).unwrap();
    }

    fn shown(lines: &[LogLine]) -> Vec<String> {
        lines
            .iter()
            .map(|line| format!("{}:{}", line.rank, line.text))
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

    #[test]
    fn a_flood_is_read_in_parts_and_in_full_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        append(&folder.rank_log(attempt, 0), &b"0123456\n".repeat(400_000));
        let mut tail = LogTail::new(&folder, attempt);
        let first = tail.read(false).unwrap().len();
        assert_eq!(first, (AT_ONCE / 8) as usize);
        assert_eq!(first + tail.read(true).unwrap().len(), 400_000);
    }

    #[test]
    fn a_line_without_end_is_broken() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        append(&folder.rank_log(attempt, 0), &vec![b'x'; LONGEST_LINE + 5]);
        let mut tail = LogTail::new(&folder, attempt);
        assert_eq!(tail.read(false).unwrap().len(), 1);
        assert_eq!(tail.read(true).unwrap()[0].text, "xxxxx");
    }
}
