//! `yard logs`

use super::follow::{outage, outage_over};
use super::follow_job::follow_job;
use super::rank_lines::RankLines;
use super::repeats;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::{Event, EventLine, FileTail, LogLine, LogTail, Naming, RunFolder};
use model::JobId;
use runs::{ClusterRef, FILE_PAUSE, Follower, Run, RunEvent, Start};
use runs::{Selected, select, select_repeats};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use train::Shape;

/// Bytes of a file that are in memory at once.
const PORTION: usize = 64 << 10;

/// Show what the ranks of a run wrote
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// Go on until the run is over
    #[arg(short, long)]
    follow: bool,
    /// Of this rank alone; into a pipe or a file its bytes as they are
    #[arg(short, long)]
    rank: Option<u32>,
    /// Of the last start alone
    #[arg(long)]
    last: bool,
}

/// Runs `yard logs`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    if !args.follow
        && let Some(several) = select_repeats(&args.run, Naming::OrBeginning)?
    {
        return repeats::logs(&several, args.rank, args.last, printer);
    }
    let mut selected = super::selected(select(&args.run), printer)?;
    let Some(run) = selected.run.take() else {
        return job_output(args, selected, printer);
    };
    let starts = if args.last || args.follow {
        run.starts.last().map_or(&[][..], std::slice::from_ref)
    } else {
        &run.starts[..]
    };
    let of_last = RankLines::of(&run, starts.last());
    check_rank(args.rank, &run, starts, &of_last)?;
    if args.follow {
        return follow(args, &run, &selected.cluster, &of_last, printer);
    }
    if let Some(rank) = args.rank
        && !printer.writes_to_terminal()
        && of_last.ranks().is_none()
    {
        return copy_rank(rank, &run, starts, printer);
    }
    for start in starts {
        let rank_lines = RankLines::of(&run, Some(start));
        let mut tail = LogTail::new(&run.folder, start.attempt);
        loop {
            let lines = tail.read(true).map_err(|error| {
                Failure::new(FailureKind::Io, format!("logs can't be read: {error}"))
            })?;
            show(args, &lines, &rank_lines, printer);
            if !tail.has_more() {
                break;
            }
        }
    }
    let launched = |line: &EventLine| matches!(line.event, Event::Launched { .. });
    if !starts.iter().flat_map(|start| &start.events).any(launched) {
        let id = &run.entry.id;
        printer.say(&format!(
            "no rank of {id} was started; yard show {id} says why"
        ));
    }
    Ok(exit_code::DONE)
}

/// What a rank wrote, byte by byte, for whatever reads it: its starts one after the other.
fn copy_rank(rank: u32, run: &Run, starts: &[Start], printer: &Printer) -> Outcome {
    for start in starts {
        let path = run.folder.rank_log(start.attempt, rank);
        match copy(&path, printer) {
            // One that was lost before its ranks were started.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.map_err(|error| {
                let path = path.display();
                Failure::new(FailureKind::Io, format!("{path} can't be read: {error}"))
            })?,
        }
    }
    Ok(exit_code::DONE)
}

/// Refuses a rank that none of these starts has; a start that has launched no ranks yet may get it.
fn check_rank(
    rank: Option<u32>,
    run: &Run,
    starts: &[Start],
    lines: &RankLines,
) -> Result<(), Failure> {
    if let (Some(rank), Some(ranks)) = (rank, lines.ranks()) {
        let id = &run.entry.id;
        return if rank < ranks {
            Ok(())
        } else {
            Err(
                Failure::new(FailureKind::Usage, format!("{id} has no rank {rank}"))
                    .asked(format!("-r {rank}"))
                    .there(format!("ranks 0 to {}", ranks.saturating_sub(1)))
                    .todo(NAME_ONE),
            )
        };
    }
    let launched = starts.iter().flat_map(|start| &start.events);
    let launched = launched.filter_map(|line| match line.event {
        Event::Launched { ranks, .. } => Some(ranks),
        _ => None,
    });
    match (rank, launched.max()) {
        (Some(rank), Some(ranks)) if rank >= ranks => Err(no_such_rank(rank, ranks, run)),
        _ => Ok(()),
    }
}

const NAME_ONE: &str = "name one of these, or leave -r out to see all of them";

fn no_such_rank(rank: u32, ranks: u32, run: &Run) -> Failure {
    let id = &run.entry.id;
    let failure = Failure::new(FailureKind::Usage, format!("{id} has no rank {rank}"))
        .asked(format!("-r {rank}"));
    let agents = RunFolder::open(run.folder.path()).ok();
    let agents = agents.filter(|(_, json)| json.plan.launcher.value.shape() == Shape::Agents);
    if let Some((_, json)) = agents {
        // Which numbers the ranks of an agent have is the launcher's choice.
        let (launcher, last) = (json.plan.launcher.value, ranks.saturating_sub(1));
        let each = json.plan.ranks_per_node.value;
        return failure
            .there(format!(
                "agents 0 to {last} of {launcher}, one a node: the {each} ranks of each write into its log"
            ))
            .todo("name an agent, or leave -r out to see all of them");
    }
    let there = match ranks {
        0 | 1 => "rank 0 alone".to_owned(),
        _ => format!("ranks 0 to {}", ranks - 1),
    };
    failure.there(there).todo(NAME_ONE)
}

/// What a job that is no run wrote, where its script said.
fn job_output(args: &Args, selected: Selected, printer: &Printer) -> Outcome {
    let job = selected.job()?;
    // Another job may have the number of one of a run that was removed.
    let has_output = |selected: &Selected| {
        let files = selected.output_files();
        files.is_ok_and(|files| files.iter().any(|file| file.path.exists()))
    };
    if let Some(id) = selected.removed_run().filter(|_| !has_output(&selected)) {
        let what = format!("{} has no output to show", selected.name());
        return Err(Failure::new(FailureKind::Io, what)
            .there(format!(
                "its run {id} was removed, and what it wrote with it"
            ))
            .todo("yard ls shows the runs that there are"));
    }
    if let Some(rank) = args.rank {
        let words = format!("{} is not a run of yard: it has no ranks", selected.name());
        return Err(Failure::new(FailureKind::Usage, words)
            .asked(format!("-r {rank}"))
            .there("the job's output, one file for all that it runs")
            .todo("leave -r out"));
    }
    if args.follow {
        let places = runs::places()?;
        let job = (job, selected.element);
        follow_job(job, &selected.cluster, &places, "", &|| false, printer)?;
        return Ok(exit_code::DONE);
    }
    written_now(selected, job, printer)
}

/// What a job, or an array's elements one after the other, wrote until now: each element's line behind its
/// number, where the whole array is shown.
fn written_now(selected: Selected, job: JobId, printer: &Printer) -> Outcome {
    let files = selected.output_files()?;
    let mut shown = false;
    for file in &files {
        let result = match file.element.filter(|_| selected.element.is_none()) {
            Some(element) => show_whole(&file.path, element, printer),
            None => copy(&file.path, printer),
        };
        match result {
            Ok(()) => shown = true,
            // One that waits has written nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let path = file.path.display();
                printer.say(&format!("note: {path} can't be read: {error}"));
            }
        }
    }
    if shown {
        return Ok(exit_code::DONE);
    }
    let what = format!("{} has no output to show", selected.name());
    let failure = Failure::new(FailureKind::Io, what);
    let later = format!("yard wait {job}, or look again later");
    Err(match files.first() {
        None if selected.cluster.is_embedded => failure
            .there("it has not begun, or has no script")
            .todo(later),
        None => {
            let cluster = &selected.cluster.name;
            failure
                .there(format!("{cluster} no longer says where it wrote"))
                .todo("look where its script's --output says, by default slurm-JOB.out")
        }
        Some(file) => {
            let path = file.path.display();
            failure
                .there(format!("{path} is not there yet, or not on this machine"))
                .todo(later)
        }
    })
}

/// Shows all that is in an element's file now, line by line.
fn show_whole(path: &Path, element: u32, printer: &Printer) -> io::Result<()> {
    let mut tail = FileTail::new(path.to_owned());
    let prefix = format!("[{element}] ");
    loop {
        let lines = tail.read_bytes(true)?;
        printer.output_lines(lines.iter().map(|line| (&prefix, line.as_slice())));
        if !tail.has_more() {
            return Ok(());
        }
    }
}

/// Writes a file to standard output, in portions: it may be larger than the memory.
fn copy(path: &Path, printer: &Printer) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut portion = vec![0; PORTION];
    loop {
        match file.read(&mut portion) {
            Ok(0) => return Ok(()),
            Ok(length) => printer.bytes(&portion[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn follow(
    args: &Args,
    run: &Run,
    cluster: &ClusterRef,
    lines: &RankLines,
    printer: &Printer,
) -> Outcome {
    let (Some(job), Some(at)) = (run.job(), run.submitted()) else {
        return Ok(exit_code::DONE);
    };
    let mut follower = Follower::new(run.folder.clone(), cluster, job, at, &runs::places()?)?;
    loop {
        for seen in follower.poll()? {
            match seen {
                RunEvent::Output { line } => show(args, &[line], lines, printer),
                RunEvent::Redrawn { line } => {
                    if let Some((prefix, text)) = lines.shown(&line, args.rank) {
                        printer.redraw(&format!("{prefix}{}", folder::drawn_text(text)));
                    }
                }
                RunEvent::Outage { why } => printer.say(&outage(&cluster.name, &why)),
                RunEvent::OutageOver { lasted } => printer.say(&outage_over(&cluster.name, lasted)),
                RunEvent::Over { .. } => return Ok(exit_code::DONE),
                RunEvent::Waiting { .. } | RunEvent::Event { .. } | RunEvent::RankFailed { .. } => {
                }
            }
        }
        if !follower.has_more() {
            std::thread::sleep(FILE_PAUSE);
        }
    }
}

fn show(args: &Args, lines: &[LogLine], rank_lines: &RankLines, printer: &Printer) {
    let shown = lines.iter();
    printer.output_lines(shown.filter_map(|line| rank_lines.shown(line, args.rank)));
}
