//! Limits on nodes that a job passes whatever runs: `acct_policy_get_max_nodes` of 22.05.

use super::Chain;
use super::chain::Counter;
use super::passed::{Over, Passed, Whose};
use cluster_file::Tres;
use model::LimitedAmount;
use resources::{Limited, Limits, limit_reason};

/// A limit on nodes.
struct Most {
    nodes: u64,
    by_qos: bool,
    limited: Limited,
    whose: Whose,
}

fn nodes_of(limits: &Tres) -> Option<u64> {
    let mut limits = limits.0.iter();
    limits
        .find(|(name, _)| name == "node")
        .map(|(_, most)| *most)
}

impl Chain<'_> {
    /// Whether a job asks for more nodes than any limit lets one have: it waits for that whatever is free.
    pub(super) fn asks_for_too_many_nodes(&self) -> Result<(), Passed> {
        let asked = u64::from(self.request.min_nodes.unwrap_or(1));
        let all = self.qos_node_limits().chain(self.association_node_limits());
        // Of several that are alike the first one's word is said.
        let Some(least) = all
            .min_by_key(|most| most.nodes)
            .filter(|most| most.nodes < asked)
        else {
            return Ok(());
        };
        Over {
            whose: least.whose,
            on: LimitedAmount::Tres("node".to_owned()),
            with_it: asked,
            most: least.nodes,
        }
        .stop(limit_reason(least.by_qos, least.limited, "node"))
    }

    fn qos_node_limits(&self) -> impl Iterator<Item = Most> {
        let first = |of: fn(&Limits) -> &Tres| {
            let mut qos = self.qos_limits();
            qos.find_map(|(qos, limits)| Some((qos, nodes_of(of(limits))?)))
        };
        let most = |limited, whose, nodes| Most {
            nodes,
            by_qos: true,
            limited,
            whose,
        };
        let of_account = first(|it| &it.account.tres).map(|(qos, nodes)| {
            let counter = Counter::QosAccount(qos, self.account().to_owned());
            most(Limited::Account, Whose::Together(counter), nodes)
        });
        let of_job = first(|it| &it.job);
        let of_job = of_job.map(|(qos, nodes)| most(Limited::Job, Whose::JobOfQos(qos), nodes));
        let of_user = first(|it| &it.user.tres).map(|(qos, nodes)| {
            let counter = Counter::QosUser(qos, self.uid);
            most(Limited::User, Whose::Together(counter), nodes)
        });
        let of_group = first(|it| &it.group.tres).map(|(qos, nodes)| {
            let counter = Counter::Qos(qos);
            most(Limited::Group, Whose::Together(counter), nodes)
        });
        [of_account, of_job, of_user, of_group]
            .into_iter()
            .flatten()
    }

    /// Those of accounts that no QOS limits.
    fn association_node_limits(&self) -> impl Iterator<Item = Most> {
        let factor = self.limit_factor().unwrap_or(1.0);
        let times = |limits: &Tres| nodes_of(&limits.clone().times(factor));
        let is_set = |of: fn(&Limits) -> &Tres| {
            let mut qos = self.qos_limits();
            qos.any(|(_, limits)| nodes_of(of(limits)).is_some())
        };
        let by_job = [
            is_set(|it| &it.job),
            is_set(|it| &it.user.tres),
            is_set(|it| &it.account.tres),
        ];
        let most = |limited, whose, nodes| Most {
            nodes,
            by_qos: false,
            limited,
            whose,
        };
        let mut levels = self.association_limits();
        let of_group = levels.find_map(|(counter, limits)| {
            let nodes = times(&limits.group.tres)?;
            Some(most(Limited::Group, Whose::Together(counter), nodes))
        });
        let of_group = of_group.filter(|_| !is_set(|it| &it.group.tres));
        let mut levels = self.association_limits();
        let of_job = levels.find_map(|(_, limits)| times(&limits.job));
        let of_job = of_job.filter(|_| !by_job.contains(&true));
        let of_job = of_job.map(|nodes| most(Limited::Job, Whose::JobOfAccount, nodes));
        of_group.into_iter().chain(of_job)
    }
}
