//! `yard wait`

use super::follow::{say_outage, stays_over};
use super::repeats;
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use backend::ViewState;
use clap::Args as ClapArgs;
use folder::Naming;
use model::Seconds;
use runs::{
    Pollers, RepeatsEnd, Requeued, RunState, WaitEnd, WaitEvent, Waiting, select_live,
    select_repeats,
};
use std::time::{Duration, Instant};

/// Wait until runs or jobs are over; exit 0 if all of them were done
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    runs: Vec<String>,
    /// Wait no longer than this, such as 30m, and exit 124 where one is not over; all go on
    #[arg(long, value_name = "LENGTH", value_parser = train::parse_length)]
    timeout: Option<Seconds>,
}

/// Runs `yard wait`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let until = args
        .timeout
        .and_then(|length| Instant::now().checked_add(Duration::from_secs(length.0)));
    let leaves = || until.is_some_and(|until| Instant::now() >= until);
    let left = |name: &str| {
        let length = args.timeout.map(train::say_seconds).unwrap_or_default();
        printer.say(&format!("{name} is not over after {length}, and goes on"));
        Ok(exit_code::TIMED_OUT)
    };
    // All are asked about from the start: one question a cluster.
    let places = runs::places()?;
    let mut pollers = Pollers::default();
    let mut several = Vec::new();
    let mut single = Vec::new();
    for text in &args.runs {
        match select_repeats(text, Naming::OrBeginning)? {
            Some(repeats) => several.push(repeats),
            None => single.push(text),
        }
    }
    let waited: Result<Vec<Waiting>, Failure> = single
        .into_iter()
        .map(|text| {
            let selected = super::selected(select_live(text), printer)?;
            Waiting::of(selected, &mut pollers, &places)
        })
        .collect();
    let mut code = exit_code::DONE;
    for repeats in several {
        let id = repeats.entry.id.clone();
        let all_done = match repeats::wait(repeats, &leaves, printer)? {
            RepeatsEnd::Over { all_done } => all_done,
            RepeatsEnd::Left => return left(&id),
        };
        printer.show_line(&if all_done {
            format!("all of {id} are done")
        } else {
            format!("not all of {id} are done")
        });
        if !all_done {
            code = exit_code::FAILED;
        }
    }
    for mut one in waited? {
        let cluster = one.cluster.clone();
        let name = one.name.clone();
        let end = one.wait(&pollers, &leaves, &mut |seen| match seen {
            WaitEvent::Outage(outage) => say_outage(&cluster, outage, printer),
            WaitEvent::Brought(how) => printer.say(&brought_back(&name, *how)),
            WaitEvent::StaysOver(why) => printer.say(&stays_over(&name, why)),
        })?;
        let Some(end) = end else {
            return left(&one.name);
        };
        printer.show_line(&format!("{} {}", one.name, words(&end)));
        if !end.is_success() {
            code = exit_code::FAILED;
        } else if end.is_unsaved() && code == exit_code::DONE {
            code = exit_code::UNSAVED;
        }
    }
    Ok(code)
}

/// The line for a run that this client alone was left to bring back.
fn brought_back(name: &str, how: Requeued) -> String {
    let how = match how {
        Requeued::SameJob(job) => format!("job {job} goes back into the queue"),
        Requeued::NextJob(job) => format!("it continues in job {job}"),
        Requeued::Waits => "it waits already".to_owned(),
    };
    let lost =
        format!("the batch script of {name} was killed with all that would have brought it back");
    row("note", &format!("{lost}; {how}"))
}

/// How something ended, as the end of a sentence that begins with its name.
fn words(end: &WaitEnd) -> String {
    match end {
        WaitEnd::Run(state) => outcome(state),
        WaitEnd::SomeFailed => "ended, and not all of its elements completed".to_owned(),
        WaitEnd::Job(Some(ViewState::Ended { how, exit, .. })) => {
            format!("ended: {how} (exit {exit})")
        }
        WaitEnd::Job(Some(ViewState::Unknown { text })) => format!("has the state {text}"),
        WaitEnd::Job(_) => "is no longer known to its cluster".to_owned(),
    }
}

/// How a run ended, as the end of a sentence that begins with its name.
fn outcome(state: &RunState) -> String {
    match state {
        RunState::Done { left: None, .. } => "is done".to_owned(),
        RunState::Done {
            left: Some(left), ..
        } => format!("is done, but {left}"),
        RunState::Failed { cause } => format!("failed: {cause}"),
        RunState::Cancelled => "was cancelled".to_owned(),
        RunState::Refused { why } => format!("was refused: {why}"),
        RunState::NotSubmitted => "was never submitted".to_owned(),
        RunState::Unknown { what } => format!("ended, how is unknown: {what}"),
        RunState::Waiting { .. } | RunState::Running { .. } | RunState::Resuming { .. } => {
            format!("is {}", state.word())
        }
    }
}
