//! Follows a run on the terminal until it is over or the person leaves.

use super::interrupt::Interrupt;
use super::stop_fold::StopFold;
use super::story::{Line, Story, row};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::words;
use model::TimeLimitRequest;
use runs::{
    Comeback, FILE_PAUSE, Follower, LastDeputy, Outage, RunEvent, RunState, Submitted, hold_remedy,
    say_reason, say_wait,
};
use std::time::{Duration, Instant};
use sys::Places;

/// How following ended.
pub enum Ended {
    /// The run is over.
    Over(Summary),
    /// The person left; it goes on.
    Detached,
}

/// What is said at the end.
pub struct Summary {
    /// `done in`, `failed after`, `cancelled after`.
    pub how: &'static str,
    /// Trained to its end.
    pub done: bool,
    /// What of it is on a node only, in words.
    pub left: Option<String>,
    /// Starts of its jobs.
    pub starts: usize,
    /// The last line of rank 0: what a training prints when it is done.
    pub last_line: Option<String>,
}

/// Follows it.
pub fn follow(
    submitted: &Submitted,
    time: Option<TimeLimitRequest>,
    places: &Places,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Ended, Failure> {
    let limit = match time {
        Some(TimeLimitRequest::Limit(limit)) => Some(train::say_seconds(limit)),
        Some(TimeLimitRequest::Unlimited) | None => None,
    };
    let mut story = Story::new(limit);
    let Submitted {
        folder,
        cluster,
        job,
        at,
        ..
    } = submitted;
    let mut follower = Follower::new(folder.clone(), cluster, *job, *at, places)?;
    let mut deputy = LastDeputy::of(&submitted.id);
    let mut last_line = None;
    let mut fold = StopFold::default();
    let id = &submitted.id;
    let begun = Instant::now();
    let mut waits = None;
    loop {
        if interrupt.asked() {
            return Ok(Ended::Detached);
        }
        for seen in follower.poll()? {
            match seen {
                RunEvent::Waiting { job, reason } => {
                    // A person must know: it passes by no time.
                    let remedy = hold_remedy(&reason, job);
                    // Said once: a line that moves would say it again.
                    waits = match remedy {
                        Some(remedy) => {
                            let text = format!("{}: {remedy}", say_reason(&reason));
                            printer.show_line(&row("held", &text));
                            None
                        }
                        None => Some(reason),
                    };
                }
                RunEvent::Event {
                    ordinal,
                    submitted,
                    at,
                    event,
                } => {
                    waits = None;
                    if let Some(folded) = fold.see(&event) {
                        let text = format!("{folded}: yard logs {id}");
                        if printer.is_terminal() {
                            printer.show_line(&text);
                        }
                    }
                    for line in story.tell(ordinal, at, submitted, &event) {
                        match line {
                            Line::Say(text) => printer.show_line(&text),
                            Line::Moving(title, detail) => printer.moving(&title, &detail),
                        }
                    }
                }
                RunEvent::RankFailed { rank } => fold.see_failure(rank),
                RunEvent::Redrawn { line } => {
                    printer.redraw(&format!("  [{}] {}", line.rank, line.text()));
                }
                RunEvent::Output { line } => {
                    let text = line.text();
                    // To a pipe or a file everything goes.
                    if fold.shows_line(line.rank) || !printer.is_terminal() {
                        story.add_output(&text);
                        printer.output_line(&format!("  [{}] ", line.rank), &line.bytes);
                    }
                    if line.rank == 0 && !text.trim().is_empty() {
                        last_line = Some(text.trim().to_owned());
                    }
                }
                RunEvent::Outage { why } => printer.say(&outage(&cluster.name, &why)),
                RunEvent::OutageOver { lasted } => printer.say(&outage_over(&cluster.name, lasted)),
                RunEvent::Over { state } => match deputy.see(&state, &|| interrupt.asked()) {
                    Comeback::Over(why) => {
                        if let Some(why) = why {
                            printer.say(&stays_over(&submitted.id, &why.line()));
                        }
                        return Ok(Ended::Over(summary(&state, &follower, last_line, printer)));
                    }
                    // What is written down of it is told.
                    Comeback::Brought(_) | Comeback::GoesOn => {}
                },
            }
        }
        // A wait of a moment is not worth a line.
        if let Some(reason) = &waits
            && begun.elapsed().as_millis() > 500
            && reason != "None"
        {
            let since = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
            let reason = say_wait(reason);
            printer.moving("waits", &format!("{reason} · {}", words::length(since)));
        }
        if !follower.has_more() {
            std::thread::sleep(FILE_PAUSE);
        }
    }
}

/// The line for a run that this client could not bring back.
pub fn stays_over(name: &str, why: &str) -> String {
    row("note", &format!("{name} could not be brought back: {why}"))
}

/// Says that a cluster does not answer, or answers again.
pub fn say_outage(cluster: &str, seen: &Outage, printer: &Printer) {
    printer.say(&match seen {
        Outage::Began { why } => outage(cluster, why),
        Outage::Over { lasted } => outage_over(cluster, *lasted),
    });
}

/// The line for a cluster that does not answer any more.
pub fn outage(cluster: &str, why: &str) -> String {
    row(
        "note",
        &format!("{cluster} does not answer ({why}); waiting, the run may go on"),
    )
}

/// The line for a cluster that answers again.
pub fn outage_over(cluster: &str, lasted: Duration) -> String {
    let lasted = i64::try_from(lasted.as_millis()).unwrap_or(i64::MAX);
    let lasted = words::length(lasted);
    row("note", &format!("{cluster} answers again, after {lasted}"))
}

fn summary(
    state: &RunState,
    follower: &Follower,
    last_line: Option<String>,
    printer: &Printer,
) -> Summary {
    let (how, done) = match state {
        RunState::Done { left: None, .. } => ("done in", true),
        RunState::Done { left: Some(_), .. } => ("done, and not all saved, in", true),
        RunState::Cancelled => ("cancelled after", false),
        RunState::Unknown { what } => {
            printer.show_line(&row("unknown", what));
            ("of unknown end after", false)
        }
        RunState::Failed { cause } => {
            if follower.starts() == 0 {
                printer.show_line(&row("failed", cause));
            }
            ("failed after", false)
        }
        RunState::NotSubmitted
        | RunState::Refused { .. }
        | RunState::Waiting { .. }
        | RunState::Running { .. }
        | RunState::Resuming { .. } => ("ended after", false),
    };
    let left = match state {
        RunState::Done { left, .. } => left.clone(),
        _ => None,
    };
    Summary {
        how,
        done,
        left,
        starts: follower.starts(),
        last_line: last_line.filter(|_line| done),
    }
}
