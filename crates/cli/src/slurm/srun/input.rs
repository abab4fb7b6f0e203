//! `srun`'s own stdin, read as far as the tasks take it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Reads stdin, a portion each time it is asked for; nothing before.
#[derive(Debug)]
pub struct Input {
    /// Where reading may wait, a thread does it: what two `srun`s read together may be gone once one of
    /// them looks.
    thread: Option<Reader>,
    /// A portion was asked for that is read at once.
    is_asked: bool,
    has_ended: bool,
}

/// The thread that reads.
#[derive(Debug)]
struct Reader {
    asks: SyncSender<()>,
    stream: UnixStream,
}

impl Input {
    /// Most bytes at once.
    pub const PORTION: usize = 64 * 1024;

    /// Ready to read.
    pub fn new() -> Input {
        Input {
            thread: None,
            is_asked: false,
            has_ended: false,
        }
    }

    /// Asks for one more portion, unless it was asked for already.
    pub fn more(&mut self) {
        if self.has_ended {
            return;
        }
        if self.thread.is_none() && !sys::poll::is_read_at_once(&io::stdin()) {
            self.thread = Reader::start().ok();
        }
        match &self.thread {
            Some(reader) => drop(reader.asks.try_send(())),
            None => self.is_asked = true,
        }
    }

    /// What was asked for, where reading it does not wait; the portion is `None` at the input's end.
    pub fn read_at_once(&mut self) -> Option<Option<Vec<u8>>> {
        let asked = std::mem::take(&mut self.is_asked);
        asked.then(|| self.end_with(read_portion(&mut io::stdin())))
    }

    /// Where what was asked for comes from otherwise.
    pub fn stream(&self) -> Option<&UnixStream> {
        let reader = self.thread.as_ref().filter(|_| !self.has_ended);
        reader.map(|reader| &reader.stream)
    }

    /// What can be read there; `None` at the input's end.
    pub fn read(&mut self) -> Option<Vec<u8>> {
        let portion = self
            .thread
            .as_mut()
            .and_then(|reader| read_portion(&mut reader.stream));
        self.end_with(portion)
    }

    fn end_with(&mut self, portion: Option<Vec<u8>>) -> Option<Vec<u8>> {
        self.has_ended = portion.is_none();
        portion
    }
}

impl Reader {
    fn start() -> io::Result<Reader> {
        let (ours, theirs) = UnixStream::pair()?;
        let (asks, asked) = sync_channel(1);
        thread::Builder::new().spawn(move || read(&asked, theirs))?;
        Ok(Reader { asks, stream: ours })
    }
}

/// Hands on a portion for each time it is asked, until the end.
fn read(asked: &Receiver<()>, mut stream: UnixStream) {
    while asked.recv().is_ok() {
        let portion = read_portion(&mut io::stdin());
        if portion.is_none_or(|portion| stream.write_all(&portion).is_err()) {
            return;
        }
    }
}

/// `None` at the end, however it came.
fn read_portion(from: &mut impl Read) -> Option<Vec<u8>> {
    let mut portion = vec![0; Input::PORTION];
    loop {
        match from.read(&mut portion) {
            Ok(length @ 1..) => {
                portion.truncate(length);
                return Some(portion);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return None,
        }
    }
}
