//! Usage that begins anew at 0 for one association or QOS: `sacctmgr modify … set RawUsage=0`.

use crate::member::account_of_shares;
use crate::{Member, Spender, State};
use model::Timestamp;
use resources::Cluster;

impl State {
    /// What they used until now counts no more: of a user in an account also for the accounts over it, of an account
    /// also for those below it, of a QOS for its own limits alone (`assoc_mgr_remove_assoc_usage`,
    /// `assoc_mgr_remove_qos_usage` of assoc_mgr.c). What runs goes on, and counts from now on.
    pub(crate) fn usage_begins_anew(&mut self, of: &[Spender], now: Timestamp) {
        for spender in of {
            self.spent_begins_anew(spender, now);
            let is_meant = |cluster: &Cluster, member: &Member| match spender {
                Spender::Member(own) => *own == member.now(cluster),
                Spender::Account(account) => is_within(cluster, &member.account, account),
                Spender::Qos(_) => false,
            };
            // What running jobs used is taken off where it is added once they end.
            let is_counted = self.cluster.priority().is_multifactor;
            let jobs = self.running.iter().filter(|_| is_counted);
            let jobs = jobs.filter_map(|id| self.jobs.get(id));
            let running = jobs.map(|job| &job.record);
            self.priorities
                .begin_anew(&self.cluster, is_meant, running, now);
        }
        self.work_out_priorities(now);
    }
}

/// Whether an account is another one, or somewhere below it; all are below the root account.
pub(crate) fn is_within(cluster: &Cluster, account: &str, above: &str) -> bool {
    // No account names it as the one over it.
    if above == account_of_shares("") {
        return true;
    }
    let itself = std::iter::once(account);
    itself
        .chain(accounts_over(cluster, account))
        .any(|name| name == above)
}

/// The accounts over an account, the nearest first.
pub(crate) fn accounts_over<'a>(
    cluster: &'a Cluster,
    account: &str,
) -> impl Iterator<Item = &'a str> {
    let parent = |name: &str| {
        let own = &cluster.accounts()[usize::from(cluster.find_account(name)?.0)];
        Some(&*cluster.accounts()[usize::from(own.parent?.0)].name)
    };
    std::iter::successors(parent(account), move |name| parent(name))
}
