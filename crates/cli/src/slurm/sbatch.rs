//! `sbatch`: queues a batch script.

use super::connection::{CommandError, engine_dir_of, has_gres, has_nodes};
use super::exit_variables::{of_error, say_zero};
use super::login_environment::{bare_login, login_environment};
use super::named_input;
use super::other_user::OtherUser;
use super::script_source::{from_file, from_stdin};
use super::step_container;
use super::submitted_by::note_submitter;
use super::token::token;
use crate::printer::Printer;
use api::{AsUser, Client, Submission};
use model::option_table::Command;
use model::sbatch::{Sbatch, ScriptSource, resolve, script_source};
use model::{Diagnostic, JobId, Show, Surroundings, Timestamp, Voice, first_error};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    say_zero("sbatch", printer);
    let done = submit(args, None, printer).and_then(|queued| queued.tell(printer));
    done.unwrap_or_else(|stop| match stop.said(printer) {
        1 => of_error(),
        of_options => of_options,
    })
}

/// Queues a script on the embedded engine of that cluster as `sbatch` does, saying only what it
/// warns of; the error is its exit status.
pub fn queue(args: &[String], cluster: &str, printer: &Printer) -> Result<JobId, u8> {
    let queued = submit(args, Some(cluster), printer).map_err(|stop| stop.said(printer))?;
    queued.job.ok_or(0)
}

/// A job that was queued, and what is still to be said or done about it.
struct Queued {
    /// `None`: nothing had to be queued (`--help`, `--test-only`).
    job: Option<JobId>,
    /// The cluster, where it was named.
    cluster: Option<String>,
    parsable: bool,
    quiet: bool,
    wait: Option<Client>,
}

impl Queued {
    const NOTHING: Queued = Queued {
        job: None,
        cluster: None,
        parsable: false,
        quiet: true,
        wait: None,
    };

    fn tell(self, printer: &Printer) -> Result<u8, Stop> {
        let Some(job) = self.job else { return Ok(0) };
        if !self.quiet {
            printer.line(&match (self.parsable, &self.cluster) {
                (true, None) => job.to_string(),
                (true, Some(cluster)) => format!("{job};{cluster}"),
                (false, None) => format!("Submitted batch job {job}"),
                (false, Some(cluster)) => format!("Submitted batch job {job} on cluster {cluster}"),
            });
        }
        match self.wait {
            Some(mut client) => Ok(super::sbatch_wait::wait(&mut client, job)?.unwrap_or(1)),
            None => Ok(0),
        }
    }
}

/// Why it goes no further.
enum Stop {
    /// All was said.
    Status(u8),
    /// No engine, or no answer of its.
    Failed(CommandError),
}

impl Stop {
    /// Says what is left to say; returns the exit status.
    fn said(self, printer: &Printer) -> u8 {
        match self {
            Stop::Status(status) => status,
            Stop::Failed(failure) => {
                failure.say("sbatch", printer);
                1
            }
        }
    }
}

impl<E: Into<CommandError>> From<E> for Stop {
    fn from(failure: E) -> Stop {
        Stop::Failed(failure.into())
    }
}

fn submit(args: &[String], cluster: Option<&str>, printer: &Printer) -> Result<Queued, Stop> {
    let cwd = std::env::current_dir().map_err(|error| {
        printer.say(&format!("sbatch: error: getcwd failed: {error}"));
        Stop::Status(1)
    })?;
    let zone = sys::local_zone();
    let engine = engine_dir_of(cluster);
    let has_nodes = engine.as_ref().is_ok_and(|engine| has_nodes(engine));
    let has_gres = |name: &str| engine.as_ref().is_ok_and(|engine| has_gres(engine, name));
    let surroundings = Surroundings::embedded(Timestamp(sys::now()), &zone, &cwd)
        .with_nodes(has_nodes)
        .asking_for_gres(&has_gres)
        .called_by_root(sys::process::user() == 0)
        .reading_files(super::named_input::read_text);
    let resolved = |script: Option<&str>| resolve(args, &super::variable, script, &surroundings);
    // What is wrong with the command line alone is said before anything of the script.
    let first_words = || {
        let (asked, said) = resolved(Some("#!/bin/sh\n"));
        match asked.show {
            Some(show) => shown(show, printer).map(Some),
            None => stop_at_error(&said, printer).map(|()| None),
        }
    };
    let found = match script_source(args) {
        ScriptSource::Wrap(_) => None,
        ScriptSource::Stdin => {
            if let Some(nothing) = first_words()? {
                return Ok(nothing);
            }
            Some(from_stdin())
        }
        ScriptSource::File(name) => Some(from_file(&name)),
    };
    let is_there = !matches!(found, Some(Err(_)));
    let text = match &found {
        Some(Ok(found)) => Some(sys::odd_text::text(OsStr::from_bytes(&found.bytes))),
        _ => None,
    };
    let (mut asked, said) = resolved(text.as_deref());
    if (asked.show.is_some() || first_error(&said).is_some() || !is_there)
        && let Some(nothing) = first_words()?
    {
        return Ok(nothing);
    }
    let found = found.transpose().map_err(|message| {
        printer.say(&format!("sbatch: error: {message}"));
        Stop::Status(1)
    })?;
    if let Some(show) = asked.show {
        return shown(show, printer);
    }
    stop_at_error(&said, printer)?;
    if asked.silent {
        printer.mute();
    }
    for remark in &said {
        if !asked.quiet || remark.voice == Voice::Error {
            printer.say(remark.printed(Command::Sbatch).trim_end());
        }
    }
    for line in &asked.defined {
        printer.say(&format!("sbatch: {line}"));
    }
    if let Some(word) = asked.export.unclosed() {
        printer.say(&format!(
            "sbatch: error: Improperly formed environment variable ({word})"
        ));
    }
    super::refuse_other_clusters("sbatch", asked.clusters.as_deref()).map_err(|why| {
        printer.say(&format!("sbatch: error: {why}"));
        Stop::Status(1)
    })?;
    let other = OtherUser::find(asked.uid.as_deref(), asked.gid.as_deref());
    let other = other.map_err(|message| {
        printer.say(&format!("sbatch: error: {message}"));
        Stop::Status(255)
    })?;
    let as_user = other.as_ref().map(|other| other.as_user);
    let engine = engine?;
    if asked.test_only {
        return match test(
            &mut Client::connect(&engine)?,
            asked.request,
            asked.later,
            as_user,
            &super::moment_style(),
        ) {
            Ok(text) => {
                if !asked.quiet {
                    printer.say(&format!("sbatch: {text}"));
                }
                Ok(Queued::NOTHING)
            }
            Err(error) => Err(refused("allocation failure: ", error.into(), printer)),
        };
    }
    if let Some(why) = super::unusable(&asked.request.chdir) {
        printer.say(&format!("sbatch: error: {why}"));
        return Err(Stop::Status(1));
    }
    for note in super::job_mail::unsent(&asked.request) {
        printer.say(&format!("sbatch: {note}"));
    }
    let whose = other.as_ref().filter(|_| asked.container.is_asked());
    let container = match whose.and_then(OtherUser::no_image_of_theirs) {
        Some(lines) => Err(lines.to_vec()),
        None => step_container::made_ready(&asked.container, &cwd, "sbatch", printer),
    };
    let container = container.map_err(|lines| {
        for line in lines {
            printer.say(&format!("sbatch: error: {line}"));
        }
        Stop::Status(1)
    })?;
    if container.is_some() {
        asked.request.rare.container.clone_from(&container);
    }
    note_submitter(&mut asked.request, "sbatch");
    let umask = sys::process::umask_of_one_thread();
    let environment = environment(&asked, &cwd, umask, as_user, printer)?;
    let (parsable, quiet, wait) = (asked.parsable, asked.quiet, asked.wait);
    let cluster = asked
        .clusters
        .and_then(|_| super::connection::engine_name().ok());
    let submission = Submission {
        token: token("sbatch"),
        request: asked.request,
        later: asked.later,
        script: Some(asked.script),
        args: asked.args,
        command: found
            .and_then(|found| found.path)
            .map(|path| path.to_string_lossy().into_owned()),
        environment,
        umask,
        submit_host: sys::host_name(),
        as_user,
        step: None,
    };
    // Not before: the engine's thread that accepts it finds all of the call there.
    let mut client = Client::connect(&engine)?;
    if let Some(lines) = other.and_then(|other| other.kept_out_of(client.folder())) {
        for line in lines {
            printer.say(&format!("sbatch: {line}"));
        }
        return Err(Stop::Status(1));
    }
    let job = match client.submit(submission) {
        Ok(job) => job,
        Err(error) => {
            let prefix = "sbatch: error: Batch job submission failed: ";
            return Err(refused(prefix, error.into(), printer));
        }
    };
    if let Some(container) = container
        && let Err(error) = step_container::keep_for(&container, &engine, job)
    {
        printer.say(&format!(
            "sbatch: note: yard cache prune may remove the image of job {job}: that it waits can't be noted ({error})"
        ));
    }
    Ok(Queued {
        job: Some(job),
        cluster,
        parsable,
        quiet,
        wait: wait.then_some(client),
    })
}

/// When a job would start, in Slurm's words; of a heterogeneous one, when all of its components could.
fn test(
    client: &mut Client,
    first: model::Request,
    later: Vec<model::Request>,
    as_user: Option<AsUser>,
    moments: &model::MomentStyle,
) -> Result<String, api::CallError> {
    let start = client.test(first, as_user)?;
    if later.is_empty() {
        return Ok(super::start_text(&start, moments));
    }
    let mut all = vec![start];
    for request in later {
        all.push(client.test(request, as_user)?);
    }
    Ok(super::common_start_text(&all, moments))
}

/// Says the first error, at which Slurm stops too, with what was remarked before it.
fn stop_at_error(said: &[Diagnostic], printer: &Printer) -> Result<(), Stop> {
    let Some(error) = first_error(said) else {
        return Ok(());
    };
    super::say_wrong(Command::Sbatch, said, error, printer);
    Err(Stop::Status(error.exit))
}

/// What `--export` leaves of the caller's environment, or of the file that `--export-file` names.
fn environment(
    asked: &Sbatch,
    cwd: &std::path::Path,
    umask: u32,
    as_user: Option<AsUser>,
    printer: &Printer,
) -> Result<Vec<(String, String)>, Stop> {
    let caller = match &asked.export_file {
        None => sys::odd_text::environment(),
        Some(name) => exported(name).ok_or_else(|| {
            printer.say(&format!(
                "sbatch: error: Could not open user environment file {name}"
            ));
            Stop::Status(1)
        })?,
    };
    let login = if asked.wants_login() {
        login_environment(as_user).unwrap_or_else(|why| {
            printer.say(&format!(
            "sbatch: the job gets no variables of a login ({why}), but HOME, USER, SHELL and PATH"
        ));
            bare_login(as_user)
        })
    } else {
        Vec::new()
    };
    let mut environment = asked.environment(&caller, &login, &sys::host_name(), cwd, umask);
    environment.extend(asked.limits.variables(&sys::soft_limits()));
    Ok(environment)
}

/// Variables of a file, or of an open descriptor by its number; a NUL ends each.
fn exported(name: &str) -> Option<Vec<(String, String)>> {
    let path = match name.parse::<u32>() {
        Ok(number) => PathBuf::from(format!("/proc/self/fd/{number}")),
        Err(_) => PathBuf::from(name),
    };
    let text = String::from_utf8(named_input::read(&path).ok()?).ok()?;
    let pairs = text
        .split('\0')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    Some(pairs.collect())
}

/// Says a refusal as Slurm does, and what its three parts are where it has them.
fn refused(prefix: &str, failure: CommandError, printer: &Printer) -> Stop {
    let Some(refusal) = failure.refusal() else {
        return failure.into();
    };
    super::say_refusal("sbatch", prefix, refusal, printer);
    Stop::Status(1)
}

/// Prints what was asked for instead of a submission.
fn shown(show: Show, printer: &Printer) -> Result<Queued, Stop> {
    let usage = "Usage: sbatch [OPTIONS(0)...] [script [args(0)...]]";
    match super::shown(show, usage, help, printer) {
        0 => Ok(Queued::NOTHING),
        status => Err(Stop::Status(status)),
    }
}

/// Every option, from the table.
pub(super) fn help() -> String {
    let head = "Usage: sbatch [OPTIONS] SCRIPT [ARGUMENT ...]\n       sbatch [OPTIONS] --wrap COMMAND\n\
         Queues a batch script on Trainyard's embedded engine as Slurm's sbatch does on a cluster.\n\n";
    super::option_help(Command::Sbatch, head)
}
