//! The fork server: a process with one thread, forked before the engine makes any, from which the
//! supervisors are forked. Forking a process with threads, or a large one, would be neither safe
//! nor quick.
//!
//! It is the supervisors' parent: it starts them ([`ForkServer::start`]) and tells of their ends
//! ([`ForkServerEvents::next`]). A supervisor whose step is over rests for a moment and takes the next
//! step that is asked for: most of what a short step costs is the making and unmaking of a process.
//!
//! What a supervisor leaves behind that is killed itself, the fork server inherits, and ends.
//!
//! It ends when the engine's end of its socket closes; supervisors live on as children of init.
//! Closing without [`ForkServer::shutdown`] means that the engine died: then the fork server starts
//! another before it ends.

mod child_pool;
mod live;
mod order;

use crate::SupervisorKey;
use crate::spec::{ExitFile, StepSpec};
use order::Order;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use sys::process::{self, Fork};

/// The engine's hand on the fork server.
#[derive(Debug)]
pub struct ForkServer {
    stream: Mutex<UnixStream>,
}

/// What the fork server tells, in the order in which it happened.
#[derive(Debug)]
pub struct ForkServerEvents {
    stream: Mutex<BufReader<UnixStream>>,
    pid: u32,
}

/// One thing that happened to a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForkServerEvent {
    /// It could not be forked.
    Failed {
        /// Which.
        key: SupervisorKey,
        /// What the system said.
        message: String,
        /// Whether it may be over in a while, as a disk that is full ([`sys::disk_errors`]).
        may_pass: bool,
    },
    /// It holds the step no longer.
    Ended {
        /// Which.
        key: SupervisorKey,
        /// What its record says. `None`: it is gone, and the record may say more.
        exit: Option<ExitFile>,
    },
}

/// Forks the fork server of the engine in folder `engine`. Must be called while the process has one
/// thread.
///
/// # Errors
/// The system refused a socket or a process.
pub fn fork(engine: &Path) -> io::Result<(ForkServer, ForkServerEvents)> {
    let (ours, theirs) = UnixStream::pair()?;
    match process::fork()? {
        Fork::Child => {
            drop(ours);
            crate::log::write_as(crate::log::Process::ForkServer);
            if let Err(error) = live::live(theirs, engine) {
                tracing::error!("{error}");
            }
            process::exit_now(0)
        }
        Fork::Parent(pid) => {
            let stream = Mutex::new(BufReader::new(ours.try_clone()?));
            let fork_server = ForkServer {
                stream: Mutex::new(ours),
            };
            Ok((fork_server, ForkServerEvents { stream, pid }))
        }
    }
}

impl ForkServer {
    /// Asks for a supervisor. Does not wait for it.
    ///
    /// # Errors
    /// The fork server is gone.
    pub fn start(&self, spec: &StepSpec) -> io::Result<()> {
        self.say(&Order::Start {
            key: spec.key(),
            spec: serde_json::to_vec(spec)?,
        })
    }

    /// Says that the engine ends on purpose: the fork server must not start another.
    pub fn shutdown(&self) {
        // A fork server that is gone won't start one either.
        let _ = self.say(&Order::Shutdown);
    }

    fn say(&self, order: &Order) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(&order.to_bytes())
    }
}

impl ForkServerEvents {
    /// Waits for the next event; `None` once the fork server is gone.
    ///
    /// # Errors
    /// Its socket can't be read.
    pub fn next(&self) -> io::Result<Option<ForkServerEvent>> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = Vec::new();
        if stream.read_until(b'\n', &mut line)? == 0 {
            // It ended: no zombie stays.
            let _ = process::wait(self.pid);
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }
}
