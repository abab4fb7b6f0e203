//! The threads that serve connections.
//!
//! Each waits for a connection, serves it to its end and waits for the next. The last one that waits
//! makes another before it serves, so that a slow client holds no other up; one that is not needed any
//! more ends. A thread a connection would cost an engine a third of what a submission takes.

use crate::connection::Connections;
use crate::open_connections::OpenConnections;
use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Enough for reading a job's JSON; most of it is never touched.
const STACK: usize = 256 << 10;
/// Most threads that wait for a connection.
const SPARE: usize = 8;
/// Until others may have left, where no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// What the threads share. Those that serve are bounded by the connections that may be open; those that wait
/// come on top.
#[derive(Debug)]
struct ConnectionThreads {
    listener: UnixListener,
    connections: Connections,
    open: Arc<OpenConnections>,
    /// The number of the next connection.
    next: AtomicU64,
    /// How many threads wait for a connection, or for room for the one that they have.
    waiting: AtomicUsize,
}

/// Accepts connections and serves them, until the process ends.
///
/// # Errors
/// The first thread could not be made.
pub(crate) fn start(listener: UnixListener, connections: Connections) -> io::Result<()> {
    let open = OpenConnections::of_process(sys::process::descriptor_limit());
    let threads = Arc::new(ConnectionThreads {
        listener,
        connections,
        open: Arc::new(open),
        next: AtomicU64::new(0),
        waiting: AtomicUsize::new(0),
    });
    threads.another()
}

impl ConnectionThreads {
    /// One more that waits.
    fn another(self: &Arc<Self>) -> io::Result<()> {
        let threads = Arc::clone(self);
        // Counted by its maker: it may come to wait only after others have looked.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let made = thread::Builder::new()
            .name("connection".to_owned())
            .stack_size(STACK)
            .spawn(move || threads.live());
        if made.is_err() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        made.map(drop)
    }

    fn live(self: &Arc<Self>) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _address)) => Arc::new(stream),
                Err(error) => {
                    // Out of descriptors, say: others end meanwhile.
                    tracing::warn!("a connection was not accepted: {error}");
                    thread::sleep(PAUSE);
                    continue;
                }
            };
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let admitted = self.open.admit(number, &stream);
            if self.waiting.fetch_sub(1, Ordering::Relaxed) == 1
                && let Err(error) = self.another()
            {
                // Then this one goes on waiting, for all others.
                tracing::warn!("a connection got no thread: {error}");
                self.waiting.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            self.connections.serve(number, stream, admitted);
            if !self.waits_again() {
                return;
            }
        }
    }

    /// Whether a thread that has served is needed as one that waits; then it is counted.
    fn waits_again(&self) -> bool {
        let more = |waiting| (waiting < SPARE).then_some(waiting + 1);
        let counted = self
            .waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.is_ok()
    }
}
