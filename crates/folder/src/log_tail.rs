//! The output of one start's ranks, followed line by line.

use crate::event_log::read_from;
use crate::{Attempt, RunFolder};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// One whole line of one rank's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// The task's number in the ranks' step.
    pub rank: u32,
    /// Without its end; what is not UTF-8 is replaced.
    pub text: String,
}

/// Follows `logs/<job>.<restart>.<rank>` of all ranks.
#[derive(Debug)]
pub struct LogTail {
    folder: PathBuf,
    prefix: String,
    offsets: BTreeMap<u32, u64>,
}

impl LogTail {
    /// A reader that begins at the beginning. No file need be there yet.
    #[must_use]
    pub fn new(folder: &RunFolder, attempt: Attempt) -> LogTail {
        LogTail {
            folder: folder.logs(),
            prefix: format!("{attempt}."),
            offsets: BTreeMap::new(),
        }
    }

    /// The lines that came since the last call, rank by rank. A line without its end is left for
    /// later; `ended` takes it as it is, because no more will come.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, ended: bool) -> io::Result<Vec<LogLine>> {
        let mut lines = Vec::new();
        for rank in self.ranks()? {
            let offset = self.offsets.entry(rank).or_default();
            let path = self.folder.join(format!("{}{rank}", self.prefix));
            let bytes = read_from(&path, *offset)?;
            let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
                _ if ended => bytes.len(),
                Some(end) => end + 1,
                None => 0,
            };
            *offset += whole as u64;
            let text = String::from_utf8_lossy(&bytes[..whole]);
            lines.extend(text.lines().map(|line| LogLine {
                rank,
                text: line.to_owned(),
            }));
        }
        Ok(lines)
    }

    /// Ranks whose files are there.
    fn ranks(&self) -> io::Result<Vec<u32>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut ranks = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let rank = name
                .to_str()
                .and_then(|name| name.strip_prefix(&self.prefix));
            // The conductor's own log has a word there.
            ranks.extend(rank.and_then(|rank| rank.parse::<u32>().ok()));
        }
        ranks.sort_unstable();
        Ok(ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_of_all_ranks() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::at(root.path());
        std::fs::create_dir_all(folder.logs()).unwrap();
        let attempt = Attempt { job: 7, restart: 1 };
        let mut tail = LogTail::new(&folder, attempt);
        assert_eq!(tail.read(false).unwrap(), []);
        std::fs::write(folder.rank_log(attempt, 10), "a\nb").unwrap();
        std::fs::write(folder.rank_log(attempt, 2), "c\n").unwrap();
        std::fs::write(folder.logs().join("7.1.conductor"), "x\n").unwrap();
        std::fs::write(folder.logs().join("7.0.2"), "x\n").unwrap();
        let shown = |lines: Vec<LogLine>| {
            let text = lines
                .iter()
                .map(|line| format!("{}:{}", line.rank, line.text));
            text.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(tail.read(false).unwrap()), "2:c 10:a");
        assert_eq!(shown(tail.read(false).unwrap()), "");
        assert_eq!(shown(tail.read(true).unwrap()), "10:b");
    }
}
