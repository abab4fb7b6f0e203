//! `salloc`: holds an allocation beside a command, the user's shell where none is named.

mod command;

use super::allocation_wait::{
    Prologs, Waited, is_at_once, nodes_of, wait_for_prologs, wait_until_running,
};
use super::connection::{CommandError, cluster_name, connect};
use super::exit_variables::{of_error, of_lateness, say_zero};
use super::login_environment::{bare_login, login_environment};
use super::submitted_by::note_submitter;
use super::token::token;
use crate::printer::Printer;
use api::{CallError, Client, JobFilter, Refusal, Submission};
use command::Held;
use model::component_environment::salloc_component_variables;
use model::job_environment::{StartedJob, salloc_variables};
use model::option_table::Command;
use model::salloc::{Salloc, resolve};
use model::submission_environment::submission_variables;
use model::{JobId, JobRecord, Outcome, Surroundings, Timestamp, Variables, Voice, first_error};
use std::cell::OnceCell;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use sys::signals::SignalFd;

/// Signals that `salloc` reads: HUP, INT, QUIT, USR1, USR2, TERM, CONT, and those of a background
/// process that touches the terminal.
const SIGNALS: &[i32] = &[1, 2, 3, 10, 12, 15, 18, 21, 22];

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    say_zero("salloc", printer);
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            printer.say(&format!("salloc: error: getcwd failed: {error}"));
            return of_error();
        }
    };
    let zone = sys::local_zone();
    let engine = super::connection::engine_dir();
    let engine = engine.as_deref();
    let has_nodes = engine.is_ok_and(super::connection::has_nodes);
    let has_gres =
        |name: &str| engine.is_ok_and(|engine| super::connection::has_gres(engine, name));
    let surroundings = Surroundings::embedded(Timestamp(sys::now()), &zone, &cwd)
        .with_nodes(has_nodes)
        .asking_for_gres(&has_gres)
        .called_by_root(sys::process::user() == 0);
    let surroundings = surroundings.reading_files(super::named_input::read_text);
    let (asked, said) = resolve(args, &super::variable, &surroundings);
    if let Some(show) = asked.show {
        let usage = "Usage: salloc [OPTIONS(0)...] [command(0) [args(0)...]]";
        return super::shown(show, usage, help, printer);
    }
    if let Some(error) = first_error(&said) {
        super::say_wrong(Command::Salloc, &said, error, printer);
        return match error.exit {
            1 => of_error(),
            of_options => of_options,
        };
    }
    if asked.silent {
        printer.mute();
    }
    for remark in &said {
        if !asked.quiet || remark.voice == Voice::Error {
            printer.say(remark.printed(Command::Salloc).trim_end());
        }
    }
    for line in &asked.defined {
        printer.say(&format!("salloc: {line}"));
    }
    let before_allocation = super::refuse_other_clusters("salloc", asked.clusters.as_deref())
        .and_then(|()| enter(asked.chdir.as_deref()))
        .and_then(|()| super::unusable(&asked.request.chdir).map_or(Ok(()), Err));
    if let Err(why) = before_allocation {
        printer.say(&format!("salloc: error: {why}"));
        return of_error();
    }
    // Before the first thread: all of them must have the signals blocked.
    let signals = match SignalFd::block(SIGNALS) {
        Ok(signals) => signals,
        Err(error) => {
            printer.say(&format!("salloc: error: signals: {error}"));
            return of_error();
        }
    };
    hold(&asked, &cwd, printer, signals).unwrap_or_else(|failure| {
        failure.say("salloc", printer);
        of_error()
    })
}

/// Goes to the folder of `--chdir`, as `salloc` itself does.
fn enter(folder: Option<&Path>) -> Result<(), String> {
    let Some(folder) = folder else { return Ok(()) };
    std::env::set_current_dir(folder).map_err(|error| {
        let words = super::system_words(&error);
        format!("chdir({}): {words}", folder.display())
    })
}

/// Asks for the allocation and holds it until its command ends.
fn hold(
    asked: &Salloc,
    cwd: &Path,
    printer: &Printer,
    signals: SignalFd,
) -> Result<u8, CommandError> {
    let mut client = connect()?;
    let say = |text: &str| {
        if !asked.quiet {
            printer.say(&format!("salloc: {text}"));
        }
    };
    let submitted = match client.submit_and_see(submission(asked, cwd)) {
        Ok(submitted) => submitted,
        Err(CallError::Refused(refusal)) => {
            let prefix = "salloc: error: Job submit/allocate failed: ";
            super::say_refusal("salloc", prefix, &refusal, printer);
            return Ok(of_error());
        }
        Err(error) => return Err(error.into()),
    };
    let job = submitted.job;
    let revoked = format!("Job allocation {job} has been revoked.");
    let mut queued = |why: Option<&str>| {
        if let Some(why) = why {
            say(why);
        }
        say(&format!("Pending job allocation {job}"));
        say(&format!("job {job} queued and waiting for resources"));
    };
    let immediate = asked
        .immediate
        .map(|count| Duration::from_secs(count.into()));
    let submitted = (job, submitted.now);
    let record = match wait_until_running(submitted, immediate, &mut client, &signals, &mut queued)
    {
        Waited::Running { record, announced } => {
            if announced {
                say(&format!("job {job} has been allocated resources"));
            }
            record
        }
        Waited::Late => {
            let why = if is_at_once(immediate) {
                "Requested nodes are busy"
            } else {
                "Connection timed out"
            };
            printer.say(&format!(
                "salloc: error: Unable to allocate resources: {why}"
            ));
            say(&revoked);
            return Ok(of_lateness());
        }
        Waited::NotAtOnce(why) => {
            printer.say(&format!("salloc: error: Job submit/allocate failed: {why}"));
            return Ok(of_error());
        }
        Waited::Interrupted => {
            say(&revoked);
            say("Job aborted due to signal");
            return Ok(of_error());
        }
        Waited::Ended(outcome) => {
            match outcome {
                Outcome::Deadline => {
                    say("Job has been cancelled");
                    say(&revoked);
                    printer.say(
                        "salloc: error: Job submit/allocate failed: \
                         Job/step already completing or completed",
                    );
                }
                Outcome::LaunchFailed { message } => {
                    printer.say(&format!("salloc: error: {message}"));
                    say(&revoked);
                }
                _ => say(&revoked),
            }
            return Ok(of_error());
        }
        Waited::Failed(error) => return Err(error.into()),
    };
    say(&format!("Granted job allocation {job}"));
    let mut waits = || say("Waiting for resource configuration");
    let record = match wait_for_prologs(record, &mut client, &signals, &mut waits) {
        Prologs::Ran { record, waited } => {
            if waited {
                say(&format!("Nodes {} are ready for job", nodes_of(&record)));
            }
            record
        }
        Prologs::Over(why) => {
            why.iter().for_each(|why| say(why));
            say(&revoked);
            printer.say(&format!(
                "salloc: error: Job allocation {job} has been revoked"
            ));
            return Ok(of_error());
        }
        Prologs::Interrupted => {
            say(&revoked);
            say("Job aborted due to signal");
            return Ok(of_error());
        }
        Prologs::Failed(error) => return Err(error.into()),
    };
    if asked.request.rare.no_shell {
        return Ok(0);
    }
    let environment = environment(asked, &record, cwd, &mut client)?;
    // By the time the command has ended it stands, and is not waited for.
    let connecting = OnceCell::new();
    let held = Held {
        job,
        environment: &environment,
        kill_command: asked.kill_command,
        started: &|| drop(connecting.set(thread::spawn(connect))),
        say: &say,
        complain: &|text| printer.say(&format!("salloc: error: {text}")),
    };
    let ended = held.run(&asked.command, client, signals);
    if !ended.revoked {
        say(&format!("Relinquishing job allocation {job}"));
        release(job, &ended, connecting.into_inner(), printer)?;
    }
    Ok(ended.code)
}

fn submission(asked: &Salloc, cwd: &Path) -> Submission {
    let mut environment = sys::odd_text::environment();
    let umask = sys::process::umask();
    let host = sys::host_name();
    set_all(
        &mut environment,
        submission_variables(&asked.request, &host, cwd, umask),
    );
    let mut request = asked.request.clone();
    note_submitter(&mut request, "salloc");
    Submission {
        token: token("salloc"),
        request,
        later: asked.later.clone(),
        script: None,
        args: Vec::new(),
        // What runs beside it is no part of the job.
        command: None,
        environment,
        umask,
        submit_host: host,
        as_user: None,
        step: None,
    }
}

/// What the command gets: the caller's environment and the allocation's variables, with Slurm's
/// commands to be found.
fn environment(
    asked: &Salloc,
    record: &JobRecord,
    cwd: &Path,
    client: &mut Client,
) -> Result<Variables, CommandError> {
    let mut environment = sys::odd_text::environment();
    if asked.get_user_env {
        let login = login_environment(None).unwrap_or_else(|_| bare_login(None));
        let known = |name: &str| environment.iter().any(|(known, _)| known == name);
        let below = login.into_iter().filter(|(name, _)| !known(name));
        let below: Variables = below.collect();
        environment.extend(below);
    }
    let cluster = cluster_name(client.folder());
    if let Some(job) = StartedJob::of(record, &cluster)
        && record.request.rare.component.is_none()
    {
        set_all(&mut environment, asked.handed_on.clone());
        set_all(&mut environment, salloc_variables(&job));
    }
    if let Some(place) = record.request.rare.component {
        let records = client.jobs(JobFilter::of(&place.ids().collect::<Vec<_>>()))?;
        let jobs = records
            .iter()
            .filter_map(|record| StartedJob::of(record, &cluster));
        let jobs: Vec<StartedJob<'_>> = jobs.collect();
        set_all(&mut environment, salloc_component_variables(place, &jobs));
    }
    let folder = client.folder().root().to_string_lossy().into_owned();
    // Its steps are in the container; the command itself is on this machine.
    set_all(&mut environment, asked.container.as_variables());
    let own = [
        ("SLURM_SUBMIT_DIR", cwd.to_string_lossy().into_owned()),
        ("SLURM_SUBMIT_HOST", sys::host_name()),
        (sys::env_vars::TRAINYARD_ENGINE, folder),
    ];
    set_all(
        &mut environment,
        own.map(|(name, value)| (name.to_owned(), value)).to_vec(),
    );
    let terminal = sys::terminal::is_terminal(&std::io::stdin());
    engine::add_slurm_commands(&mut environment, client.folder(), terminal);
    Ok(environment)
}

fn set_all(environment: &mut Variables, variables: Variables) {
    environment.retain(|(name, _)| !variables.iter().any(|(known, _)| known == name));
    environment.extend(variables);
}

/// Ends the allocation, on a connection of its own: the other one belongs to the thread that watches.
fn release(
    job: JobId,
    ended: &command::Ended,
    connecting: Option<JoinHandle<Result<Client, CommandError>>>,
    printer: &Printer,
) -> Result<(), CommandError> {
    let connected = connecting.and_then(|thread| thread.join().ok());
    let mut client = connected.unwrap_or_else(connect)?;
    match client.release(job, ended.status) {
        Ok(()) => {}
        // It was cancelled, or met its limit, as its command ended.
        Err(error)
            if matches!(
                error.refusal(),
                Some(Refusal::AlreadyEnded { .. } | Refusal::NotRunning { .. })
            ) => {}
        Err(error) => printer.say(&format!(
            "salloc: error: job {job} was not released: {error}"
        )),
    }
    Ok(())
}

/// Every option, from the table.
pub(super) fn help() -> String {
    let head = "Usage: salloc [OPTIONS] [COMMAND [ARGUMENT ...]]\n\
         Takes an allocation of Trainyard's embedded engine and runs a command beside it, the user's\n\
         shell where none is named, as Slurm's salloc does on a cluster.\n\n";
    super::option_help(Command::Salloc, head)
}
