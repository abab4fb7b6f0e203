//! `yard ls`

use super::place::{self, places};
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use crate::words;
use backend::{JobView, Run, RunState, ViewState, ask_for};
use clap::Args as ClapArgs;
use folder::Index;
use model::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;

/// List runs, and jobs that are none
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Only runs that can still change
    #[arg(long)]
    live: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// So much of a note fits a line; `yard show` has it whole.
const NOTE_WIDTH: usize = 48;

/// One line: a run, or a job that is none.
struct Row {
    run: Option<Run>,
    view: Option<JobView>,
    cluster: String,
    state: RunState,
}

/// Runs `yard ls`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let (mut rows, problems) = rows()?;
    if args.live {
        rows.retain(|row| row.state.is_live());
    }
    if args.json {
        let rows: Vec<_> = rows.iter().map(row_json).collect();
        printer.line(&json!({ "runs": rows, "problems": problems }).to_string());
    } else if rows.is_empty() {
        printer.line("no runs yet; yard run FILE starts one");
    } else {
        let now = Timestamp(sys::now());
        let rows: Vec<_> = rows.iter().map(|row| row_cells(row, now)).collect();
        let head = [
            "RUN", "JOB", "CLUSTER", "STATE", "SINCE", "PROGRESS", "NOTE",
        ];
        printer.data(&words::table(&head, &rows));
    }
    if !args.json {
        for problem in &problems {
            printer.say(&format!("note: {problem}"));
        }
    }
    Ok(exit_code::DONE)
}

/// All lines, the newest last; and what could not be asked, in words.
fn rows() -> Result<(Vec<Row>, Vec<String>), Failure> {
    let places = places()?;
    let entries = Index::new(&places.index).all().map_err(|error| {
        Failure::new(
            exit_code::IO,
            format!("the index of runs can't be read: {error}"),
        )
        .asked(places.index.display().to_string())
    })?;
    let mut problems = Vec::new();
    let mut by_cluster: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for entry in entries {
        let id = entry.id.clone();
        match Run::read(entry) {
            Ok(run) => by_cluster
                .entry(run.entry.cluster.clone())
                .or_default()
                .push(run),
            Err(error) => problems.push(format!("{id}: {error}")),
        }
    }
    by_cluster.entry(backend::LOCAL.to_owned()).or_default();
    let mut rows = Vec::new();
    for (cluster, runs) in by_cluster {
        let asked: Vec<&Run> = runs.iter().filter(|run| run.needs_cluster()).collect();
        // One question a cluster, and none where nothing can have changed.
        let mut views = Vec::new();
        let mut live = Vec::new();
        if !asked.is_empty() || cluster == backend::LOCAL {
            match place::open(&places, Some(&cluster)) {
                Ok(mut door) => {
                    views = ask_for(&mut *door, &asked)?;
                    live = door.live_jobs()?;
                }
                Err(failure) => problems.push(failure.line()),
            }
        }
        let own: Vec<_> = runs.iter().filter_map(Run::job).collect();
        for run in runs {
            let view = views
                .iter()
                .find(|view| Some(view.id) == run.job())
                .cloned();
            let state = run.state(view.as_ref());
            rows.push(Row {
                cluster: cluster.clone(),
                run: Some(run),
                view,
                state,
            });
        }
        for view in live.into_iter().filter(|view| !own.contains(&view.id)) {
            rows.push(Row {
                cluster: cluster.clone(),
                run: None,
                state: job_state(&view),
                view: Some(view),
            });
        }
    }
    let since = |row: &Row| match (&row.run, &row.view) {
        (Some(run), _) => run.entry.created,
        (None, Some(view)) => view.submitted.unwrap_or_default(),
        (None, None) => Timestamp::default(),
    };
    rows.sort_by_key(since);
    Ok((rows, problems))
}

/// A live job that is no run, in a run's words.
fn job_state(view: &JobView) -> RunState {
    match &view.state {
        ViewState::Waiting { reason } => RunState::Waiting {
            reason: reason.clone(),
        },
        ViewState::Running { since, .. } => RunState::Running { since: *since },
        ViewState::Ended { how, .. } => RunState::Failed { cause: how.clone() },
        ViewState::Unknown { text } => RunState::Unknown { what: text.clone() },
    }
}

fn row_cells(row: &Row, now: Timestamp) -> Vec<String> {
    let dash = || "–".to_owned();
    let name = match (&row.run, &row.view) {
        (Some(run), _) => run.entry.id.clone(),
        (None, Some(view)) => format!("({})", view.name),
        (None, None) => dash(),
    };
    let job = match (&row.run, &row.view) {
        (_, Some(view)) => Some(view.id),
        (Some(run), None) => run.job(),
        (None, None) => None,
    };
    let since = since(row).map_or_else(dash, |at| words::length(now.since(at)));
    let progress = row.run.as_ref().and_then(|run| {
        let (name, step, _) = run.last_checkpoint()?;
        Some(step.map_or_else(|| name.to_owned(), |step| format!("step {step}")))
    });
    vec![
        name,
        job.map_or_else(dash, |job| job.to_string()),
        row.cluster.clone(),
        row.state.word().to_owned(),
        since,
        progress.unwrap_or_else(dash),
        words::shortened(&note(&row.state), NOTE_WIDTH),
    ]
}

/// Since when a run stands where it stands.
fn since(row: &Row) -> Option<Timestamp> {
    match (&row.state, &row.run, &row.view) {
        (RunState::Running { since: Some(since) }, ..) => Some(*since),
        (RunState::Done { at }, ..) => Some(*at),
        (RunState::Waiting { .. } | RunState::Resuming { .. }, _, Some(view)) => view.submitted,
        (_, Some(run), _) => run
            .last_events()
            .last()
            .map(|line| line.at)
            .or(Some(run.entry.created)),
        (_, None, Some(view)) => view.submitted,
        _ => None,
    }
}

fn note(state: &RunState) -> String {
    match state {
        RunState::Waiting { reason } | RunState::Resuming { reason } => reason.clone(),
        RunState::Refused { why } => why.clone(),
        RunState::Failed { cause } => cause.clone(),
        RunState::Unknown { what } => what.clone(),
        RunState::NotSubmitted
        | RunState::Running { .. }
        | RunState::Done { .. }
        | RunState::Cancelled => String::new(),
    }
}

fn row_json(row: &Row) -> serde_json::Value {
    let run = row.run.as_ref();
    let job = row
        .view
        .as_ref()
        .map(|view| view.id)
        .or(run.and_then(Run::job));
    let checkpoint = run.and_then(Run::last_checkpoint);
    json!({
        "run": run.map(|run| &run.entry.id),
        "name": run.map(|run| &run.entry.name),
        "job": job,
        "job_name": row.view.as_ref().map(|view| &view.name),
        "cluster": row.cluster,
        "state": row.state.word(),
        "note": note(&row.state),
        "since": since(row),
        "starts": run.map(|run| run.starts.len()),
        "checkpoint": checkpoint.map(|(name, ..)| name),
        "step": checkpoint.and_then(|(_, step, _)| step),
        "folder": run.map(|run| &run.entry.folder),
        "created": run.map(|run| run.entry.created),
    })
}
