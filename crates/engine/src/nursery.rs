//! The nursery: a process with one thread, forked before the engine makes any, from which the
//! supervisors are forked. Forking a process with threads, or a large one, would be neither safe
//! nor quick.
//!
//! It is the supervisors' parent: it starts them ([`Nursery::start`]), reaps them, and tells of
//! both ([`NurseryEvents::next`]). It ends when the engine's end of its socket closes; supervisors
//! live on as children of init. Closing without [`Nursery::farewell`] means that the engine died:
//! then the nursery starts another before it ends.

use crate::supervisor;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use sys::poll::{Interest, Poll};
use sys::process::{self, Fork, Reaped};
use sys::signals::SignalFd;

const SIGCHLD: i32 = 17;

/// The engine's hand on the nursery.
#[derive(Debug)]
pub struct Nursery {
    stream: Mutex<UnixStream>,
}

/// What the nursery tells, in the order in which it happened.
#[derive(Debug)]
pub struct NurseryEvents {
    stream: Mutex<BufReader<UnixStream>>,
    pid: u32,
}

/// One thing that happened to a supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// What the engine says: one JSON line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Start { folder: PathBuf },
    Farewell,
}

/// Forks the nursery of the engine in folder `engine`. Must be called while the process has one
/// thread.
///
/// # Errors
/// The system refused a socket or a process.
pub fn fork(engine: &Path) -> io::Result<(Nursery, NurseryEvents)> {
    let (ours, theirs) = UnixStream::pair()?;
    match process::fork()? {
        Fork::Child => {
            drop(ours);
            if let Err(error) = live(theirs, engine) {
                let _ = writeln!(io::stderr(), "nursery: {error}");
            }
            process::exit_now(0)
        }
        Fork::Parent(pid) => {
            let stream = Mutex::new(BufReader::new(ours.try_clone()?));
            let nursery = Nursery {
                stream: Mutex::new(ours),
            };
            Ok((nursery, NurseryEvents { stream, pid }))
        }
    }
}

impl Nursery {
    /// Asks for a supervisor of `folder`, which holds a `spec`. Does not wait for it.
    ///
    /// # Errors
    /// The nursery is gone.
    pub fn start(&self, folder: &Path) -> io::Result<()> {
        self.say(&Order::Start {
            folder: folder.to_owned(),
        })
    }

    /// Says that the engine ends on purpose: the nursery must not start another.
    pub fn farewell(&self) {
        // A nursery that is gone won't start one either.
        let _ = self.say(&Order::Farewell);
    }

    fn say(&self, order: &Order) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&mut stream, order)
    }
}

impl NurseryEvents {
    /// Waits for the next event; `None` once the nursery is gone.
    ///
    /// # Errors
    /// Its socket can't be read.
    pub fn next(&self) -> io::Result<Option<NurseryEvent>> {
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

/// The nursery's whole life.
fn live(mut engine: UnixStream, folder: &Path) -> io::Result<()> {
    process::close_all_but(&[engine.as_fd()]);
    process::leave_stdio()?;
    // Out of the terminal's reach: Ctrl-C is not meant for jobs.
    process::new_session()?;
    process::set_name("yard:nursery");
    let program = std::env::current_exe()?;
    // It ends with its engine, not before: whoever ends both at once means the engine.
    let signals = SignalFd::block(&[SIGCHLD, 1, 2, 15])?;
    engine.set_nonblocking(true)?;
    let mut supervisors: HashMap<u32, PathBuf> = HashMap::new();
    let mut text = Vec::new();
    let mut served = false;
    loop {
        let mut poll = Poll::new();
        poll.add(&engine, Interest::Read);
        poll.add(&signals, Interest::Read);
        poll.wait(None)?;
        drop(poll);

        // First the orders: a supervisor that is asked for must not wait for the dead.
        let open = read_all(&mut engine, &mut text)?;
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            match serde_json::from_slice(&line)? {
                Order::Start { folder } => {
                    served = true;
                    let event = match start(&folder) {
                        Ok(pid) => {
                            supervisors.insert(pid, folder.clone());
                            NurseryEvent::Started { folder, pid }
                        }
                        Err(error) => NurseryEvent::Failed {
                            folder,
                            message: error.to_string(),
                        },
                    };
                    tell(&mut engine, &event);
                }
                Order::Farewell => return Ok(()),
            }
        }
        while signals.next().is_some() {}
        while let Reaped::Child(pid, _) = process::reap() {
            if let Some(folder) = supervisors.remove(&pid) {
                tell(&mut engine, &NurseryEvent::Ended { folder });
            }
        }
        if !open {
            // An engine that never came so far as to start anything would die again.
            return if served {
                start_engine(folder, &program)
            } else {
                Ok(())
            };
        }
    }
}

/// Forks a supervisor; in the child this never returns.
fn start(folder: &Path) -> io::Result<u32> {
    match process::fork()? {
        Fork::Parent(pid) => Ok(pid),
        Fork::Child => {
            // Everything above the standard streams is the nursery's.
            process::close_all_but(&[]);
            sys::signals::unblock_all();
            // Out of the nursery's session, so that none of its signals come here.
            let _ = process::new_session();
            let result = std::panic::catch_unwind(|| supervisor::main(folder));
            process::exit_now(u8::from(result.is_err()))
        }
    }
}

/// Reads what is there; whether the engine's end is open.
fn read_all(engine: &mut UnixStream, text: &mut Vec<u8>) -> io::Result<bool> {
    let mut chunk = [0; 16 * 1024];
    loop {
        match engine.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(length) => text.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Tells the engine, waiting for it where its socket is full. That it is gone shows at the next
/// read.
fn tell(engine: &mut UnixStream, event: &NurseryEvent) {
    let _ = engine.set_nonblocking(false);
    let _ = write_line(engine, event);
    let _ = engine.set_nonblocking(true);
}

fn write_line(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Starts the engine that takes over from one that died.
fn start_engine(folder: &Path, program: &Path) -> io::Result<()> {
    api::Client::connect_with(folder, program)
        .map(drop)
        .map_err(io::Error::other)
}
