//! `srun` outside a job: a job of its own, for one step.

use super::call::StepCall;
use super::step;
use crate::printer::Printer;
use crate::slurm::token::token;
use api::{CallError, CancelRequest, Client, JobFilter, Refusal, Selector, Submission};
use model::{JobId, JobRecord, JobState, Outcome};
use std::time::{Duration, Instant};
use sys::signals::SignalFd;

/// Longest wait for a change before signals are looked at again.
const LOOK: Duration = Duration::from_millis(200);

/// A job that ran its step, and what ended it.
pub fn run(call: &StepCall, client: &mut Client, printer: &Printer, signals: SignalFd) -> u8 {
    let job = match client.submit(submission(call)) {
        Ok(job) => job,
        Err(error) => {
            refuse(&error, printer);
            return 1;
        }
    };
    if !wait_until_running(call, job, client, printer, &signals) {
        return 1;
    }
    let mut call = call.clone();
    call.job = Some(job);
    let ended = step::run(&call, job, client, printer, signals);
    if let Err(error) = client.release(job, ended.status) {
        // A job that was cancelled, or met its limit, has ended already.
        let over = matches!(
            error.refusal(),
            Some(Refusal::AlreadyEnded { .. } | Refusal::NotRunning { .. })
        );
        if !over {
            printer.say(&format!("srun: error: job {job} was not released: {error}"));
        }
    }
    ended.code
}

fn submission(call: &StepCall) -> Submission {
    Submission {
        token: token("srun"),
        request: call.allocation.clone(),
        script: None,
        args: Vec::new(),
        command: call.launch.command.first().cloned(),
        environment: call.launch.environment.clone(),
        umask: call.launch.umask,
        submit_host: sys::host_name(),
    }
}

/// Whether it runs; why not was said.
fn wait_until_running(
    call: &StepCall,
    job: JobId,
    client: &mut Client,
    printer: &Printer,
    signals: &SignalFd,
) -> bool {
    let filter = JobFilter::of(&[job]);
    let begun = Instant::now();
    let (mut after, mut told) = (0, false);
    loop {
        let watched = match client.watch(filter.clone(), after, LOOK) {
            Ok(watched) => watched,
            Err(error) => {
                refuse(&error, printer);
                return false;
            }
        };
        after = watched.version;
        match watched.jobs.last().map(|record| &record.state) {
            Some(JobState::Running { .. }) => {
                if told && !call.quiet {
                    printer.say(&format!("srun: job {job} has been allocated resources"));
                }
                return true;
            }
            Some(JobState::Ended { outcome, .. }) => {
                say_revoked(job, outcome, printer);
                return false;
            }
            Some(JobState::Pending { .. }) | None => {}
        }
        let waits = watched.jobs.last().is_some_and(is_pending) || after > 0;
        if waits && !told && begun.elapsed() >= LOOK {
            told = true;
            if !call.quiet {
                printer.say(&format!("srun: job {job} queued and waiting for resources"));
            }
        }
        let late = call.immediate.is_some_and(|most| begun.elapsed() >= most);
        let signal = step::pause_for(Duration::ZERO, signals);
        if late || signal.is_some() {
            cancel(job, client);
            printer.say(&match late {
                true => {
                    "srun: error: Unable to allocate resources: Requested nodes are busy".to_owned()
                }
                false => format!("srun: Job allocation {job} has been revoked"),
            });
            return false;
        }
    }
}

fn is_pending(record: &JobRecord) -> bool {
    matches!(record.state, JobState::Pending { .. })
}

fn say_revoked(job: JobId, outcome: &Outcome, printer: &Printer) {
    if let Outcome::LaunchFailed { message } = outcome {
        printer.say(&format!("srun: error: {message}"));
    }
    printer.say(&format!("srun: Force Terminated job {job}"));
}

fn cancel(job: JobId, client: &mut Client) {
    // When it fails, the job ends with this connection.
    let _ = client.cancel(CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    });
}

fn refuse(error: &CallError, printer: &Printer) {
    let why = match error.refusal() {
        Some(Refusal::NeverFits { asked, there, todo }) => format!("{asked}: {there}: {todo}"),
        _ => error.to_string(),
    };
    printer.say(&format!("srun: error: Unable to allocate resources: {why}"));
}
