//! What a client asks and changes of the cluster and its accounts.

use super::{Client, confused};
use crate::{Answer, Call, CallError, ClusterReport, EngineFacts};
use model::{
    Accounting, AccountingTransaction, JobId, JobRecordChange, NodeEvent, ReservationRequest,
    SchedulerStatistics, ShareRow, UsageOwner,
};

impl Client {
    /// What the engine is and has.
    ///
    /// # Errors
    /// No engine.
    pub fn facts(&mut self) -> Result<EngineFacts, CallError> {
        match self.call_again(&Call::Facts)? {
            Answer::Facts(facts) => Ok(*facts),
            other => Err(confused(&other)),
        }
    }

    /// Makes a reservation, or changes one; returns its name.
    ///
    /// # Errors
    /// It was refused, or there is no engine.
    pub fn reserve(
        &mut self,
        asked: ReservationRequest,
        is_new: bool,
    ) -> Result<String, CallError> {
        let asked = Box::new(asked);
        match self.call(&Call::Reserve { asked, is_new })? {
            Answer::Reserved { name } => Ok(name),
            Answer::Refused(refusal) => Err(refusal.into()),
            other => Err(confused(&other)),
        }
    }

    /// Removes a reservation.
    ///
    /// # Errors
    /// There is none of that name, jobs name it, or there is no engine.
    pub fn unreserve(&mut self, name: String) -> Result<(), CallError> {
        self.done(&Call::Unreserve { name }, false)
    }

    /// Has the engine read its cluster's file again.
    ///
    /// # Errors
    /// The file has a mistake, and nothing was changed; or no engine.
    pub fn reconfigure(&mut self) -> Result<(), CallError> {
        self.done(&Call::Reconfigure, true)
    }

    /// The nodes and partitions of the engine's cluster, and their use.
    ///
    /// # Errors
    /// No engine.
    pub fn cluster(&mut self) -> Result<ClusterReport, CallError> {
        match self.call_again(&Call::Cluster)? {
            Answer::Cluster(report) => Ok(*report),
            other => Err(confused(&other)),
        }
    }

    /// What accounts and users are due and what they used, in the order of the tree.
    ///
    /// # Errors
    /// No engine.
    pub fn shares(&mut self) -> Result<Vec<ShareRow>, CallError> {
        match self.call_again(&Call::Shares)? {
            Answer::Shares { rows } => Ok(rows),
            other => Err(confused(&other)),
        }
    }

    /// What scheduler and callers did.
    ///
    /// # Errors
    /// No engine.
    pub fn statistics(&mut self) -> Result<SchedulerStatistics, CallError> {
        match self.call_again(&Call::Statistics)? {
            Answer::Statistics(statistics) => Ok(*statistics),
            other => Err(confused(&other)),
        }
    }

    /// Begins to count anew what scheduler and callers do.
    ///
    /// # Errors
    /// Refused, or no engine.
    pub fn reset_statistics(&mut self) -> Result<(), CallError> {
        match self.call_again(&Call::ResetStatistics)? {
            Answer::Done => Ok(()),
            other => Err(confused(&other)),
        }
    }

    /// Accounts, users, associations and QOS.
    ///
    /// # Errors
    /// No engine.
    pub fn accounting(&mut self) -> Result<Accounting, CallError> {
        match self.call_again(&Call::Accounting)? {
            Answer::Accounting(accounting) => Ok(*accounting),
            other => Err(confused(&other)),
        }
    }

    /// When nodes took no jobs.
    ///
    /// # Errors
    /// No engine.
    pub fn events(&mut self) -> Result<Vec<NodeEvent>, CallError> {
        match self.call_again(&Call::Events)? {
            Answer::Events { events } => Ok(events),
            other => Err(confused(&other)),
        }
    }

    /// What was changed of the accounting, the oldest first.
    ///
    /// # Errors
    /// No engine.
    pub fn transactions(&mut self) -> Result<Vec<AccountingTransaction>, CallError> {
        match self.call_again(&Call::Transactions)? {
            Answer::Transactions { changes } => Ok(changes),
            other => Err(confused(&other)),
        }
    }

    /// Puts others in their place.
    ///
    /// # Errors
    /// No engine, a refusal: they don't come of what there is now, or the caller may not.
    pub fn set_accounting(&mut self, accounting: Accounting) -> Result<(), CallError> {
        self.done(&Call::SetAccounting(Box::new(accounting)), false)
    }

    /// Changes what is recorded of jobs.
    ///
    /// # Errors
    /// No engine, a refusal: one of them is another user's, or unknown.
    pub fn modify_records(
        &mut self,
        jobs: Vec<JobId>,
        change: JobRecordChange,
    ) -> Result<(), CallError> {
        self.done(&Call::ModifyRecords { jobs, change }, true)
    }

    /// What these used until now counts no more.
    ///
    /// # Errors
    /// No engine, a refusal: the caller may not.
    pub fn reset_usage(&mut self, of: Vec<UsageOwner>) -> Result<(), CallError> {
        self.done(&Call::ResetUsage { of }, true)
    }
}
