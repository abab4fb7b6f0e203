//! The supervisor's socket: one JSON line a call, one a answer. It is made when it is asked for
//! ([`crate::spec::LISTEN`]).

use crate::spec::{Because, JobStop, Reach, SupervisorAnswer, SupervisorCall};
use model::{NodeName, Timestamp};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::poll::{Interest, Poll};

/// Longest call that is read; more is no call of ours.
const LONGEST: usize = 64 * 1024;

/// Who listens, and who is connected.
pub(super) struct Control {
    path: PathBuf,
    /// Once it was requested.
    listener: Option<UnixListener>,
    callers: Vec<Caller>,
}

struct Caller {
    stream: UnixStream,
    text: Vec<u8>,
}

/// What a wake-up was about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// A new caller.
    Listener,
    /// A caller by place.
    Caller(usize),
}

/// What callers ask of the supervisor.
pub(super) trait Obey {
    /// Sends a signal.
    fn signal(&mut self, signal: i32, reach: Reach);
    /// Its job lost a node, which ends the step.
    fn note_loss(&mut self, node: Option<NodeName>);
    /// Notes whether the job loses its place to another, or what becomes of it otherwise.
    fn note_job(&mut self, preempted: bool, job: Option<JobStop>);
    /// Kills the step at once, and says so.
    fn kill(&mut self);
    /// Its job goes on without a node that it had.
    fn node_lost(&mut self, node: NodeName);
    /// Sets the deadline anew.
    fn set_deadline(&mut self, at: Option<Timestamp>, because: Because);
    /// Writes a line where the user sees it.
    fn say(&mut self, text: &str);
    /// Stops all processes, or lets them go on.
    fn suspend(&mut self, suspend: bool);
    /// Starts an engine and answers the caller in its own time.
    fn start_engine(&mut self, caller: &UnixStream, request: &api::StartRequest);
    /// How the tasks stand.
    fn status(&self) -> SupervisorAnswer;
}

impl Control {
    /// No client can connect yet.
    pub(super) fn new(path: PathBuf) -> Control {
        Control {
            path,
            listener: None,
            callers: Vec::new(),
        }
    }

    /// Where they do then.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// From now on callers can connect.
    pub(super) fn listen(&mut self) {
        if self.listener.is_some() {
            return;
        }
        let listener = sys::socket::listen(&self.path);
        match listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Ok(listener) => self.listener = Some(listener),
            // Who asked will ask again.
            Err(error) => tracing::warn!("{}: {error}", self.path.display()),
        }
    }

    /// Whether someone wants to connect.
    pub(super) fn is_called(&self) -> bool {
        let Some(listener) = &self.listener else {
            return false;
        };
        let mut poll = Poll::new();
        let place = poll.add(listener, Interest::Read);
        poll.wait(Some(Duration::ZERO)).is_ok() && poll.readable(place)
    }

    /// Adds listener and callers.
    pub(super) fn watch<'a>(&'a self, poll: &mut Poll<'a>, mut token: impl FnMut(Token)) {
        if let Some(listener) = &self.listener {
            poll.add(listener, Interest::Read);
            token(Token::Listener);
        }
        for (place, caller) in self.callers.iter().enumerate() {
            poll.add(&caller.stream, Interest::Read);
            token(Token::Caller(place));
        }
    }

    /// Answers those who are ready, in the places of the last [`Control::watch`].
    pub(super) fn answer(&mut self, ready: &[Token], supervisor: &mut dyn Obey) {
        for token in ready.iter().rev() {
            match token {
                Token::Caller(place) => {
                    if self.callers[*place].answer(supervisor) {
                        self.callers.remove(*place);
                    }
                }
                Token::Listener => self.accept(),
            }
        }
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else {
            return;
        };
        while let Ok((stream, _)) = listener.accept() {
            let ours = sys::process::user();
            // The owner and root: the folder's mode keeps others out already.
            let known = sys::socket::peer_uid(&stream).is_ok_and(|uid| uid == ours || uid == 0);
            if known && stream.set_nonblocking(true).is_ok() {
                self.callers.push(Caller {
                    stream,
                    text: Vec::new(),
                });
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if self.listener.is_some() {
            // Left behind it would only be a file that nobody answers at.
            let _left = std::fs::remove_file(&self.path);
        }
    }
}

impl Caller {
    /// Whether the caller is gone.
    fn answer(&mut self, supervisor: &mut dyn Obey) -> bool {
        let mut chunk = [0; 4096];
        let mut gone = false;
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => gone = true,
                Ok(length) => {
                    self.text.extend_from_slice(&chunk[..length]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => gone = true,
            }
            break;
        }
        while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.text.drain(..=end).collect();
            if let Ok(SupervisorCall::StartEngine(request)) = serde_json::from_slice(&line) {
                supervisor.start_engine(&self.stream, &request);
                return true;
            }
            let answer = obey(&line, supervisor);
            let mut line = serde_json::to_vec(&answer).unwrap_or_default();
            line.push(b'\n');
            // An answer is far smaller than a socket's buffer: one that does not fit belongs to a
            // caller who never reads.
            gone |= self.stream.write_all(&line).is_err();
        }
        gone || self.text.len() > LONGEST
    }
}

fn obey(line: &[u8], supervisor: &mut dyn Obey) -> SupervisorAnswer {
    match serde_json::from_slice(line) {
        Ok(SupervisorCall::Hello) => SupervisorAnswer::Hello {
            version: api::VERSION.to_owned(),
            pid: std::process::id(),
        },
        Ok(SupervisorCall::Status) => supervisor.status(),
        Ok(SupervisorCall::Signal { signal, reach }) => {
            supervisor.signal(signal, reach);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::Deadline {
            at,
            because,
            lost_node,
            preempted,
            job,
        }) => {
            supervisor.note_loss(lost_node);
            supervisor.note_job(preempted, job);
            supervisor.set_deadline(at, because);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::JobLimit { at }) => {
            supervisor.set_deadline(at, Because::Limit);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::Kill) => {
            supervisor.kill();
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::NodeLost { node }) => {
            supervisor.node_lost(node);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::Say { text }) => {
            supervisor.say(&text);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::Suspend) => {
            supervisor.suspend(true);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::Resume) => {
            supervisor.suspend(false);
            SupervisorAnswer::Done
        }
        Ok(SupervisorCall::StartEngine(_)) | Err(_) => SupervisorAnswer::Unknown,
    }
}
