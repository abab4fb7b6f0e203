//! How many calls of which kind came from whom, counted by the connections' threads.

use api::{Call, ClusterChange};
use model::CallCount;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Slurm's name and number of the message that is nearest to a call.
pub(crate) type Kind = (&'static str, u32);

/// The counts, of kinds and of users.
#[derive(Debug, Default)]
pub(crate) struct CallCounts(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    kinds: HashMap<Kind, Count>,
    users: HashMap<u32, Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: u64,
    time: Duration,
}

impl CallCounts {
    /// A call of user `uid` was answered.
    pub(crate) fn note(&self, kind: Kind, uid: u32, length: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.kinds.entry(kind).or_default().add(length);
        counts.users.entry(uid).or_default().add(length);
    }

    /// Begins anew.
    pub(crate) fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Counts::default();
    }

    /// By kind, the most frequent first.
    pub(crate) fn by_kind(&self) -> Vec<CallCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = counts.kinds.iter();
        sorted(kinds.map(|((name, number), count)| count.of((*name).to_owned(), *number)))
    }

    /// By user, whose name is `name_of` a number, the most frequent first.
    pub(crate) fn by_user(&self, name_of: impl Fn(u32) -> String) -> Vec<CallCount> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let users = counts.users.iter();
        sorted(users.map(|(uid, count)| count.of(name_of(*uid), *uid)))
    }
}

fn sorted(counts: impl Iterator<Item = CallCount>) -> Vec<CallCount> {
    let mut counts: Vec<CallCount> = counts.collect();
    counts.sort_by_key(|one| (std::cmp::Reverse(one.count), one.number));
    counts
}

impl Count {
    fn add(&mut self, length: Duration) {
        self.calls += 1;
        self.time += length;
    }

    fn of(self, name: String, number: u32) -> CallCount {
        CallCount {
            name,
            number,
            count: self.calls,
            time: u64::try_from(self.time.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

/// What Slurm calls the message that does the same.
pub(crate) fn kind_of(call: &Call) -> Kind {
    match call {
        Call::Handover(_) | Call::Stop => ("REQUEST_SHUTDOWN", 1005),
        Call::Reconfigure => ("REQUEST_RECONFIGURE", 1003),
        Call::Facts => ("REQUEST_BUILD_INFO", 2001),
        Call::Jobs { .. } | Call::Watch { .. } => ("REQUEST_JOB_INFO", 2003),
        Call::Steps { .. } => ("REQUEST_JOB_STEP_INFO", 2005),
        Call::Cluster => ("REQUEST_NODE_INFO", 2007),
        Call::Why { .. } => ("REQUEST_JOB_INFO_SINGLE", 2021),
        Call::Shares => ("REQUEST_SHARE_INFO", 2022),
        Call::Priorities => ("REQUEST_PRIORITY_FACTORS", 2026),
        Call::Script { .. } => ("REQUEST_BATCH_SCRIPT", 2051),
        Call::Statistics | Call::ResetStatistics => ("REQUEST_STATS_INFO", 2035),
        Call::Accounting => ("REQUEST_ASSOC_MGR_INFO", 2043),
        Call::Update { .. } | Call::Hold { .. } => ("REQUEST_UPDATE_JOB", 3001),
        Call::ChangeCluster(change) => match **change {
            ClusterChange::Nodes { .. } => ("REQUEST_UPDATE_NODE", 3002),
            ClusterChange::MakePartition { .. } => ("REQUEST_CREATE_PARTITION", 3003),
            ClusterChange::RemovePartition { .. } => ("REQUEST_DELETE_PARTITION", 3004),
            ClusterChange::Partition { .. } => ("REQUEST_UPDATE_PARTITION", 3005),
            ClusterChange::MakeNodes { .. } => ("REQUEST_CREATE_NODE", 3013),
            ClusterChange::RemoveNodes { .. } => ("REQUEST_DELETE_NODE", 3014),
        },
        Call::Reserve { is_new: true, .. } => ("REQUEST_CREATE_RESERVATION", 3006),
        Call::Unreserve { .. } => ("REQUEST_DELETE_RESERVATION", 3008),
        Call::Reserve { is_new: false, .. } => ("REQUEST_UPDATE_RESERVATION", 3009),
        Call::Submit(submission) if submission.script.is_none() => {
            ("REQUEST_RESOURCE_ALLOCATION", 4001)
        }
        Call::Submit(_) => ("REQUEST_SUBMIT_BATCH_JOB", 4003),
        Call::Test { .. } => ("REQUEST_JOB_WILL_RUN", 4012),
        Call::CreateStep { .. } => ("REQUEST_JOB_STEP_CREATE", 5001),
        Call::SignalStep { .. } => ("REQUEST_CANCEL_JOB_STEP", 5005),
        Call::Notify { .. } => ("REQUEST_JOB_NOTIFY", 4022),
        Call::Suspend { .. } => ("REQUEST_SUSPEND", 5014),
        Call::StepEnded { .. } => ("REQUEST_STEP_COMPLETE", 5016),
        Call::Release { .. } => ("REQUEST_COMPLETE_JOB_ALLOCATION", 5017),
        Call::Preempt { .. } | Call::Requeue { .. } => ("REQUEST_JOB_REQUEUE", 5023),
        Call::Cancel(_) | Call::CancelEach { .. } => ("REQUEST_KILL_JOB", 5032),
        Call::Holders { .. } => ("REQUEST_JOB_STEP_STAT", 5035),
        Call::Histories { .. } => ("DBD_GET_JOBS_COND", 1444),
        Call::Events => ("DBD_GET_EVENTS", 1470),
        Call::Transactions => ("DBD_GET_TXN", 1446),
        Call::ModifyRecords { .. } => ("DBD_MODIFY_JOB", 1476),
        Call::SetAccounting(_) | Call::ResetUsage { .. } => ("ACCOUNTING_UPDATE_MSG", 10001),
    }
}
