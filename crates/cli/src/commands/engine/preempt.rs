//! `yard engine preempt`.

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, not_done, unreachable};
use crate::printer::Printer;
use crate::words;
use api::{Client, LossOfPlace, LostPlace, NamedJob};
use clap::{Args as ClapArgs, ValueEnum};
use model::JobId;
use model::scontrol::job_ids;

/// Which job.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A running job: 12, 12_3 for an element of an array, 12 for all of them
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
    let jobs = job_ids(&args.job).filter(|jobs| jobs.len() == 1);
    let Some([job]) = jobs.as_deref() else {
        return Err(
            Failure::new(FailureKind::Usage, format!("{} is no job", args.job))
                .todo("write the number of one, as yard ls shows it: 12, or 12_3"),
        );
    };
    let mode = args.mode.map(|mode| match mode {
        Mode::Requeue => LossOfPlace::Requeue,
        Mode::Cancel => LossOfPlace::Cancel,
        Mode::Suspend => LossOfPlace::Suspend,
    });
    let named = NamedJob {
        job: JobId(job.job),
        element: job.task,
    };
    let mut client = Client::connect(&super::dir_of(args.on.as_deref())?).map_err(unreachable)?;
    let preempted = client.preempt(named, mode);
    for lost in preempted.map_err(not_done)? {
        printer.show_line(&said(&lost));
    }
    Ok(exit_code::DONE)
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
