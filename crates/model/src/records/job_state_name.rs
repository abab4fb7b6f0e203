//! Slurm's names of job states.

use crate::records::{Ending, JobState, Outcome, PendingReason};
use serde::{Deserialize, Serialize};

/// A job's state by Slurm's name. What no job of ours is ever in stands here too: filters name it,
/// and a real Slurm tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub enum JobStateName {
    Pending,
    Running,
    Suspended,
    Completed,
    Cancelled,
    Failed,
    Timeout,
    NodeFail,
    Preempted,
    BootFail,
    Deadline,
    OutOfMemory,
    Completing,
    Configuring,
    Resizing,
    ResvDelHold,
    Requeued,
    RequeueFed,
    RequeueHold,
    Revoked,
    Signaling,
    SpecialExit,
    StageOut,
    Stopped,
}

use JobStateName as Name;

/// Every name with its long and its compact form, in the order in which Slurm lists them.
const NAMES: &[(Name, &str, &str)] = &[
    (Name::Pending, "PENDING", "PD"),
    (Name::Running, "RUNNING", "R"),
    (Name::Suspended, "SUSPENDED", "S"),
    (Name::Completed, "COMPLETED", "CD"),
    (Name::Cancelled, "CANCELLED", "CA"),
    (Name::Failed, "FAILED", "F"),
    (Name::Timeout, "TIMEOUT", "TO"),
    (Name::NodeFail, "NODE_FAIL", "NF"),
    (Name::Preempted, "PREEMPTED", "PR"),
    (Name::BootFail, "BOOT_FAIL", "BF"),
    (Name::Deadline, "DEADLINE", "DL"),
    (Name::OutOfMemory, "OUT_OF_MEMORY", "OOM"),
    (Name::Completing, "COMPLETING", "CG"),
    (Name::Configuring, "CONFIGURING", "CF"),
    (Name::Resizing, "RESIZING", "RS"),
    (Name::ResvDelHold, "RESV_DEL_HOLD", "RD"),
    (Name::Requeued, "REQUEUED", "RQ"),
    (Name::RequeueFed, "REQUEUE_FED", "RF"),
    (Name::RequeueHold, "REQUEUE_HOLD", "RH"),
    (Name::Revoked, "REVOKED", "RV"),
    (Name::Signaling, "SIGNALING", "SI"),
    (Name::SpecialExit, "SPECIAL_EXIT", "SE"),
    (Name::StageOut, "STAGE_OUT", "SO"),
    (Name::Stopped, "STOPPED", "ST"),
];

impl JobStateName {
    /// The name of a state of ours. A job that is being ended is COMPLETING.
    #[must_use]
    pub fn of(state: &JobState) -> JobStateName {
        match state {
            JobState::Pending {
                reason: PendingReason::SpecialExit | PendingReason::HeldSpecialExit,
            } => Name::SpecialExit,
            JobState::Pending { .. } => Name::Pending,
            JobState::Running { .. } if state.is_ending() => Name::Completing,
            JobState::Running { .. } if state.is_suspended() => Name::Suspended,
            JobState::Running { .. } if state.is_stopped() => Name::Stopped,
            JobState::Running { .. } => Name::Running,
            JobState::Ended { outcome, .. } => Name::of_outcome(outcome),
        }
    }

    /// The state below the flags COMPLETING, STOPPED and SPECIAL_EXIT: what the job is, or will be once its processes
    /// are gone.
    #[must_use]
    pub fn base_of(state: &JobState) -> JobStateName {
        match state {
            JobState::Pending { .. } => Name::Pending,
            JobState::Running {
                ending: Some(Ending::End(outcome)),
                ..
            } => Name::of_outcome(outcome),
            JobState::Running {
                ending: Some(Ending::Requeue { .. }),
                ..
            } => Name::Pending,
            JobState::Running {
                ending:
                    Some(Ending::Preempted {
                        requeue,
                        grace: None,
                        ..
                    }),
                ..
            } => {
                if *requeue {
                    Name::Pending
                } else {
                    Name::Preempted
                }
            }
            state if !state.is_ending() && !state.is_suspended() && state.is_stopped() => {
                Name::Running
            }
            state => Name::of(state),
        }
    }

    /// The name of an end.
    #[must_use]
    pub fn of_outcome(outcome: &Outcome) -> JobStateName {
        match outcome {
            Outcome::Completed => Name::Completed,
            Outcome::Failed { .. } | Outcome::LaunchFailed { .. } | Outcome::ScriptLost => {
                Name::Failed
            }
            Outcome::Cancelled { .. } => Name::Cancelled,
            Outcome::Timeout { .. } => Name::Timeout,
            Outcome::Preempted { .. } => Name::Preempted,
            Outcome::NodeFail => Name::NodeFail,
            Outcome::OutOfMemory => Name::OutOfMemory,
            Outcome::Deadline => Name::Deadline,
        }
    }

    /// `OUT_OF_MEMORY`
    #[must_use]
    pub fn long(self) -> &'static str {
        self.row().1
    }

    /// `OOM`
    #[must_use]
    pub fn compact(self) -> &'static str {
        self.row().2
    }

    /// The state that a long or a compact name means, in any case.
    #[must_use]
    pub fn parse(text: &str) -> Option<JobStateName> {
        NAMES
            .iter()
            .find(|(_, long, compact)| {
                long.eq_ignore_ascii_case(text) || compact.eq_ignore_ascii_case(text)
            })
            .map(|row| row.0)
    }

    /// All long names, between commas, as `squeue` lists what it takes.
    #[must_use]
    pub fn list() -> String {
        let names: Vec<&str> = NAMES.iter().map(|row| row.1).collect();
        names.join(",")
    }

    fn row(self) -> &'static (JobStateName, &'static str, &'static str) {
        NAMES
            .iter()
            .find(|row| row.0 == self)
            .expect("invariant: every name has its row, as a test sees")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::WaitStatus;
    use crate::values::{Allocation, Timestamp};

    #[test]
    fn every_name_is_found_by_both_its_forms() {
        for (name, long, compact) in NAMES {
            assert_eq!(JobStateName::parse(long), Some(*name));
            assert_eq!(JobStateName::parse(&compact.to_lowercase()), Some(*name));
            assert_eq!((name.long(), name.compact()), (*long, *compact));
        }
        assert_eq!(NAMES.len(), Name::Stopped as usize + 1);
        assert_eq!(JobStateName::parse("bad"), None);
    }

    /// A running job that is being ended, is suspended, was sent SIGSTOP.
    #[track_caller]
    fn check(ending: Option<Ending>, is_now: bool, is_stopped: bool, want: (Name, Name)) {
        let state = JobState::Running {
            since: Timestamp(0),
            allocation: Allocation::default(),
            limit: None,
            ending,
            suspension: Some(Box::new(crate::records::Suspension {
                is_now,
                at: Timestamp(0),
                before_ms: 0,
                is_preempted: false,
                is_stopped,
            })),
            held: None,
            end_moved_ms: 0,
        };
        let names = (JobStateName::of(&state), JobStateName::base_of(&state));
        assert_eq!(names, want);
    }

    #[test]
    fn one_that_was_stopped_by_a_signal_runs_below_that() {
        let end = Some(Ending::End(Outcome::Completed));
        check(None, false, true, (Name::Stopped, Name::Running));
        check(None, false, false, (Name::Running, Name::Running));
        check(None, true, false, (Name::Suspended, Name::Suspended));
        check(end, false, true, (Name::Completing, Name::Completed));
    }

    #[test]
    fn a_job_that_is_being_ended_is_completing() {
        let state = JobState::Running {
            since: Timestamp(0),
            allocation: Allocation::default(),
            limit: None,
            ending: Some(Ending::End(Outcome::Timeout {
                status: WaitStatus::default(),
            })),
            suspension: None,
            held: None,
            end_moved_ms: 0,
        };
        assert_eq!(JobStateName::of(&state), Name::Completing);
        assert_eq!(JobStateName::base_of(&state), Name::Timeout);
    }
}
