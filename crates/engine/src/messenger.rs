//! Messages to supervisors, on their own thread: the owner waits for no one.

use crate::SupervisorKey;
use crate::record;
use crate::spec::{LISTEN, PidFile, SupervisorAnswer, SupervisorCall};
use api::EngineFolder;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use sys::process::PidFd;

/// Longest wait for a supervisor that was asked for but has not begun, and for its answer.
const LONGEST: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Sends calls to supervisors, to each in order.
#[derive(Debug)]
pub(crate) struct Messenger {
    calls: mpsc::Sender<(SupervisorKey, SupervisorCall)>,
}

/// A word on its way.
#[derive(Debug)]
struct Word {
    key: SupervisorKey,
    call: SupervisorCall,
    since: Instant,
}

impl Messenger {
    /// Starts the thread.
    pub(crate) fn start(engine: EngineFolder) -> io::Result<Messenger> {
        let (calls, receiver) = mpsc::channel();
        thread::Builder::new()
            .name("messenger".to_owned())
            .stack_size(128 << 10)
            .spawn(move || carry(&engine, &receiver))?;
        Ok(Messenger { calls })
    }

    /// Sends a call to a supervisor, soon.
    pub(crate) fn send(&self, key: SupervisorKey, call: SupervisorCall) {
        // The thread lives as long as the sender.
        let _lives = self.calls.send((key, call));
    }
}

/// Carries words until the engine ends. One that can't be delivered yet waits beside the others,
/// which are not kept up by it.
fn carry(engine: &EngineFolder, calls: &mpsc::Receiver<(SupervisorKey, SupervisorCall)>) {
    let mut words: Vec<Word> = Vec::new();
    loop {
        let next = if words.is_empty() {
            calls.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            calls.recv_timeout(PAUSE)
        };
        let next = match next {
            Ok(next) => Some(next),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let since = Instant::now();
        let new = next.into_iter().chain(calls.try_iter());
        words.extend(new.map(|(key, call)| Word { key, call, since }));
        // To one supervisor no word may overtake another.
        let mut waiting = BTreeSet::new();
        words.retain(|word| {
            let stays = waiting.contains(&word.key) || !deliver(engine, word);
            if stays {
                waiting.insert(word.key);
            }
            stays
        });
    }
}

/// Whether a word needs no further attempt.
fn deliver(engine: &EngineFolder, word: &Word) -> bool {
    let error = match record::look(engine, word.key) {
        Some(found) if found.exit.is_some() => return true,
        Some(found) => match say(&found.socket, &word.call) {
            Ok(()) => return true,
            Err(_) if !ask_to_listen(&found.holder) => return true,
            Err(error) => error,
        },
        None => io::ErrorKind::NotFound.into(),
    };
    let given_up = word.since.elapsed() > LONGEST;
    if given_up {
        crate::log::line(&format!("{} does not answer: {error}", word.key));
    }
    given_up
}

fn say(socket: &Path, call: &SupervisorCall) -> io::Result<()> {
    let mut stream = sys::socket::connect(socket)?;
    stream.set_read_timeout(Some(LONGEST))?;
    let mut line = serde_json::to_vec(call)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match serde_json::from_str(&answer)? {
        SupervisorAnswer::Unknown => Err(io::ErrorKind::Unsupported.into()),
        _ => Ok(()),
    }
}

/// Asks a supervisor to listen on its socket; false where it is gone.
fn ask_to_listen(holder: &PidFile) -> bool {
    if holder.boot_id != sys::boot_id() {
        return false;
    }
    match PidFd::open(holder.pid) {
        Ok(process) if process.start_time() == holder.start_time => process.signal(LISTEN).is_ok(),
        _ => false,
    }
}

/// Whether the holder of a record still lives.
pub(crate) fn lives(holder: &PidFile) -> bool {
    holder.boot_id == sys::boot_id() && sys::process::is_same(holder.pid, holder.start_time)
}
