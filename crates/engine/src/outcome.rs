//! How a job ended, from how its batch script ended and what was decided before.

use crate::spec::{EndedBy, ExitFile, TaskExit};
use model::{Ending, OUT_OF_MEMORY, Outcome, TaskUsage, TasksUsage, Timestamp, Usage, WaitStatus};

/// What became of a step on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeEnd {
    /// Its exit file.
    Exit(ExitFile),
    /// Its supervisor is gone and left no exit file.
    Lost,
}

impl NodeEnd {
    /// The worst of its tasks: a signal is worse than a code, a high number worse than a low one.
    pub(crate) fn status(&self) -> WaitStatus {
        match self {
            NodeEnd::Exit(exit) if exit.launch_error.is_some() => WaitStatus::exit(1),
            NodeEnd::Exit(exit) if exit.ended_by.is_some_and(EndedBy::is_memory) => OUT_OF_MEMORY,
            NodeEnd::Exit(exit) => {
                let statuses = exit.tasks.iter().map(|task| task.status);
                statuses.fold(WaitStatus::default(), worst)
            }
            NodeEnd::Lost => WaitStatus::signal(9),
        }
    }

    /// What its processes used, where that was counted.
    pub(crate) fn usage(&self) -> Option<Usage> {
        match self {
            NodeEnd::Exit(exit) => exit.usage,
            NodeEnd::Lost => None,
        }
    }

    /// Whether the memory that the whole job may have ended it.
    pub(crate) fn met_job_memory(&self) -> bool {
        matches!(self, NodeEnd::Exit(exit) if exit.ended_by == Some(EndedBy::JobMemory))
    }

    /// Whether a time limit ended it.
    pub(crate) fn timed_out(&self) -> bool {
        matches!(self, NodeEnd::Exit(exit) if exit.ended_by == Some(EndedBy::Limit))
    }
}

/// How a job ends of which a step was ended because all of its steps held too much memory together.
pub(crate) fn beyond_memory(own: Outcome) -> Outcome {
    match own {
        Outcome::Completed | Outcome::Failed { .. } => Outcome::OutOfMemory,
        other => other,
    }
}

/// What the tasks of a step used, of its ends node by node.
pub(crate) fn tasks_usage(ends: &[NodeEnd]) -> Option<TasksUsage> {
    let mut tasks: Vec<(u32, u32, TaskUsage)> = Vec::new();
    for (node, end) in (0..).zip(ends) {
        if let NodeEnd::Exit(exit) = end {
            let counted = |task: &TaskExit| Some((task.rank, node, task.used?));
            tasks.extend(exit.tasks.iter().filter_map(counted));
        }
    }
    tasks.sort_unstable_by_key(|(rank, ..)| *rank);
    TasksUsage::of(&tasks)
}

/// The worse of two ends.
pub(crate) fn worst(left: WaitStatus, right: WaitStatus) -> WaitStatus {
    let weight = |status: WaitStatus| (status.signal_number(), status.code());
    if weight(right) > weight(left) {
        right
    } else {
        left
    }
}

/// How the job ends whose batch script ended so, if nothing else was decided.
pub(crate) fn of_batch(end: &NodeEnd, deadline: Option<Timestamp>) -> Outcome {
    let status = end.status();
    let is_over = |exit: &ExitFile| deadline.is_some_and(|deadline| deadline <= exit.at);
    match end {
        NodeEnd::Lost => Outcome::NodeFail,
        // The time was over before its task was there, which may have waited for a pipe's reader.
        NodeEnd::Exit(exit) if exit.launch_error.is_some() && is_over(exit) => Outcome::Timeout {
            status: WaitStatus::default(),
        },
        NodeEnd::Exit(ExitFile {
            launch_error: Some(message),
            ..
        }) => Outcome::LaunchFailed {
            message: message.clone(),
        },
        NodeEnd::Exit(exit) => match exit.ended_by {
            Some(EndedBy::Memory | EndedBy::JobMemory) => Outcome::OutOfMemory,
            Some(EndedBy::Limit) => Outcome::Timeout { status },
            Some(EndedBy::Stop) => of_status(status, false),
            None => of_status(status, is_over(exit)),
        },
    }
}

/// What `wait` said of the batch script of a job that ended so, as far as the outcome remembers.
pub(crate) fn batch_status(outcome: &Outcome) -> WaitStatus {
    match outcome {
        Outcome::Completed => WaitStatus::default(),
        Outcome::Failed { status }
        | Outcome::Cancelled { status, .. }
        | Outcome::Timeout { status }
        | Outcome::Preempted { status } => *status,
        Outcome::NodeFail | Outcome::OutOfMemory | Outcome::ScriptLost => WaitStatus::signal(9),
        Outcome::LaunchFailed { .. } | Outcome::Deadline => WaitStatus::exit(1),
    }
}

/// How a job ends whose last word is this status. `timed_out`: its time was over then. What ended
/// its steps, a moment before its script or its `srun`, was the limit too.
pub(crate) fn of_status(status: WaitStatus, timed_out: bool) -> Outcome {
    if status == OUT_OF_MEMORY {
        Outcome::OutOfMemory
    } else if timed_out && !status.success() {
        Outcome::Timeout { status }
    } else if status.success() {
        Outcome::Completed
    } else {
        Outcome::Failed { status }
    }
}

/// How the job ends, given what was decided before its batch script ended with `status`.
pub(crate) fn of_job(ending: Option<&Ending>, own: Outcome, status: WaitStatus) -> Outcome {
    match ending {
        Some(Ending::End(Outcome::Cancelled { by, .. })) => Outcome::cancelled(*by, status),
        Some(Ending::End(Outcome::Timeout { .. })) => Outcome::Timeout { status },
        Some(Ending::End(Outcome::Preempted { .. })) => Outcome::Preempted { status },
        Some(Ending::End(decided)) => decided.clone(),
        // Where it is queued again, of that start.
        Some(Ending::Preempted { .. }) => Outcome::Preempted { status },
        // The scheduler knows that it is queued again; this is what it would have been.
        Some(Ending::Requeue { .. }) | None => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn exit(status: WaitStatus, ended_by: Option<EndedBy>) -> NodeEnd {
        NodeEnd::Exit(ExitFile {
            boot_id: String::new(),
            at: Timestamp(0),
            tasks: vec![TaskExit {
                rank: 0,
                status,
                used: None,
            }],
            launch_error: None,
            ended_by,
            usage: None,
        })
    }

    #[track_caller]
    fn check(ending: Option<Ending>, end: &NodeEnd, want: Expect) {
        let outcome = of_job(
            ending.as_ref(),
            of_batch(end, Some(Timestamp(5))),
            end.status(),
        );
        want.assert_eq(&format!("{outcome:?}"));
    }

    #[test]
    fn as_slurm_decides() {
        let cancelled = Ending::End(Outcome::cancelled(7, WaitStatus::default()));
        check(None, &exit(WaitStatus::exit(0), None), expect!["Completed"]);
        check(
            None,
            &exit(WaitStatus::exit(143), None),
            expect!["Failed { status: WaitStatus(36608) }"],
        );
        check(
            None,
            &exit(WaitStatus::signal(9), None),
            expect!["Failed { status: WaitStatus(9) }"],
        );
        check(
            Some(cancelled.clone()),
            &exit(WaitStatus::signal(15), Some(EndedBy::Stop)),
            expect!["Cancelled { by: 7, status: WaitStatus(15), waited_for: None }"],
        );
        check(
            Some(cancelled),
            &exit(WaitStatus::exit(0), Some(EndedBy::Stop)),
            expect!["Cancelled { by: 7, status: WaitStatus(0), waited_for: None }"],
        );
        check(
            None,
            &exit(WaitStatus::signal(15), Some(EndedBy::Limit)),
            expect!["Timeout { status: WaitStatus(15) }"],
        );
        check(
            None,
            &exit(WaitStatus::signal(9), Some(EndedBy::Memory)),
            expect!["OutOfMemory"],
        );
        check(None, &NodeEnd::Lost, expect!["NodeFail"]);
        // The limit ended its last step, and the script with it before its own turn came.
        let late = |status| {
            let NodeEnd::Exit(exit) = exit(status, None) else {
                unreachable!("it is one");
            };
            let at = Timestamp(5);
            NodeEnd::Exit(ExitFile { at, ..exit })
        };
        check(
            None,
            &late(WaitStatus::exit(143)),
            expect!["Timeout { status: WaitStatus(36608) }"],
        );
        check(None, &late(WaitStatus::exit(0)), expect!["Completed"]);
    }
}
