//! Makes the step and runs it.

use super::around_step::Around;
use super::call::StepCall;
use super::input::Input;
use super::interrupts::SIGNALS;
use super::listening::Listening;
use super::session::{Ended, Event, Session};
use crate::printer::Printer;
use crate::slurm::token::token;
use api::{CallError, Client, Refusal, StepLaunch, StepRequestName};
use model::{JobId, StepRecord, StepRequest, WaitStatus};
use std::io;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use sys::poll::{Interest, Poll};
use sys::signals::SignalFd;
use sys::terminal::Raw;

/// Events on their way; tasks that write feel it when `srun` is slower.
const QUEUE: usize = 64;
/// First and longest pause between two requests for a busy step.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// So long a busy step is requested without a message: the one before may just be ending.
const SILENT: Duration = Duration::from_millis(250);

/// Why there was no step.
pub const NO_STEP: Ended = Ended {
    code: 1,
    status: WaitStatus(1 << 8),
    prolog_failed: false,
};

/// Runs the step in `job`, from its creation to its end.
pub fn run(
    call: &StepCall,
    job: JobId,
    client: &mut Client,
    printer: &Printer,
    signals: SignalFd,
) -> Ended {
    let mut listening = match Listening::below(client.folder().root()) {
        Ok(listening) => listening,
        Err(error) => {
            printer.say(&format!("srun: error: no socket for the step: {error}"));
            return NO_STEP;
        }
    };
    let (sender, events) = sync_channel(QUEUE);
    if let Err(error) = listening.take_calls(&sender) {
        printer.say(&format!("srun: error: no socket for the step: {error}"));
        return NO_STEP;
    }
    let mut request = NamedRequest::new(call, job, &listening);
    let Some(record) = create(call, &request, client, printer, &signals) else {
        return NO_STEP;
    };
    request.name.again = true;
    listening.serve_watchers(record.job, record.step, &sender);
    let watcher = sender.clone();
    signals.watch(move |signal| watcher.send(Event::Signal(signal)).is_ok());
    // Restored when this returns or panics.
    let raw = (call.pty && sys::terminal::is_terminal(&io::stdin()))
        .then(|| Raw::enter(io::stdin()))
        .and_then(Result::ok);
    let input = call.reads_stdin().then(|| Input::new(sender));
    let around = Around::new(call, &record, printer);
    let may_start = around.before();
    let session = Session::new(call, record, printer, input, raw);
    let ended = if may_start {
        session.live(&events, client, &request)
    } else {
        session.aborted().live(&events, client, &request)
    };
    around.after();
    ended
}

/// What the engine is asked for, however often it is.
pub struct NamedRequest {
    job: JobId,
    name: StepRequestName,
    request: StepRequest,
    launch: StepLaunch,
}

impl NamedRequest {
    fn new(call: &StepCall, job: JobId, listening: &Listening) -> NamedRequest {
        let token = token("srun");
        let listen = Some(listening.path());
        NamedRequest {
            job,
            name: StepRequestName {
                token,
                again: false,
            },
            request: call.request.clone(),
            launch: StepLaunch {
                listen,
                waits: call.programs.prolog.is_some(),
                ..call.launch.clone()
            },
        }
    }

    /// The jobs in which the step runs: components where it names some.
    pub fn jobs(&self) -> Vec<JobId> {
        let of_part = |part: &api::StepPart| JobId(self.job.0.saturating_add(part.component));
        let parts: Vec<JobId> = self.launch.parts.iter().map(of_part).collect();
        if parts.is_empty() {
            vec![self.job]
        } else {
            parts
        }
    }

    /// The step that it made, or makes now.
    pub fn send(&self, client: &mut Client) -> Result<StepRecord, CallError> {
        let (request, launch) = (self.request.clone(), self.launch.clone());
        client.create_step(self.job, &self.name, request, launch)
    }
}

/// Asks for the step until it is there, or can't be; `None` was said.
fn create(
    call: &StepCall,
    request: &NamedRequest,
    client: &mut Client,
    printer: &Printer,
    signals: &SignalFd,
) -> Option<StepRecord> {
    let job = request.jobs().first().copied().unwrap_or(request.job);
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut announced = false;
    loop {
        match request.send(client) {
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
                    let step = format!("StepId={}.{}", record.job, record.step);
                    printer.say(&format!("srun: Step created for {step}"));
                }
                return Some(record);
            }
            Err(CallError::Refused(Refusal::Busy)) => {
                if call.immediate.is_some_and(|most| begun.elapsed() >= most) {
                    printer.say(&format!(
                        "srun: error: Unable to create step for job {job}: Requested nodes are busy"
                    ));
                    return None;
                }
                if !announced && begun.elapsed() >= SILENT {
                    announced = true;
                    if !call.quiet {
                        printer.say(
                            "srun: Job step creation temporarily disabled, retrying (Requested nodes are busy)",
                        );
                    }
                }
            }
            Err(error) => {
                refuse(&error, job, printer);
                return None;
            }
        }
        if let Some(signal) = pause_for(pause, signals) {
            printer.say(&format!(
                "srun: Cancelled pending job step with signal {signal}"
            ));
            printer.say(&format!("srun: error: Unable to create step for job {job}"));
            return None;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn refuse(error: &CallError, job: JobId, printer: &Printer) {
    let why = match error.refusal() {
        Some(Refusal::NoSuchJob { .. }) => {
            printer.say(&format!(
                "srun: error: Unable to confirm allocation for job {job}: Invalid job id specified"
            ));
            printer.say(&format!(
                "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job}"
            ));
            return;
        }
        Some(Refusal::Invalid { message }) if message == api::NOT_THE_LEADER => {
            printer.say(&format!(
                "srun: error: Unable to confirm allocation for job {job}: {message}"
            ));
            printer.say(&format!(
                "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job {job}"
            ));
            return;
        }
        Some(Refusal::AlreadyEnded { .. }) => "Job/step already completing or completed".to_owned(),
        Some(Refusal::NotRunning { .. }) => "Job is pending execution".to_owned(),
        Some(Refusal::NeverFits(why)) => format!("{}: {}: {}", why.asked, why.there, why.todo),
        _ => error.to_string(),
    };
    let (words, there) = why.split_once('\n').unwrap_or((&why, ""));
    printer.say(&format!(
        "srun: error: Unable to create step for job {job}: {words}"
    ));
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
