//! The supervisors that a fork server has: those that hold a step, and those that rest.

use crate::SupervisorKey;
use crate::supervisor;
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::poll::{Interest, Poll};
use sys::process::{self, Fork};
use sys::signals::SIGKILL;

/// How long a supervisor without a step stays. Long enough to go on with the next element of an
/// array, short enough that an idle engine is small.
const REST: Duration = Duration::from_secs(1);

/// The supervisors by process number.
pub(super) struct ChildPool {
    children: HashMap<u32, Child>,
    boot_id: String,
    engine: PathBuf,
}

struct Child {
    /// Its end is read with a step's end in it, and written with the next step.
    stream: UnixStream,
    text: Vec<u8>,
    state: ChildState,
}

#[derive(Clone, Copy)]
enum ChildState {
    Holds(SupervisorKey),
    Rests(Instant),
}

impl ChildPool {
    pub(super) fn new(engine: &Path) -> ChildPool {
        ChildPool {
            children: HashMap::new(),
            boot_id: sys::boot_id(),
            engine: engine.to_owned(),
        }
    }

    /// Has a step held: by the supervisor that rests for the shortest time, or by a new one.
    ///
    /// # Errors
    /// The system refused a process.
    pub(super) fn start(
        &mut self,
        key: SupervisorKey,
        spec: &[u8],
        is_stopped: impl Fn(u32) -> bool,
    ) -> io::Result<()> {
        while let Some(pid) = self.freshest() {
            // One that is stopped would hold the step up until it goes on: it leaves then, for its
            // connection is closed.
            let stopped = is_stopped(pid);
            if let Some(child) = self.children.get_mut(&pid).filter(|_| !stopped) {
                if supervisor::hand_over(&mut child.stream, spec).is_ok() {
                    child.state = ChildState::Holds(key);
                    return Ok(());
                }
                // Killed while it rested, or unable to read: what it read in part must not begin.
                let _gone = process::signal(pid, SIGKILL);
            }
            self.children.remove(&pid);
        }
        let (ours, theirs) = UnixStream::pair()?;
        match process::fork()? {
            Fork::Parent(pid) => {
                ours.set_nonblocking(true)?;
                let child = Child {
                    stream: ours,
                    text: Vec::new(),
                    state: ChildState::Holds(key),
                };
                self.children.insert(pid, child);
                Ok(())
            }
            Fork::Child => {
                // Everything else above the standard streams is the fork server's.
                process::close_all_but(&[theirs.as_fd()]);
                sys::signals::unblock_all();
                // Out of the fork server's session, so that none of its signals come here.
                let _ = process::new_session();
                crate::log::write_as(crate::log::Process::Supervisor);
                let (boot_id, engine) = (self.boot_id.clone(), self.engine.clone());
                let lived = std::panic::catch_unwind(move || {
                    supervisor::live(theirs, spec, boot_id, &engine)
                });
                process::exit_now(u8::from(!lived.unwrap_or(false)))
            }
        }
    }

    fn freshest(&self) -> Option<u32> {
        let resting = self
            .children
            .iter()
            .filter_map(|(pid, child)| match child.state {
                ChildState::Rests(since) => Some((since, *pid)),
                ChildState::Holds(_) => None,
            });
        resting.max().map(|(_since, pid)| pid)
    }

    /// Adds all that hold a step, and tells their numbers in the same order.
    pub(super) fn watch<'a>(&'a self, poll: &mut Poll<'a>) -> Vec<u32> {
        let busy = self
            .children
            .iter()
            .filter(|(_, child)| matches!(child.state, ChildState::Holds(_)));
        busy.map(|(pid, child)| {
            poll.add(&child.stream, Interest::Read);
            *pid
        })
        .collect()
    }

    /// Reads what a supervisor has to say: that its step ended, and how, in its own words.
    pub(super) fn hear(&mut self, pid: u32) -> Option<(SupervisorKey, Vec<u8>)> {
        let child = self.children.get_mut(&pid)?;
        let ChildState::Holds(key) = child.state else {
            return None;
        };
        let mut chunk = [0; 4096];
        while child.text.last() != Some(&b'\n') {
            match child.stream.read(&mut chunk) {
                // It is about to be reaped.
                Ok(0) => return None,
                Ok(length) => child.text.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        let text = std::mem::take(&mut child.text);
        child.state = ChildState::Rests(Instant::now());
        Some((key, text))
    }

    /// A child of this process ended: which step it held, if any.
    pub(super) fn reaped(&mut self, pid: u32) -> Option<SupervisorKey> {
        match self.children.remove(&pid)?.state {
            ChildState::Holds(key) => Some(key),
            ChildState::Rests(_) => None,
        }
    }

    /// Dismisses those that have rested long enough; returns when to look again.
    pub(super) fn dismiss(&mut self, now: Instant) -> Option<Duration> {
        let mut next: Option<Duration> = None;
        for child in self.children.values() {
            if let ChildState::Rests(since) = child.state {
                let left = REST.saturating_sub(now.duration_since(since));
                if left.is_zero() {
                    // The end of the connection is the word to leave. It stays here until it is
                    // reaped, as nobody's.
                    let _gone = child.stream.shutdown(std::net::Shutdown::Both);
                } else {
                    next = Some(next.map_or(left, |next| next.min(left)));
                }
            }
        }
        self.children.retain(|_, child| match child.state {
            ChildState::Rests(since) => now.duration_since(since) < REST,
            ChildState::Holds(_) => true,
        });
        next
    }

    /// Whether a process is one of them.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.children.contains_key(&pid)
    }
}
