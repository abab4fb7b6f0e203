//! Jobs that belong to no run: those of batch scripts.

use crate::{Run, RunState};
use backend::{JobView, ViewState};
use model::{JobId, Timestamp};
use std::collections::BTreeSet;

/// A job, or all elements of an array together.
#[derive(Clone, Debug)]
pub struct PlainJob {
    /// The job's id, or the array's.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// Where it stands, in a run's words.
    pub state: RunState,
    /// Rows of the array that are known; 1 for a plain job.
    pub rows: usize,
}

/// The jobs that belong to none of the runs, oldest first; elements of one array are one.
pub fn plain_jobs<'a>(views: &[JobView], runs: impl IntoIterator<Item = &'a Run>) -> Vec<PlainJob> {
    let of_runs: BTreeSet<JobId> = runs.into_iter().flat_map(Run::jobs).collect();
    let mut groups: Vec<(JobId, Vec<&JobView>)> = Vec::new();
    for view in views.iter().filter(|view| !of_runs.contains(&view.id)) {
        let id = view.array.unwrap_or(view.id);
        match groups.iter_mut().find(|(known, _)| *known == id) {
            Some((_, group)) => group.push(view),
            None => groups.push((id, vec![view])),
        }
    }
    let mut jobs: Vec<PlainJob> = groups
        .iter()
        .map(|(id, group)| together(*id, group))
        .collect();
    jobs.sort_by_key(|job| (job.submitted, job.id));
    jobs
}

fn together(id: JobId, group: &[&JobView]) -> PlainJob {
    let submitted = group.iter().filter_map(|view| view.submitted).min();
    PlainJob {
        id,
        name: group
            .first()
            .map_or_else(String::new, |view| view.name.clone()),
        submitted: submitted.unwrap_or_default(),
        state: state_of(group),
        rows: group.len(),
    }
}

/// What runs speaks for an array, then what waits, then what failed.
fn state_of(group: &[&JobView]) -> RunState {
    let mut all: Vec<RunState> = group.iter().map(|view| state(view)).collect();
    let failed = all
        .iter()
        .filter(|state| matches!(state, RunState::Failed { .. }))
        .count();
    all.sort_by_key(|state| match state {
        RunState::Running { .. } => 0,
        RunState::Waiting { .. } | RunState::Resuming { .. } => 1,
        RunState::Unknown { .. } => 2,
        RunState::Failed { .. } => 3,
        RunState::Cancelled => 4,
        RunState::Done { .. } | RunState::NotSubmitted | RunState::Refused { .. } => 5,
    });
    // Of those that are done, the last one's end.
    let done = all.iter().filter_map(|state| match state {
        RunState::Done { at } => Some(*at),
        _ => None,
    });
    let last = done.max();
    match (all.into_iter().next(), group.len()) {
        (Some(RunState::Failed { cause }), rows) if rows > 1 => RunState::Failed {
            cause: format!("{failed} of {rows} elements, the first: {cause}"),
        },
        (Some(RunState::Done { at }), _) => RunState::Done {
            at: last.unwrap_or(at),
        },
        (Some(first), _) => first,
        (None, _) => RunState::NotSubmitted,
    }
}

/// One job in a run's words.
fn state(view: &JobView) -> RunState {
    match &view.state {
        ViewState::Waiting { reason } if view.restarts > 0 => RunState::Resuming {
            reason: reason.clone(),
        },
        ViewState::Waiting { reason } => RunState::Waiting {
            reason: reason.clone(),
        },
        ViewState::Running { since, .. } => RunState::Running { since: *since },
        ViewState::Ended { how, at, .. } if how == "COMPLETED" => RunState::Done {
            at: at.unwrap_or_default(),
        },
        ViewState::Ended { how, .. } if how == "CANCELLED" => RunState::Cancelled,
        ViewState::Ended { how, exit, .. } => RunState::Failed {
            cause: format!("{how}, exit {exit}"),
        },
        ViewState::Unknown { text } => RunState::Unknown { what: text.clone() },
        ViewState::NotAnswered => RunState::Unknown {
            what: "its cluster does not answer now".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(id: u32, array: Option<u32>, state: ViewState) -> JobView {
        JobView {
            id: JobId(id),
            name: "job".to_owned(),
            array: array.map(JobId),
            restarts: 0,
            submitted: Some(Timestamp(i64::from(id))),
            state,
        }
    }

    fn ended(how: &str) -> ViewState {
        ViewState::Ended {
            how: how.to_owned(),
            exit: "1:0".to_owned(),
            at: Some(Timestamp(9)),
        }
    }

    #[track_caller]
    fn check(views: &[JobView], want: &str) {
        let jobs = plain_jobs(views, []);
        let shown = jobs
            .iter()
            .map(|job| format!("{} {} × {}", job.id, job.state.word(), job.rows));
        assert_eq!(shown.collect::<Vec<_>>().join(", "), want);
    }

    #[test]
    fn an_array_is_one_line() {
        let waits = ViewState::Waiting {
            reason: "Resources".to_owned(),
        };
        let completed = || ended("COMPLETED");
        check(
            &[
                view(3, None, completed()),
                view(1, Some(1), completed()),
                view(2, Some(1), waits),
            ],
            "1 waiting × 2, 3 done × 1",
        );
        check(
            &[
                view(1, Some(1), completed()),
                view(2, Some(1), ended("TIMEOUT")),
            ],
            "1 failed × 2",
        );
        check(&[view(1, None, ended("CANCELLED"))], "1 cancelled × 1");
    }
}
