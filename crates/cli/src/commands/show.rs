//! `yard show`

use super::job_rows::job_rows;
use super::repeats;
use super::show_job;
use super::story::end_word;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use backend::{JobView, ViewState};
use clap::Args as ClapArgs;
use folder::{Event, Naming, RunFolder, RunJson, StopReason};
use job::FirstFailure;
use model::Timestamp;
use runs::{Run, RunState, Start, say_wait};
use runs::{run_findings, select, select_repeats};
use serde_json::json;
use train::Keep;

/// Show one run: where it stands, its jobs, its checkpoints, its last lines
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How many of the checkpoints that were not saved are shown: the newest.
const UNSAVED: usize = 3;
/// How many things that stand out in its samples are shown.
const FINDINGS: usize = 5;
/// So many of the newest notes of its last start.
const NOTES: usize = 4;
/// How many last lines of a rank are shown.
const LAST_LINES: usize = 5;

/// Runs `yard show`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    if let Some(several) = select_repeats(&args.run, Naming::OrBeginning)? {
        return repeats::show(&several, args.json, printer);
    }
    let mut selected = super::selected(select(&args.run), printer)?;
    let (view, note) = selected.view_or_note()?;
    if let Some(note) = note {
        printer.say(&format!("note: {note}"));
    }
    let now = Timestamp(sys::now());
    match &selected.run {
        Some(run) if args.json => printer.line(&run_json(run, view.as_ref()).to_string()),
        Some(run) => printer.shown(&run_text(run, view.as_ref(), now, printer.width())),
        None => {
            let rows = match selected.job {
                Some(job) if selected.cluster.is_embedded => {
                    job_rows(&selected.cluster.name, job, selected.element)?
                }
                _ => Vec::new(),
            };
            if args.json {
                printer.line(&show_job::json(view.as_ref(), &rows).to_string());
            } else {
                printer.shown(&show_job::text(&selected, view.as_ref(), &rows));
            }
        }
    }
    Ok(exit_code::DONE)
}

fn run_text(run: &Run, view: Option<&JobView>, now: Timestamp, width: usize) -> String {
    let state = run.state(view);
    // What the folder does not tell is left out.
    let json = RunFolder::open(&run.entry.folder).map(|(_, json)| json);
    let mut text = format!(
        "{} · {} · {}\n",
        run.entry.id,
        run.entry.cluster,
        state.word()
    );
    let mut add = |title: &str, value: &str| text.push_str(&format!("  {title:<12} {value}\n"));
    match &state {
        RunState::Waiting { reason } | RunState::Resuming { reason } => {
            add("waits", &say_wait(reason));
            let left = json.as_ref().ok().and_then(RunJson::left_to_make);
            if let (Some(job), Some(what), "Dependency") =
                (run.environment_jobs.last(), left, reason.as_str())
            {
                add(what, &format!("job {job} makes it on a node first"));
            }
        }
        RunState::Failed { cause } => add("cause", cause),
        RunState::Refused { why } => add("refused", why),
        RunState::Unknown { what } => add("why", what),
        RunState::Done {
            left: Some(left), ..
        } => add("not saved", left),
        RunState::Running { since: Some(since) } => {
            add("running for", &words::length(now.since(*since)));
        }
        RunState::NotSubmitted
        | RunState::Running { since: None }
        | RunState::Done { .. }
        | RunState::Cancelled => {}
    }
    if run.is_being_cancelled(&state) {
        add("note", runs::BEING_CANCELLED);
    }
    add(
        "made",
        &format!("{} ago", words::length(now.since(run.entry.created))),
    );
    for other in json.iter().flat_map(|json| &json.after) {
        add("after", &other.id);
    }
    if let Some(from) = json.as_ref().ok().and_then(|json| json.from.as_ref()) {
        add(
            "began at",
            &words::checkpoint_of(&from.checkpoint, &from.of),
        );
    }
    if let Ok(json) = &json
        && let Some(container) = &json.plan.environment.container
    {
        let known = json.image.as_ref().and_then(|image| image.digest.clone());
        let digest = known.or_else(|| RunFolder::at(&run.entry.folder).image_digest());
        let digest = digest.map(|digest| format!(", {digest}"));
        let image = &container.image.value;
        add("image", &format!("{image}{}", digest.unwrap_or_default()));
    }
    for index in 0..run.starts.len() {
        let title = format!("start {}", index + 1);
        let is_last = index + 1 == run.starts.len();
        let job = view.filter(|_| is_last).map(|view| &view.state);
        add(&title, &start_text(run, index, (&state, job), now));
    }
    if state.is_live() {
        for (name, address) in run.services() {
            add("service", &format!("{name}: {address}"));
        }
    }
    if let Some((name, _, at)) = run.last_checkpoint() {
        let age = words::length(now.since(at));
        add("checkpoint", &format!("{name}, {age} ago"));
    }
    let keep = json
        .as_ref()
        .ok()
        .map(|json| json.plan.checkpoints.keep.value);
    let unsaved = run.unsaved_checkpoints(keep.unwrap_or(Keep::All));
    for (name, why) in unsaved.iter().rev().take(UNSAVED).rev() {
        add("not saved", &format!("{name}: {why}"));
    }
    if let Some(cause) = hang(run) {
        add("hang", &cause);
    }
    let findings = run_findings(run, &state, now);
    for finding in findings.iter().take(FINDINGS) {
        add("note", finding);
    }
    let notes = run.notes().into_iter();
    let notes: Vec<&str> = notes
        .filter(|note| !findings.iter().any(|finding| says_the_same(finding, note)))
        .collect();
    for note in &notes[notes.len().saturating_sub(NOTES)..] {
        add("note", note);
    }
    add("folder", &run.entry.folder.display().to_string());
    let (rank, lines) = last_lines(run, &state);
    for line in lines {
        // A message of some lines stays; `yard logs` has a longer one whole.
        let line = words::shortened(&line, 3 * width);
        text.push_str(&format!("  [{rank}] {line}\n"));
    }
    text
}

/// `job 17: 25 s, on box, resumed at step 260, 3 checkpoints saved, came back`
fn start_text(
    run: &Run,
    index: usize,
    (state, job): (&RunState, Option<&ViewState>),
    now: Timestamp,
) -> String {
    let start = &run.starts[index];
    let over = is_over(run, index, state);
    let mut parts = Vec::new();
    let (first, last) = (start.events.first(), start.events.last());
    if let (Some(first), Some(last)) = (first, last) {
        // Of one that was killed its ranks may tell more.
        let last = if over {
            Some(last.at).max(run.last_sign(index))
        } else {
            Some(now)
        };
        parts.extend(last.map(|last| words::length(last.since(first.at))));
    }
    // What the cluster says of its job now is of a later start then.
    let next = run.starts.get(index + 1);
    let is_requeued = matches!(job, Some(ViewState::Waiting { .. }))
        || next.is_some_and(|next| next.attempt.job == start.attempt.job);
    let mut out = 0;
    let (mut end, mut lost, mut stopping) = (None, None, None);
    for line in &start.events {
        match &line.event {
            Event::Started { nodes, .. } => parts.push(format!("on {}", nodes.join(", "))),
            Event::Resumed {
                checkpoint, step, ..
            } => parts.push(match step {
                Some(step) => format!("resumed at step {step}"),
                None => format!("resumed at {checkpoint}"),
            }),
            Event::CheckpointOut { .. } => out += 1,
            Event::ComingBack { .. } => end = Some("came back".to_owned()),
            Event::Lost { cause } => {
                parts.push("lost".to_owned());
                lost = Some(cause.clone());
            }
            Event::Terminated {
                reason: Some(StopReason::NodeLost),
            } if lost.is_some() => end = lost.clone(),
            Event::Stopping { reason, .. } => stopping = Some(*reason),
            Event::Terminated { reason } => {
                let by_cluster = if is_requeued {
                    Some("requeued")
                } else {
                    job.and_then(end_of_job)
                };
                let reason = reason.map(end_word).or(by_cluster);
                end = Some(reason.unwrap_or("ended by a signal").to_owned());
            }
            Event::Finished { left: None, .. } => end = Some("finished".to_owned()),
            Event::Finished { left: Some(_), .. } => {
                end = Some("finished, not all saved".to_owned());
            }
            Event::Failed { .. } => end = Some("failed".to_owned()),
            _ => {}
        }
    }
    match out {
        0 => {}
        1 => parts.push("1 checkpoint saved".to_owned()),
        n => parts.push(format!("{n} checkpoints saved")),
    }
    if end.is_none() && over {
        end = Some(unwritten_end(stopping, job, is_requeued));
    }
    parts.extend(end);
    if let Some(lost) = lost_work(run, index, over) {
        parts.push(format!("{} of work lost", words::length(lost)));
    }
    format!("job {}: {}", start.attempt.job, parts.join(", "))
}

/// How a start ended that was killed before it could write so: `job` is what the cluster says of its job now;
/// where that started again since, it `is_requeued`.
fn unwritten_end(
    stopping: Option<StopReason>,
    job: Option<&ViewState>,
    is_requeued: bool,
) -> String {
    let by_cluster = if is_requeued {
        Some(REQUEUED)
    } else {
        job.and_then(end_of_job)
    };
    match (by_cluster, stopping) {
        (Some(said), _) => said.to_owned(),
        (None, Some(reason)) => {
            let reason = end_word(reason);
            format!("{reason}; killed before it could write how it ended")
        }
        (None, None) => "killed before it could write why".to_owned(),
    }
}

/// Slurm does so for lost nodes, the engine for lost supervisors.
const REQUEUED: &str = "lost; the cluster requeued its job";

/// How a job ended, where its cluster's word tells more than that it failed.
fn end_of_job(job: &ViewState) -> Option<&'static str> {
    match job {
        ViewState::Ended { how, .. } => match how.as_str() {
            "CANCELLED" => Some(end_word(StopReason::Cancelled)),
            "PREEMPTED" => Some(end_word(StopReason::Preempted)),
            "TIMEOUT" => Some(end_word(StopReason::Limit)),
            "NODE_FAIL" => Some(end_word(StopReason::NodeLost)),
            "OUT_OF_MEMORY" => Some("out of memory"),
            _ => None,
        },
        ViewState::Waiting { .. }
        | ViewState::Running { .. }
        | ViewState::Unknown { .. }
        | ViewState::NotAnswered => None,
    }
}

/// Whether a note was said of the same thing as a finding: only its numbers are of an earlier moment.
fn says_the_same(finding: &str, note: &str) -> bool {
    let words =
        |text: &str| text.replace(|letter: char| letter.is_ascii_digit() || letter == '.', "");
    words(finding) == words(note)
}

/// Where the ranks of the last start that hung stood, and where their stacks are.
fn hang(run: &Run) -> Option<String> {
    let of_start = |start: &Start| {
        let hung = start
            .events
            .iter()
            .rev()
            .find_map(|line| match &line.event {
                Event::Hung { cause } => Some(cause.clone()),
                _ => None,
            })?;
        let stacks = run.folder.stack(start.attempt, 0);
        let stacks = stacks.with_extension("stack-*");
        Some(format!("{hung}; stacks: {}", stacks.display()))
    };
    run.starts.iter().rev().find_map(of_start)
}

/// Whether a start has ended: the last one of a run that waits or is over, and all before it.
fn is_over(run: &Run, index: usize, state: &RunState) -> bool {
    let waits = matches!(state, RunState::Waiting { .. } | RunState::Resuming { .. });
    waits || !state.is_live() || index + 1 < run.starts.len()
}

/// What no checkpoint holds; what is less than a second is no loss to speak of.
fn lost_work(run: &Run, index: usize, over: bool) -> Option<i64> {
    run.lost_work(index, over).filter(|lost| *lost >= 1000)
}

/// Of the rank that failed first, where the run failed by one, else of rank 0: its number and its last lines.
fn last_lines(run: &Run, state: &RunState) -> (u32, Vec<String>) {
    let Some(start) = run.starts.last() else {
        return (0, Vec::new());
    };
    if matches!(state, RunState::Failed { .. })
        && let Some(FirstFailure { rank, lines }) =
            job::first_failure(&run.folder, start.attempt, LAST_LINES)
    {
        return (rank, lines);
    }
    let log = run.folder.rank_log(start.attempt, 0);
    // A log that can't be read is not worth failing for: all else was shown.
    (0, folder::last_lines(&log, LAST_LINES).unwrap_or_default())
}

fn run_json(run: &Run, view: Option<&JobView>) -> serde_json::Value {
    let state = run.state(view);
    let start = |(index, start): (usize, &Start)| {
        let over = is_over(run, index, &state);
        json!({
            "job": start.attempt.job,
            "restart": start.attempt.restart,
            "events": start.events,
            "lost_ms": run.lost_work(index, over),
        })
    };
    let starts: Vec<_> = run.starts.iter().enumerate().map(start).collect();
    json!({
        "run": run.entry.id,
        "name": run.entry.name,
        "cluster": run.entry.cluster,
        "folder": run.entry.folder,
        "created": run.entry.created,
        "state": state,
        "job": view,
        "starts": starts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_start_that_was_killed() {
        let ended = |how: &str| ViewState::Ended {
            how: how.to_owned(),
            exit: "0:9".to_owned(),
            at: None,
        };
        let check = |stopping: Option<StopReason>, job: Option<ViewState>, want: &str| {
            assert_eq!(unwritten_end(stopping, job.as_ref(), false), want);
        };
        let limit = Some(StopReason::Limit);
        check(None, Some(ended("CANCELLED")), "cancelled");
        check(limit, Some(ended("TIMEOUT")), "reached its time limit");
        let cut = "reached its time limit; killed before it could write how it ended";
        check(limit, Some(ended("FAILED")), cut);
        check(limit, None, cut);
        // What is said of its job now is of another start.
        let now = Some(ended("CANCELLED"));
        assert_eq!(unwritten_end(None, now.as_ref(), true), REQUEUED);
        assert_eq!(unwritten_end(None, None, true), REQUEUED);
        check(None, None, "killed before it could write why");
    }
}
