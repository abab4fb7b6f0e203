//! Who may do what: one table of callers and requests.
//!
//! | request | owner of the engine | root | owner of the job | others |
//! |---|---|---|---|---|
//! | see jobs, steps and what the engine is | yes | yes | yes | yes |
//! | submit | yes | no | | where the engine is root, who can become them |
//! | submit for another user | no | where that user may | | no |
//! | change a job, see its script, run steps in it | its own | yes | yes | no |
//! | suspend, resume or preempt a job | yes | yes | no | no |
//! | tell that a step ended | yes | yes | no | no |
//! | change accounts, users, QOS, nodes, partitions and reservations | yes | yes | | no |
//! | stop the engine | yes | yes | | no |
//! | replace the engine by another version | yes | no | | no |
//!
//! An engine of a user can't run a job as another user, root included. Root can stop what it likes,
//! but an engine that root starts in a user's folder would leave files there that the user can't
//! use: only the owner's own client replaces an engine.
//!
//! Most engines are not reached by others at all: their folder is their owner's alone.

use api::{Call, Refusal};
use model::HeldBy;

/// What a caller wants, as far as rights go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Looks at jobs or at the engine.
    See,
    /// Brings a job.
    Submit,
    /// Changes a job: whose it is, is asked once it was found.
    ChangeJob,
    /// Speaks for a supervisor.
    ReportStep,
    /// Changes accounts, users, QOS, nodes, partitions and reservations.
    Manage,
    /// Ends the engine.
    Stop,
    /// Puts another engine in its place.
    Replace,
}

impl Act {
    /// What a call is.
    pub(super) fn of(call: &Call) -> Act {
        match call {
            Call::Handover(_) => Act::Replace,
            Call::Stop => Act::Stop,
            Call::StepEnded { .. } => Act::ReportStep,
            Call::SetAccounting(_)
            | Call::ResetUsage { .. }
            | Call::ChangeCluster(_)
            | Call::Reserve { .. }
            | Call::Unreserve { .. }
            | Call::Reconfigure
            | Call::ResetStatistics => Act::Manage,
            Call::Submit(_) => Act::Submit,
            Call::Jobs { .. }
            | Call::Watch { .. }
            | Call::Steps { .. }
            | Call::Histories { .. }
            | Call::Facts
            | Call::Why { .. }
            | Call::Cluster
            | Call::Accounting
            | Call::Events
            | Call::Transactions
            | Call::Priorities
            | Call::Shares
            | Call::Holders { .. }
            | Call::Statistics
            | Call::Test { .. } => Act::See,
            Call::Cancel(_)
            | Call::CancelEach { .. }
            | Call::Requeue { .. }
            | Call::Hold { .. }
            | Call::Suspend { .. }
            | Call::Notify { .. }
            | Call::Preempt { .. }
            | Call::Update { .. }
            | Call::Script { .. }
            | Call::CreateStep { .. }
            | Call::SignalStep { .. }
            | Call::Release { .. }
            | Call::ModifyRecords { .. } => Act::ChangeJob,
        }
    }
}

/// Whether user `caller` may do that with an engine of user `engine`.
pub(super) fn check(caller: u32, engine: u32, act: Act) -> Result<(), Refusal> {
    let is_owner = caller == engine;
    let may = match act {
        // A job's own owner is checked by `may_change`.
        Act::See | Act::ChangeJob => true,
        Act::Submit => is_owner || engine == 0,
        Act::ReportStep | Act::Manage | Act::Stop => is_owner || caller == 0,
        Act::Replace => is_owner,
    };
    if may {
        return Ok(());
    }
    let what = match act {
        Act::Submit => "runs jobs of that user alone; unset TRAINYARD_HOME to use an own engine",
        Act::Replace => "is replaced by that user's own yard alone",
        Act::See | Act::ChangeJob | Act::ReportStep | Act::Manage | Act::Stop => {
            "takes this from that user and root alone"
        }
    };
    Err(Refusal::Invalid {
        message: format!(
            "access denied for user {caller}: this engine belongs to user {engine} and {what}"
        ),
    })
}

/// Whether user `caller` may do with jobs of an engine of user `engine` what their owners can't: give
/// them more time or a higher priority, suspend or preempt them.
pub(super) fn is_operator(caller: u32, engine: u32) -> bool {
    caller == 0 || caller == engine
}

/// Who holds what `caller` holds: root as an operator, unless for its `user`.
pub(super) fn holder(caller: u32, user: bool) -> HeldBy {
    if caller == 0 && !user {
        HeldBy::Admin
    } else {
        HeldBy::User
    }
}

/// Whether user `caller` may change a job of user `owner`.
pub(super) fn may_change(caller: u32, owner: u32) -> bool {
    caller == 0 || caller == owner
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTS: [Act; 7] = [
        Act::See,
        Act::Submit,
        Act::ChangeJob,
        Act::ReportStep,
        Act::Stop,
        Act::Replace,
        Act::Manage,
    ];

    #[track_caller]
    fn check_all(caller: u32, engine: u32, want: [bool; 7]) {
        assert_eq!(ACTS.map(|act| check(caller, engine, act).is_ok()), want);
    }

    #[test]
    fn an_engine_obeys_its_owner() {
        for user in [0, 7] {
            check_all(user, user, [true; 7]);
        }
    }

    #[test]
    fn a_stranger_only_looks_and_a_root_engine_takes_jobs() {
        check_all(8, 7, [true, false, true, false, false, false, false]);
        check_all(8, 0, [true, true, true, false, false, false, false]);
    }

    #[test]
    fn root_neither_replaces_a_user_s_engine_nor_has_it_run_jobs() {
        check_all(0, 7, [true, false, true, true, true, false, true]);
    }

    #[test]
    fn jobs_are_changed_by_their_owner_and_root() {
        assert!(may_change(7, 7) && may_change(0, 7));
        assert!(!may_change(8, 7) && !may_change(7, 0));
    }
}
