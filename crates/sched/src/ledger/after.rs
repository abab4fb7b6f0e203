//! Limits that are asked once nodes are chosen: what is held.

use super::chain::Counter;
use super::{Chain, Ledger, Used, over};
use cluster_file::Tres;
use model::PendingReason;
use resources::Limits;

impl Ledger {
    /// Once nodes are chosen: what the job would hold.
    pub(crate) fn after(&self, chain: &Chain<'_>, used: Used) -> Result<(), PendingReason> {
        let check = |of: &dyn Fn(&'_ Limits) -> Tres, with: Option<&Counter>, limits: &Limits| {
            let held = with.map_or_else(Used::default, |counter| self.held(counter));
            first_over(&of(limits), &held.plus(used))
        };
        // The first QOS that sets one decides, name by name as good as always: a site sets them
        // together.
        let set = |of: fn(&Limits) -> &Tres| {
            let mut qos = chain.qos_limits();
            qos.find(|(_, limits)| !of(limits).0.is_empty())
        };
        if let Some((qos, limits)) = set(|it| &it.group.tres) {
            let counter = Counter::Qos(qos);
            if let Some(name) = check(&|it| it.group.tres.clone(), Some(&counter), limits) {
                return over(match name {
                    "cpu" => "QOSGrpCpuLimit",
                    "node" => "QOSGrpNodeLimit",
                    "mem" => "QOSGrpMemLimit",
                    _ => "QOSGrpGRES",
                });
            }
        }
        if let Some((_, limits)) = set(|it| &it.job)
            && let Some(name) = check(&|it| it.job.clone(), None, limits)
        {
            return over(match name {
                "cpu" => "QOSMaxCpuPerJobLimit",
                "node" => "QOSMaxNodePerJobLimit",
                "mem" => "QOSMaxMemoryPerJob",
                _ => "QOSMaxGRESPerJob",
            });
        }
        if let Some((_, limits)) = set(|it| &it.least)
            && let Some(name) = first_under(&limits.least, &used)
        {
            return over(match name {
                "cpu" => "QOSMinCpuNotSatisfied",
                "mem" => "QOSMinMemory",
                _ => "QOSMinGRES",
            });
        }
        if let Some((qos, limits)) = set(|it| &it.account.tres) {
            let counter = Counter::QosAccount(qos, chain.account.clone());
            if let Some(name) = check(&|it| it.account.tres.clone(), Some(&counter), limits) {
                return over(match name {
                    "cpu" => "MaxCpuPerAccount",
                    "node" => "MaxNodePerAccount",
                    "mem" => "MaxMemoryPerAccount",
                    _ => "MaxGRESPerAccount",
                });
            }
        }
        if let Some((qos, limits)) = set(|it| &it.user.tres) {
            let counter = Counter::QosUser(qos, chain.uid);
            if let Some(name) = check(&|it| it.user.tres.clone(), Some(&counter), limits) {
                return over(match name {
                    "cpu" => "QOSMaxCpuPerUserLimit",
                    "node" => "QOSMaxNodePerUserLimit",
                    "mem" => "QOSMaxMemoryPerUser",
                    _ => "QOSMaxGRESPerUser",
                });
            }
        }
        let of_group = set(|it| &it.group.tres).into_iter();
        let of_group = of_group.flat_map(|(_, limits)| limits.group.tres.0.iter());
        let of_group: Vec<&String> = of_group.map(|(name, _)| name).collect();
        let of_qos = set(|it| &it.job).is_some();
        let mut of_job = chain.association_limits();
        let of_job = of_job.find(|(_, limits)| !of_qos && !limits.job.0.is_empty());
        if let Some((_, limits)) = of_job
            && let Some(name) = check(&|it| it.job.clone(), None, limits)
        {
            return over(match name {
                "cpu" => "AssocMaxCpuPerJobLimit",
                "node" => "AssocMaxNodePerJobLimit",
                "mem" => "AssocMaxMemPerJob",
                _ => "AssocMaxGRESPerJob",
            });
        }
        for (counter, limits) in chain.association_limits() {
            // What a QOS limits as well is up to the QOS.
            let left = |it: &Limits| {
                let mut left = it.group.tres.clone();
                left.0.retain(|(name, _)| !of_group.contains(&name));
                left
            };
            if let Some(name) = check(&left, Some(&counter), limits) {
                return over(match name {
                    "cpu" => "AssocGrpCpuLimit",
                    "node" => "AssocGrpNodeLimit",
                    "mem" => "AssocGrpMemLimit",
                    _ => "AssocGrpGRES",
                });
            }
        }
        Ok(())
    }
}

/// The first of the limits that is passed.
fn first_over<'a>(limits: &Tres, used: &Used) -> Option<&'a str> {
    let over = |(name, most): &&(String, u64)| used.get(name).is_some_and(|held| held > *most);
    limits.0.iter().find(over).map(|(name, _)| word(name))
}

/// The first that is not reached.
fn first_under<'a>(limits: &Tres, used: &Used) -> Option<&'a str> {
    let under = |(name, least): &&(String, u64)| used.get(name).is_some_and(|held| held < *least);
    limits.0.iter().find(under).map(|(name, _)| word(name))
}

fn word<'a>(name: &str) -> &'a str {
    match name {
        "cpu" => "cpu",
        "node" => "node",
        "mem" => "mem",
        _ => "gres",
    }
}
