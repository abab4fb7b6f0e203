//! A client of one engine.

use crate::read_answer::read_answer;
use crate::start_engine::start_engine;
use crate::{
    Answer, Call, CallError, CancelRequest, ClusterReport, ConnectError, EngineFacts, EngineFolder,
    Handover, Hello, HelloAnswer, JobFilter, LONGEST_ANSWER, NamedJob, PROTOCOL, Refusal, Startup,
    StepLaunch, StepRequestName, Submission, VERSION, WhyWaiting, WouldStart, read_frame,
    write_frame,
};
use model::{
    Accounting, JobChange, JobHistory, JobId, JobRecord, PriorityReport, Request,
    ReservationRequest, RestartCount, SchedulerStatistics, ShareRow, StepHolders, StepId,
    StepRecord, StepRequest, WaitStatus,
};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for an engine that holds the lock but does not answer yet.
const LONGEST_CONNECT: Duration = Duration::from_secs(60);
/// Pause between two attempts while another engine starts or ends.
const PAUSE: Duration = Duration::from_millis(5);
/// Longest wait for an answer, beyond what the call itself asks for.
const LONGEST_CALL_TIME: Duration = Duration::from_secs(120);
/// How many engines that end before they serve, giving no reason, are started anew.
const MOST_DIED: u32 = 3;
/// How often a call that may be repeated is sent again.
const ATTEMPTS: u32 = 5;

/// Changed jobs.
#[derive(Clone, Debug)]
pub struct ChangedJobs {
    /// As they are now.
    pub jobs: Vec<JobRecord>,
    /// The newest version of a row: `after` of the next call.
    pub version: u64,
}

/// A connection to the engine of one folder.
///
/// The typed methods whose repetition is harmless reconnect by themselves (starting an engine
/// where none is left) when the engine ended or handed over in between.
#[derive(Debug)]
pub struct Client {
    folder: EngineFolder,
    program: PathBuf,
    stream: UnixStream,
    engine: HelloAnswer,
    /// The allocation that ends with this connection, said again on the next one.
    allocation: Option<(JobId, Box<Submission>)>,
    shows_notices: bool,
}

impl Client {
    /// Connects to the engine of the folder `engine_dir`; starts one from this very program where
    /// none answers, and replaces an older one.
    ///
    /// # Errors
    /// No engine can serve that folder, or a newer one does.
    pub fn connect(engine_dir: &Path) -> Result<Client, ConnectError> {
        // Through a link named like Slurm's commands this is still the program itself.
        let program = std::env::current_exe().map_err(|source| ConnectError::Spawn {
            program: PathBuf::from("/proc/self/exe"),
            source,
        })?;
        Client::open(engine_dir, &program, true)
    }

    /// [`Client::connect`] with the program that is started as the engine, for a caller that no
    /// person sits before: it shows no notices.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_with(engine_dir: &Path, program: &Path) -> Result<Client, ConnectError> {
        Client::open(engine_dir, program, false)
    }

    fn open(
        engine_dir: &Path,
        program: &Path,
        shows_notices: bool,
    ) -> Result<Client, ConnectError> {
        let folder = EngineFolder::new(engine_dir);
        let (stream, engine) = reach(&folder, program, shows_notices)?;
        Ok(Client {
            folder,
            program: program.to_owned(),
            stream,
            engine,
            allocation: None,
            shows_notices,
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
            // Not to be let in is not the same as nobody being there.
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                let folder = engine_dir.to_owned();
                return Err(ConnectError::Folder { folder, source });
            }
            Err(_) => return Ok(None),
        };
        if engine.protocol > PROTOCOL {
            return Err(newer(&engine));
        }
        Ok(Some(Client {
            folder,
            program: PathBuf::from("/proc/self/exe"),
            stream,
            engine,
            allocation: None,
            shows_notices: true,
        }))
    }

    /// Connects for a look: `None` where no engine ever ran, so that looking starts none.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn connect_to_look(engine_dir: &Path) -> Result<Option<Client>, ConnectError> {
        match Client::connect_running(engine_dir)? {
            Some(client) if client.engine.protocol == PROTOCOL => return Ok(Some(client)),
            // An older one understands nothing but to hand over.
            Some(client) => {
                drop(client);
                return Client::connect(engine_dir).map(Some);
            }
            None => {}
        }
        if !EngineFolder::new(engine_dir).store().exists() {
            return Ok(None);
        }
        Client::connect(engine_dir).map(Some)
    }

    /// What the engine said of itself.
    #[must_use]
    pub fn engine(&self) -> &HelloAnswer {
        &self.engine
    }

    /// The engine's folder.
    #[must_use]
    pub fn folder(&self) -> &EngineFolder {
        &self.folder
    }

    /// Sends one call and waits for its answer; a refusal is an answer like others.
    ///
    /// # Errors
    /// The connection broke; whether the call was carried out is not known.
    pub fn call(&mut self, call: &Call) -> io::Result<Answer> {
        let own_wait = match call {
            Call::Watch { wait_ms, .. } => Duration::from_millis(*wait_ms),
            _ => Duration::ZERO,
        };
        self.stream
            .set_read_timeout(Some(LONGEST_CALL_TIME.saturating_add(own_wait)))?;
        write_frame(&mut self.stream, call)?;
        read_answer(&mut self.stream)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Sends a call that may be carried out twice without harm: reconnects and sends it again
    /// when the engine ended in between.
    ///
    /// # Errors
    /// Refused, or no engine can be reached any more.
    pub fn call_again(&mut self, call: &Call) -> Result<Answer, CallError> {
        let mut attempt = 1;
        loop {
            match self.call(call) {
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

    /// Leaves this connection and makes another, starting an engine where none is left.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub fn reconnect(&mut self) -> Result<(), ConnectError> {
        (self.stream, self.engine) = reach(&self.folder, &self.program, self.shows_notices)?;
        // By its token it is the same job, which belongs to this connection now. A connection that
        // broke again shows at the next call.
        if let Some((_, submission)) = self.allocation.clone() {
            let _broken = self.call(&Call::Submit(submission));
        }
        Ok(())
    }

    /// Queues a job; the token makes a repetition harmless. Returns its id: on disk.
    ///
    /// A job without a script belongs to its connection, unless it was asked to stay: the job ends when
    /// this client is dropped.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn submit(&mut self, submission: Submission) -> Result<JobId, CallError> {
        self.submit_and_see(submission).map(|(job, _now)| job)
    }

    /// [`Client::submit`]; of an allocation that lives as long as this client the answer says how it
    /// stands, too.
    ///
    /// # Errors
    /// As [`Client::submit`].
    pub fn submit_and_see(
        &mut self,
        submission: Submission,
    ) -> Result<(JobId, Option<Box<JobRecord>>), CallError> {
        let submission = Box::new(submission);
        let allocation = submission.ends_with_client().then(|| submission.clone());
        match self.call_again(&Call::Submit(submission))? {
            Answer::Submitted { job, now } => {
                if let Some(submission) = allocation {
                    self.allocation = Some((job, submission));
                }
                Ok((job, now))
            }
            other => Err(confused(&other)),
        }
    }

    /// Asks when a job would start; nothing is queued.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn test(&mut self, request: Request) -> Result<WouldStart, CallError> {
        match self.call_again(&Call::Test(Box::new(request)))? {
            Answer::WouldStart(estimate) => Ok(estimate),
            other => Err(confused(&other)),
        }
    }

    /// Why a job waits.
    ///
    /// # Errors
    /// There is no such job, it does not wait, or no engine.
    pub fn why(&mut self, job: JobId) -> Result<WhyWaiting, CallError> {
        match self.call_again(&Call::Why { job })? {
            Answer::Why(why) => Ok(*why),
            other => Err(confused(&other)),
        }
    }

    /// Jobs as they are now, in ascending id.
    ///
    /// # Errors
    /// No engine.
    pub fn jobs(&mut self, filter: JobFilter) -> Result<Vec<JobRecord>, CallError> {
        match self.call_again(&Call::Jobs(filter))? {
            Answer::Jobs { jobs } => Ok(jobs.0),
            other => Err(confused(&other)),
        }
    }

    /// Jobs of the filter whose rows are newer than version `after`; waits at most `wait` for one.
    /// An empty list with the same version: nothing changed.
    ///
    /// # Errors
    /// No engine.
    pub fn watch(
        &mut self,
        filter: JobFilter,
        after: u64,
        wait: Duration,
    ) -> Result<ChangedJobs, CallError> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let call = Call::Watch {
            filter,
            after,
            wait_ms,
        };
        match self.call_again(&call)? {
            Answer::Watched(watched) => Ok(ChangedJobs {
                jobs: watched.jobs.0,
                version: watched.version,
            }),
            other => Err(confused(&other)),
        }
    }

    /// Steps of a job's current or last start, in ascending id.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn steps(&mut self, job: JobId) -> Result<Vec<StepRecord>, CallError> {
        match self.call_again(&Call::Steps { job })? {
            Answer::Steps { steps } => Ok(steps),
            other => Err(confused(&other)),
        }
    }

    /// The batch script of a job.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn script(&mut self, job: JobId) -> Result<String, CallError> {
        match self.call_again(&Call::Script { job })? {
            Answer::Script { text } => Ok(text),
            other => Err(confused(&other)),
        }
    }

    /// Jobs with all of their starts and steps, in ascending id.
    ///
    /// # Errors
    /// No engine.
    pub fn histories(&mut self, filter: JobFilter) -> Result<Vec<JobHistory>, CallError> {
        match self.call_again(&Call::Histories(filter))? {
            Answer::Histories { jobs } => Ok(jobs.0),
            other => Err(confused(&other)),
        }
    }

    /// Cancels or signals jobs or a step.
    ///
    /// # Errors
    /// Refused, or no engine. A signal is not sent twice: a connection that breaks is an error.
    pub fn cancel(&mut self, request: CancelRequest) -> Result<(), CallError> {
        let repeatable = request.signal.is_none();
        self.done(&Call::Cancel(request), repeatable)
    }

    /// Cancels several, as [`Client::cancel`] would one after another, in the time of one; for each
    /// why nothing was changed.
    ///
    /// # Errors
    /// No engine.
    pub fn cancel_each(
        &mut self,
        requests: Vec<CancelRequest>,
    ) -> Result<Vec<Option<Refusal>>, CallError> {
        let repeatable = requests.iter().all(|request| request.signal.is_none());
        let call = Call::CancelEach { requests };
        let answer = if repeatable {
            self.call_again(&call)?
        } else {
            self.call(&call)?
        };
        match answer {
            Answer::Cancelled { refusals } => Ok(refusals),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }

    /// Requeues a job; `restart` makes a repetition harmless.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn requeue(
        &mut self,
        job: impl Into<NamedJob>,
        hold: bool,
        restart: Option<RestartCount>,
    ) -> Result<(), CallError> {
        let job = job.into();
        let call = Call::Requeue { job, hold, restart };
        self.done(&call, restart.is_some())
    }

    /// Sends a line to where a running job's user sees it.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn notify(&mut self, job: JobId, text: &str) -> Result<(), CallError> {
        let text = text.to_owned();
        self.done(&Call::Notify { job, text }, false)
    }

    /// Suspends a running job or resumes it.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn suspend(&mut self, job: impl Into<NamedJob>, suspend: bool) -> Result<(), CallError> {
        let job = job.into();
        // A repeated `resume` would be told that the job is not suspended.
        self.done(&Call::Suspend { job, suspend }, suspend)
    }

    /// Holds or releases a waiting job.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn hold(&mut self, job: impl Into<NamedJob>, hold: bool) -> Result<(), CallError> {
        let job = job.into();
        self.done(&Call::Hold { job, hold }, true)
    }

    /// Changes a job, or all elements of an array: all that is asked, or nothing.
    ///
    /// # Errors
    /// Refused, in Slurm's words; or no engine.
    pub fn update(
        &mut self,
        job: impl Into<NamedJob>,
        changes: Vec<JobChange>,
    ) -> Result<(), CallError> {
        let job = job.into();
        self.done(&Call::Update { job, changes }, false)
    }

    /// Makes a step of a running job; its supervisors are being started when this returns. Its
    /// name makes a repetition harmless.
    ///
    /// An engine that is killed after its answer may not have come so far as to start them: then
    /// the step is over and none of them has connected: it is to be requested once more.
    ///
    /// # Errors
    /// Refused: [`Refusal::Busy`] says to ask again later. No engine.
    pub fn create_step(
        &mut self,
        job: JobId,
        name: &StepRequestName,
        request: StepRequest,
        launch: StepLaunch,
    ) -> Result<StepRecord, CallError> {
        let call = |again| Call::CreateStep {
            job,
            name: StepRequestName {
                token: name.token.clone(),
                again,
            },
            request: Box::new(request.clone()),
            launch: Box::new(launch.clone()),
        };
        let answer = match self.call(&call(name.again)) {
            Ok(Answer::Refused(Refusal::Stopping)) | Err(_) => {
                self.reconnect()?;
                self.call_again(&call(true))?
            }
            Ok(answer) => answer,
        };
        match answer {
            Answer::Step(step) => Ok(step),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }

    /// Sends a signal to a step's tasks.
    ///
    /// # Errors
    /// Refused, or the connection broke.
    pub fn signal_step(&mut self, job: JobId, step: StepId, signal: i32) -> Result<(), CallError> {
        self.done(&Call::SignalStep { job, step, signal }, false)
    }

    /// Ends an allocation that has no batch script.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn release(&mut self, job: JobId, status: WaitStatus) -> Result<(), CallError> {
        self.done(&Call::Release { job, status }, true)?;
        self.allocation
            .take_if(|(allocation, _)| *allocation == job);
        Ok(())
    }

    /// Tells that a supervisor's `exit` file is there.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn step_ended(
        &mut self,
        job: JobId,
        restart: RestartCount,
        step: StepId,
        node: u32,
    ) -> Result<(), CallError> {
        let call = Call::StepEnded {
            job,
            restart,
            step,
            node,
        };
        self.done(&call, true)
    }

    /// What the engine is and has.
    ///
    /// # Errors
    /// No engine.
    pub fn facts(&mut self) -> Result<EngineFacts, CallError> {
        match self.call_again(&Call::Facts)? {
            Answer::Facts(facts) => Ok(*facts),
            other => Err(confused(&other)),
        }
    }

    /// Makes a reservation, or changes one; returns its name.
    ///
    /// # Errors
    /// It was refused, or there is no engine.
    pub fn reserve(
        &mut self,
        asked: ReservationRequest,
        is_new: bool,
    ) -> Result<String, CallError> {
        let asked = Box::new(asked);
        match self.call(&Call::Reserve { asked, is_new })? {
            Answer::Reserved { name } => Ok(name),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }

    /// Removes a reservation.
    ///
    /// # Errors
    /// There is none of that name, jobs name it, or there is no engine.
    pub fn unreserve(&mut self, name: String) -> Result<(), CallError> {
        self.done(&Call::Unreserve { name }, false)
    }

    /// Has the engine read its cluster's file again.
    ///
    /// # Errors
    /// The file has a mistake, and nothing was changed; or no engine.
    pub fn reconfigure(&mut self) -> Result<(), CallError> {
        self.done(&Call::Reconfigure, true)
    }

    /// The nodes and partitions of the engine's cluster, and their use.
    ///
    /// # Errors
    /// No engine.
    pub fn cluster(&mut self) -> Result<ClusterReport, CallError> {
        match self.call_again(&Call::Cluster)? {
            Answer::Cluster(report) => Ok(*report),
            other => Err(confused(&other)),
        }
    }

    /// What the priorities of waiting jobs are made of.
    ///
    /// # Errors
    /// No engine.
    pub fn priorities(&mut self) -> Result<PriorityReport, CallError> {
        match self.call_again(&Call::Priorities)? {
            Answer::Priorities(report) => Ok(*report),
            other => Err(confused(&other)),
        }
    }

    /// What accounts and users are due and what they used, in the order of the tree.
    ///
    /// # Errors
    /// No engine.
    pub fn shares(&mut self) -> Result<Vec<ShareRow>, CallError> {
        match self.call_again(&Call::Shares)? {
            Answer::Shares { rows } => Ok(rows),
            other => Err(confused(&other)),
        }
    }

    /// The processes that hold the running steps of a job, or of all.
    ///
    /// # Errors
    /// No engine.
    pub fn holders(&mut self, job: Option<JobId>) -> Result<Vec<StepHolders>, CallError> {
        match self.call_again(&Call::Holders { job })? {
            Answer::Holders { steps } => Ok(steps),
            other => Err(confused(&other)),
        }
    }

    /// What scheduler and callers did.
    ///
    /// # Errors
    /// No engine.
    pub fn statistics(&mut self) -> Result<SchedulerStatistics, CallError> {
        match self.call_again(&Call::Statistics)? {
            Answer::Statistics(statistics) => Ok(*statistics),
            other => Err(confused(&other)),
        }
    }

    /// Begins to count anew what scheduler and callers do.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn reset_statistics(&mut self) -> Result<(), CallError> {
        match self.call_again(&Call::ResetStatistics)? {
            Answer::Done => Ok(()),
            other => Err(confused(&other)),
        }
    }

    /// Accounts, users, associations and QOS.
    ///
    /// # Errors
    /// No engine.
    pub fn accounting(&mut self) -> Result<Accounting, CallError> {
        match self.call_again(&Call::Accounting)? {
            Answer::Accounting(accounting) => Ok(*accounting),
            other => Err(confused(&other)),
        }
    }

    /// Puts others in their place.
    ///
    /// # Errors
    /// No engine, a refusal: they don't come of what there is now, or the caller may not.
    pub fn set_accounting(&mut self, accounting: Accounting) -> Result<(), CallError> {
        self.done(&Call::SetAccounting(Box::new(accounting)), false)
    }

    /// Ends the engine; running jobs go on. Its lock is released when this returns.
    ///
    /// # Errors
    /// The connection broke.
    pub fn stop(mut self) -> Result<(), CallError> {
        if self.engine.protocol != PROTOCOL {
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

/// Connects, starting or replacing an engine as needed.
fn reach(
    folder: &EngineFolder,
    program: &Path,
    shows_notices: bool,
) -> Result<(UnixStream, HelloAnswer), ConnectError> {
    let begun = Instant::now();
    let mut died = 0;
    loop {
        let last = match greet(folder, shows_notices) {
            Ok((mut stream, engine)) => {
                if engine.protocol > PROTOCOL {
                    return Err(newer(&engine));
                }
                if !is_older(&engine) {
                    return Ok((stream, engine));
                }
                let owner = sys::socket::peer_uid(&stream).unwrap_or(0);
                if owner != sys::process::user() {
                    return foreign(stream, engine, owner);
                }
                // Its answer, or the closed connection, says that its lock is free; any other
                // trouble shows when the next engine finds the lock held.
                let _either_way = hand_over(&mut stream);
                format!("engine {} did not hand over", engine.version)
            }
            Err(error) => error.to_string(),
        };
        let startup = match start_engine(folder, program) {
            // Killed while it started, perhaps: the next one may live.
            Err(ConnectError::Died { .. }) if died < MOST_DIED => {
                died += 1;
                continue;
            }
            startup => startup?,
        };
        match startup {
            Startup::Ready => {}
            // Two clients started engines at once, or the former engine is still ending.
            Startup::Locked => await_other(folder),
            Startup::Failed { asked, there, todo } => {
                return Err(ConnectError::Failed { asked, there, todo });
            }
        }
        if begun.elapsed() > LONGEST_CONNECT {
            return Err(ConnectError::Silent {
                folder: folder.root().to_owned(),
                last,
            });
        }
    }
}

/// Waits a little for the engine that holds the lock to answer, or for its lock to be free again.
fn await_other(folder: &EngineFolder) {
    for _ in 0..40 {
        if sys::socket::connect(&folder.socket()).is_ok() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

fn greet(folder: &EngineFolder, shows_notices: bool) -> io::Result<(UnixStream, HelloAnswer)> {
    let mut stream = sys::socket::connect(&folder.socket())?;
    stream.set_read_timeout(Some(LONGEST_CONNECT))?;
    let hello = Hello {
        version: VERSION.to_owned(),
        protocol: PROTOCOL,
        shows_notices,
    };
    write_frame(&mut stream, &hello)?;
    let answer: Option<HelloAnswer> = read_frame(&mut stream, LONGEST_ANSWER)?;
    let answer = answer.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    if let Some(notice) = &answer.notice {
        // Here and not in each command: whichever comes first has to say it.
        let _unheard = writeln!(io::stderr(), "yard: warning: {notice}");
    }
    Ok((stream, answer))
}

fn hand_over(stream: &mut UnixStream) -> io::Result<()> {
    let to = VERSION.to_owned();
    write_frame(stream, &Call::Handover(Handover { to }))?;
    read_frame::<serde_json::Value>(stream, LONGEST_ANSWER).map(|_answer| ())
}

/// An older engine of another user is not ours to replace; it is talked to where that is possible.
fn foreign(
    stream: UnixStream,
    engine: HelloAnswer,
    owner: u32,
) -> Result<(UnixStream, HelloAnswer), ConnectError> {
    if engine.protocol == PROTOCOL {
        return Ok((stream, engine));
    }
    Err(ConnectError::Foreign {
        ours: VERSION.to_owned(),
        theirs: engine.version,
        owner,
    })
}

fn newer(engine: &HelloAnswer) -> ConnectError {
    ConnectError::Newer {
        ours: VERSION.to_owned(),
        theirs: engine.version.clone(),
    }
}

/// Whether this program's engine should take the place of the one that answers.
fn is_older(engine: &HelloAnswer) -> bool {
    engine.protocol < PROTOCOL
        || engine.protocol == PROTOCOL && numbers(&engine.version) < numbers(VERSION)
}

/// `1.12.3-rc1` as 1, 12, 3.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

pub(crate) fn confused(answer: &Answer) -> CallError {
    // The kind alone: an answer can hold a thousand jobs.
    let text = format!("{answer:?}");
    let kind = text.split([' ', '(', '{']).next().unwrap_or_default();
    CallError::Confused(kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(protocol: u32, version: &str, older: bool) {
        let engine = HelloAnswer {
            version: version.to_owned(),
            protocol,
            pid: 1,
            store: String::new(),
            notice: None,
        };
        assert_eq!(is_older(&engine), older, "{version} {protocol}");
    }

    #[test]
    fn only_an_older_engine_is_replaced() {
        check(PROTOCOL, VERSION, false);
        check(PROTOCOL, "999.0.0", false);
        check(PROTOCOL, "0.0.9", true);
        check(PROTOCOL - 1, VERSION, true);
        check(PROTOCOL + 1, "0.0.1", false);
    }
}
