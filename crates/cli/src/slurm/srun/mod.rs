//! `srun`: runs a step, in the job around it or in one of its own.
//!
//! It listens; the step's supervisors call and send what tasks write; it sends them its stdin and
//! its signals. When it dies, the step dies.

mod allocation;
mod arguments;
mod around_step;
mod broadcast;
mod call;
mod events;
mod input;
mod interrupts;
mod listening;
pub mod output;
mod session;
mod step;
mod step_nodes;
mod store_outage;
mod task_ends;
mod watchers;

use super::exit_variables::{of_error, say_zero};
use super::{connection, named_input, step_container};
use crate::printer::Printer;
use api::{Client, JobFilter};
use arguments::Caller;
use broadcast::{Broadcast, PartToCopy};
use call::StepCall;
pub use listening::attached_socket;
use model::option_table::Command;
use model::srun::{Srun, resolve};
use model::{JobId, JobState, StepContainer, Surroundings, Timestamp, first_error};
use std::ffi::OsString;
use std::path::Path;

/// Runs it on the engine of the job around it, the one that is named, or this machine's own; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    match connection::engine_dir() {
        Ok(engine) => run_on(&engine, args, printer),
        Err(failure) => {
            failure.say("srun", printer);
            1
        }
    }
}

/// Runs it on the engine of a folder.
fn run_on(engine: &Path, args: &[String], printer: &Printer) -> u8 {
    say_zero("srun", printer);
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            printer.say(&format!("srun: error: getcwd failed: {error}"));
            return 1;
        }
    };
    let zone = sys::local_zone();
    let has_gres = |name: &str| connection::has_gres(engine, name);
    let surroundings = Surroundings::embedded(Timestamp(sys::now()), &zone, &cwd)
        .with_nodes(connection::has_nodes(engine))
        .asking_for_gres(&has_gres)
        .reading_files(super::named_input::read_text)
        .called_by_root(sys::process::user() == 0);
    let (mut asked, said) = resolve(args, &super::variable, &surroundings);
    if let Some(show) = asked.show {
        let usage = "Usage: srun [OPTIONS(0)...] executable [args(0)...]";
        return super::shown(show, usage, help, printer);
    }
    if let Some(error) = first_error(&said) {
        super::say_wrong(Command::Srun, &said, error, printer);
        return match error.exit {
            1 => of_error(),
            of_options => of_options,
        };
    }
    if asked.silent {
        printer.mute();
    }
    if !asked.quiet {
        for remark in &said {
            printer.say(remark.printed(Command::Srun).trim_end());
        }
    }
    for line in &asked.defined {
        printer.say(&format!("srun: {line}"));
    }
    if let Err(why) = super::refuse_other_clusters("srun", asked.clusters.as_deref()) {
        printer.say(&format!("srun: error: {why}"));
        return 1;
    }
    if asked.test_only {
        return test(engine, asked, printer);
    }
    let environment = sys::odd_text::environment();
    let caller = Caller {
        environment: &environment,
        cwd: &cwd,
        umask: sys::process::umask(),
        host: &sys::host_name(),
    };
    let programs = match programs(&asked) {
        Ok(programs) => programs,
        Err(lines) => {
            for line in lines {
                printer.say(&format!("srun: error: {line}"));
            }
            return 1;
        }
    };
    let without_terminal = asked.launch.pty && !sys::terminal::is_terminal(&std::io::stdout());
    if without_terminal {
        asked.launch.pty = false;
        printer.say("srun: error: ioctl(TIOCGWINSZ): Inappropriate ioctl for device");
        printer.say("srun: error: Not using a pseudo-terminal, disregarding --pty option");
    }
    let container = asked.launch.container.clone();
    let bcast = asked.launch.bcast.clone();
    let parts = parts_to_copy(&asked);
    let mut call = arguments::step_call(asked, &caller);
    if !programs.is_empty() {
        call.launch.programs = programs;
    }
    let copies_parts = parts.iter().any(|part| part.to.is_some());
    let is_multi_prog = !call.launch.programs.is_empty() && parts.is_empty();
    let is_elsewhere = if is_multi_prog {
        Some("tasks that run different programs")
    } else if container.is_asked() {
        Some("a program of a container")
    } else {
        None
    };
    if let (Some(what), true) = (is_elsewhere, bcast.is_some() || copies_parts) {
        printer.say(&format!("srun: --bcast has no effect on {what}"));
    } else {
        let broadcast = match bcast {
            _ if copies_parts => Broadcast::of_parts(&mut call.launch, parts).map(Some),
            Some(to) => Broadcast::of(&mut call.launch, &to).map(Some),
            None => Ok(None),
        };
        match broadcast {
            Ok(broadcast) => call.broadcast = broadcast,
            Err(why) => {
                printer.say(&format!("srun: fatal: {why}"));
                return 1;
            }
        }
    }
    if let Err(lines) = put_inside(&mut call, &container, &cwd, printer) {
        for line in lines {
            printer.say(&format!("srun: error: {line}"));
        }
        return 1;
    }
    if let Some(why) = super::unusable(&call.launch.files.chdir) {
        printer.say(&format!("srun: error: {why}"));
        return 1;
    }
    run_step(engine, call, printer)
}

/// What the components of a heterogeneous job run in a step; nothing where it is of one job.
fn parts_to_copy(asked: &Srun) -> Vec<PartToCopy> {
    let parts = asked.parts.iter().map(|part| PartToCopy {
        component: part.component,
        command: part.command.clone(),
        tasks: arguments::tasks_of_part(part),
        to: part.launch.bcast.clone(),
    });
    parts.collect()
}

/// For a command of ours that becomes `srun`, on the engine of that cluster.
pub fn run_code(cluster: &str, args: &[OsString], printer: &Printer) -> u8 {
    let args: Vec<String> = args.iter().map(|arg| sys::odd_text::text(arg)).collect();
    match connection::engine_dir_of(Some(cluster)) {
        Ok(engine) => run_on(&engine, &args, printer),
        Err(failure) => {
            failure.say("srun", printer);
            1
        }
    }
}

/// Runs a step to its end; returns `srun`'s exit code.
fn run_step(engine: &Path, mut call: StepCall, printer: &Printer) -> u8 {
    // Before the first thread: all of them must have the signals blocked.
    let signals = match step::block_signals() {
        Ok(signals) => signals,
        Err(error) => {
            printer.say(&format!("srun: error: signals: {error}"));
            return 1;
        }
    };
    let Some(mut client) = step::connect(engine, &call, printer, &signals) else {
        return 1;
    };
    let Some(job) = call.job else {
        return allocation::run(call, &mut client, printer, signals);
    };
    if let Some(lines) = without_component(&call, job, &mut client) {
        for line in lines {
            printer.say(&format!("srun: {line}"));
        }
        return 1;
    }
    if call.counts_by_cpus && call.launch.parts.is_empty() && call.request.task_nodes.is_empty() {
        call.request.tasks = tasks_by_cpus(&call, job, &mut client);
    }
    if connection::has_nodes(client.folder().root())
        && let Ok(facts) = client.facts()
    {
        call.programs.or(facts.srun_prolog, facts.srun_epilog);
    }
    step::run(&call, job, &mut client, printer, signals).code
}

/// The tasks of a step that counts CPUs alone; none where its job does not run, which asking for the step tells.
fn tasks_by_cpus(call: &StepCall, job: JobId, client: &mut Client) -> Option<u32> {
    let jobs = client.jobs(JobFilter::of(&[job])).ok()?;
    let record = jobs.iter().find(|record| record.id == job)?;
    match &record.state {
        JobState::Running { allocation, .. } => {
            Some(model::srun::tasks_by_cpus(allocation, &call.request))
        }
        JobState::Pending { .. } | JobState::Ended { .. } => None,
    }
}

/// What Slurm says where a heterogeneous job is named from outside of it and none of its components is.
fn without_component(call: &StepCall, job: JobId, client: &mut Client) -> Option<Vec<String>> {
    let inside = super::variable("SLURM_JOB_ID");
    if !call.launch.parts.is_empty() || inside.is_some_and(|id| id == job.to_string()) {
        return None;
    }
    let jobs = client.jobs(JobFilter::of(&[job])).ok()?;
    let record = jobs.iter().find(|record| record.id == job)?;
    let place = record.request.rare.component?;
    Some(if place.leader == job {
        let text = "error: No directives to start application on any available hetjob components";
        vec![text.to_owned()]
    } else {
        vec![
            format!(
                "error: Unable to confirm allocation for job {job}: Job not heterogeneous job leader"
            ),
            format!("Check SLURM_JOB_ID environment variable. Expired or invalid job {job}"),
        ]
    })
}

/// Starts the step's commands in the container that was asked for.
fn put_inside(
    call: &mut StepCall,
    asked: &StepContainer,
    cwd: &Path,
    printer: &Printer,
) -> Result<(), step_container::Lines> {
    let Some(container) = step_container::made_ready(asked, cwd, "srun", printer)? else {
        return Ok(());
    };
    let words = step_container::words(&container)?;
    let programs = call.launch.programs.iter_mut();
    for command in programs.chain([&mut call.launch.command]) {
        command.splice(0..0, words.iter().cloned());
    }
    Ok(())
}

/// `--multi-prog`: the command of each task; none where all run the same.
fn programs(asked: &Srun) -> Result<Vec<Vec<String>>, Vec<String>> {
    let Some((name, more)) = asked
        .command
        .split_first()
        .filter(|_| asked.launch.multi_prog)
    else {
        return Ok(Vec::new());
    };
    let bytes = sys::odd_text::bytes(name);
    let text = named_input::read(Path::new(&*bytes))
        .map_err(|_| vec![format!("Could not open multi_prog config file {name}")])?;
    let text = String::from_utf8_lossy(&text);
    let tasks = asked.step.tasks.or(asked.request.tasks).unwrap_or(1);
    model::multi_prog::read(name, &text, tasks, more)
}

/// `--test-only`: whether the job could ever run.
fn test(engine: &Path, asked: Srun, printer: &Printer) -> u8 {
    let mut client = match connection::connect_in(engine) {
        Ok(client) => client,
        Err(failure) => {
            failure.say("srun", printer);
            return 1;
        }
    };
    let quiet = asked.quiet;
    let failure: connection::CommandError = match client.test(asked.request, None) {
        Ok(start) => {
            if !quiet {
                let text = super::start_text(&start, &super::moment_style());
                printer.say(&format!("srun: {text}"));
            }
            return 0;
        }
        Err(error) => error.into(),
    };
    match failure.refusal() {
        Some(refusal) => super::say_refusal("srun", "allocation failure: ", refusal, printer),
        None => failure.say("srun", printer),
    }
    1
}

/// Every option, from the table.
pub(super) fn help() -> String {
    let head = "Usage: srun [OPTIONS] COMMAND [ARGUMENT ...]\n\
         Runs tasks in the job around it, or in a job of their own, on Trainyard's embedded engine\n\
         as Slurm's srun does on a cluster.\n\n";
    super::option_help(Command::Srun, head)
}
