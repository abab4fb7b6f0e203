//! Limits that are asked before nodes are chosen: numbers of jobs, and time.

use super::chain::Counter;
use super::{Chain, Ledger, licences_of, over};
use crate::fault::{self, Fault};
use model::{LicenceCount, PendingReason, Seconds};

impl Ledger {
    /// Before nodes are chosen: numbers of jobs, and time.
    pub(crate) fn before(
        &self,
        chain: &Chain<'_>,
        limit: Option<Seconds>,
    ) -> Result<(), PendingReason> {
        let lacks = |licence: &LicenceCount| {
            let there = chain.cluster.licence(&licence.name).unwrap_or(0);
            self.licences(&licence.name).saturating_add(licence.count) > there
        };
        if licences_of(chain.request).iter().any(lacks) {
            return Err(PendingReason::Licenses);
        }
        let full = |counter: &Counter, most: Option<u32>| {
            let allowance = u32::from(fault::is(Fault::PassesLimitByOne));
            most.is_some_and(|most| self.jobs(counter) >= most.saturating_add(allowance))
        };
        let too_long = |wall: Seconds| limit.is_none_or(|limit| limit > wall);
        let of_group = chain.qos_limits().find(|(_, it)| it.group.jobs.is_some());
        if let Some((qos, limits)) = of_group
            && full(&Counter::Qos(qos), limits.group.jobs)
        {
            return over("QOSGrpJobsLimit");
        }
        let first = chain.qos_limits().find(|(_, it)| it.account.jobs.is_some());
        if let Some((qos, limits)) = first {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if full(&counter, limits.account.jobs) {
                return over("MaxJobsPerAccount");
            }
        }
        let of_qos = chain.qos_limits().find(|(_, it)| it.user.jobs.is_some());
        if let Some((qos, limits)) = of_qos
            && full(&Counter::QosUser(qos, chain.uid), limits.user.jobs)
        {
            return over("QOSMaxJobsPerUserLimit");
        }
        let wall = chain.qos_limits().find_map(|(_, it)| it.wall);
        if wall.is_some_and(too_long) {
            return over("QOSMaxWallDurationPerJobLimit");
        }
        for (counter, limits) in chain.association_limits() {
            if of_group.is_none() && full(&counter, limits.group.jobs) {
                return over("AssocGrpJobsLimit");
            }
        }
        if of_qos.is_none() {
            let most = chain.association_limits().find_map(|(_, it)| it.user.jobs);
            let own = Counter::Association(chain.account.clone(), chain.uid);
            if full(&own, most) {
                return over("AssocMaxJobsLimit");
            }
            // The cluster's own key is there for sites without accounts.
            let of_cluster = chain.cluster.limits_of_users().jobs;
            if most.is_none() && full(&Counter::User(chain.uid), of_cluster) {
                return over("AssocMaxJobsLimit");
            }
        }
        let of_user = chain.association_limits().find_map(|(_, it)| it.wall);
        if wall.is_none() && of_user.is_some_and(too_long) {
            return over("AssocMaxWallDurationPerJobLimit");
        }
        Ok(())
    }
}
