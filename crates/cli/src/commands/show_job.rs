//! What `yard show` says of a job of no run: one of a batch script, an array, or an element.

use super::job_rows::{JobRow, has_begun};
use super::story::row;
use crate::words;
use backend::{JobView, ViewState};
use model::{ArrayTaskInfo, JobInfo, JobStateName, Timestamp, moment_text};
use runs::{Selected, is_written_since, say_wait};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many last lines of one that failed are shown.
const LAST_LINES: usize = 5;
/// How many elements that did not complete are named.
const ELEMENTS: usize = 10;

/// For people. `known`: its rows, where its engine tells them.
pub fn text(selected: &Selected, view: Option<&JobView>, known: &[JobRow]) -> String {
    let name = model::one_line(view.map_or("", |view| view.name.as_str()));
    let own = selected.name();
    let is_array = selected.element.is_none() && known.iter().any(|row| row.info.array.is_some());
    let mut rows = Vec::new();
    let state = match known {
        known if is_array => {
            rows.extend(array_rows(selected, known));
            counted(known)
        }
        [one, ..] => {
            rows.extend(own_rows(one));
            state(view)
        }
        [] => state(view),
    };
    let id = match (selected.job, selected.element) {
        (Some(job), Some(element)) => format!("{job}_{element}"),
        (Some(job), None) => job.to_string(),
        (None, _) => String::new(),
    };
    let cluster = selected.cluster.name.as_str();
    let scontrol = if !selected.cluster.is_embedded {
        "scontrol".to_owned()
    } else if cluster == backend::LOCAL {
        "yard slurm scontrol".to_owned()
    } else {
        let engine = sys::env_vars::TRAINYARD_ENGINE;
        format!("{engine}={cluster} yard slurm scontrol")
    };
    if let Some(run) = selected.removed_run() {
        rows.push(row("note", &format!("its run {run} was removed")));
    }
    rows.push(row("all of it", &format!("{scontrol} show job {id}")));
    format!("{own} · {name} · {state}\n{}\n", rows.join("\n"))
}

fn state(view: Option<&JobView>) -> String {
    match view.map(|view| &view.state) {
        Some(ViewState::Waiting { reason }) => format!("waiting: {}", say_wait(reason)),
        Some(ViewState::Running { nodes, .. }) => format!("running on {nodes}"),
        Some(ViewState::Ended { how, exit, .. }) => format!("{how} (exit {exit})"),
        Some(ViewState::Unknown { text }) => text.clone(),
        Some(ViewState::NotAnswered) => "its cluster does not answer now".to_owned(),
        None => "not known".to_owned(),
    }
}

/// Files, times, and of one that failed its last lines.
fn own_rows(job: &JobRow) -> Vec<String> {
    let info = &job.info;
    let moment = |at: Timestamp| {
        let ago = words::length(info.now.since(at));
        format!("{}, {ago} ago", moment_text(at, &info.moments.zone))
    };
    let mut rows = vec![row("submitted", &moment(info.submitted))];
    let is_over = is_over(info);
    let start = info.start.filter(|_| has_begun(info));
    rows.extend(start.map(|start| row("started", &moment(start))));
    if is_over {
        rows.extend(info.end.map(|end| row("ended", &moment(end))));
    }
    if let Some(start) = start {
        let until = info.end.filter(|_| is_over).unwrap_or(info.now);
        let title = if is_over { "ran for" } else { "running for" };
        rows.push(row(title, &words::length(until.since(start))));
    }
    for (path, title) in job.files.iter().zip(["output", "errors"]) {
        rows.push(row(title, &path.display().to_string()));
    }
    if let Some(start) = start
        && is_over
        && info.state != JobStateName::Completed
    {
        let lines = last_lines(&job.files, start);
        rows.extend(lines.iter().map(|line| format!("  | {line}")));
    }
    rows
}

/// Of the errors' file; where nothing is in it, of the output's.
fn last_lines(files: &[PathBuf], since: Timestamp) -> Vec<String> {
    let written = files
        .iter()
        .rev()
        .filter(|path| is_written_since(path, since));
    // A file that can't be read is not worth failing for: all else was shown.
    let mut texts = written.map(|path| folder::last_lines(path, LAST_LINES).unwrap_or_default());
    texts.find(|lines| !lines.is_empty()).unwrap_or_default()
}

fn is_over(info: &JobInfo) -> bool {
    use JobStateName::{Completing, Configuring, Pending, Running};
    ![Pending, Configuring, Running, Completing].contains(&info.state)
}

/// `2 COMPLETED, 1 FAILED`
fn counted(rows: &[JobRow]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for JobRow { info, .. } in rows {
        *counts.entry(info.state.long()).or_default() += elements(info);
    }
    let counts = counts
        .iter()
        .map(|(state, count)| format!("{count} {state}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// How many elements a row stands for.
fn elements(info: &JobInfo) -> usize {
    match info.array.as_ref().map(|array| &array.task) {
        Some(ArrayTaskInfo::Waiting(tasks)) => tasks.len(),
        Some(ArrayTaskInfo::One(_)) | None => 1,
    }
}

/// The elements that did not complete, and where to read on.
fn array_rows(selected: &Selected, known: &[JobRow]) -> Vec<String> {
    let job = selected.job.map_or_else(String::new, |job| job.to_string());
    let is_failed = |info: &JobInfo| is_over(info) && info.state != JobStateName::Completed;
    let failed = known.iter().filter(|known| is_failed(&known.info));
    let failed: Vec<String> = failed
        .filter_map(|JobRow { info, element, .. }| {
            let text = format!("{} (exit {})", info.state.long(), exit(info));
            let element = (*element)?;
            Some(row(&format!("{job}_{element}"), &text))
        })
        .collect();
    let mut rows: Vec<String> = failed.iter().take(ELEMENTS).cloned().collect();
    if let Some(more) = failed.len().checked_sub(ELEMENTS + 1) {
        rows.push(row("", &format!("and {} more", more + 1)));
    }
    rows.push(row("output", &format!("yard logs {job}")));
    let one = known.iter().find_map(|row| row.element);
    rows.extend(one.map(|one| row("an element", &format!("yard show {job}_{one}"))));
    rows
}

fn exit(info: &JobInfo) -> String {
    let status = info.exit_code;
    format!("{}:{}", status.code(), status.signal_number())
}

/// As JSON: its view, and each of its rows.
pub fn json(view: Option<&JobView>, known: &[JobRow]) -> Value {
    let one = |row: &JobRow| {
        let info = &row.info;
        let begun = has_begun(info);
        json!({
            "id": info.id_text(true),
            "state": info.state.long(),
            "exit": exit(info),
            "submitted": info.submitted,
            "started": info.start.filter(|_| begun),
            "ended": info.end.filter(|_| is_over(info)),
            "stdout": row.files.first(),
            "stderr": row.files.last(),
        })
    };
    let rows: Vec<Value> = known.iter().map(one).collect();
    json!({ "job": view, "rows": rows })
}
