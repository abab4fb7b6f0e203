//! A run or a job as the cells of a line.

use crate::words;
use model::Timestamp;
use runs::{Listed, ListedKind, RunState};

/// So much of a job's name, which may be a thousand characters: a run's is shorter.
const LONGEST_NAME: usize = 48;

/// Name, job, cluster, state, since, progress, note.
pub fn cells(row: &Listed, now: Timestamp) -> Vec<String> {
    let dash = || "–".to_owned();
    let since = row.since();
    vec![
        name(row),
        row.job().map_or_else(dash, |job| job.to_string()),
        row.cluster.clone(),
        row.state.word().to_owned(),
        since.map_or_else(dash, |at| words::length(now.since(at))),
        progress(row).unwrap_or_else(dash),
        row.note(),
    ]
}

fn name(row: &Listed) -> String {
    match &row.what {
        ListedKind::Run { run, .. } => run.entry.id.clone(),
        ListedKind::Job { job, .. } => {
            let name = words::shortened(&job.name, LONGEST_NAME);
            if job.rows > 1 {
                format!("({name}) × {}", job.rows)
            } else {
                format!("({name})")
            }
        }
        ListedKind::Repeats { entry, rows, .. } => format!("{} × {}", entry.id, rows.len()),
    }
}

fn progress(row: &Listed) -> Option<String> {
    if let ListedKind::Repeats { rows, .. } = &row.what {
        let is_done = |row: &&Listed| matches!(row.state, RunState::Done { .. });
        let done = rows.iter().filter(is_done).count();
        return Some(format!("{done} of {} done", rows.len()));
    }
    let (name, step, _) = row.run()?.last_checkpoint()?;
    Some(step.map_or(name, |step| format!("step {step}")))
}
