//! `engine.log`: what the engine, its fork server and its supervisors have to say to a person, in lines
//! with a time, a level, the process, and the ids of what they are about.
//!
//! ```text
//! 2026-11-22T13:05:07 WARN engine: a supervisor was lost job=7
//! ```
//! Each line opens the file by its name: lines are few, and all processes write to the new file once
//! the engine has put the old one aside.

use api::EngineFolder;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

/// A log that is larger is put aside, in place of the one before it.
const MOST_BYTES: u64 = 4 << 20;

/// Which process writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Process {
    /// The engine itself, before it has its folder's lock.
    Starting,
    /// The engine, which alone puts a log aside.
    Engine,
    ForkServer,
    Supervisor,
}

static PROCESS: AtomicU8 = AtomicU8::new(Process::Starting as u8);

/// From now on this process writes as this one.
pub(crate) fn write_as(process: Process) {
    PROCESS.store(process as u8, Ordering::Relaxed);
}

/// From now on this process and those that it forks write to the engine's log.
pub(crate) fn start(engine: &EngineFolder) {
    let set = std::env::var(sys::env_vars::TRAINYARD_LOG).ok();
    let log = LogFile {
        path: engine.log(),
        aside: engine.older_log(),
        most: MOST_BYTES,
    };
    let subscriber = tracing_subscriber::fmt()
        // What could not be written would be said on standard error, which is the same full file: a panic.
        .log_internal_errors(false)
        .with_max_level(level(set.as_deref()))
        .event_format(Line)
        .with_writer(log);
    // Only a second call fails, and finds all as it should be.
    let _started = tracing::subscriber::set_global_default(subscriber.finish());
}

/// What is no level is as if it were not said.
fn level(set: Option<&str>) -> LevelFilter {
    let level = set.and_then(|text| text.parse().ok());
    level.unwrap_or(LevelFilter::INFO)
}

/// Where lines go.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    aside: PathBuf,
    most: u64,
}

impl LogFile {
    fn open(&self) -> io::Result<File> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
    }

    /// A new log, in place of the one that there was.
    fn put_aside(&self) -> io::Result<File> {
        std::fs::rename(&self.path, &self.aside)?;
        self.open()
    }

    /// The log with room for a line.
    fn with_room(&self) -> io::Result<File> {
        let file = self.open()?;
        let is_engine = PROCESS.load(Ordering::Relaxed) == Process::Engine as u8;
        if !is_engine || file.metadata()?.len() < self.most {
            return Ok(file);
        }
        let file = self.put_aside()?;
        // What a panic says, or a library, must not go to the old one.
        sys::process::write_errors_to(&file)?;
        Ok(file)
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Box<dyn Write + 'a>;

    fn make_writer(&'a self) -> Self::Writer {
        match self.with_room() {
            Ok(file) => Box::new(file),
            // Where the folder is not there yet: whoever started the engine has the end of this.
            Err(_) => Box::new(io::stderr()),
        }
    }
}

/// How a line looks.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let time = sys::local_time(sys::wall_clock() / 1000);
        let process = match PROCESS.load(Ordering::Relaxed) {
            2 => "fork server",
            3 => "supervisor",
            _ => "engine",
        };
        write!(writer, "{time} {} {process}: ", event.metadata().level())?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_level_is_what_is_set() {
        assert_eq!(level(None), LevelFilter::INFO);
        assert_eq!(level(Some("debug")), LevelFilter::DEBUG);
        assert_eq!(level(Some("WARN")), LevelFilter::WARN);
        assert_eq!(level(Some("loud")), LevelFilter::INFO);
    }

    #[test]
    fn one_older_log_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile {
            path: folder.path().join("engine.log"),
            aside: folder.path().join("engine.log.1"),
            most: 4,
        };
        for text in ["first", "second", "third"] {
            let mut file = log.open().unwrap();
            if file.metadata().unwrap().len() >= log.most {
                file = log.put_aside().unwrap();
            }
            file.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&log.path).unwrap(), "third");
        assert_eq!(std::fs::read_to_string(&log.aside).unwrap(), "second");
        for file in [&log.path, &log.aside] {
            let mode = file.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_line_has_time_level_process_and_ids() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile {
            path: folder.path().join("engine.log"),
            aside: folder.path().join("engine.log.1"),
            most: 1000,
        };
        let path = log.path.clone();
        let subscriber = tracing_subscriber::fmt()
            .event_format(Line)
            .with_writer(log)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(job = 7, "a supervisor was lost");
            tracing::debug!("not at this level");
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let (time, rest) = text.split_once(' ').unwrap();
        assert_eq!(time.len(), "2026-11-22T13:05:07".len());
        assert_eq!(rest, "WARN engine: a supervisor was lost job=7\n");
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
