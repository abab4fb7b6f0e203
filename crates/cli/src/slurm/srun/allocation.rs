//! `srun` outside a job: a job of its own, for one step.

use super::call::StepCall;
use super::listening;
use super::step::{NO_STEP, NoStep, StepOrder};
use crate::printer::Printer;
use crate::slurm::allocation_wait::{self, Prologs, Waited};
use crate::slurm::exit_variables::{of_error, of_lateness};
use crate::slurm::submitted_by::note_submitter;
use crate::slurm::token::token;
use api::{CallError, Client, JobFilter, NewStep, Refusal, Submission};
use model::{JobId, JobProlog, JobRecord, Outcome};
use sys::signals::SignalFd;

/// A job that ran its step, and what ended it.
pub fn run(mut call: StepCall, client: &mut Client, printer: &Printer, signals: SignalFd) -> u8 {
    let engine = client.folder().root().to_owned();
    let mut order = None;
    if call.later.is_empty() && listening::has_folder(&engine) {
        match StepOrder::new(&call, &engine, printer) {
            Ok(made) => order = Some(made),
            Err(NoStep) => return 1,
        }
    }
    let step = order.as_mut().map(StepOrder::with_its_job);
    let submitted = match client.submit_and_see(submission(&call, step)) {
        Ok(submitted) => submitted,
        Err(error) => {
            refuse(&error, printer);
            return of_error();
        }
    };
    let job = submitted.job;
    let seen = (job, submitted.now);
    if let Err(code) = wait_until_running(&call, seen, client, printer, &signals) {
        return code;
    }
    call.job = Some(job);
    let cluster_s = submitted.programs;
    call.programs
        .or(cluster_s.srun_prolog, cluster_s.srun_epilog);
    let order = match order {
        Some(order) => Ok(order),
        None => StepOrder::new(&call, &engine, printer),
    };
    let ended = match order {
        Ok(order) => order.run(&call, job, submitted.step, client, printer, signals),
        Err(NoStep) => NO_STEP,
    };
    if ended.prolog_failed {
        say_failed_prolog(job, client, printer);
    }
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

fn submission(call: &StepCall, step: Option<Box<NewStep>>) -> Submission {
    let mut request = call.allocation.clone();
    note_submitter(&mut request, "srun");
    Submission {
        token: token("srun"),
        request,
        later: call.later.clone(),
        script: None,
        args: Vec::new(),
        command: call.launch.command.first().cloned(),
        environment: call.launch.environment.clone(),
        umask: call.launch.umask,
        submit_host: sys::host_name(),
        as_user: None,
        step,
    }
}

/// Returns once it runs; where it does not, the exit code, and why was said.
fn wait_until_running(
    call: &StepCall,
    submitted: (JobId, Option<Box<JobRecord>>),
    client: &mut Client,
    printer: &Printer,
    signals: &SignalFd,
) -> Result<(), u8> {
    let job = submitted.0;
    let say = |text: &str| {
        if !call.quiet {
            printer.say(text);
        }
    };
    let mut queued = |why: Option<&str>| {
        if let Some(why) = why {
            say(&format!("srun: {why}"));
        }
        say(&format!("srun: job {job} queued and waiting for resources"));
    };
    let immediate = call.immediate;
    match allocation_wait::wait_until_running(submitted, immediate, client, signals, &mut queued) {
        Waited::Running { announced, record } => {
            if announced {
                say(&format!("srun: job {job} has been allocated resources"));
            }
            if are_nodes_ready(record, client, printer, signals) {
                return Ok(());
            }
        }
        Waited::Ended(outcome) => say_revoked(job, &outcome, printer),
        Waited::Late => {
            printer.say("srun: error: Unable to allocate resources: Requested nodes are busy");
            return Err(of_lateness());
        }
        Waited::NotAtOnce(why) => {
            printer.say(&format!("srun: error: Unable to allocate resources: {why}"));
        }
        Waited::Interrupted => {
            printer.say(&format!("srun: Job allocation {job} has been revoked"));
        }
        Waited::Failed(error) => refuse(&error, printer),
    }
    Err(of_error())
}

/// Whether the programs ran that the cluster has before a job at its start; why not was said.
fn are_nodes_ready(
    record: Box<JobRecord>,
    client: &mut Client,
    printer: &Printer,
    signals: &SignalFd,
) -> bool {
    let (job, nodes) = (record.id, allocation_wait::nodes_of(&record));
    match allocation_wait::wait_for_prologs(record, client, signals, &mut || {}) {
        Prologs::Ran { .. } => true,
        Prologs::Over(why) => {
            why.iter()
                .for_each(|why| printer.say(&format!("srun: {why}")));
            printer.say(&format!("srun: error: Nodes {nodes} are still not ready"));
            printer.say("srun: error: Something is wrong with the boot of the nodes.");
            false
        }
        Prologs::Interrupted => {
            printer.say(&format!("srun: Job allocation {job} has been revoked"));
            false
        }
        Prologs::Failed(error) => {
            refuse(&error, printer);
            false
        }
    }
}

/// Says whose prolog failed, which ended the job's step.
fn say_failed_prolog(job: JobId, client: &mut Client, printer: &Printer) {
    let jobs = client.jobs(JobFilter::of(&[job])).unwrap_or_default();
    let prolog = jobs.first().and_then(|record| record.prolog.as_ref());
    if let Some(why) = prolog.and_then(JobProlog::failure) {
        printer.say(&format!("srun: {why}"));
    }
}

fn say_revoked(job: JobId, outcome: &Outcome, printer: &Printer) {
    if *outcome == Outcome::Deadline {
        printer.say("srun: Job has been cancelled");
        printer.say(
            "srun: error: Unable to allocate resources: Job/step already completing or completed",
        );
        return;
    }
    if let Outcome::LaunchFailed { message } = outcome {
        printer.say(&format!("srun: error: {message}"));
    }
    printer.say(&format!("srun: Force Terminated job {job}"));
}

fn refuse(error: &CallError, printer: &Printer) {
    let prefix = "srun: error: Unable to allocate resources: ";
    match error.refusal() {
        Some(refusal) => super::super::say_refusal("srun", prefix, refusal, printer),
        None => printer.say(&format!("{prefix}{error}")),
    }
}
