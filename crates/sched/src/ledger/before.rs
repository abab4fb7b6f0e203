//! Limits that are asked before nodes are chosen: numbers of jobs, time, and of nodes what was asked for.

use super::chain::Counter;
use super::passed::{Over, Passed, Whose};
use super::{Chain, Ledger, licences_of};
use crate::expected_ends::UNLIMITED;
use crate::fault::{self, Fault};
use crate::limit_given::limit_or_default;
use model::{LicenceCount, LimitedAmount, PendingReason, Seconds};
use resources::Limits;

/// What QOS limited, which associations then limit no more.
#[derive(Clone, Copy, Default)]
struct SetByQos {
    group_jobs: bool,
    account_jobs: bool,
    user_jobs: bool,
    wall: bool,
}

impl Ledger {
    /// Before nodes are chosen: numbers of jobs, and time. `kept` are licences that reservations of others
    /// have; those that their jobs hold count beside these, as in Slurm (`license_job_test` of 22.05).
    pub(crate) fn before(
        &self,
        chain: &Chain<'_>,
        limit: Option<Seconds>,
        kept: &dyn Fn(&str) -> u32,
    ) -> Result<(), Passed> {
        let lacks = |licence: &LicenceCount| {
            let there = chain.cluster.licence(&licence.name).unwrap_or(0);
            let held = self.licences(&licence.name).saturating_add(licence.count);
            held > there || held.saturating_add(kept(&licence.name)) > there
        };
        if licences_of(chain.request).iter().any(lacks) {
            return Err(Passed {
                reason: PendingReason::Licenses,
                over: None,
            });
        }
        let limit = chain.counted_time(limit);
        let set = self.qos_before(chain, limit)?;
        self.associations_before(chain, limit, set)?;
        chain.asks_for_too_many_nodes()
    }

    /// All limits of the first QOS, then those of the second that the first says nothing of, so that the first
    /// QOS gives the reason (`_qos_job_runnable_pre_select`).
    fn qos_before(&self, chain: &Chain<'_>, limit: Option<Seconds>) -> Result<SetByQos, Passed> {
        let mut set = SetByQos::default();
        for (qos, limits) in chain.qos_limits() {
            let of_group = limits.group.jobs.filter(|_| !set.group_jobs);
            if let Some(over) = self.full(|| Counter::Qos(qos), of_group) {
                return over.stop("QOSGrpJobsLimit");
            }
            let of_account = limits.account.jobs.filter(|_| !set.account_jobs);
            let counter = || Counter::QosAccount(qos, chain.account().to_owned());
            if let Some(over) = self.full(counter, of_account) {
                return over.stop("MaxJobsPerAccount");
            }
            let of_user = limits.user.jobs.filter(|_| !set.user_jobs);
            if let Some(over) = self.full(|| Counter::QosUser(qos, chain.uid), of_user) {
                return over.stop("QOSMaxJobsPerUserLimit");
            }
            let wall = limits.wall.filter(|_| !set.wall);
            if let Some(over) = too_long(limit, Whose::JobOfQos(qos), wall) {
                return over.stop("QOSMaxWallDurationPerJobLimit");
            }
            set.group_jobs |= limits.group.jobs.is_some();
            set.account_jobs |= limits.account.jobs.is_some();
            set.user_jobs |= limits.user.jobs.is_some();
            set.wall |= limits.wall.is_some();
        }
        Ok(set)
    }

    /// The user in the account, then the accounts upwards, whose limits on each user and job are handed down to
    /// the first of these levels (`acct_policy_job_runnable_pre_select`).
    fn associations_before(
        &self,
        chain: &Chain<'_>,
        limit: Option<Seconds>,
        set: SetByQos,
    ) -> Result<(), Passed> {
        let is_full =
            |(counter, limits): (Counter, &Limits)| self.full(|| counter, limits.group.jobs);
        let levels = chain.association_limits().filter(|_| !set.group_jobs);
        let mut levels = levels.peekable();
        let of_user = levels.next_if(|(counter, _)| matches!(counter, Counter::Association(..)));
        if let Some(over) = of_user.and_then(is_full) {
            return over.stop("AssocGrpJobsLimit");
        }
        if !set.account_jobs && !set.user_jobs {
            let most = chain.association_limits().find_map(|(_, it)| it.user.jobs);
            if let Some(over) = self.full(|| chain.own_counter(), most) {
                return over.stop("AssocMaxJobsLimit");
            }
            // The cluster's own key is there for sites without accounts.
            let of_cluster = chain.cluster.limits_of_users().jobs;
            let of_cluster = of_cluster.filter(|_| most.is_none());
            if let Some(over) = self.full(|| Counter::User(chain.uid), of_cluster) {
                return over.stop("AssocMaxJobsLimit");
            }
        }
        let wall = chain.association_limits().find_map(|(_, it)| it.wall);
        // A time that limits gave is lowered to that one as the job is looked at, and its record stays as it is.
        let is_given = || limit_or_default(chain.cluster, chain.request).is_none();
        let wall = wall.filter(|_| !set.wall && !is_given());
        if let Some(over) = too_long(limit, Whose::JobOfAccount, wall) {
            return over.stop("AssocMaxWallDurationPerJobLimit");
        }
        let of_accounts = levels.find_map(is_full);
        of_accounts.map_or(Ok(()), |over| over.stop("AssocGrpJobsLimit"))
    }

    /// Whether one more job under a counter is more than there may be.
    fn full(&self, counter: impl FnOnce() -> Counter, most: Option<u32>) -> Option<Over> {
        let most = most?;
        let counter = counter();
        let jobs = self.jobs(&counter);
        let allowance = u32::from(fault::is(Fault::PassesLimitByOne));
        (jobs >= most.saturating_add(allowance)).then(|| Over {
            whose: Whose::Together(counter),
            on: LimitedAmount::Jobs,
            with_it: u64::from(jobs) + 1,
            most: most.into(),
        })
    }
}

/// Whether a job asks for more time than it may have.
fn too_long(limit: Option<Seconds>, whose: Whose, most: Option<Seconds>) -> Option<Over> {
    let most = most.filter(|most| limit.is_none_or(|limit| limit > *most))?;
    Some(Over {
        whose,
        on: LimitedAmount::Time,
        with_it: limit.unwrap_or(UNLIMITED).0,
        most: most.0,
    })
}
