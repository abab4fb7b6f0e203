//! What happens to a step that runs, as its `srun` sees it: on one thread, since a short step would not
//! make up for the making of others.

use super::input::Input;
use super::listening::Listening;
use api::step_io::{FrameReader, FromSupervisor, StepHeader, ToSupervisor};
use model::{JobId, StepId};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};
use sys::poll::{Interest, Poll};
use sys::signals::SignalFd;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A supervisor called.
    Joined(StepHeader, UnixStream),
    /// The supervisor of this node said something.
    Frame(u32, FromSupervisor),
    /// The supervisor of this node hung up.
    Left(u32),
    /// `srun` got a signal.
    Signal(i32),
    /// There is input.
    Input(Vec<u8>),
    /// There is no more input.
    InputEnd,
    /// An `sattach` called.
    Watched(UnixStream),
}

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Until another look where the system can't wait.
const PAUSE: Duration = Duration::from_millis(100);

/// All that events come from, and those that were not taken.
pub struct Events {
    listening: Listening,
    signals: SignalFd,
    watchers_call: Option<UnixListener>,
    supervisors: Vec<Supervisor>,
    watchers: Vec<Watcher>,
    input: Option<Input>,
    ready: VecDeque<Event>,
    chunk: Vec<u8>,
}

/// What can be read.
#[derive(Clone, Copy)]
enum Source {
    Signals,
    Callers,
    WatchersCall,
    Supervisor(usize),
    Watcher(usize),
    Input,
}

impl Events {
    /// Of a step whose supervisors call where `srun` listens. Its own stdin is read where there is an `input`.
    pub fn new(listening: Listening, signals: SignalFd, input: Option<Input>) -> Events {
        Events {
            listening,
            signals,
            watchers_call: None,
            supervisors: Vec::new(),
            watchers: Vec::new(),
            input,
            ready: VecDeque::new(),
            chunk: vec![0; CHUNK],
        }
    }

    /// Has `sattach` find this `srun` by its step; best effort.
    pub fn serve_watchers(&mut self, job: JobId, step: StepId) {
        self.watchers_call = self.listening.for_watchers(job, step);
    }

    /// The next event; `None` where there is none for so long.
    pub fn next_within(&mut self, wait: Duration) -> Option<Event> {
        let begun = Instant::now();
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let left = wait.saturating_sub(begun.elapsed());
            self.look(left);
            if self.ready.is_empty() && left.is_zero() {
                return None;
            }
        }
    }

    /// Reads one more portion of the input, which is an event then. Whether there is an input.
    pub fn read_input(&mut self) -> bool {
        let more = self.input.as_mut().map(Input::more);
        more.is_some()
    }

    /// Waits until something can be read, and reads it.
    fn look(&mut self, wait: Duration) {
        if let Some(portion) = self.input.as_mut().and_then(Input::read_at_once) {
            return self.note_input(portion);
        }
        let mut sources = vec![Source::Signals, Source::Callers];
        let mut poll = Poll::new();
        poll.add(&self.signals, Interest::Read);
        poll.add(self.listening.listener(), Interest::Read);
        if let Some(listener) = &self.watchers_call {
            poll.add(listener, Interest::Read);
            sources.push(Source::WatchersCall);
        }
        for (place, supervisor) in self.supervisors.iter().enumerate() {
            poll.add(&supervisor.stream, Interest::Read);
            sources.push(Source::Supervisor(place));
        }
        for (place, watcher) in self.watchers.iter().enumerate() {
            poll.add(&watcher.stream, Interest::Read);
            sources.push(Source::Watcher(place));
        }
        if let Some(stream) = self.input.as_ref().and_then(Input::stream) {
            poll.add(stream, Interest::Read);
            sources.push(Source::Input);
        }
        if poll.wait(Some(wait)).is_err() {
            return std::thread::sleep(wait.min(PAUSE));
        }
        let numbered = sources.into_iter().enumerate();
        let readable = numbered.filter(|(place, _)| poll.readable(*place));
        let readable: Vec<Source> = readable.map(|(_, source)| source).collect();
        drop(poll);
        // From the last place to the first, so that taking one away moves none that is to come.
        for source in readable.into_iter().rev() {
            self.read(source);
        }
    }

    fn read(&mut self, source: Source) {
        match source {
            Source::Signals => {
                let signals = std::iter::from_fn(|| self.signals.next());
                self.ready.extend(signals.map(Event::Signal));
            }
            Source::Callers => {
                if let Ok((stream, _)) = self.listening.listener().accept() {
                    self.supervisors.push(Supervisor::new(stream));
                }
            }
            Source::WatchersCall => {
                let caller = self.watchers_call.as_ref().map(UnixListener::accept);
                if let Some(Ok((stream, _))) = caller
                    && let Ok(writer) = stream.try_clone()
                {
                    self.ready.push_back(Event::Watched(writer));
                    self.watchers.push(Watcher::new(stream));
                }
            }
            Source::Supervisor(place) => {
                let supervisor = &mut self.supervisors[place];
                if !supervisor.read(&mut self.chunk, &mut self.ready) {
                    self.supervisors.remove(place);
                }
            }
            Source::Watcher(place) => {
                let watcher = &mut self.watchers[place];
                if !watcher.read(&mut self.chunk, &mut self.ready) {
                    self.watchers.remove(place);
                }
            }
            Source::Input => {
                if let Some(portion) = self.input.as_mut().map(Input::read) {
                    self.note_input(portion);
                }
            }
        }
    }

    fn note_input(&mut self, portion: Option<Vec<u8>>) {
        self.ready.push_back(match portion {
            Some(bytes) => Event::Input(bytes),
            None => Event::InputEnd,
        });
    }
}

/// One that called as a supervisor does.
struct Supervisor {
    stream: UnixStream,
    reader: FrameReader,
    /// The place of its node, once it has greeted.
    node: Option<u32>,
}

impl Supervisor {
    fn new(stream: UnixStream) -> Supervisor {
        Supervisor {
            stream,
            reader: FrameReader::default(),
            node: None,
        }
    }

    /// Reads what it says; false once it says nothing more, or is none.
    fn read(&mut self, chunk: &mut [u8], ready: &mut VecDeque<Event>) -> bool {
        match read_some(&mut self.stream, chunk) {
            Some(length) => self.reader.push(&chunk[..length]),
            None => {
                ready.extend(self.node.map(Event::Left));
                return false;
            }
        }
        while let Ok(Some(frame)) = self.reader.take::<FromSupervisor>() {
            let event = match (frame, self.node) {
                (FromSupervisor::Header(header), None) => {
                    let Ok(writer) = self.stream.try_clone() else {
                        return false;
                    };
                    self.node = Some(header.node_index);
                    Event::Joined(header, writer)
                }
                (frame, Some(node)) => Event::Frame(node, frame),
                (_, None) => return false,
            };
            ready.push_back(event);
        }
        true
    }
}

/// One who watches, and may type.
struct Watcher {
    stream: UnixStream,
    reader: FrameReader,
}

impl Watcher {
    fn new(stream: UnixStream) -> Watcher {
        Watcher {
            stream,
            reader: FrameReader::default(),
        }
    }

    /// Reads what it types; false once it is gone.
    fn read(&mut self, chunk: &mut [u8], ready: &mut VecDeque<Event>) -> bool {
        let Some(length) = read_some(&mut self.stream, chunk) else {
            return false;
        };
        self.reader.push(&chunk[..length]);
        while let Ok(Some(frame)) = self.reader.take::<ToSupervisor>() {
            if let ToSupervisor::Input(bytes) = frame {
                ready.push_back(Event::Input(bytes));
            }
        }
        true
    }
}

/// How much was read of what can be read; `None` at the end.
fn read_some(stream: &mut UnixStream, chunk: &mut [u8]) -> Option<usize> {
    match stream.read(chunk) {
        Ok(0) => None,
        Ok(length) => Some(length),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(0),
        Err(_) => None,
    }
}
