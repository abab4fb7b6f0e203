//! Jobs that belong to no run: those of batch scripts.

use crate::{Run, RunState, together};
use backend::{JobView, ViewState};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A job, or all elements of an array together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlainJob {
    /// The job's id, or the array's.
    pub id: JobId,
    /// Its name.
    pub name: String,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// When the last of it ended, once all of it has and where that is known.
    #[serde(default)]
    pub ended: Option<Timestamp>,
    /// Where it stands, in a run's words.
    pub state: RunState,
    /// Rows of the array that are known; 1 for a plain job.
    pub rows: usize,
}

/// The jobs that belong to none of the runs, oldest first; elements of one array are one.
pub fn plain_jobs<'a>(views: &[JobView], runs: impl IntoIterator<Item = &'a Run>) -> Vec<PlainJob> {
    let of_runs: BTreeSet<JobId> = runs.into_iter().flat_map(Run::jobs).collect();
    let mut groups: Vec<(JobId, Vec<&JobView>)> = Vec::new();
    // An element has its own id when it starts, and its run may not have said so yet.
    let is_of_run = |view: &&JobView| {
        let ids = [Some(view.id), view.array];
        ids.into_iter().flatten().any(|id| of_runs.contains(&id))
    };
    for view in views.iter().filter(|view| !is_of_run(view)) {
        let id = view.array.unwrap_or(view.id);
        match groups.iter_mut().find(|(known, _)| *known == id) {
            Some((_, group)) => group.push(view),
            None => groups.push((id, vec![view])),
        }
    }
    let mut jobs: Vec<PlainJob> = groups
        .iter()
        .map(|(id, group)| as_one(*id, group))
        .collect();
    jobs.sort_by_key(|job| (job.submitted, job.id));
    jobs
}

fn as_one(id: JobId, group: &[&JobView]) -> PlainJob {
    let submitted = group.iter().filter_map(|view| view.submitted).min();
    PlainJob {
        id,
        name: group
            .first()
            .map_or_else(String::new, |view| view.name.clone()),
        submitted: submitted.unwrap_or_default(),
        ended: last_end(group),
        state: together(group.iter().map(|view| state(view)).collect()),
        rows: group.len(),
    }
}

fn last_end(group: &[&JobView]) -> Option<Timestamp> {
    let ends = group.iter().map(|view| match &view.state {
        ViewState::Ended { at, .. } => *at,
        _ => None,
    });
    let ends: Option<Vec<Timestamp>> = ends.collect();
    ends?.into_iter().max()
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
            left: None,
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
            task: None,
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

    #[test]
    fn a_job_that_failed_has_an_end_once_all_of_it_has() {
        let runs = ViewState::Running {
            since: None,
            nodes: String::new(),
        };
        let of = |state| {
            plain_jobs(
                &[view(1, Some(1), ended("FAILED")), view(2, Some(1), state)],
                [],
            )
        };
        assert_eq!(of(ended("FAILED"))[0].ended, Some(Timestamp(9)));
        assert_eq!(of(runs)[0].ended, None);
    }
}
