//! Limits that are asked before nodes are chosen: numbers of jobs, time, and of nodes what was asked for.

use super::chain::Counter;
use super::passed::{Over, Passed, Whose};
use super::{Chain, Ledger, licences_of};
use crate::expected_ends::UNLIMITED;
use crate::fault::{self, Fault};
use model::{LicenceCount, LimitedAmount, PendingReason, Seconds};

impl Ledger {
    /// Before nodes are chosen: numbers of jobs, and time. `kept` are licences that reservations of others
    /// have; those that their jobs hold count beside these, as in Slurm (`license_job_test` of 22.05).
    pub(crate) fn before(
        &self,
        chain: &Chain<'_>,
        limit: Option<Seconds>,
        kept: &dyn Fn(&str) -> u32,
    ) -> Result<(), Passed> {
        let limit = chain.counted_time(limit);
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
        let full = |counter: Counter, most: Option<u32>| {
            let allowance = u32::from(fault::is(Fault::PassesLimitByOne));
            let jobs = self.jobs(&counter);
            let most = most.filter(|most| jobs >= most.saturating_add(allowance))?;
            Some(Over {
                whose: Whose::Together(counter),
                on: LimitedAmount::Jobs,
                with_it: u64::from(jobs) + 1,
                most: most.into(),
            })
        };
        let too_long = |whose: Whose, wall: Seconds| {
            let asked = limit.is_none_or(|limit| limit > wall);
            asked.then(|| Over {
                whose,
                on: LimitedAmount::Time,
                with_it: limit.unwrap_or(UNLIMITED).0,
                most: wall.0,
            })
        };
        let of_group = chain.qos_limits().find(|(_, it)| it.group.jobs.is_some());
        if let Some((qos, limits)) = of_group
            && let Some(over) = full(Counter::Qos(qos), limits.group.jobs)
        {
            return over.stop("QOSGrpJobsLimit");
        }
        let of_account = chain.qos_limits().find(|(_, it)| it.account.jobs.is_some());
        if let Some((qos, limits)) = of_account {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if let Some(over) = full(counter, limits.account.jobs) {
                return over.stop("MaxJobsPerAccount");
            }
        }
        let of_qos = chain.qos_limits().find(|(_, it)| it.user.jobs.is_some());
        if let Some((qos, limits)) = of_qos
            && let Some(over) = full(Counter::QosUser(qos, chain.uid), limits.user.jobs)
        {
            return over.stop("QOSMaxJobsPerUserLimit");
        }
        let mut walls = chain.qos_limits();
        let wall = walls.find_map(|(qos, it)| Some((qos, it.wall?)));
        if let Some(over) = wall.and_then(|(qos, wall)| too_long(Whose::JobOfQos(qos), wall)) {
            return over.stop("QOSMaxWallDurationPerJobLimit");
        }
        if of_group.is_none() {
            for (counter, limits) in chain.association_limits() {
                if let Some(over) = full(counter, limits.group.jobs) {
                    return over.stop("AssocGrpJobsLimit");
                }
            }
        }
        if of_qos.is_none() && of_account.is_none() {
            let most = chain.association_limits().find_map(|(_, it)| it.user.jobs);
            let own = Counter::Association(chain.account.clone(), chain.uid);
            if let Some(over) = full(own, most) {
                return over.stop("AssocMaxJobsLimit");
            }
            // The cluster's own key is there for sites without accounts.
            let of_cluster = chain.cluster.limits_of_users().jobs;
            if most.is_none()
                && let Some(over) = full(Counter::User(chain.uid), of_cluster)
            {
                return over.stop("AssocMaxJobsLimit");
            }
        }
        let of_user = chain.association_limits().find_map(|(_, it)| it.wall);
        if wall.is_none()
            && let Some(over) = of_user.and_then(|wall| too_long(Whose::JobOfAccount, wall))
        {
            return over.stop("AssocMaxWallDurationPerJobLimit");
        }
        chain.asks_for_too_many_nodes()
    }
}
