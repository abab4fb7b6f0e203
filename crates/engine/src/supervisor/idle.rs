//! Between two steps: the end of one goes to the fork server, and the next may come.

use super::Supervisor;
use crate::spec::ExitFile;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use sys::poll::{Interest, Poll};
use sys::process::{self, Reaped};

const SIGTERM: i32 = 15;
/// Longest wait for a supervisor that reads its next step.
const LONGEST_HANDOVER: Duration = Duration::from_secs(1);

/// Hands the next step to a supervisor that rests: its length, and the spec. The stream waits for nothing.
///
/// # Errors
/// The supervisor is gone, or does not read.
pub(crate) fn hand_over(supervisor: &mut UnixStream, spec: &[u8]) -> io::Result<()> {
    let length = u64::try_from(spec.len()).map_err(io::Error::other)?;
    let bytes = [&length.to_le_bytes(), spec].concat();
    let written = match supervisor.write(&bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        written => written?,
    };
    if written == bytes.len() {
        return Ok(());
    }
    // A spec may be larger than what the socket holds; the supervisor does nothing but read it.
    supervisor.set_nonblocking(false)?;
    supervisor.set_write_timeout(Some(LONGEST_HANDOVER))?;
    let written = supervisor.write_all(&bytes[written..]);
    supervisor.set_nonblocking(true)?;
    written
}

impl Supervisor {
    /// Tells the fork server how the step ended, and waits for the next; `None`: it is time to go.
    pub(super) fn idle(&self, fork_server: &mut UnixStream, exit: &ExitFile) -> Option<Vec<u8>> {
        // An engine that the step started stays below this process: the next step must not find
        // it among its own.
        if process::reap() != Reaped::NoChildren {
            return None;
        }
        let sent = serde_json::to_vec(exit).map_err(io::Error::from);
        let sent = sent.and_then(|mut line| {
            line.push(b'\n');
            fork_server.write_all(&line)
        });
        // Gone without this word it is reaped, and the record read.
        sent.ok()?;
        process::set_name("yard:rest");
        // Out of the last step's working directory: a file system must not be busy for this.
        let _ = std::env::set_current_dir("/");
        self.next_spec(fork_server)
            .inspect_err(|error| tracing::warn!("no next step: {error}"))
            .ok()?
    }

    fn next_spec(&self, fork_server: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut poll = Poll::new();
            let spec = poll.add(fork_server, Interest::Read);
            poll.add(&self.signals, Interest::Read);
            poll.wait(None)?;
            let there = poll.readable(spec);
            drop(poll);
            while let Some(signal) = self.signals.next() {
                // Of the last step's children, or asking for a socket that is closed.
                if signal == SIGTERM {
                    return Ok(None);
                }
            }
            if there {
                break;
            }
        }
        let mut length = [0; 8];
        match fork_server.read_exact(&mut length) {
            Ok(()) => {}
            // Dismissed.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
        let mut spec = vec![0; length];
        fork_server.read_exact(&mut spec)?;
        Ok(Some(spec))
    }
}
