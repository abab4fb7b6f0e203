//! The reason column: why a job waits, or how it ended.

use std::borrow::Cow;

use crate::records::{Ending, JobState, Outcome, PendingReason, WaitStatus};

/// What `squeue` prints as `%r`: `Resources`, `TimeLimit`, `JobLaunchFailure`, `None`.
#[must_use]
pub fn reason_text(state: &JobState) -> Cow<'static, str> {
    match state {
        JobState::Pending { reason } => pending_text(reason),
        // Slurm says why a script ended as soon as it has, while the job's other steps still end.
        JobState::Running {
            ending:
                Some(Ending::End(
                    outcome @ (Outcome::Failed { .. } | Outcome::OutOfMemory | Outcome::ScriptLost),
                )),
            ..
        } => outcome_text(outcome),
        JobState::Running {
            held: Some(held), ..
        } => pending_text(&held.reason()),
        JobState::Running { .. } => "None".into(),
        JobState::Ended { outcome, .. } => outcome_text(outcome),
    }
}

/// What stands for a hold by a requeue in place of [`PendingReason::JobHeldUser`].
const REQUEUED_HELD: &str = "job requeued in held state";
const SPECIAL_EXIT: &str = "job requeued in special exit state";
const LAUNCH_FAILED: &str = "launch failed requeued held";
/// What stands in place of [`PendingReason::Resources`].
const NODES_DOWN: &str =
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions";

/// The name of the reason of which `squeue` tells in a text of [`reason_text`] (`state_reason` beside the
/// `state_desc` that goes before it): accounting has that alone.
#[must_use]
pub(crate) fn reason_name(text: &str) -> &str {
    match text {
        REQUEUED_HELD | SPECIAL_EXIT | LAUNCH_FAILED => "JobHeldUser",
        NODES_DOWN => "Resources",
        // `ReqNodeNotAvail, UnavailableNodes:node1`
        _ => text.split_once(", ").map_or(text, |(name, _)| name),
    }
}

fn pending_text(reason: &PendingReason) -> Cow<'static, str> {
    let text = match reason {
        PendingReason::None => "None",
        PendingReason::Resources => "Resources",
        PendingReason::Priority => "Priority",
        PendingReason::JobHeldUser => "JobHeldUser",
        PendingReason::JobHeldAdmin => "JobHeldAdmin",
        PendingReason::RequeuedHeld | PendingReason::HeldSpecialExit => REQUEUED_HELD,
        PendingReason::SpecialExit => SPECIAL_EXIT,
        PendingReason::BeginTime => "BeginTime",
        PendingReason::Dependency => "Dependency",
        PendingReason::DependencyNeverSatisfied => "DependencyNeverSatisfied",
        PendingReason::JobArrayTaskLimit => "JobArrayTaskLimit",
        PendingReason::LaunchFailedRequeuedHeld => LAUNCH_FAILED,
        PendingReason::PartitionDown => "PartitionDown",
        PendingReason::PartitionInactive => "PartitionInactive",
        PendingReason::PartitionConfig => "PartitionConfig",
        PendingReason::PartitionNodeLimit => "PartitionNodeLimit",
        PendingReason::PartitionTimeLimit => "PartitionTimeLimit",
        PendingReason::NodesUnavailable(nodes) => {
            return format!("ReqNodeNotAvail, UnavailableNodes:{nodes}").into();
        }
        PendingReason::NodesDownOrReserved => NODES_DOWN,
        PendingReason::BadConstraints => "BadConstraints",
        PendingReason::Licenses => "Licenses",
        PendingReason::Reservation => "Reservation",
        PendingReason::ReservationDeleted => "ReservationDeleted",
        PendingReason::ReservedForMaintenance => "ReqNodeNotAvail, Reserved for maintenance",
        PendingReason::ReservedForOthers => "ReqNodeNotAvail, May be reserved for other job",
        PendingReason::OverLimit(name) => return name.clone().into(),
    };
    text.into()
}

fn outcome_text(outcome: &Outcome) -> Cow<'static, str> {
    match outcome {
        Outcome::Cancelled {
            waited_for: Some(reason),
            ..
        } => pending_text(reason),
        Outcome::Completed | Outcome::Cancelled { .. } | Outcome::Preempted { .. } => "None".into(),
        Outcome::Failed { status } => failed_text(*status),
        Outcome::Timeout { .. } => "TimeLimit".into(),
        Outcome::NodeFail => "NodeDown".into(),
        Outcome::OutOfMemory => "OutOfMemory".into(),
        Outcome::Deadline => "DeadLine".into(),
        Outcome::LaunchFailed { .. } | Outcome::ScriptLost => "JobLaunchFailure".into(),
    }
}

/// 22.05 says of a script that a signal ended that it was not launched.
fn failed_text(status: WaitStatus) -> Cow<'static, str> {
    match status.signal_number() {
        0 => "NonZeroExitCode".into(),
        _ => "JobLaunchFailure".into(),
    }
}

/// The C library's description of a signal on Linux.
#[must_use]
pub fn signal_description(signal: i32) -> String {
    let known = match signal {
        1 => "Hangup",
        2 => "Interrupt",
        3 => "Quit",
        4 => "Illegal instruction",
        5 => "Trace/breakpoint trap",
        6 => "Aborted",
        7 => "Bus error",
        8 => "Floating point exception",
        9 => "Killed",
        10 => "User defined signal 1",
        11 => "Segmentation fault",
        12 => "User defined signal 2",
        13 => "Broken pipe",
        14 => "Alarm clock",
        15 => "Terminated",
        16 => "Stack fault",
        17 => "Child exited",
        18 => "Continued",
        19 => "Stopped (signal)",
        20 => "Stopped",
        21 => "Stopped (tty input)",
        22 => "Stopped (tty output)",
        23 => "Urgent I/O condition",
        24 => "CPU time limit exceeded",
        25 => "File size limit exceeded",
        26 => "Virtual timer expired",
        27 => "Profiling timer expired",
        28 => "Window changed",
        29 => "I/O possible",
        30 => "Power failure",
        31 => "Bad system call",
        34..=64 => return format!("Real-time signal {}", signal - 34),
        _ => return format!("Unknown signal {signal}"),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Timestamp;

    #[track_caller]
    fn check(outcome: Outcome, text: &str) {
        let state = JobState::Ended {
            outcome,
            at: Timestamp(0),
            ran: None,
        };
        assert_eq!(reason_text(&state), text);
    }

    #[test]
    fn ends_have_slurms_words() {
        check(Outcome::Completed, "None");
        let status = WaitStatus::exit(3);
        check(Outcome::Failed { status }, "NonZeroExitCode");
        let status = WaitStatus::signal(11);
        check(Outcome::Failed { status }, "JobLaunchFailure");
        check(Outcome::NodeFail, "NodeDown");
        check(Outcome::ScriptLost, "JobLaunchFailure");
        check(Outcome::Deadline, "DeadLine");
        let cancelled = |waited_for| Outcome::Cancelled {
            by: 0,
            status: WaitStatus::default(),
            waited_for,
        };
        check(cancelled(None), "None");
        check(cancelled(Some(PendingReason::JobHeldUser)), "JobHeldUser");
    }
    /// `state_reason` and `state_desc` as `job_mgr.c` and `job_scheduler.c` of 22.05.8 set them.
    #[test]
    fn what_is_told_in_a_sentence_has_a_name() {
        for (reason, name) in [
            (PendingReason::RequeuedHeld, "JobHeldUser"),
            (PendingReason::HeldSpecialExit, "JobHeldUser"),
            (PendingReason::SpecialExit, "JobHeldUser"),
            (PendingReason::LaunchFailedRequeuedHeld, "JobHeldUser"),
            (PendingReason::NodesDownOrReserved, "Resources"),
            (
                PendingReason::NodesUnavailable("node[1-2]".to_owned()),
                "ReqNodeNotAvail",
            ),
            (PendingReason::ReservedForOthers, "ReqNodeNotAvail"),
            (PendingReason::JobArrayTaskLimit, "JobArrayTaskLimit"),
        ] {
            let text = reason_text(&JobState::Pending { reason });
            assert_eq!(reason_name(&text), name, "{text}");
        }
    }
}
