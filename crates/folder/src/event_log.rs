//! The events of one start: appended by its conductor, followed by everybody else.

use crate::{Event, EventLine};
use model::Timestamp;
use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Exit code of a job whose end could not be written into its run folder: `EX_IOERR` of `sysexits.h`. It is
/// what then tells of the cause, on whatever cluster.
pub const FOLDER_REFUSED: u8 = 74;

/// Appends to `links/<job>.<restart>.events`: one write a line, so that a reader sees whole lines
/// or, at the very end, the beginning of one. What the disk refuses for a while is kept and written
/// later, in order.
#[derive(Debug)]
pub struct EventLog {
    file: File,
    waiting: VecDeque<EventLine>,
    /// Since when the disk refuses, and in which words.
    write_error: Option<(Timestamp, String)>,
}

impl EventLog {
    /// Opens the file for appending; makes it where it is not there. What a conductor that was
    /// killed in mid-line left is closed with a line end, so that it harms no further line. As long
    /// as the log is open, [`has_writer`] tells so.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<EventLog> {
        let mut file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        // Some file systems have no locks.
        let _shown = file.try_lock_shared();
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != [b'\n'] {
                file.write_all(b"\n")?;
            }
        }
        Ok(EventLog {
            file,
            waiting: VecDeque::new(),
            write_error: None,
        })
    }

    /// Writes one event, or keeps it while the disk takes nothing.
    ///
    /// # Errors
    /// What the system says, where that does not pass by itself.
    pub fn append(&mut self, at: Timestamp, event: Event) -> io::Result<()> {
        // Progress is of no use later.
        if self.is_behind() && matches!(event, Event::Staging { .. }) {
            return Ok(());
        }
        self.waiting.push_back(EventLine { at, event });
        self.catch_up(at)
    }

    /// Whether events wait for the disk.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What the disk says, while it takes nothing.
    #[must_use]
    pub fn write_error(&self) -> Option<&str> {
        self.write_error.as_ref().map(|(_, why)| why.as_str())
    }

    /// Gives up what waits: lines for the end of the file.
    #[must_use]
    pub fn take_unwritten(&mut self) -> Vec<u8> {
        let waiting = std::mem::take(&mut self.waiting);
        let lines = waiting.iter().filter_map(|line| bytes(line).ok());
        lines.flatten().collect()
    }

    /// Tries to write what waits; after a write error that is over, an event says so.
    ///
    /// # Errors
    /// What the system says, where that does not pass by itself.
    pub fn catch_up(&mut self, now: Timestamp) -> io::Result<()> {
        while let Some(line) = self.waiting.front() {
            let line = bytes(line)?;
            if let Err(error) = self.write(&line) {
                if !sys::disk_errors::may_pass(&error) {
                    return Err(error);
                }
                self.write_error.get_or_insert((now, error.to_string()));
                return Ok(());
            }
            self.waiting.pop_front();
        }
        if let Some((since, why)) = self.write_error.take() {
            let lasted = now.since(since).unsigned_abs();
            let event = Event::DiskError {
                why,
                lasted_ms: lasted,
            };
            return self.append(now, event);
        }
        Ok(())
    }

    /// A line that found room for its beginning only is taken back.
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        let result = self.file.write_all(line);
        if result.is_err() {
            let _ = self.file.set_len(before);
        }
        result
    }
}

fn bytes(line: &EventLine) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Whether a process lives that has opened the events of a start to write them. A file system may
/// show only those of this machine, or none.
#[must_use]
pub fn has_writer(path: &Path) -> bool {
    let file = File::options().read(true).write(true).open(path);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Follows `links/<job>.<restart>.events`.
#[derive(Debug)]
pub struct EventTail {
    path: PathBuf,
    offset: u64,
}

impl EventTail {
    /// A reader that begins at the beginning. The file need not be there yet.
    #[must_use]
    pub fn new(path: PathBuf) -> EventTail {
        EventTail { path, offset: 0 }
    }

    /// The events that came since the last call. A line without its end is left for later; a line
    /// that can't be read is an event [`Event::Unknown`].
    ///
    /// # Errors
    /// What the system says of a file that is there.
    pub fn read(&mut self) -> io::Result<Vec<EventLine>> {
        let text = match read_from(&self.path, self.offset) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        self.offset += whole as u64;
        let lines = text[..whole].split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        Ok(lines
            .map(|line| {
                serde_json::from_slice(line).unwrap_or(EventLine {
                    at: Timestamp(0),
                    event: Event::Unknown,
                })
            })
            .collect())
    }
}

/// What a file holds from an offset to its end.
fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> Event {
        Event::Note {
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_was_appended_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.0.events");
        let mut tail = EventTail::new(path.clone());
        assert_eq!(tail.read().unwrap(), []);
        let mut log = EventLog::open(&path).unwrap();
        log.append(Timestamp(1), note("one")).unwrap();
        log.append(Timestamp(2), note("two")).unwrap();
        let seen = tail.read().unwrap();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1].event, note("two"));
        assert_eq!(tail.read().unwrap(), []);
    }

    #[test]
    fn a_writer_is_seen_as_long_as_it_lives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.0.events");
        assert!(!has_writer(&path));
        let (first, second) = (EventLog::open(&path), EventLog::open(&path));
        drop(first.unwrap());
        assert!(has_writer(&path));
        drop(second.unwrap());
        assert!(!has_writer(&path));
    }

    #[test]
    fn a_torn_line_harms_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.0.events");
        std::fs::write(&path, b"{\"at\":1,\"ev").unwrap();
        let mut tail = EventTail::new(path.clone());
        assert_eq!(tail.read().unwrap(), []);
        let mut log = EventLog::open(&path).unwrap();
        log.append(Timestamp(2), note("after")).unwrap();
        let seen: Vec<Event> = tail
            .read()
            .unwrap()
            .into_iter()
            .map(|line| line.event)
            .collect();
        assert_eq!(seen, [Event::Unknown, note("after")]);
    }

    #[test]
    fn a_newer_program_s_events_are_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.0.events");
        std::fs::write(
            &path,
            "{\"at\":5,\"event\":\"moon-landing\",\"crew\":[1]}\n",
        )
        .unwrap();
        let events = EventTail::new(path).read().unwrap();
        assert_eq!(events[0].event, Event::Unknown);
        assert_eq!(events[0].at, Timestamp(5));
    }

    #[test]
    fn every_event_comes_back_as_it_was() {
        let events = [
            Event::Started {
                job: 1,
                restart: 2,
                nodes: vec!["n1".to_owned()],
            },
            Event::RanksEnded {
                status: 137,
                first_failed: Some((5, 1)),
            },
            Event::ComingBack {
                how: crate::ComingBack::Successor { job: 9 },
            },
            Event::Stopping {
                reason: crate::StopReason::Limit,
                left: model::Seconds(5),
            },
            Event::Staging {
                what: "x.tar".to_owned(),
                done: 1,
                total: None,
            },
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.0.events");
        let mut log = EventLog::open(&path).unwrap();
        for event in &events {
            log.append(Timestamp(0), event.clone()).unwrap();
        }
        let read = EventTail::new(path).read().unwrap();
        assert!(read.iter().map(|line| &line.event).eq(&events));
    }
}
