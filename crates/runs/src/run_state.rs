//! Where a run stands, of what its folder and its cluster say.

use crate::reason_words::say_reason;
use backend::{JobView, ViewState};
use folder::{Event, EventLine, FOLDER_REFUSED, LinkState, StopReason};
use model::Timestamp;
use serde::{Deserialize, Serialize};

/// The exit code of a job whose batch script was ended by `SIGKILL`, as Slurm shows it.
const KILLED: &str = "0:9";

/// Slurm's word for a job that ended because a node of it failed.
const NODE_FAIL: &str = "NODE_FAIL";

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum RunState {
    /// Nothing is known to have been submitted.
    NotSubmitted,
    /// The cluster refused its job.
    Refused {
        /// Its words.
        why: String,
    },
    /// Waits for its first start.
    Waiting {
        /// Slurm's word for why.
        reason: String,
    },
    /// Runs.
    Running {
        /// Since when.
        since: Option<Timestamp>,
    },
    /// Waits to be started again.
    Resuming {
        /// Slurm's word for why it waits.
        reason: String,
    },
    /// Trained to its end.
    Done {
        /// When.
        at: Timestamp,
        /// What is on a node only, with how to fetch it; in words.
        left: Option<String>,
    },
    /// Ended without being done.
    Failed {
        /// In words.
        cause: String,
    },
    /// Was cancelled.
    Cancelled,
    /// The cluster no longer knows the job, and its last word was not an end.
    Unknown {
        /// In words.
        what: String,
    },
}

impl RunState {
    /// Can still change by itself.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(
            self,
            RunState::Waiting { .. } | RunState::Running { .. } | RunState::Resuming { .. }
        )
    }

    /// All words for a column.
    pub const WORDS: [&'static str; 10] = [
        "not submitted",
        "refused",
        "waiting",
        "running",
        "resuming",
        "done",
        "unsaved",
        "failed",
        "cancelled",
        "unknown",
    ];

    /// One word for a column.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            RunState::NotSubmitted => "not submitted",
            RunState::Refused { .. } => "refused",
            RunState::Waiting { .. } => "waiting",
            RunState::Running { .. } => "running",
            RunState::Resuming { .. } => "resuming",
            RunState::Done { left: None, .. } => "done",
            RunState::Done { left: Some(_), .. } => "unsaved",
            RunState::Failed { .. } => "failed",
            RunState::Cancelled => "cancelled",
            RunState::Unknown { .. } => "unknown",
        }
    }

    /// Why it stands there, in words; empty where the word says it all.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            RunState::Waiting { reason } | RunState::Resuming { reason } => say_reason(reason),
            RunState::Refused { why } => why.clone(),
            RunState::Failed { cause } => cause.clone(),
            RunState::Unknown { what } => what.clone(),
            RunState::Done { left, .. } => left.clone().unwrap_or_default(),
            RunState::NotSubmitted | RunState::Running { .. } | RunState::Cancelled => {
                String::new()
            }
        }
    }
}

/// Where a run stands by its newest link, what its newest start wrote down, and what the cluster
/// says of its job (`None`: it no longer knows it).
///
/// The conductor's word counts first: it alone knows whether the training is done. A job that ended
/// without such a word was ended from outside.
#[must_use]
pub fn run_state(
    link: Option<&LinkState>,
    events: &[EventLine],
    job: Option<&JobView>,
) -> RunState {
    match link {
        None | Some(LinkState::Intent { .. }) => return RunState::NotSubmitted,
        Some(LinkState::Refused { why, .. }) => {
            return RunState::Refused { why: why.clone() };
        }
        Some(LinkState::Submitted { .. }) => {}
    }
    if let Some(state) = events.iter().rev().find_map(said) {
        return state;
    }
    let started = !events.is_empty();
    match job.map(|job| (&job.state, job.restarts)) {
        Some((ViewState::Waiting { reason }, 0)) if !started => RunState::Waiting {
            reason: reason.clone(),
        },
        Some((ViewState::Waiting { reason }, _)) => RunState::Resuming {
            reason: reason.clone(),
        },
        Some((ViewState::Running { since, .. }, _)) => RunState::Running { since: *since },
        Some((ViewState::Ended { how, .. }, _)) if how == "CANCELLED" => RunState::Cancelled,
        Some((ViewState::Ended { exit, .. }, _)) if *exit == format!("{FOLDER_REFUSED}:0") => {
            RunState::Failed {
                cause: "its run folder took nothing, not even the reason: it was full, read-only or out of reach over all that was tried; make room, then yard requeue continues from the newest checkpoint, also from one that is on the node only".to_owned(),
            }
        }
        Some((state, _)) if was_killed(state) => RunState::Failed {
            cause: "its batch script was killed while no other process of the run lived that could have brought it back; yard requeue continues from the newest checkpoint".to_owned(),
        },
        Some((ViewState::Ended { how, .. }, _)) if how == NODE_FAIL => RunState::Failed {
            cause: format!(
                "{} failed; yard requeue continues from the newest checkpoint",
                its_nodes(events)
            ),
        },
        Some((ViewState::Ended { how, exit, .. }, _)) => RunState::Failed {
            cause: format!(
                "its job ended as {how} (exit {exit}), and the training recorded no reason"
            ),
        },
        Some((ViewState::Unknown { text }, _)) => RunState::Unknown {
            what: format!("the cluster says {text}"),
        },
        Some((ViewState::NotAnswered, _)) => RunState::Unknown {
            what: if started {
                "its cluster does not answer now; it had started".to_owned()
            } else {
                "its cluster does not answer now; it was submitted".to_owned()
            },
        },
        // A job that comes back is known; this one was told to end and did.
        None if events.iter().any(was_terminated) => RunState::Cancelled,
        None => RunState::Unknown {
            what: "the cluster no longer knows its job".to_owned(),
        },
    }
}

/// Of which nodes one failed, by what the newest start wrote down.
fn its_nodes(events: &[EventLine]) -> String {
    let nodes = events.iter().rev().find_map(|line| match &line.event {
        Event::Started { nodes, .. } => Some(nodes.as_slice()),
        _ => None,
    });
    match nodes {
        Some([node]) => format!("node {node}"),
        Some(_) | None => "a node of its job".to_owned(),
    }
}

/// Whether the job's batch script was killed.
#[must_use]
pub(crate) fn was_killed(job: &ViewState) -> bool {
    matches!(job, ViewState::Ended { how, exit, .. } if how == "FAILED" && *exit == KILLED)
}

fn was_terminated(line: &EventLine) -> bool {
    matches!(line.event, Event::Terminated { .. })
}

/// The state that an event settles for good.
fn said(line: &EventLine) -> Option<RunState> {
    match &line.event {
        Event::Finished { left, .. } => Some(RunState::Done {
            at: line.at,
            left: left.clone(),
        }),
        Event::Failed { cause, .. } => Some(RunState::Failed {
            cause: cause.clone(),
        }),
        Event::Terminated {
            reason: Some(StopReason::Cancelled),
        } => Some(RunState::Cancelled),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::JobId;

    const SUBMITTED: LinkState = LinkState::Submitted {
        job: 7,
        at: Timestamp(0),
    };

    fn event(event: Event) -> EventLine {
        EventLine {
            at: Timestamp(5),
            event,
        }
    }

    fn started() -> EventLine {
        event(Event::Started {
            job: 7,
            restart: 0,
            nodes: vec!["n1".to_owned()],
        })
    }

    fn view(restarts: u32, state: ViewState) -> JobView {
        JobView {
            id: JobId(7),
            name: "digits".to_owned(),
            array: None,
            task: None,
            restarts,
            submitted: None,
            state,
        }
    }

    fn waiting() -> ViewState {
        ViewState::Waiting {
            reason: "Resources".to_owned(),
        }
    }

    fn ended(how: &str) -> ViewState {
        ViewState::Ended {
            how: how.to_owned(),
            exit: "1:0".to_owned(),
            at: None,
        }
    }

    #[track_caller]
    fn check(link: Option<LinkState>, events: &[EventLine], job: Option<JobView>, want: &str) {
        let state = run_state(link.as_ref(), events, job.as_ref());
        assert_eq!(state.word(), want, "{state:?}");
    }

    #[test]
    fn before_the_cluster_has_it() {
        check(None, &[], None, "not submitted");
        check(
            Some(LinkState::intent(Timestamp(0))),
            &[],
            None,
            "not submitted",
        );
        let refused = LinkState::Refused {
            why: "no".to_owned(),
            at: Timestamp(0),
        };
        check(Some(refused), &[], None, "refused");
    }

    #[test]
    fn waits_runs_and_comes_back() {
        check(Some(SUBMITTED), &[], Some(view(0, waiting())), "waiting");
        check(Some(SUBMITTED), &[], Some(view(1, waiting())), "resuming");
        check(
            Some(SUBMITTED),
            &[started()],
            Some(view(0, waiting())),
            "resuming",
        );
        let running = ViewState::Running {
            since: None,
            nodes: String::new(),
        };
        check(
            Some(SUBMITTED),
            &[started()],
            Some(view(0, running)),
            "running",
        );
    }

    #[test]
    fn the_conductors_word_counts_first() {
        let done = [
            started(),
            event(Event::Finished {
                status: 0,
                left: None,
            }),
        ];
        check(
            Some(SUBMITTED),
            &done,
            Some(view(0, ended("FAILED"))),
            "done",
        );
        check(Some(SUBMITTED), &done, None, "done");
        let failed = event(Event::Failed {
            cause: "rank 5".to_owned(),
            status: Some(1),
        });
        check(Some(SUBMITTED), &[failed], None, "failed");
    }

    #[test]
    fn a_run_folder_that_stayed_full_is_the_cause() {
        let exit = format!("{FOLDER_REFUSED}:0");
        let ended = ViewState::Ended {
            how: "FAILED".to_owned(),
            exit,
            at: None,
        };
        let state = run_state(Some(&SUBMITTED), &[], Some(&view(2, ended)));
        assert!(state.why().contains("run folder took nothing"), "{state:?}");
    }

    #[test]
    fn a_batch_script_that_was_killed_last_is_the_cause() {
        let ended = ViewState::Ended {
            how: "FAILED".to_owned(),
            exit: KILLED.to_owned(),
            at: None,
        };
        let state = run_state(Some(&SUBMITTED), &[started()], Some(&view(0, ended)));
        assert!(state.why().contains("yard requeue continues"), "{state:?}");
    }

    #[test]
    fn a_node_that_failed_is_the_cause() {
        let lost = run_state(
            Some(&SUBMITTED),
            &[started()],
            Some(&view(0, ended("NODE_FAIL"))),
        );
        assert!(lost.why().starts_with("node n1 failed; "), "{lost:?}");
        let lost = run_state(Some(&SUBMITTED), &[], Some(&view(0, ended("NODE_FAIL"))));
        assert!(
            lost.why().starts_with("a node of its job failed; "),
            "{lost:?}"
        );
    }

    #[test]
    fn cancelled_or_preempted() {
        let ended_by = |reason| [started(), event(Event::Terminated { reason })];
        let cancelled = ended_by(Some(StopReason::Cancelled));
        check(Some(SUBMITTED), &cancelled, None, "cancelled");
        check(Some(SUBMITTED), &ended_by(None), None, "cancelled");
        let preempted = ended_by(Some(StopReason::Preempted));
        check(
            Some(SUBMITTED),
            &preempted,
            Some(view(0, waiting())),
            "resuming",
        );
        check(
            Some(SUBMITTED),
            &preempted,
            Some(view(1, waiting())),
            "resuming",
        );
    }

    #[test]
    fn ended_without_a_word() {
        check(
            Some(SUBMITTED),
            &[started()],
            Some(view(0, ended("CANCELLED"))),
            "cancelled",
        );
        check(
            Some(SUBMITTED),
            &[started()],
            Some(view(0, ended("COMPLETED"))),
            "failed",
        );
        check(Some(SUBMITTED), &[started()], None, "unknown");
    }
}
