//! A client of one engine.

mod change_jobs;
mod cluster;
mod jobs;
mod steps;

pub use jobs::{ChangedJobs, SubmittedJob};

use crate::reach_engine::{
    greet, hand_over, hello, is_older, newer, reach, read_hello, refuse_locked_out,
};
use crate::read_answer::read_answer;
use crate::{
    Answer, Call, CallError, ConnectError, EngineFolder, HelloAnswer, PROTOCOL, Refusal,
    Submission, append_frame,
};
use model::JobId;
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for an answer, beyond what the call itself asks for.
const LONGEST_CALL_TIME: Duration = Duration::from_secs(120);
/// What is read at once: most answers fit.
const READ_AT_ONCE: usize = 8 << 10;
/// How often a call that may be repeated is sent again.
const ATTEMPTS: u32 = 5;

/// A connection to the engine of one folder.
///
/// The typed methods whose repetition is harmless reconnect by themselves (starting an engine
/// where none is left) when the engine ended or handed over in between.
#[derive(Debug)]
pub struct Client {
    folder: EngineFolder,
    /// What is started as the engine, where it is not this very program.
    program: Option<PathBuf>,
    stream: UnixStream,
    /// What the engine said of itself; `None` where hello goes with the first call.
    engine: Option<HelloAnswer>,
    /// The allocation that ends with this connection, said again on the next one.
    allocation: Option<(JobId, Box<Submission>)>,
    shows_notices: bool,
}

/// Through a link named like Slurm's commands this is still the program itself.
fn this_program() -> Result<PathBuf, ConnectError> {
    std::env::current_exe().map_err(|source| ConnectError::Spawn {
        program: PathBuf::from("/proc/self/exe"),
        source,
    })
}

impl Client {
    /// Connects to the engine of the folder `engine_dir`; starts one from this very program where
    /// none listens. Hello goes with the first call, which replaces an older one.
    ///
    /// # Errors
    /// No engine can serve that folder. That a newer one does may show with the first call.
    pub fn connect(engine_dir: &Path) -> Result<Client, ConnectError> {
        let folder = EngineFolder::new(engine_dir);
        let connected = sys::socket::connect(&folder.socket());
        let (stream, engine) = match connected {
            Ok(stream) => (stream, None),
            Err(_) => reach(&folder, &this_program()?, true)
                .map(|(stream, engine)| (stream, Some(engine)))?,
        };
        Ok(Client {
            folder,
            program: None,
            stream,
            engine,
            allocation: None,
            shows_notices: true,
        })
    }

    /// [`Client::connect`] with the program that is started as the engine, for a caller that no
    /// person sits before: it shows no notices.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_with(engine_dir: &Path, program: &Path) -> Result<Client, ConnectError> {
        let folder = EngineFolder::new(engine_dir);
        let (stream, engine) = reach(&folder, program, false)?;
        Ok(Client {
            folder,
            program: Some(program.to_owned()),
            stream,
            engine: Some(engine),
            allocation: None,
            shows_notices: false,
        })
    }

    /// Connects only if an engine answers; none is started or replaced. `None`: none answers.
    ///
    /// # Errors
    /// It is newer and speaks another protocol.
    pub fn connect_running(engine_dir: &Path) -> Result<Option<Client>, ConnectError> {
        let folder = EngineFolder::new(engine_dir);
        let (stream, engine) = match greet(&folder, true) {
            Ok(greeted) => greeted,
            Err(source) => return refuse_locked_out(engine_dir, source).map(|()| None),
        };
        if engine.protocol > PROTOCOL {
            return Err(newer(&folder, &engine));
        }
        Ok(Some(Client {
            folder,
            program: None,
            stream,
            engine: Some(engine),
            allocation: None,
            shows_notices: true,
        }))
    }

    /// Connects for a look: `None` where no engine ever ran, so that looking starts none.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_to_look(engine_dir: &Path) -> Result<Option<Client>, ConnectError> {
        let folder = EngineFolder::new(engine_dir);
        match sys::socket::connect(&folder.socket()) {
            Ok(stream) => Ok(Some(Client {
                folder,
                program: None,
                stream,
                engine: None,
                allocation: None,
                shows_notices: true,
            })),
            Err(source) => {
                refuse_locked_out(engine_dir, source)?;
                if !folder.store().exists() {
                    return Ok(None);
                }
                Client::connect(engine_dir).map(Some)
            }
        }
    }

    /// What the engine said of itself; `None` where nothing was said to it yet.
    #[must_use]
    pub fn engine(&self) -> Option<&HelloAnswer> {
        self.engine.as_ref()
    }

    /// The engine's folder.
    #[must_use]
    pub fn folder(&self) -> &EngineFolder {
        &self.folder
    }

    /// Sends one call and waits for its answer; a refusal is an answer like others.
    ///
    /// # Errors
    /// The connection broke; whether the call was carried out is not known. Or no engine.
    pub fn call(&mut self, call: &Call) -> Result<Answer, CallError> {
        if self.engine.is_none() {
            // An engine that is older could carry out what another is to carry out again.
            self.reconnect()?;
        }
        Ok(self.exchange(call)?)
    }

    /// Sends a call, with hello where that was not said yet, and reads its answer. Then one that may
    /// be carried out twice: an older engine's answer doesn't count.
    fn exchange(&mut self, call: &Call) -> io::Result<Answer> {
        let mut only = None;
        self.exchange_each(call, |answer| {
            only = Some(answer);
            false
        })?;
        only.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// [`Client::exchange`] of a call that has several answers, as long as `goes_on` says that others come.
    fn exchange_each(
        &mut self,
        call: &Call,
        mut goes_on: impl FnMut(Answer) -> bool,
    ) -> io::Result<()> {
        let own_wait = match call {
            Call::Watch { wait_ms, .. } => Duration::from_millis(*wait_ms),
            _ => Duration::ZERO,
        };
        self.stream
            .set_read_timeout(Some(LONGEST_CALL_TIME.saturating_add(own_wait)))?;
        let mut frames = Vec::new();
        if self.engine.is_none() {
            append_frame(&mut frames, &hello(self.shows_notices))?;
        }
        append_frame(&mut frames, call)?;
        self.stream.write_all(&frames)?;
        let mut answers = BufReader::with_capacity(READ_AT_ONCE, &self.stream);
        if self.engine.is_none() {
            let engine = read_hello(&mut answers)?;
            if engine.protocol != PROTOCOL || is_older(&engine) {
                return Err(io::Error::other(format!("engine {}", engine.version)));
            }
            self.engine = Some(engine);
        }
        let mut buffer = Vec::new();
        loop {
            let answer = read_answer(&mut answers, &mut buffer)?;
            if !goes_on(answer.ok_or(io::ErrorKind::UnexpectedEof)?) {
                return Ok(());
            }
        }
    }

    /// Sends a call that may be carried out twice without harm: reconnects and sends it again
    /// when the engine ended in between.
    ///
    /// # Errors
    /// Refused, or no engine can be reached any more.
    pub fn call_again(&mut self, call: &Call) -> Result<Answer, CallError> {
        let mut attempt = 1;
        loop {
            match self.exchange(call) {
                Ok(Answer::Refused(Refusal::Stopping)) if attempt < ATTEMPTS => {}
                Ok(Answer::Refused(refusal)) => return Err(refusal.into()),
                Ok(answer) => return Ok(answer),
                Err(error) if attempt >= ATTEMPTS => return Err(error.into()),
                Err(_) => {}
            }
            attempt += 1;
            self.reconnect()?;
        }
    }

    /// Sends a call that is answered in portions, of those after a job. `take` has each, and says after which job
    /// the next one begins; from there it is asked again when the engine ended in between.
    ///
    /// # Errors
    /// Refused, or no engine can be reached any more.
    fn call_in_portions(
        &mut self,
        mut after: Option<JobId>,
        call: impl Fn(Option<JobId>) -> Call,
        mut take: impl FnMut(Answer) -> Result<Option<JobId>, CallError>,
    ) -> Result<(), CallError> {
        let mut attempt = 1;
        loop {
            let mut taken = Ok(());
            let exchanged = self.exchange_each(&call(after), |answer| {
                let rest = match answer {
                    Answer::Refused(refusal) => Err(refusal.into()),
                    answer => take(answer),
                };
                match rest {
                    Ok(None) => false,
                    Ok(rest) => {
                        after = rest;
                        true
                    }
                    Err(error) => {
                        taken = Err(error);
                        false
                    }
                }
            });
            let is_stopping =
                matches!(&taken, Err(error) if matches!(error.refusal(), Some(Refusal::Stopping)));
            match exchanged {
                Ok(()) if is_stopping && attempt < ATTEMPTS => {}
                Ok(()) => return taken,
                Err(error) if attempt >= ATTEMPTS => return Err(error.into()),
                Err(_) => {}
            }
            attempt += 1;
            self.reconnect()?;
        }
    }

    /// Leaves this connection and makes another, starting an engine where none is left.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn reconnect(&mut self) -> Result<(), ConnectError> {
        // An engine may serve this one before it looks at the next.
        let _gone = self.stream.shutdown(Shutdown::Both);
        let program = match &self.program {
            Some(program) => program.clone(),
            None => this_program()?,
        };
        let (stream, engine) = reach(&self.folder, &program, self.shows_notices)?;
        (self.stream, self.engine) = (stream, Some(engine));
        // By its token it is the same job, which belongs to this connection now. A connection that
        // broke again shows at the next call.
        if let Some((_, submission)) = self.allocation.clone() {
            let _broken = self.exchange(&Call::Submit(submission));
        }
        Ok(())
    }

    /// Ends the engine; running jobs go on. Its lock is released when this returns.
    ///
    /// # Errors
    /// The connection broke.
    pub fn stop(mut self) -> Result<(), CallError> {
        let protocol = self.engine.as_ref().map(|engine| engine.protocol);
        if protocol.is_some_and(|protocol| protocol != PROTOCOL) {
            return Ok(hand_over(&mut self.stream)?);
        }
        self.done(&Call::Stop, false)
    }

    pub(crate) fn done(&mut self, call: &Call, repeatable: bool) -> Result<(), CallError> {
        let answer = if repeatable {
            self.call_again(call)?
        } else {
            self.call(call)?
        };
        match answer {
            Answer::Done => Ok(()),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }
}

pub(crate) fn confused(answer: &Answer) -> CallError {
    // The kind alone: an answer can hold a thousand jobs.
    let text = format!("{answer:?}");
    let kind = text.split([' ', '(', '{']).next().unwrap_or_default();
    CallError::Confused(kind.to_owned())
}
