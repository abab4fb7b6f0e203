//! Limits that are asked once nodes are chosen: what is held, and what will be used.

use super::chain::Counter;
use super::reasons::{Limited, reason};
use super::{Chain, Ledger, Used, over};
use crate::promise::UNLIMITED;
use cluster_file::Tres;
use model::{PendingReason, Seconds, Timestamp};
use resources::{Cluster, Limits};

/// What a job would hold, for how long, and when it would start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) used: &'a Used,
    pub(crate) nodes: u64,
    pub(crate) limit: Option<Seconds>,
    pub(crate) now: Timestamp,
}

impl Wanted<'_> {
    /// What it uses of the TRES at a place until its limit, times seconds.
    pub(super) fn to_use(self, at: usize) -> u128 {
        u128::from(self.used.get(at)) * u128::from(self.limit.unwrap_or(UNLIMITED).0)
    }
}

impl Ledger {
    /// Once nodes are chosen: what the job would hold.
    pub(crate) fn after(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), PendingReason> {
        self.by_qos(chain, wanted)?;
        self.by_association(chain, wanted)
    }

    fn by_qos(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), PendingReason> {
        let cluster = chain.cluster;
        let used = wanted.used;
        // The first QOS that sets one decides, name by name as good as always: a site sets them
        // together.
        let set = |of: fn(&Limits) -> &Tres| {
            let mut qos = chain.qos_limits();
            let found = qos.find(|(_, limits)| !of(limits).0.is_empty());
            found.map(|(qos, limits)| (qos, of(limits)))
        };
        let stop = |limited: Limited, name: Option<&str>| match name {
            Some(name) => over(reason(true, limited, name)),
            None => Ok(()),
        };
        if let Some((qos, limits)) = set(|it| &it.group.tres) {
            let counter = Counter::Qos(qos);
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            stop(Limited::Group, first_over(cluster, limits, 1, held))?;
        }
        if let Some((qos, limits)) = set(|it| &it.group_run_minutes) {
            let counter = Counter::Qos(qos);
            let to_use = |at| self.still_to_use(&counter, at, wanted.now) + wanted.to_use(at);
            stop(
                Limited::GroupRunMinutes,
                first_over(cluster, limits, 60, to_use),
            )?;
        }
        if let Some((_, limits)) = set(|it| &it.job_minutes) {
            let to_use = |at| wanted.to_use(at);
            stop(Limited::JobMinutes, first_over(cluster, limits, 60, to_use))?;
        }
        if let Some((_, limits)) = set(|it| &it.job) {
            let held = |at| u128::from(used.get(at));
            stop(Limited::Job, first_over(cluster, limits, 1, held))?;
        }
        if let Some((_, limits)) = set(|it| &it.node) {
            let held = |at| u128::from(used.get(at));
            let times = wanted.nodes.into();
            stop(Limited::Node, first_over(cluster, limits, times, held))?;
        }
        if let Some((_, limits)) = set(|it| &it.least) {
            let under = |(name, least): &&(String, u64)| {
                place(cluster, name).is_some_and(|at| used.get(at) < *least)
            };
            let first = limits.0.iter().find(under);
            stop(Limited::Least, first.map(|(name, _)| name.as_str()))?;
        }
        if let Some((qos, limits)) = set(|it| &it.account.tres) {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            stop(Limited::Account, first_over(cluster, limits, 1, held))?;
        }
        if let Some((qos, limits)) = set(|it| &it.user.tres) {
            let counter = Counter::QosUser(qos, chain.uid);
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            stop(Limited::User, first_over(cluster, limits, 1, held))?;
        }
        Ok(())
    }

    fn by_association(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), PendingReason> {
        let cluster = chain.cluster;
        let used = wanted.used;
        let stop = |limited: Limited, name: Option<&str>| match name {
            Some(name) => over(reason(false, limited, name)),
            None => Ok(()),
        };
        // What a QOS limits as well is up to the QOS.
        let left = |limits: &Tres, of: fn(&Limits) -> &Tres| {
            let by_qos = |name: &str| {
                let mut qos = chain.qos_limits();
                qos.any(|(_, limits)| of(limits).0.iter().any(|(own, _)| own == name))
            };
            let left = limits.0.iter().filter(|(name, _)| !by_qos(name));
            Tres(left.cloned().collect())
        };
        let first = |of: fn(&Limits) -> &Tres| {
            let mut limits = chain.association_limits();
            let found = limits.find(|(_, limits)| !of(limits).0.is_empty());
            found.map(|(_, limits)| left(of(limits), of))
        };
        if let Some(limits) = first(|it| &it.job) {
            let held = |at| u128::from(used.get(at));
            stop(Limited::Job, first_over(cluster, &limits, 1, held))?;
        }
        if let Some(limits) = first(|it| &it.node) {
            let held = |at| u128::from(used.get(at));
            let times = wanted.nodes.into();
            stop(Limited::Node, first_over(cluster, &limits, times, held))?;
        }
        if let Some(limits) = first(|it| &it.job_minutes) {
            let to_use = |at| wanted.to_use(at);
            stop(
                Limited::JobMinutes,
                first_over(cluster, &limits, 60, to_use),
            )?;
        }
        for (counter, limits) in chain.association_limits() {
            let group = left(&limits.group.tres, |it| &it.group.tres);
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            stop(Limited::Group, first_over(cluster, &group, 1, held))?;
            let minutes = left(&limits.group_run_minutes, |it| &it.group_run_minutes);
            let to_use = |at| self.still_to_use(&counter, at, wanted.now) + wanted.to_use(at);
            stop(
                Limited::GroupRunMinutes,
                first_over(cluster, &minutes, 60, to_use),
            )?;
        }
        Ok(())
    }
}

fn place(cluster: &Cluster, name: &str) -> Option<usize> {
    cluster.limited_tres().iter().position(|own| own == name)
}

/// The first of the limits, each so many times as large, that is passed.
fn first_over<'a>(
    cluster: &Cluster,
    limits: &'a Tres,
    times: u128,
    held: impl Fn(usize) -> u128,
) -> Option<&'a str> {
    let over = |(name, most): &&(String, u64)| {
        place(cluster, name).is_some_and(|at| held(at) > u128::from(*most) * times)
    };
    limits.0.iter().find(over).map(|(name, _)| name.as_str())
}
