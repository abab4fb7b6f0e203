//! One run while it lives: its nodes, ranks and GPUs as they are now, and its last lines. Only what
//! is new in its files is read.

use crate::run::Run;
use folder::{Attempt, FileTail, RunFolder, last_lines};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;
use watch::{CsvReader, Latest, Recent, Subject};

/// So much of the end of a monitor file is read first: minutes of many ranks.
const FIRST_BYTES: u64 = 256 << 10;
/// The longest first line of a monitor file.
const LONGEST_HEADER: u64 = 4096;
/// Portions of a monitor file that are read at once.
const PORTIONS: usize = 16;

/// A run as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunLook {
    /// What was measured last: node, subject, values.
    pub measured: Vec<(String, Subject, Latest)>,
    /// When each rank last printed something.
    pub printed: BTreeMap<u32, Timestamp>,
    /// The rank whose last lines these are.
    pub rank: u32,
    /// Its last lines, the newest last.
    pub lines: Vec<String>,
}

/// Follows one run.
#[derive(Debug)]
pub struct RunWatch {
    folder: RunFolder,
    recent: Recent,
    files: BTreeMap<String, (FileTail, CsvReader)>,
}

impl RunWatch {
    /// Of the run in that folder.
    #[must_use]
    pub fn new(folder: RunFolder) -> RunWatch {
        RunWatch {
            folder,
            recent: Recent::default(),
            files: BTreeMap::new(),
        }
    }

    /// Looks at its newest start, and at that many last lines of a rank. What can't be read is
    /// left out: the folder may be removed meanwhile.
    pub fn look(&mut self, run: &Run, rank: u32, lines: usize) -> RunLook {
        let Some(start) = run.starts.last() else {
            return RunLook::default();
        };
        self.read_samples();
        let attempt = start.attempt;
        let measured = self.recent.of(attempt.job, attempt.restart);
        let log = self.folder.rank_log(attempt, rank);
        RunLook {
            measured: measured
                .map(|(node, subject, latest)| (node.to_owned(), subject, latest.clone()))
                .collect(),
            printed: self.printed(attempt),
            rank,
            lines: match lines {
                0 => Vec::new(),
                count => last_lines(&log, count).unwrap_or_default(),
            },
        }
    }

    fn read_samples(&mut self) {
        for (node, path) in self.folder.monitor_files() {
            let (tail, reader) = self.files.entry(node.clone()).or_insert_with(|| {
                let mut reader = CsvReader::default();
                // A tail that begins in the middle lacks the names of the columns.
                reader.read(&header(&path), |_| {});
                (FileTail::near_end(path.clone(), FIRST_BYTES), reader)
            });
            for _ in 0..PORTIONS {
                let Ok(lines) = tail.read(false) else {
                    break;
                };
                for line in lines {
                    reader.read(line.as_bytes(), |_| {});
                    reader.read(b"\n", |sample| self.recent.add(&node, sample));
                }
                if !tail.has_more() {
                    break;
                }
            }
        }
    }

    fn printed(&self, attempt: Attempt) -> BTreeMap<u32, Timestamp> {
        let start = format!("{attempt}.");
        let entries = std::fs::read_dir(self.folder.logs());
        let entries = entries.into_iter().flatten().flatten();
        let written = entries.filter_map(|entry| {
            let name = entry.file_name();
            let rank = name.to_str()?.strip_prefix(&start)?.parse().ok()?;
            let facts = entry.metadata().ok().filter(|facts| facts.len() > 0)?;
            let since = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            let at = Timestamp(i64::try_from(since.as_millis()).ok()?);
            Some((rank, at))
        });
        written.collect()
    }
}

/// The first line of a file, its end included; nothing where it can't be read.
fn header(path: &Path) -> Vec<u8> {
    let mut line = Vec::new();
    if let Ok(file) = File::open(path) {
        let mut reader = BufReader::new(file.take(LONGEST_HEADER));
        // Without one the samples are passed over.
        let _ = reader.read_until(b'\n', &mut line);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::{Event, EventLog, IndexEntry};
    use std::io::Write;
    use watch::{HEADER, Measure, Sample, csv_row};

    #[test]
    fn what_is_new_is_read_and_a_removed_folder_survived() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let mut log = EventLog::open(&folder.events(attempt)).unwrap();
        let started = Event::Started {
            job: 7,
            restart: 0,
            nodes: vec!["n1".to_owned()],
        };
        log.append(Timestamp(1), started).unwrap();
        let row = |at, busy| {
            let mut sample = Sample::new(Timestamp(at), 7, 0, Subject::Gpu(1));
            sample.set(Measure::Busy, busy);
            csv_row(&sample)
        };
        let mut file = File::create(folder.monitor_file("n1")).unwrap();
        file.write_all(HEADER.as_bytes()).unwrap();
        // So long that only its end is read.
        file.write_all(row(0, 5.0).repeat(20_000).as_bytes())
            .unwrap();
        let long = format!("{}\nlast\n", "x".repeat(10 << 20));
        std::fs::write(folder.rank_log(attempt, 3), long).unwrap();
        let entry = IndexEntry {
            id: "digits-k3f9".to_owned(),
            name: "digits".to_owned(),
            cluster: "local".to_owned(),
            folder: folder.path().to_owned(),
            created: Timestamp(0),
            repeats: None,
            of: None,
        };
        let run = Run::read(entry).unwrap();
        let mut watch = RunWatch::new(folder.clone());
        let busy = |look: &RunLook| look.measured[0].2.sample.get(Measure::Busy);
        let look = watch.look(&run, 3, 2);
        assert_eq!(busy(&look), Some(5.0));
        assert_eq!(look.lines.last().unwrap(), "last");
        assert!(look.lines[0].len() <= 1 << 16 && look.printed.contains_key(&3));
        file.write_all(row(5000, 80.0).as_bytes()).unwrap();
        assert_eq!(busy(&watch.look(&run, 3, 2)), Some(80.0));
        std::fs::remove_dir_all(folder.path()).unwrap();
        assert_eq!(watch.look(&run, 3, 2).lines, [""; 0]);
    }
}
