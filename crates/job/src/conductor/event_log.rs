//! The conductor's events, while the run folder takes some and while it does not.

use super::{Conductor, ConductorError};
use crate::local_folder::LocalFolder;
use folder::{Event, EventLog, RunFolder};
use model::Timestamp;
use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

impl Conductor {
    pub(super) fn record(&mut self, event: Event, now: Timestamp) -> Result<(), ConductorError> {
        let result = self.log.append(now, event.clone());
        result.map_err(|source| self.wrong_log(source))?;
        let about = (&self.run, &self.json, self.steps.allocation.attempt);
        self.notices.see(&event, about, now);
        self.is_over |= event.ends_run();
        self.remove_secrets(now)
    }

    /// Once its end is written down: before, the start would count as lost, and the next one needs them.
    fn remove_secrets(&mut self, now: Timestamp) -> Result<(), ConductorError> {
        if !self.is_over || self.log.is_behind() {
            return Ok(());
        }
        // What is there later was written to bring the run back.
        self.is_over = false;
        match self.run.remove_secrets() {
            Ok(()) => Ok(()),
            Err(error) => {
                let text = format!("the secrets of the run stay in its folder: {error}");
                self.record(Event::Note { text }, now)
            }
        }
    }

    /// Waits a while for the messages that are being sent, and writes down what could not be.
    pub(super) fn settle_notices(&mut self, patience: Duration) -> Result<(), ConductorError> {
        for text in self.notices.settle(patience) {
            self.record(Event::Note { text }, Timestamp(sys::now()))?;
        }
        Ok(())
    }

    pub(super) fn catch_up(&mut self, now: Timestamp) -> Result<(), ConductorError> {
        let result = self.log.catch_up(now);
        result.map_err(|source| self.wrong_log(source))?;
        self.remove_secrets(now)
    }

    /// Waits until all events are written; whether they are. What finds no room within `patience` is
    /// left on the node for the run's next start there.
    pub(super) fn settle_log(&mut self, patience: Duration) -> Result<bool, ConductorError> {
        let begun = Instant::now();
        while self.log.is_behind() {
            self.catch_up(Timestamp(sys::now()))?;
            let told = self.steps.told_to_end.load(Ordering::Relaxed);
            let patience = if told {
                patience.min(self.patience)
            } else {
                patience
            };
            if !self.log.is_behind() || begun.elapsed() >= patience {
                break;
            }
            sleep(PAUSE);
        }
        let unwritten = self.log.take_unwritten();
        if !unwritten.is_empty() {
            // Two full disks are no reason to fail: the next start counts this one as lost.
            let _ = self.local.leave_events(&unwritten);
        }
        Ok(unwritten.is_empty())
    }

    fn wrong_log(&self, source: io::Error) -> ConductorError {
        ConductorError::Folder {
            what: "writing events",
            folder: self.run.path().to_owned(),
            source,
        }
    }
}

/// Writes what earlier starts of the run left on this node into the run folder.
///
/// # Errors
/// The run folder can't be written: it is tried again at the next start.
pub fn take_over(run: &RunFolder, local: &LocalFolder) -> io::Result<()> {
    for (attempt, left) in local.left_events() {
        let lines = fs::read(&left)?;
        // Closes a line that is not whole.
        drop(EventLog::open(&run.events(attempt))?);
        File::options()
            .append(true)
            .open(run.events(attempt))?
            .write_all(&lines)?;
        fs::remove_file(left)?;
    }
    Ok(())
}
