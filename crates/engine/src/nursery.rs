//! The nursery: a process with one thread, forked before the engine makes any, from which the
//! supervisors are forked. Forking a process with threads, or a large one, would be neither safe
//! nor quick.
//!
//! It is the supervisors' parent: it starts them ([`Nursery::start`]), reaps them, and tells of
//! both ([`NurseryEvents::next`]). It ends when the engine's end of its socket closes; supervisors
//! live on as children of init. Closing without [`Nursery::farewell`] means that the engine died:
//! then the nursery starts another before it ends.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, mpsc};

/// The engine's hand on the nursery.
#[derive(Debug)]
pub struct Nursery {
    events: mpsc::Sender<NurseryEvent>,
}

/// What the nursery tells, in the order in which it happened.
#[derive(Debug)]
pub struct NurseryEvents {
    events: Mutex<mpsc::Receiver<NurseryEvent>>,
}

/// One thing that happened to a supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NurseryEvent {
    /// It was forked.
    Started {
        /// Its folder, as given to [`Nursery::start`].
        folder: PathBuf,
        /// Its process.
        pid: u32,
    },
    /// It could not be forked.
    Failed {
        /// Its folder.
        folder: PathBuf,
        /// What the system said.
        message: String,
    },
    /// It is gone, with or without an `exit` file.
    Ended {
        /// Its folder.
        folder: PathBuf,
    },
}

/// Forks the nursery. Must be called while the process has one thread.
///
/// # Errors
/// The system refused a socket or a process.
pub fn fork(_engine: &Path) -> io::Result<(Nursery, NurseryEvents)> {
    let (sender, receiver) = mpsc::channel();
    Ok((
        Nursery { events: sender },
        NurseryEvents {
            events: Mutex::new(receiver),
        },
    ))
}

impl Nursery {
    /// Asks for a supervisor of `folder`, which holds a `spec`. Does not wait for it.
    ///
    /// # Errors
    /// The nursery is gone.
    pub fn start(&self, folder: &Path) -> io::Result<()> {
        let message = "no supervisor in this build".to_owned();
        let folder = folder.to_owned();
        self.events
            .send(NurseryEvent::Failed { folder, message })
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Says that the engine ends on purpose: the nursery must not start another.
    pub fn farewell(&self) {}
}

impl NurseryEvents {
    /// Waits for the next event; `None` once the nursery is gone.
    ///
    /// # Errors
    /// Its socket can't be read.
    pub fn next(&self) -> io::Result<Option<NurseryEvent>> {
        let events = self
            .events
            .lock()
            .map_err(|_| io::Error::from(io::ErrorKind::Other))?;
        Ok(events.recv().ok())
    }
}
