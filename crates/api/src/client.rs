//! A client of one engine.

use crate::reach_engine::{
    greet, hand_over, hello, is_older, newer, reach, read_hello, refuse_locked_out,
};
use crate::read_answer::read_answer;
use crate::{
    Answer, AsUser, Call, CallError, CancelRequest, ClusterReport, ConnectError, EngineFacts,
    EngineFolder, HelloAnswer, JobFilter, NamedJob, NewStep, PROTOCOL, Refusal, StepPrograms,
    Submission, WhyWaiting, WouldStart, append_frame,
};
use model::{
    Accounting, AccountingTransaction, JobChange, JobHistory, JobId, JobRecord, NodeEvent,
    PriorityReport, Request, RequeueHold, ReservationRequest, RestartCount, SchedulerStatistics,
    ShareRow, StepHolders, StepId, StepRecord, WaitStatus,
};
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

/// Changed jobs.
#[derive(Clone, Debug)]
pub struct ChangedJobs {
    /// As they are now.
    pub jobs: Vec<JobRecord>,
    /// The newest version of a row: `after` of the next call.
    pub version: u64,
}

/// A job that was queued.
#[derive(Clone, Debug)]
pub struct SubmittedJob {
    /// Its id; for an array, the array's.
    pub job: JobId,
    /// How it stands, of an allocation that lives as long as its client.
    pub now: Option<Box<JobRecord>>,
    /// What the cluster runs around its steps.
    pub programs: StepPrograms,
    /// The first step, where it was asked for and is made.
    pub step: Option<Box<StepRecord>>,
}

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
            return Err(newer(&engine));
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
        read_answer(&mut answers)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
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

    /// Queues a job; the token makes a repetition harmless. Returns its id: on disk.
    ///
    /// A job without a script belongs to its connection, unless it was asked to stay: the job ends when
    /// this client is dropped.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn submit(&mut self, submission: Submission) -> Result<JobId, CallError> {
        self.submit_and_see(submission).map(|made| made.job)
    }

    /// [`Client::submit`]; of an allocation that lives as long as this client the answer says how it
    /// stands, too.
    ///
    /// # Errors
    /// As [`Client::submit`].
    pub fn submit_and_see(&mut self, submission: Submission) -> Result<SubmittedJob, CallError> {
        let call = Call::Submit(Box::new(submission));
        let made = match self.call_again(&call)? {
            Answer::Submitted {
                job,
                now,
                programs,
                step,
            } => SubmittedJob {
                job,
                now,
                programs,
                step,
            },
            other => return Err(confused(&other)),
        };
        if let Call::Submit(mut submission) = call
            && submission.ends_with_client()
        {
            // What is said again is whose the job is.
            submission.step = None;
            self.allocation = Some((made.job, submission));
        }
        Ok(made)
    }

    /// Asks when a job of the caller, or of another user, would start; nothing is queued.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn test(
        &mut self,
        request: Request,
        as_user: Option<AsUser>,
    ) -> Result<WouldStart, CallError> {
        let request = Box::new(request);
        match self.call_again(&Call::Test { request, as_user })? {
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
        match self.call_again(&Call::Script {
            job,
            environment: false,
        })? {
            Answer::Script { text } => Ok(text),
            other => Err(confused(&other)),
        }
    }

    /// The batch script of a job.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn environment(&mut self, job: JobId) -> Result<String, CallError> {
        match self.call_again(&Call::Script {
            job,
            environment: true,
        })? {
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
        hold: RequeueHold,
        restart: Option<RestartCount>,
    ) -> Result<(), CallError> {
        let job = job.into();
        let call = Call::Requeue {
            job,
            hold,
            restart,
            only_running: false,
        };
        self.done(&call, restart.is_some())
    }

    /// Requeues a job, or what of an array is named; `only_running` leaves those that don't run as they are.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn requeue_named(
        &mut self,
        job: NamedJob,
        hold: RequeueHold,
        only_running: bool,
    ) -> Result<(), CallError> {
        let call = Call::Requeue {
            job,
            hold,
            restart: None,
            only_running,
        };
        self.done(&call, false)
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

    /// Holds or releases a job; held for its `user`, its owner may release it.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn hold(
        &mut self,
        job: impl Into<NamedJob>,
        hold: bool,
        user: bool,
    ) -> Result<(), CallError> {
        let job = job.into();
        self.done(&Call::Hold { job, hold, user }, true)
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
    pub fn create_step(&mut self, job: JobId, step: &NewStep) -> Result<StepRecord, CallError> {
        let call = |again| {
            let mut step = Box::new(step.clone());
            step.name.again = again;
            Call::CreateStep { job, step }
        };
        let answer = match self.exchange(&call(step.name.again)) {
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

    /// When nodes took no jobs.
    ///
    /// # Errors
    /// No engine.
    pub fn events(&mut self) -> Result<Vec<NodeEvent>, CallError> {
        match self.call_again(&Call::Events)? {
            Answer::Events { events } => Ok(events),
            other => Err(confused(&other)),
        }
    }

    /// What was changed of the accounting, the oldest first.
    ///
    /// # Errors
    /// No engine.
    pub fn transactions(&mut self) -> Result<Vec<AccountingTransaction>, CallError> {
        match self.call_again(&Call::Transactions)? {
            Answer::Transactions { changes } => Ok(changes),
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
