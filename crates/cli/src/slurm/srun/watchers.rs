//! Those who watch a step beside its `srun`: `sattach`.

use api::step_io::{FromSupervisor, StepFrame, StepHeader};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Frames on their way to one who watches; who reads slower is left behind, so that no task waits for
/// it.
const QUEUE: usize = 256;

/// Longest that one who watches is waited for.
const LONGEST_WRITE: Duration = Duration::from_secs(1);

/// All who watch, and what a new one has to know.
#[derive(Debug, Default)]
pub struct Watchers {
    headers: Vec<StepHeader>,
    queues: Vec<SyncSender<Vec<u8>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Watchers {
    /// A node's supervisor called.
    pub fn header(&mut self, header: &StepHeader) {
        self.send(&encoded(&FromSupervisor::Header(header.clone())));
        self.headers.push(header.clone());
    }

    /// One more watches.
    pub fn join(&mut self, mut stream: UnixStream) {
        let (queue, frames) = sync_channel::<Vec<u8>>(QUEUE);
        let _blocks = stream.set_write_timeout(Some(LONGEST_WRITE));
        let thread = thread::spawn(move || {
            while let Ok(frame) = frames.recv() {
                if stream.write_all(&frame).is_err() {
                    break;
                }
            }
            let _gone = stream.shutdown(std::net::Shutdown::Both);
        });
        for header in &self.headers {
            let _ = queue.try_send(encoded(&FromSupervisor::Header(header.clone())));
        }
        self.queues.push(queue);
        self.threads.push(thread);
    }

    /// Passes on what tasks write and how they end.
    pub fn pass_on(&mut self, frame: &FromSupervisor) {
        let is_shared = matches!(
            frame,
            FromSupervisor::Output { .. } | FromSupervisor::Exit { .. }
        );
        if is_shared && !self.queues.is_empty() {
            self.send(&encoded(frame));
        }
    }

    /// Lets all have what is on its way.
    pub fn finish(self) {
        drop(self.queues);
        for thread in self.threads {
            let _ended = thread.join();
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.queues
            .retain(|queue| queue.try_send(bytes.to_vec()).is_ok());
    }
}

fn encoded(frame: &FromSupervisor) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes
}
