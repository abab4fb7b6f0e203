//! Limits that are asked once nodes are chosen: what is held, and what will be used.

use super::chain::Counter;
use super::passed::{Over, Passed, Whose};
use super::{Chain, Ledger, Used};
use crate::promise::UNLIMITED;
use cluster_file::Tres;
use model::{LimitedAmount, Seconds, Timestamp};
use resources::{Cluster, Limited, Limits, limit_reason};

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
    pub(crate) fn after(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), Passed> {
        self.by_qos(chain, wanted)?;
        self.by_association(chain, wanted)
    }

    fn by_qos(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), Passed> {
        let cluster = chain.cluster;
        let used = wanted.used;
        // The first QOS that sets one decides, name by name as good as always: a site sets them
        // together.
        let set = |of: fn(&Limits) -> &Tres| {
            let mut qos = chain.qos_limits();
            let found = qos.find(|(_, limits)| !of(limits).0.is_empty());
            found.map(|(qos, limits)| (qos, of(limits)))
        };
        let stop = |limited: Limited, whose: Whose, first: Option<First<'_>>| match first {
            Some(first) => first.stop(true, limited, whose),
            None => Ok(()),
        };
        if let Some((qos, limits)) = set(|it| &it.group.tres) {
            let counter = Counter::Qos(qos);
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            let first = first_over(cluster, limits, 1, held);
            stop(Limited::Group, Whose::Together(counter.clone()), first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.group_run_minutes) {
            let counter = Counter::Qos(qos);
            let to_use = |at| self.still_to_use(&counter, at, wanted.now) + wanted.to_use(at);
            let first = first_over(cluster, limits, 60, to_use);
            let whose = Whose::Together(counter.clone());
            stop(Limited::GroupRunMinutes, whose, first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.job_minutes) {
            let to_use = |at| wanted.to_use(at);
            let first = first_over(cluster, limits, 60, to_use);
            stop(Limited::JobMinutes, Whose::JobOfQos(qos), first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.job) {
            let held = |at| u128::from(used.get(at));
            let first = first_over(cluster, limits, 1, held);
            stop(Limited::Job, Whose::JobOfQos(qos), first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.node) {
            let held = |at| u128::from(used.get(at));
            let first = first_over(cluster, limits, wanted.nodes.into(), held);
            stop(Limited::Node, Whose::JobOfQos(qos), first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.least) {
            let under = |(name, least): &&(String, u64)| {
                place(cluster, name).is_some_and(|at| used.get(at) < *least)
            };
            let first = limits.0.iter().find(under);
            let first = first.map(|(name, least)| First {
                name,
                would_be: place(cluster, name).map_or(0, |at| used.get(at).into()),
                most: *least,
            });
            stop(Limited::Least, Whose::JobOfQos(qos), first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.account.tres) {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            let first = first_over(cluster, limits, 1, held);
            stop(Limited::Account, Whose::Together(counter.clone()), first)?;
        }
        if let Some((qos, limits)) = set(|it| &it.user.tres) {
            let counter = Counter::QosUser(qos, chain.uid);
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            let first = first_over(cluster, limits, 1, held);
            stop(Limited::User, Whose::Together(counter.clone()), first)?;
        }
        Ok(())
    }

    fn by_association(&self, chain: &Chain<'_>, wanted: Wanted<'_>) -> Result<(), Passed> {
        let cluster = chain.cluster;
        let used = wanted.used;
        let stop = |limited: Limited, whose: Whose, first: Option<First<'_>>| match first {
            Some(first) => first.stop(false, limited, whose),
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
        let factor = chain.limit_factor().unwrap_or(1.0);
        if let Some(limits) = first(|it| &it.job) {
            let limits = limits.times(factor);
            let held = |at| u128::from(used.get(at));
            let first = first_over(cluster, &limits, 1, held);
            stop(Limited::Job, Whose::JobOfAccount, first)?;
        }
        if let Some(limits) = first(|it| &it.node) {
            let held = |at| u128::from(used.get(at));
            let first = first_over(cluster, &limits, wanted.nodes.into(), held);
            stop(Limited::Node, Whose::JobOfAccount, first)?;
        }
        if let Some(limits) = first(|it| &it.job_minutes) {
            let to_use = |at| wanted.to_use(at);
            let first = first_over(cluster, &limits, 60, to_use);
            stop(Limited::JobMinutes, Whose::JobOfAccount, first)?;
        }
        for (counter, limits) in chain.association_limits() {
            let group = left(&limits.group.tres, |it| &it.group.tres);
            let group = group.times(factor);
            let held = |at| u128::from(self.held(&counter, at)) + u128::from(used.get(at));
            let first = first_over(cluster, &group, 1, held);
            stop(Limited::Group, Whose::Together(counter.clone()), first)?;
            let minutes = left(&limits.group_run_minutes, |it| &it.group_run_minutes);
            let to_use = |at| self.still_to_use(&counter, at, wanted.now) + wanted.to_use(at);
            let first = first_over(cluster, &minutes, 60, to_use);
            let whose = Whose::Together(counter.clone());
            stop(Limited::GroupRunMinutes, whose, first)?;
        }
        Ok(())
    }
}

fn place(cluster: &Cluster, name: &str) -> Option<usize> {
    cluster.limited_tres().iter().position(|own| own == name)
}

/// The first of several limits that is passed.
struct First<'a> {
    /// The TRES.
    name: &'a str,
    /// What there would be, in the limit's unit.
    would_be: u128,
    /// What may be.
    most: u64,
}

impl First<'_> {
    fn stop(self, by_qos: bool, limited: Limited, whose: Whose) -> Result<(), Passed> {
        let name = self.name.to_owned();
        let on = match limited {
            Limited::GroupMinutes | Limited::GroupRunMinutes | Limited::JobMinutes => {
                LimitedAmount::TresMinutes(name)
            }
            Limited::Node => LimitedAmount::TresOfNode(name),
            Limited::Least => LimitedAmount::LeastTres(name),
            Limited::Group | Limited::Job | Limited::User | Limited::Account => {
                LimitedAmount::Tres(name)
            }
        };
        Over {
            whose,
            on,
            with_it: u64::try_from(self.would_be).unwrap_or(u64::MAX),
            most: self.most,
        }
        .stop(limit_reason(by_qos, limited, self.name))
    }
}

/// The first of the limits, each so many times as large, that is passed.
fn first_over<'a>(
    cluster: &Cluster,
    limits: &'a Tres,
    times: u128,
    held: impl Fn(usize) -> u128,
) -> Option<First<'a>> {
    let over = |(name, most): &'a (String, u64)| {
        let would_be = held(place(cluster, name)?);
        (would_be > u128::from(*most) * times).then(|| First {
            name,
            would_be: would_be.div_ceil(times),
            most: *most,
        })
    };
    limits.0.iter().find_map(over)
}
