//! `yard logs`

use super::script;
use super::select::{Selected, select};
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use backend::{FILE_PAUSE, Follower, Run, Seen};
use clap::Args as ClapArgs;
use folder::{LogLine, LogTail};

/// Show what the ranks of a run wrote
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// Go on until the run is over
    #[arg(short, long)]
    follow: bool,
    /// Of this rank alone
    #[arg(short, long)]
    rank: Option<u32>,
    /// Of the last start alone
    #[arg(long)]
    last: bool,
}

/// Runs `yard logs`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut selected = select(&args.run, printer)?;
    let Some(run) = selected.run.take() else {
        return job_output(&selected, printer);
    };
    if args.follow {
        return follow(args, &run, &mut *selected.transport, printer);
    }
    let starts = match args.last {
        true => run.starts.last().map_or(&[][..], std::slice::from_ref),
        false => &run.starts[..],
    };
    for start in starts {
        let lines = LogTail::new(&run.folder, start.attempt)
            .read(true)
            .map_err(|error| Failure::new(exit_code::IO, format!("logs can't be read: {error}")))?;
        for line in lines {
            show(args, &line, printer);
        }
    }
    Ok(exit_code::DONE)
}

/// What a job that is no run wrote, where its script said.
fn job_output(selected: &Selected, printer: &Printer) -> Outcome {
    let job = selected.job()?;
    if !selected.transport.is_embedded() {
        return Err(Failure::new(
            exit_code::USAGE,
            format!("{} is not a run of yard", selected.name()),
        )
        .todo(format!("scontrol show job {job} names its output's file")));
    }
    let path = script::output_path(job)?;
    let bytes = std::fs::read(&path).map_err(|error| {
        Failure::new(
            exit_code::IO,
            format!("{} can't be read: {error}", path.display()),
        )
        .there(format!("job {job} writes there once it runs"))
    })?;
    printer.data(&String::from_utf8_lossy(&bytes));
    Ok(exit_code::DONE)
}

fn follow(
    args: &Args,
    run: &Run,
    transport: &mut dyn backend::Transport,
    printer: &Printer,
) -> Outcome {
    let (Some(job), Some(at)) = (run.job(), run.submitted()) else {
        return Ok(exit_code::DONE);
    };
    let mut follower = Follower::new(run.folder.clone(), job, at);
    loop {
        for seen in follower.poll(transport)? {
            match seen {
                Seen::Output { line } => show(args, &line, printer),
                Seen::Redrawn { line } if args.rank.is_none_or(|rank| rank == line.rank) => {
                    printer.redraw(&format!("[{}] {}", line.rank, line.text));
                }
                Seen::Over { .. } => return Ok(exit_code::DONE),
                Seen::Waiting { .. } | Seen::Event { .. } | Seen::Redrawn { .. } => {}
            }
        }
        std::thread::sleep(FILE_PAUSE);
    }
}

fn show(args: &Args, line: &LogLine, printer: &Printer) {
    match args.rank {
        Some(rank) if rank == line.rank => printer.line(&line.text),
        Some(_) => {}
        None => printer.line(&format!("[{}] {}", line.rank, line.text)),
    }
}
