//! Tasks' streams on their way to and from `srun`.
//!
//! Nothing here waits. When `srun` reads slowly, tasks' pipes are left alone until what was read
//! has gone, so that memory stays bounded and the tasks feel it as a full pipe.

mod input;

use self::input::Sink;
use super::labelled_lines::LabelledLines;
use super::launch::say;
use super::task_files::words;
use crate::spec::StepSpec;
use api::step_io::{
    FrameReader, FromSupervisor, StepFrame, StepHeader, TaskStream, ToSupervisor, encode_output,
};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use sys::poll::{Interest, Poll};
use sys::terminal::{self, Size};

/// Tasks' pipes are read while less than this waits for `srun`.
const ENOUGH: usize = 512 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// So often a source is read in one go, which is more than a full pipe holds: its writer may never end.
const MOST_READS: u32 = 16;
/// Longest wait for `srun` to take the last words.
const LONGEST_LAST_WRITE: Duration = Duration::from_secs(10);

/// The connection with `srun`, and our ends of the tasks' streams.
pub(super) struct Relay {
    stream: UnixStream,
    /// `srun` is gone: what comes from tasks is read and dropped.
    broken: bool,
    out: Vec<u8>,
    sent: usize,
    reader: FrameReader,
    sources: Vec<Source>,
    /// By rank, the end of what its task wrote to its stderr.
    error_ends: BTreeMap<u32, Vec<u8>>,
    sinks: Vec<Sink>,
    /// What is read at once. On the stack it would be cleared for each reading.
    chunk: Vec<u8>,
    /// The terminal of task 0, beside its place among sources and sinks.
    terminal: Option<std::fs::File>,
    /// Whether its program read letter by letter when it was last looked at.
    raw: bool,
    /// Whether the last input was no whole line.
    in_line: bool,
    /// Input that came and was not reported as taken.
    untaken: usize,
    ended: bool,
}

/// Our end of a stream that a task writes.
struct Source {
    file: std::fs::File,
    rank: u32,
    stream: TaskStream,
    /// The file that gets it, with labels; else it is for `srun`.
    labelled: Option<LabelledLines>,
}

/// What a look at a source gave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Bytes.
    Some,
    /// Nothing for now.
    None,
    /// Its end.
    End,
}

/// How much of the end of a task's output is looked at.
pub(super) const END_LENGTH: usize = 4096;

/// How often a step that waits for its start looks whether it is ended.
const START_LOOK: Duration = Duration::from_millis(200);
/// What a wake-up was about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token {
    /// The connection.
    Stream,
    /// A source by place.
    Source(usize),
    /// A sink by place.
    Sink(usize),
}

/// What `srun` wants of the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// A signal for all.
    Signal(i32),
    /// The end.
    End,
    /// The end at once.
    Kill,
    /// The tasks' start.
    Start,
    /// `srun` is gone.
    Gone,
}

impl Relay {
    /// Greets `srun`.
    pub(super) fn new(stream: UnixStream, spec: &StepSpec) -> io::Result<Relay> {
        stream.set_nonblocking(true)?;
        let mut relay = Relay {
            stream,
            broken: false,
            out: Vec::new(),
            sent: 0,
            reader: FrameReader::default(),
            sources: Vec::new(),
            error_ends: BTreeMap::new(),
            sinks: Vec::new(),
            chunk: vec![0; CHUNK],
            terminal: None,
            raw: false,
            in_line: false,
            untaken: 0,
            ended: false,
        };
        relay.send(&FromSupervisor::Header(StepHeader {
            node_index: spec.index_in_step(),
            node: spec.node.to_string(),
            step: spec.step,
            ranks: spec.tasks.iter().map(|task| task.rank).collect(),
            kill_wait_ms: Some(spec.kill_wait_ms),
        }));
        Ok(relay)
    }

    /// Waits until `srun` lets the tasks start; false where it ended the step, is gone, or `stop` says
    /// that someone else did.
    pub(super) fn wait_for_start(&mut self, stop: &dyn Fn() -> bool) -> bool {
        loop {
            let mut poll = Poll::new();
            self.watch(&mut poll, |_stream| {});
            let _looked_at_anyway = poll.wait(Some(START_LOOK));
            drop(poll);
            for wish in self.go_on(&[(Token::Stream, true, true)]) {
                match wish {
                    Wish::Start => return true,
                    Wish::End | Wish::Kill | Wish::Gone => return false,
                    // There is no process yet that could get it.
                    Wish::Signal(_) => {}
                }
            }
            if stop() {
                return false;
            }
        }
    }

    /// A pipe for a stream that task `rank` writes; returns the task's end.
    pub(super) fn output(&mut self, rank: u32, stream: TaskStream) -> io::Result<OwnedFd> {
        self.source(rank, stream, None)
    }

    /// The same for one that goes to a file, its lines behind labels.
    pub(super) fn labelled(
        &mut self,
        rank: u32,
        stream: TaskStream,
        lines: LabelledLines,
    ) -> io::Result<OwnedFd> {
        self.source(rank, stream, Some(lines))
    }

    fn source(
        &mut self,
        rank: u32,
        stream: TaskStream,
        labelled: Option<LabelledLines>,
    ) -> io::Result<OwnedFd> {
        let (ours, theirs) = io::pipe()?;
        sys::set_nonblocking(&ours)?;
        self.sources.push(Source {
            file: OwnedFd::from(ours).into(),
            rank,
            stream,
            labelled,
        });
        Ok(theirs.into())
    }

    /// A pipe for a stream that a task reads; returns the task's end.
    pub(super) fn input(&mut self) -> io::Result<OwnedFd> {
        let (theirs, ours) = io::pipe()?;
        sys::set_nonblocking(&ours)?;
        self.sinks.push(Sink {
            file: OwnedFd::from(ours).into(),
            waiting: VecDeque::new(),
            is_terminal: false,
        });
        Ok(theirs.into())
    }

    /// A terminal for task `rank`; returns the task's side.
    pub(super) fn terminal(&mut self, rank: u32) -> io::Result<OwnedFd> {
        let pair = terminal::open()?;
        sys::set_nonblocking(&pair.ours)?;
        let ours = std::fs::File::from(pair.ours);
        self.sources.push(Source {
            file: ours.try_clone()?,
            rank,
            stream: TaskStream::Out,
            labelled: None,
        });
        self.sinks.push(Sink {
            file: ours.try_clone()?,
            waiting: VecDeque::new(),
            is_terminal: true,
        });
        self.terminal = Some(ours);
        Ok(pair.theirs)
    }

    /// Puts a frame behind what waits.
    pub(super) fn send(&mut self, frame: &FromSupervisor) {
        if !self.broken {
            frame.encode(&mut self.out);
        }
    }

    /// Adds all that can be gone on with.
    pub(super) fn watch<'a>(&'a self, poll: &mut Poll<'a>, mut token: impl FnMut(Token)) {
        if !self.broken {
            let interest = if self.sent < self.out.len() {
                Interest::Both
            } else {
                Interest::Read
            };
            poll.add(&self.stream, interest);
            token(Token::Stream);
        }
        if self.waiting() < ENOUGH {
            for (place, source) in self.sources.iter().enumerate() {
                poll.add(&source.file, Interest::Read);
                token(Token::Source(place));
            }
        }
        for (place, sink) in self.sinks.iter().enumerate() {
            if !sink.waiting.is_empty() {
                poll.add(&sink.file, Interest::Write);
                token(Token::Sink(place));
            }
        }
    }

    /// Goes on with what is ready; places of the tokens are those of the last [`Relay::watch`].
    pub(super) fn go_on(&mut self, ready: &[(Token, bool, bool)]) -> Vec<Wish> {
        let mut wishes = Vec::new();
        // From the last place to the first, so that taking one away moves none that is to come.
        for (token, readable, writable) in ready.iter().rev() {
            match token {
                Token::Source(place) if *readable && self.read_source(*place) == Look::End => {
                    self.sources.remove(*place);
                }
                Token::Sink(place) if *writable && self.sinks[*place].write() => {
                    self.sinks.remove(*place);
                }
                Token::Stream if *readable => self.read_stream(&mut wishes),
                _ => {}
            }
        }
        self.take_frames(&mut wishes);
        self.report_taken();
        self.flush();
        wishes
    }

    /// Reads what the tasks left in their pipes, as far as there is room; whether all of it is
    /// read and sent, or no reader is left. For when no task lives any more.
    pub(super) fn drained(&mut self) -> bool {
        let (mut place, mut reads) = (0, 0);
        let mut all_read = true;
        while place < self.sources.len() {
            if self.waiting() >= ENOUGH {
                all_read = false;
                break;
            }
            match self.read_source(place) {
                Look::End => {
                    self.sources.remove(place);
                    reads = 0;
                }
                Look::Some if reads < MOST_READS => reads += 1,
                // Empty, and held open by a process that is not of this step, or it writes without an end.
                Look::Some | Look::None => {
                    self.end_lines(place);
                    (place, reads) = (place + 1, 0);
                }
            }
        }
        self.flush();
        all_read && self.waiting() == 0
    }

    /// The end of what a task wrote to its stderr, of which more may wait to be read.
    pub(super) fn end_of_errors(&mut self, rank: u32) -> Vec<u8> {
        let is_meant = |source: &Source| source.rank == rank && source.stream == TaskStream::Err;
        if let Some(place) = self.sources.iter().position(is_meant) {
            for _ in 0..MOST_READS {
                if self.waiting() >= ENOUGH || self.read_source(place) != Look::Some {
                    break;
                }
            }
        }
        self.error_ends.remove(&rank).unwrap_or_default()
    }

    /// Says the last words, and waits until they are on their way.
    pub(super) fn finish(mut self, launch_error: Option<String>) {
        if let Some(message) = launch_error {
            self.send(&FromSupervisor::Failed(message));
        }
        self.send(&FromSupervisor::Done);
        // An `srun` that is stopped must not keep the supervisor for ever.
        let patient = self.stream.set_nonblocking(false).is_ok()
            && self
                .stream
                .set_write_timeout(Some(LONGEST_LAST_WRITE))
                .is_ok();
        if patient {
            let _ = self.stream.write_all(&self.out[self.sent..]);
        }
    }

    fn waiting(&self) -> usize {
        self.out.len() - self.sent
    }

    fn read_source(&mut self, place: usize) -> Look {
        let source = &mut self.sources[place];
        let chunk = &mut self.chunk;
        let read = source.file.read(chunk);
        let length = match read {
            Ok(length) if length > 0 => length,
            Err(error) if is_temporary(&error) => return Look::None,
            Ok(_) | Err(_) => {
                self.end_lines(place);
                return Look::End;
            }
        };
        let bytes = &chunk[..length];
        let mut lost = None;
        match &mut source.labelled {
            Some(lines) => lost = lines.write(bytes).err(),
            None if self.broken => return Look::Some,
            None => encode_output(&mut self.out, source.rank, source.stream, bytes),
        }
        if source.stream == TaskStream::Err {
            let end = self.error_ends.entry(source.rank).or_default();
            end.extend_from_slice(bytes);
            end.drain(..end.len().saturating_sub(END_LENGTH));
        }
        let rank = source.rank;
        if let Some(error) = lost {
            self.say_lost(rank, &error);
        }
        Look::Some
    }

    /// Nothing more comes from a source.
    fn end_lines(&mut self, place: usize) {
        let source = &mut self.sources[place];
        let (rank, lines) = (source.rank, source.labelled.as_mut());
        if let Some(Err(error)) = lines.map(LabelledLines::end) {
            self.say_lost(rank, &error);
        }
    }

    /// Lines with labels could not be written to their file.
    fn say_lost(&mut self, rank: u32, error: &io::Error) {
        let text = format!(
            "task {rank}: lines of its output are lost: {}",
            words(error)
        );
        tracing::warn!("{text}");
        say(&text, Some(self), None);
    }

    fn read_stream(&mut self, wishes: &mut Vec<Wish>) {
        loop {
            match self.stream.read(&mut self.chunk) {
                Ok(0) => return self.gone(wishes),
                Ok(length) => self.reader.push(&self.chunk[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if is_temporary(&error) => {}
                Err(_) => return self.gone(wishes),
            }
        }
    }

    /// Does what the frames that came say. Those after the start of the tasks wait until they are started: there is no
    /// stdin before that could take what they bring.
    fn take_frames(&mut self, wishes: &mut Vec<Wish>) {
        while !self.broken {
            match self.reader.take::<ToSupervisor>() {
                Ok(Some(ToSupervisor::Start)) => return wishes.push(Wish::Start),
                Ok(Some(frame)) => self.obey(frame, wishes),
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!("{error}");
                    return self.gone(wishes);
                }
            }
        }
    }

    fn gone(&mut self, wishes: &mut Vec<Wish>) {
        self.broken = true;
        self.out.clear();
        self.sent = 0;
        self.end_input();
        wishes.push(Wish::Gone);
    }

    fn obey(&mut self, frame: ToSupervisor, wishes: &mut Vec<Wish>) {
        match frame {
            ToSupervisor::Input(bytes) => {
                self.untaken += bytes.len();
                self.in_line = bytes.last().is_some_and(|last| *last != b'\n');
                for sink in &mut self.sinks {
                    sink.waiting.extend(&bytes);
                }
            }
            ToSupervisor::InputEnd => self.end_input(),
            ToSupervisor::Size { rows, columns } => {
                if let Some(terminal) = &self.terminal {
                    let _ = terminal::set_size(terminal, Size { rows, columns });
                }
            }
            ToSupervisor::Signal(signal) => wishes.push(Wish::Signal(signal)),
            ToSupervisor::End => wishes.push(Wish::End),
            // It is where the frames are taken.
            ToSupervisor::Start => {}
            ToSupervisor::Kill => wishes.push(Wish::Kill),
        }
    }

    fn flush(&mut self) {
        while self.sent < self.out.len() && !self.broken {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if is_temporary(&error) => {}
                // The reader will see the end of the stream, and tell.
                Err(_) => {
                    self.out.clear();
                    self.sent = 0;
                }
            }
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        } else if self.sent >= ENOUGH {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock)
}
