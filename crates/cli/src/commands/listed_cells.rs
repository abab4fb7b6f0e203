//! A run or a job as the cells of a line.

use crate::words;
use model::Timestamp;
use runs::{Listed, ListedKind, Run};

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
        row.run().and_then(progress).unwrap_or_else(dash),
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
    }
}

fn progress(run: &Run) -> Option<String> {
    let (name, step, _) = run.last_checkpoint()?;
    Some(step.map_or_else(|| name.to_owned(), |step| format!("step {step}")))
}
