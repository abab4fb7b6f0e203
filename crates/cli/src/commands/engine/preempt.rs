//! `yard engine preempt`.

use crate::commands::selected;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, not_done, unreachable};
use crate::printer::Printer;
use crate::words;
use api::{Client, LossOfPlace, LostPlace, NamedJob};
use clap::{Args as ClapArgs, ValueEnum};
use model::JobId;
use model::scontrol::job_ids;
use runs::select_to_change;

/// Which job.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A running job: 12, 12_3 for an element of an array, 12 for all of them; or a run or job by its name,
    /// ENGINE:12, or @ for the newest
    job: String,
    /// What becomes of it; without this what its QOS, partition or cluster says
    #[arg(long)]
    mode: Option<Mode>,
    /// The engine whose job it is
    #[arg(long, value_name = "ENGINE")]
    on: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// It goes back to the queue
    Requeue,
    /// It ends
    Cancel,
    /// Its processes stop until `scontrol resume`
    Suspend,
}

/// Runs `yard engine preempt`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let (engine, named) = meant(args, printer)?;
    let mode = args.mode.map(|mode| match mode {
        Mode::Requeue => LossOfPlace::Requeue,
        Mode::Cancel => LossOfPlace::Cancel,
        Mode::Suspend => LossOfPlace::Suspend,
    });
    let mut client = Client::connect(&super::dir_of(engine.as_deref())?).map_err(unreachable)?;
    let preempted = client.preempt(named, mode);
    let not_preempted = |error| {
        let failure = not_done(error);
        match failure.todo {
            None => failure.todo(format!(
                "{}yard slurm squeue -t running lists the jobs that can be preempted; --mode says how",
                of_engine(engine.as_deref())
            )),
            Some(_) => failure,
        }
    };
    for lost in preempted.map_err(not_preempted)? {
        printer.show_line(&said(&lost));
    }
    Ok(exit_code::DONE)
}

/// What stands before Slurm's commands so that they ask this engine.
fn of_engine(engine: Option<&str>) -> String {
    let other = engine.filter(|engine| *engine != backend::LOCAL);
    let name = sys::env_vars::TRAINYARD_ENGINE;
    other.map_or_else(String::new, |engine| format!("{name}={engine} "))
}

/// The engine that is asked, and its job: by the number that it has there, or as every command names runs and
/// jobs.
fn meant(args: &Args, printer: &Printer) -> Result<(Option<String>, NamedJob), Failure> {
    if let Some([job]) = job_ids(&args.job).as_deref() {
        let named = NamedJob {
            job: JobId(job.job),
            element: job.task,
            component: None,
        };
        return Ok((args.on.clone(), named));
    }
    let selected = selected(select_to_change(&args.job), printer)?;
    let cluster = selected.cluster.name.clone();
    let elsewhere = args.on.as_ref().filter(|on| **on != cluster);
    if elsewhere.is_some() || !selected.cluster.is_embedded {
        let what = match elsewhere {
            Some(on) => format!("{} is on {cluster}, not on {on}", args.job),
            None => format!(
                "{} is on {cluster}, which no engine of yard rules",
                args.job
            ),
        };
        return Err(Failure::new(FailureKind::Usage, what)
            .todo("name a job of an engine, as yard ls shows it; yard engine ls lists engines"));
    }
    let named = NamedJob {
        job: selected.job()?,
        element: selected.element,
        component: None,
    };
    Ok((Some(cluster), named))
}

fn said(lost: &LostPlace) -> String {
    let LostPlace { job, mode, until } = lost;
    let left = until.map(|until| words::length(until.0 - sys::now()));
    match (mode, left) {
        (LossOfPlace::Requeue, None) => format!("job {job} goes back to the queue"),
        (LossOfPlace::Requeue, Some(left)) => {
            format!("job {job} has {left} to end by itself, then goes back to the queue")
        }
        (LossOfPlace::Cancel, None) => format!("job {job} is ended"),
        (LossOfPlace::Cancel, Some(left)) => {
            format!("job {job} has {left} to end by itself, then is ended")
        }
        (LossOfPlace::Suspend, _) => {
            format!("job {job} is suspended; scontrol resume {job} lets it go on")
        }
    }
}
