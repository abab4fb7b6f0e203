//! What commands show and do of several repeats of a run together.

use super::rank_lines::RankLines;
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use folder::LogTail;
use model::Timestamp;
use runs::{Repeats, RepeatsEnd, RepeatsEvent, Run, RunState, counts_in_words, together};
use serde_json::json;
use std::collections::HashMap;
use std::time::Instant;

/// `yard show`: one line each.
pub fn show(repeats: &Repeats, as_json: bool, printer: &Printer) -> Outcome {
    let (views, note) = repeats.views()?;
    if let Some(note) = note {
        printer.say(&format!("note: {note}"));
    }
    let states = repeats.states(&views);
    let now = Timestamp(sys::now());
    if as_json {
        printer.line(&all_json(repeats, &states).to_string());
        return Ok(exit_code::DONE);
    }
    let entry = &repeats.entry;
    let state = together(states.clone());
    printer.show_line(&format!(
        "{} · {} · {}",
        entry.id,
        entry.cluster,
        state.word()
    ));
    let made = words::length(now.since(entry.created));
    printer.show_line(&row("made", &format!("{made} ago")));
    printer.show_line(&row("runs", &counts_in_words(&states)));
    printer.show_line(&row("folder", &entry.folder.display().to_string()));
    let rows: Vec<Vec<String>> = repeats
        .runs
        .iter()
        .zip(&states)
        .map(|(run, state)| cells(run, state, now))
        .collect();
    let head = ["RUN", "JOB", "STATE", "SINCE", "PROGRESS", "NOTE"];
    printer.shown(&words::fitted(&head, &rows, printer.width()));
    Ok(exit_code::DONE)
}

fn cells(run: &Run, state: &RunState, now: Timestamp) -> Vec<String> {
    let dash = || "–".to_owned();
    let job = match run.element {
        Some(element) if element.job.is_none() => {
            Some(format!("{}_{}", element.array, element.number))
        }
        _ => run.job().map(|job| job.to_string()),
    };
    let since = match state {
        RunState::Done { at, .. } => Some(*at),
        RunState::Running { since: Some(since) } => Some(*since),
        _ => run.last_events().last().map(|line| line.at),
    };
    let progress = run
        .last_checkpoint()
        .map(|(name, step, _)| step.map_or(name, |step| format!("step {step}")));
    vec![
        run.entry.id.clone(),
        job.unwrap_or_else(dash),
        state.word().to_owned(),
        since.map_or_else(dash, |at| words::length(now.since(at))),
        progress.unwrap_or_else(dash),
        if run.is_being_cancelled(state) {
            runs::BEING_CANCELLED.to_owned()
        } else {
            state.why()
        },
    ]
}

/// All of them, as `yard show --json` has them.
fn all_json(repeats: &Repeats, states: &[RunState]) -> serde_json::Value {
    let one = |(run, state): (&Run, &RunState)| {
        json!({
            "run": run.entry.id,
            "state": state,
            "job": run.job(),
            "folder": run.entry.folder,
            "starts": run.starts.len(),
        })
    };
    let runs: Vec<_> = repeats.runs.iter().zip(states).map(one).collect();
    json!({
        "run": repeats.entry.id,
        "name": repeats.entry.name,
        "cluster": repeats.entry.cluster,
        "folder": repeats.entry.folder,
        "created": repeats.entry.created,
        "state": together(states.to_vec()),
        "array": repeats.array(),
        "runs": runs,
    })
}

/// `yard logs`: what the ranks of each wrote, one after the other.
pub fn logs(repeats: &Repeats, rank: Option<u32>, last: bool, printer: &Printer) -> Outcome {
    for (number, run) in (1..).zip(&repeats.runs) {
        let starts = if last {
            run.starts.last().map_or(&[][..], std::slice::from_ref)
        } else {
            &run.starts[..]
        };
        for start in starts {
            let mut tail = LogTail::new(&run.folder, start.attempt);
            let rank_lines = RankLines::of(run, Some(start));
            loop {
                let lines = tail.read(true).map_err(|error| {
                    Failure::new(FailureKind::Io, format!("logs can't be read: {error}"))
                })?;
                printer.output_lines(lines.iter().filter_map(|line| {
                    let (prefix, text) = rank_lines.shown(line, rank)?;
                    let own = || prefix.trim_matches(['[', ']', ' ']).to_owned();
                    let label = rank.map_or_else(own, |rank| rank.to_string());
                    Some((format!("[{number}.{label}] "), text))
                }));
                if !tail.has_more() {
                    break;
                }
            }
        }
    }
    Ok(exit_code::DONE)
}

/// Waits until all are over or the client `leaves`, and prints the end of each as it comes.
pub fn wait(
    repeats: Repeats,
    leaves: &dyn Fn() -> bool,
    printer: &Printer,
) -> Result<RepeatsEnd, Failure> {
    let begun = Instant::now();
    let mut ends = Ends::default();
    repeats.wait(leaves, &mut |seen| match seen {
        RepeatsEvent::Outage { why } => printer.say(&row("note", &format!("{why}; waiting"))),
        RepeatsEvent::Ended { number, state } => {
            printer.show_line(&row(&format!(".{number}"), &ends.of(number, &state)));
        }
        RepeatsEvent::Stand { states } => {
            let length = words::length(i64::try_from(begun.elapsed().as_millis()).unwrap_or(0));
            printer.moving("runs", &format!("{} · {length}", counts_in_words(&states)));
        }
    })
}

/// How those ended that have.
#[derive(Default)]
struct Ends {
    /// The first of each cause.
    causes: HashMap<String, u32>,
}

impl Ends {
    /// How one ended; a cause that an earlier one had is not repeated.
    fn of(&mut self, number: u32, state: &RunState) -> String {
        let RunState::Failed { cause } = state else {
            return end(state);
        };
        let first = *self.causes.entry(cause.clone()).or_insert(number);
        if first == number {
            end(state)
        } else {
            format!("failed as .{first} did")
        }
    }
}

fn end(state: &RunState) -> String {
    match state {
        RunState::Failed { cause } => format!("failed: {cause}"),
        RunState::Refused { why } => format!("was refused: {why}"),
        RunState::Unknown { what } => format!("ended, how is unknown: {what}"),
        state => state.word().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let mut ends = Ends::default();
        let mut check = |number, cause: Option<&str>, want: &str| {
            let state = match cause {
                Some(cause) => RunState::Failed {
                    cause: cause.to_owned(),
                },
                None => RunState::Cancelled,
            };
            assert_eq!(ends.of(number, &state), want);
        };
        check(1, Some("no disk"), "failed: no disk");
        check(3, Some("no disk"), "failed as .1 did");
        check(2, Some("no data"), "failed: no data");
        check(4, None, "cancelled");
    }
}
