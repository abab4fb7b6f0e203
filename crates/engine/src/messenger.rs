//! Messages to supervisors, on their own thread: the owner waits for no one.

use crate::SupervisorKey;
use crate::record;
use crate::spec::{Because, LISTEN, PidFile, SupervisorAnswer, SupervisorCall};
use crate::stopped;
use api::EngineFolder;
use model::Timestamp;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use sys::process::PidFd;

/// A supervisor that does not answer for so long, or has not begun, is reported, and goes on being asked: it may
/// wait for what comes before it. One that was stopped is let go on.
const LONGEST: Duration = Duration::from_secs(10);
/// Between two looks at what waits.
const PAUSE: Duration = Duration::from_millis(2);
/// The same where all that waits has waited for long.
const LONG_PAUSE: Duration = Duration::from_millis(100);
/// What has waited for longer than this is looked at less often.
const SOON: Duration = Duration::from_secs(1);

/// So long a call waits for whoever caused it to end.
const LONGEST_CALLER: Duration = Duration::from_millis(100);

/// Sends calls to supervisors, to each in order.
#[derive(Debug)]
pub(crate) struct Messenger {
    orders: mpsc::Sender<Order>,
}

/// What the messenger is asked for.
#[derive(Debug)]
enum Order {
    Carry(SupervisorKey, SupervisorCall, Option<Arc<Caller>>),
    Forget(SupervisorKey),
}

/// A process that had its answer, and that may belong to a job which ends by what it asked for: it is to end first,
/// by itself (`scontrol requeue` in a job's own script).
#[derive(Debug)]
pub(crate) struct Caller {
    process: PidFd,
    until: Instant,
}

impl Caller {
    /// A process; none where it has ended, or is none of those that are seen here.
    pub(crate) fn new(pid: u32) -> Option<Caller> {
        Some(Caller {
            process: PidFd::open(pid).ok()?,
            until: Instant::now() + LONGEST_CALLER,
        })
    }

    fn may_go_on(&self) -> bool {
        let lives = || matches!(self.process.wait_exit(Some(Duration::ZERO)), Ok(false));
        Instant::now() < self.until && lives()
    }
}

/// A call on its way.
#[derive(Debug)]
struct Word {
    key: SupervisorKey,
    call: SupervisorCall,
    /// Who is to end before it is sent.
    caller: Option<Arc<Caller>>,
    since: Instant,
    /// The connection on which it was sent, and what came of the answer.
    sent: Option<Sent>,
    /// That there is no answer was reported.
    reported: bool,
}

/// A connection on which a call was sent. Nothing on it waits.
#[derive(Debug)]
struct Sent {
    stream: UnixStream,
    answer: Vec<u8>,
}

impl Messenger {
    /// Starts the thread.
    pub(crate) fn start(engine: EngineFolder) -> io::Result<Messenger> {
        let (orders, receiver) = mpsc::channel();
        thread::Builder::new()
            .name("messenger".to_owned())
            .stack_size(128 << 10)
            .spawn(move || carry(&engine, &receiver))?;
        Ok(Messenger { orders })
    }

    /// Sends a call to a supervisor, soon, or as soon as it has begun and the caller has ended.
    pub(crate) fn send(
        &self,
        key: SupervisorKey,
        call: SupervisorCall,
        caller: Option<Arc<Caller>>,
    ) {
        // The thread lives as long as the sender.
        let _lives = self.orders.send(Order::Carry(key, call, caller));
    }

    /// This supervisor, which may never have begun, never will: nothing is sent to it any more.
    pub(crate) fn forget(&self, key: SupervisorKey) {
        let _lives = self.orders.send(Order::Forget(key));
    }
}

/// Carries calls until the engine ends. One that can't be delivered yet, or that is not answered,
/// waits beside the others, which are not kept up by it.
fn carry(engine: &EngineFolder, orders: &mpsc::Receiver<Order>) {
    let mut words: Vec<Word> = Vec::new();
    loop {
        let next = match pause(&words) {
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(pause) => orders.recv_timeout(pause),
        };
        let next = match next {
            Ok(next) => Some(next),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        for order in next.into_iter().chain(orders.try_iter()) {
            take_in(&mut words, order);
        }
        // To one supervisor no call may overtake another.
        let mut waiting = BTreeSet::new();
        words.retain_mut(|word| {
            let stays = waiting.contains(&word.key) || !deliver(engine, word);
            if stays {
                waiting.insert(word.key);
            }
            stays
        });
    }
}

/// Until the next look; `None`: nothing waits.
fn pause(words: &[Word]) -> Option<Duration> {
    let newest = words.iter().map(|word| word.since.elapsed()).min()?;
    Some(if newest < SOON { PAUSE } else { LONG_PAUSE })
}

/// A call that waits already is not sent twice: a supervisor that is stopped for long must not cost
/// more the more often it is cancelled.
fn take_in(words: &mut Vec<Word>, order: Order) {
    let (key, call, caller) = match order {
        Order::Carry(key, call, caller) => (key, call, caller),
        Order::Forget(key) => return words.retain(|word| word.key != key),
    };
    let last = words.iter().rev().find(|word| word.key == key);
    if last.is_some_and(|last| last.sent.is_none() && last.call == call) {
        return;
    }
    words.push(Word {
        key,
        call,
        caller,
        since: Instant::now(),
        sent: None,
        reported: false,
    });
}

/// Whether a call needs no further attempt. Waits for nothing.
fn deliver(engine: &EngineFolder, word: &mut Word) -> bool {
    if word
        .caller
        .as_ref()
        .is_some_and(|caller| caller.may_go_on())
    {
        return false;
    }
    word.caller = None;
    if let Some(sent) = &mut word.sent {
        match sent.read() {
            // A supervisor of an earlier version ends its step by the call that it knows.
            Ok(Some(SupervisorAnswer::Unknown)) if matches!(word.call, SupervisorCall::Kill) => {
                word.call = SupervisorCall::Deadline {
                    at: Some(Timestamp(0)),
                    because: Because::Stop,
                    lost_node: None,
                    preempted: false,
                    job: None,
                };
                word.sent = None;
                return false;
            }
            // One of an earlier version minds the limit that it was told before.
            Ok(Some(SupervisorAnswer::Unknown))
                if matches!(word.call, SupervisorCall::JobLimit { .. }) =>
            {
                return true;
            }
            Ok(Some(SupervisorAnswer::Unknown)) => {
                tracing::warn!(step = %word.key, "the supervisor does not know {:?}", word.call);
                return true;
            }
            Ok(Some(_)) => return true,
            Ok(None) => {}
            // It ended, or another supervisor has the step: the record tells.
            Err(_) => word.sent = None,
        }
    }
    let late = word.since.elapsed() > LONGEST;
    let error = match record::look(engine, word.key) {
        Ok(Some(found)) if found.exit.is_some() => return true,
        Ok(Some(found)) if matches!(lives(&found.holder), Ok(false)) => return true,
        Ok(Some(found)) if late && is_stopped(&found.holder) => {
            go_on(&found.holder);
            io::ErrorKind::TimedOut.into()
        }
        Ok(Some(_)) if word.sent.is_some() => io::ErrorKind::TimedOut.into(),
        Ok(Some(found)) => match Sent::new(&found.socket, &word.call) {
            Ok(sent) => {
                word.sent = Some(sent);
                return false;
            }
            Err(_) if !ask_to_listen(&found.holder) => return true,
            Err(error) => error,
        },
        Ok(None) => {
            if late && !word.reported {
                tracing::warn!(step = %word.key, "it has not begun: it is called once it has");
                word.reported = true;
            }
            return false;
        }
        Err(error) => error,
    };
    if late && !word.reported {
        tracing::warn!(step = %word.key, "the supervisor does not answer: {error}");
        word.reported = true;
    }
    false
}

impl Sent {
    fn new(socket: &Path, call: &SupervisorCall) -> io::Result<Sent> {
        let stream = sys::socket::connect_at_once(socket)?;
        let mut line = serde_json::to_vec(call)?;
        line.push(b'\n');
        // Far smaller than what the socket takes at once.
        (&stream).write_all(&line)?;
        let answer = Vec::new();
        Ok(Sent { stream, answer })
    }

    /// The answer, once it is there.
    fn read(&mut self) -> io::Result<Option<SupervisorAnswer>> {
        let mut chunk = [0; 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.answer.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if self.answer.ends_with(b"\n") {
                return Ok(Some(serde_json::from_slice(&self.answer)?));
            }
        }
        Ok(None)
    }
}

fn is_stopped(holder: &PidFile) -> bool {
    holder.boot_id == sys::boot_id() && sys::process::is_stopped(holder.pid)
}

/// Lets a supervisor go on that was stopped, by its own step perhaps.
fn go_on(holder: &PidFile) {
    match PidFd::open(holder.pid) {
        Ok(process) if process.start_time() == holder.start_time => {
            stopped::go_on(&process);
        }
        Ok(_) | Err(_) => {}
    }
}

/// Asks a supervisor to listen on its socket; false where it is gone.
fn ask_to_listen(holder: &PidFile) -> bool {
    if holder.boot_id != sys::boot_id() {
        return false;
    }
    match PidFd::open(holder.pid) {
        Ok(process) if process.start_time() == holder.start_time => process.signal(LISTEN).is_ok(),
        Ok(_) => false,
        // What can't be told now is asked again.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Whether the holder of a record still lives.
///
/// # Errors
/// It can't be told now.
pub(crate) fn lives(holder: &PidFile) -> io::Result<bool> {
    Ok(holder.boot_id == sys::boot_id() && sys::process::lives(holder.pid, holder.start_time)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use model::{JobId, StepId};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    fn key(job: u32) -> SupervisorKey {
        SupervisorKey {
            job: JobId(job),
            restart: 0,
            step: StepId::Batch,
            node: 0,
            tag: None,
        }
    }

    /// It was dropped after ten seconds: what was cancelled, suspended or given another limit before that ran on all
    /// the same.
    #[test]
    fn a_call_to_one_that_has_not_begun_waits_until_its_step_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let mut words = Vec::new();
        for job in [1, 2] {
            take_in(
                &mut words,
                Order::Carry(key(job), SupervisorCall::Kill, None),
            );
        }
        let long_ago = Instant::now().checked_sub(LONGEST + LONGEST).unwrap();
        for word in &mut words {
            word.since = long_ago;
            assert!(!deliver(&engine, word));
        }
        take_in(&mut words, Order::Forget(key(1)));
        let left: Vec<SupervisorKey> = words.iter().map(|word| word.key).collect();
        assert_eq!(left, [key(2)]);
    }

    /// The record of a supervisor that holds a step.
    fn held(engine: &EngineFolder, key: SupervisorKey, holder: &PidFile) -> Record {
        let path = key.record(engine);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        Record::claim(path, key, holder, None).unwrap()
    }

    /// A process of its step may stop a supervisor: until it went on it heard of no cancel.
    #[test]
    fn one_that_was_stopped_for_long_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let key = key(1);
        let mut supervisor = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = supervisor.id();
        let holder = PidFile {
            pid,
            start_time: sys::process::start_time(pid).unwrap(),
            ..PidFile::of_this_process(sys::boot_id())
        };
        let _record = held(&engine, key, &holder);
        sys::process::signal(pid, 19).unwrap();
        while !sys::process::is_stopped(pid) {
            thread::yield_now();
        }
        let mut words = Vec::new();
        take_in(&mut words, Order::Carry(key, SupervisorCall::Kill, None));
        assert!(!deliver(&engine, &mut words[0]));
        assert!(sys::process::is_stopped(pid));
        words[0].since = Instant::now().checked_sub(LONGEST + LONGEST).unwrap();
        assert!(!deliver(&engine, &mut words[0]));
        while sys::process::is_stopped(pid) {
            thread::yield_now();
        }
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
    }

    /// A script's own `scontrol requeue` was ended before it had exited, as if it had failed.
    #[test]
    fn a_call_waits_until_whoever_caused_it_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let key = key(1);
        let this = PidFile::of_this_process(sys::boot_id());
        let _record = held(&engine, key, &this);
        let socket = record::look(&engine, key).unwrap().unwrap().socket;
        let _listener = UnixListener::bind(socket).unwrap();
        let mut process = Command::new("sleep").arg("600").spawn().unwrap();
        let caller = Caller {
            until: Instant::now() + Duration::from_secs(3600),
            ..Caller::new(process.id()).unwrap()
        };
        let mut words = Vec::new();
        let order = Order::Carry(key, SupervisorCall::Kill, Some(Arc::new(caller)));
        take_in(&mut words, order);
        assert!(!deliver(&engine, &mut words[0]));
        assert!(words[0].sent.is_none());
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(!deliver(&engine, &mut words[0]));
        assert!(words[0].sent.is_some());
        let mut late = Caller::new(std::process::id()).unwrap();
        assert!(late.may_go_on());
        late.until = Instant::now();
        assert!(!late.may_go_on());
    }
}
