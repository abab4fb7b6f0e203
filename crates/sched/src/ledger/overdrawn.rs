//! Running jobs end once their QOS or account has used what it may (`GrpTRESMins`, `GrpWall`), or they what
//! one job may (`MaxTRESMinsPerJob`): as Slurm's `acct_policy_job_time_out` has it they end as at their time
//! limit. Where `AccountingStorageEnforce` says `safe`, none does.

use super::spent::has_budgets;
use crate::{Action, State};
use model::{Seconds, Timestamp};

/// It is looked each so often, as in Slurm.
const EACH: Seconds = Seconds(30);

/// When it was looked last. It is no part of what two states are compared by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BudgetChecks(pub(crate) Option<Timestamp>);

impl PartialEq for BudgetChecks {
    fn eq(&self, _other: &BudgetChecks) -> bool {
        true
    }
}

impl State {
    /// When it is looked next.
    pub(crate) fn next_budget_check(&self) -> Option<Timestamp> {
        self.budget_checks.0.map(|last| last + EACH)
    }

    /// Ends running jobs that used what they may; the time of each is over.
    pub(crate) fn end_overdrawn(&mut self, now: Timestamp) -> Vec<Action> {
        if self.next_budget_check().is_none_or(|next| now < next) {
            return Vec::new();
        }
        self.budget_checks.0 = Some(now);
        let over = self.overdrawn(now).into_iter();
        over.map(|job| self.time_is_over(job)).collect()
    }

    /// Looks from now on, or no more: after a pass, which may have started the first job.
    pub(crate) fn plan_budget_checks(&mut self, now: Timestamp) {
        let counts = has_budgets(&self.cluster) && !self.cluster.is_safe();
        if !counts || self.running.is_empty() {
            self.budget_checks.0 = None;
        } else {
            self.budget_checks.0.get_or_insert(now);
        }
    }
}
