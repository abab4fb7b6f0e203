//! Makes the step and runs it.

use super::around_step::Around;
use super::call::StepCall;
use super::events::Events;
use super::input::Input;
use super::interrupts::SIGNALS;
use super::listening::Listening;
use super::session::{Ended, Session};
use super::store_outage::StoreOutage;
use crate::printer::Printer;
use crate::slurm::connection::{self, CommandError};
use crate::slurm::submitted_by::submit_line_of;
use crate::slurm::token::token;
use api::{CallError, Client, NewStep, Refusal, StepLaunch, StepRequestName};
use model::{JobId, StepRecord, StepRequest, WaitStatus, node_list};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use sys::poll::{Interest, Poll};
use sys::signals::SignalFd;
use sys::terminal::Raw;

/// First and longest pause between two requests for a busy step.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Each attempt to reach one starts an engine.
const UNREACHED_PAUSE: Duration = Duration::from_secs(2);
/// So long a busy step is requested without a message: the one before may just be ending.
const SILENT: Duration = Duration::from_millis(250);

/// Why there was no step.
pub const NO_STEP: Ended = Ended {
    code: 1,
    status: WaitStatus(1 << 8),
    prolog_failed: false,
};

/// The step can't be asked for, and why was said.
#[derive(Clone, Copy, Debug)]
pub struct NoStep;

/// A step that is to be asked for, and where its supervisors will call.
pub struct StepOrder {
    listening: Listening,
    step: NewStep,
}

impl StepOrder {
    /// Listens for its supervisors.
    ///
    /// # Errors
    /// There is no place to listen.
    pub fn new(call: &StepCall, engine: &Path, printer: &Printer) -> Result<StepOrder, NoStep> {
        let listening = Listening::below(engine).map_err(|error| no_socket(&error, printer))?;
        let name = StepRequestName {
            token: token("srun"),
            again: false,
        };
        let line = Some(submit_line_of("srun"));
        let mut launch = StepLaunch {
            listen: Some(listening.path()),
            waits: call.holds_tasks(),
            ..call.launch.clone()
        };
        for part in &mut launch.parts {
            part.request.submit_line.clone_from(&line);
        }
        let request = StepRequest {
            submit_line: line,
            ..call.request.clone()
        };
        let step = NewStep {
            name,
            request,
            launch,
        };
        Ok(StepOrder { listening, step })
    }

    /// The step as it is asked for with a job of its own, whose environment it has.
    pub fn with_its_job(&mut self) -> Box<NewStep> {
        let environment = std::mem::take(&mut self.step.launch.environment);
        let step = Box::new(self.step.clone());
        self.step.launch.environment = environment;
        self.step.name.again = true;
        step
    }

    /// Runs the step in `job`, from its creation, where it was not `made` with the job, to its end.
    pub fn run(
        mut self,
        call: &StepCall,
        job: JobId,
        made: Option<Box<StepRecord>>,
        client: &mut Client,
        printer: &Printer,
        signals: SignalFd,
    ) -> Ended {
        // The cluster's prolog may be known only now.
        self.step.launch.waits = call.holds_tasks();
        let mut request = NamedRequest {
            job,
            step: self.step,
        };
        let Some(record) = create(call, &request, made, client, printer, &signals) else {
            return NO_STEP;
        };
        request.step.name.again = true;
        let input = call.reads_stdin().then(Input::new);
        let mut events = Events::new(self.listening, signals, input);
        events.serve_watchers(record.job, record.step);
        // Restored when this returns or panics.
        let raw = (call.pty && sys::terminal::is_terminal(&io::stdin()))
            .then(|| Raw::enter(io::stdin()))
            .and_then(Result::ok);
        let around = Around::new(call, &record, printer);
        let copied = call.broadcast.as_ref().map(|it| it.copy(&record, printer));
        if copied == Some(false) {
            let session = Session::new(call, record, printer, events, raw);
            return session.never_started().live(client, &request);
        }
        let may_start = around.before();
        let session = Session::new(call, record, printer, events, raw);
        let ended = if may_start {
            session.live(client, &request)
        } else {
            session.aborted().live(client, &request)
        };
        around.after();
        ended
    }
}

fn no_socket(error: &io::Error, printer: &Printer) -> NoStep {
    printer.say(&format!("srun: error: no socket for the step: {error}"));
    NoStep
}

/// Runs a step in a job that is there.
pub fn run(
    call: &StepCall,
    job: JobId,
    client: &mut Client,
    printer: &Printer,
    signals: SignalFd,
) -> Ended {
    match StepOrder::new(call, client.folder().root(), printer) {
        Ok(order) => order.run(call, job, None, client, printer, signals),
        Err(NoStep) => NO_STEP,
    }
}

/// What the engine is asked for, however often it is.
pub struct NamedRequest {
    job: JobId,
    step: NewStep,
}

impl NamedRequest {
    /// The jobs in which the step runs: components where it names some.
    pub fn jobs(&self) -> Vec<JobId> {
        let of_part = |part: &api::StepPart| JobId(self.job.0.saturating_add(part.component));
        let parts: Vec<JobId> = self.step.launch.parts.iter().map(of_part).collect();
        if parts.is_empty() {
            vec![self.job]
        } else {
            parts
        }
    }

    /// The step that it made, or makes now.
    pub fn send(&self, client: &mut Client) -> Result<StepRecord, CallError> {
        client.create_step(self.job, &self.step)
    }
}

/// A connection for a step of a job; where the engine was killed and the next one finds no room, it is tried again.
/// `None` was said.
pub fn connect(
    engine: &Path,
    call: &StepCall,
    printer: &Printer,
    signals: &SignalFd,
) -> Option<Client> {
    let mut outage = StoreOutage::default();
    let mut announced = call.quiet;
    loop {
        let failure = match connection::connect_in(engine) {
            Ok(client) => return Some(client),
            Err(failure) => failure,
        };
        let why = match (&failure, call.job) {
            (CommandError::Connect(error), Some(job)) if call.immediate.is_none() => {
                let why = outage.unreached(error, Instant::now());
                why.map(|why| (job, why))
            }
            _ => None,
        };
        let Some((job, why)) = why else {
            failure.say("srun", printer);
            return None;
        };
        if !announced {
            announced = true;
            printer.say(&disabled(job, &why));
        }
        if let Some(signal) = pause_for(UNREACHED_PAUSE, signals) {
            say_cancelled(job, signal, printer);
            return None;
        }
    }
}

fn disabled(job: JobId, why: &str) -> String {
    format!("srun: Job {job} step creation temporarily disabled, retrying ({why})")
}

fn say_cancelled(job: JobId, signal: i32, printer: &Printer) {
    printer.say(&format!(
        "srun: Cancelled pending job step with signal {signal}"
    ));
    printer.say(&format!("srun: error: Unable to create step for job {job}"));
}

/// Asks for the step, where it is not `made`, until it is there, or can't be; `None` was said.
fn create(
    call: &StepCall,
    request: &NamedRequest,
    made: Option<Box<StepRecord>>,
    client: &mut Client,
    printer: &Printer,
    signals: &SignalFd,
) -> Option<StepRecord> {
    let job = request.jobs().first().copied().unwrap_or(request.job);
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut announced = false;
    let mut outage = StoreOutage::default();
    let mut made = made.map(|made| Ok(*made));
    loop {
        match made.take().unwrap_or_else(|| request.send(client)) {
            Ok(record) => {
                let (asked, got) = (call.request.min_nodes, record.nodes.len());
                if let Some(asked) = asked.filter(|asked| *asked as usize > got)
                    && call.request.nodes_inherited
                    && call.request.task_nodes.is_empty()
                {
                    printer.say(&format!(
                        "srun: error: SLURM_JOB_NUM_NODES environment variable conflicts with \
                         allocated node count ({asked} != {got})."
                    ));
                }
                if announced && !call.quiet {
                    printer.say(&format!("srun: Step created for job {job}"));
                }
                if call.verbose {
                    let names = record.nodes.iter().map(|share| &share.node);
                    printer.say(&format!(
                        "srun: jobid {job}: nodes({}):`{}'",
                        record.nodes.len(),
                        node_list::fold(names)
                    ));
                }
                return Some(record);
            }
            Err(error) => {
                if matches!(error, CallError::Connect(_)) {
                    pause = UNREACHED_PAUSE;
                }
                let Some(why) = outage.passing(&error, Instant::now()) else {
                    refuse(&error, job, printer);
                    return None;
                };
                if call.immediate.is_some_and(|most| begun.elapsed() >= most) {
                    printer.say(&format!(
                        "srun: error: Unable to create step for job {job}: {why}"
                    ));
                    return None;
                }
                if call.immediate.is_none() && !announced && begun.elapsed() >= SILENT {
                    announced = true;
                    if !call.quiet {
                        printer.say(&disabled(job, &why));
                    }
                }
            }
        }
        if let Some(signal) = pause_for(pause, signals) {
            say_cancelled(job, signal, printer);
            return None;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How words begin that `srun` says of the job around it before it asks for a step.
const OF_SRUN: [&str; 3] = ["Only allocated ", "--relative and ", "Hostlist is empty!"];
/// How other words of its own end.
const ALSO_EXCLUDED: &str = " is also in the excluded list.";
/// How what `srun` says before why there is no step begins.
const STEP_ASKED: &str = "Step requested ";

fn refuse(error: &CallError, job: JobId, printer: &Printer) {
    let unconfirmed =
        |why: &str| Some(format!("Unable to confirm allocation for job {job}: {why}"));
    let of_job = match error.refusal() {
        Some(Refusal::NoSuchJob { .. }) => unconfirmed("Invalid job id specified"),
        Some(Refusal::NotRunning { .. }) => unconfirmed("Job is pending execution"),
        Some(Refusal::Invalid { message }) if message == api::NOT_THE_LEADER => {
            unconfirmed(message)
        }
        Some(Refusal::AlreadyEnded { .. }) => Some(format!("Slurm job {job} has expired")),
        _ => None,
    };
    if let Some(text) = of_job {
        printer.say(&format!("srun: error: {text}"));
        printer.say(&format!(
            "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job}"
        ));
        return;
    }
    let why = match error.refusal() {
        Some(Refusal::NeverFits(why)) => format!("{}: {}: {}", why.asked, why.there, why.todo),
        _ => error.to_string(),
    };
    let (mut words, mut there) = why.split_once('\n').unwrap_or((&why, ""));
    if words.starts_with(STEP_ASKED) {
        printer.say(&format!("srun: error: {words}"));
        (words, there) = there.split_once('\n').unwrap_or((there, ""));
    }
    let is_of_srun =
        words.ends_with(ALSO_EXCLUDED) || OF_SRUN.iter().any(|start| words.starts_with(start));
    let unable = if is_of_srun {
        String::new()
    } else {
        format!("Unable to create step for job {job}: ")
    };
    printer.say(&format!("srun: error: {unable}{words}"));
    for line in there.lines() {
        printer.say(&format!("srun: {line}"));
    }
}

/// Waits, or returns the signal that means to give up.
pub fn pause_for(pause: Duration, signals: &SignalFd) -> Option<i32> {
    let mut poll = Poll::new();
    poll.add(signals, Interest::Read);
    let _ = poll.wait(Some(pause));
    signals
        .next()
        .filter(|signal| matches!(signal, 1 | 2 | 3 | 15))
}

/// Blocks the signals that `srun` reads. Before any thread starts: threads inherit it.
pub fn block_signals() -> io::Result<SignalFd> {
    SignalFd::block(SIGNALS)
}
