//! `priorities` and `shares`: what `sprio` and `sshare` print.

use super::Owner;
use model::{JobPriorityInfo, PriorityParts, PriorityReport, ShareRow, Timestamp};
use resources::{Cluster, PriorityPolicy};
use sched::Member;
use sched::priority::NodeOfTree;
use std::cmp::Reverse;

impl Owner {
    pub(super) fn priorities(&self) -> PriorityReport {
        let policy = self.state.cluster().priority();
        let jobs = self.state.priorities().into_iter().filter_map(|one| {
            let record = self.state.job(one.job)?;
            Some(JobPriorityInfo {
                job: one.job,
                user: record.submitter.user.clone(),
                uid: record.submitter.uid,
                account: one.account,
                partition: one.partition,
                priority: one.priority,
                nice: record.request.nice,
                site: record.request.rare.site_factor,
                parts: one.factors.map(|factors| factors.parts).unwrap_or_default(),
            })
        });
        PriorityReport {
            is_multifactor: policy.is_multifactor,
            weights: weights(policy),
            jobs: jobs.collect(),
        }
    }

    pub(super) fn shares(&self, now: Timestamp) -> Vec<ShareRow> {
        let (tree, standings) = self.state.shares(now);
        let names = tracked(self.state.cluster());
        let run_seconds = self.state.run_seconds(&names, now);
        let nodes = tree.nodes();
        let all = nodes[0].usage;
        let cluster = self.state.cluster();
        let rows = in_order(nodes).into_iter().map(|(place, depth)| {
            let (node, standing) = (&nodes[place], standings[place]);
            let below: Vec<&Vec<f64>> = run_seconds
                .iter()
                .filter(|(member, _)| is_below(nodes, member, place))
                .map(|(_, seconds)| seconds)
                .collect();
            let minutes = names.iter().enumerate().map(|(at, name)| {
                let seconds: f64 = below.iter().map(|seconds| seconds[at]).sum();
                (name.clone(), (seconds / 60.0) as u64)
            });
            ShareRow {
                account: node.account.clone(),
                user: node.user.clone(),
                partition: node.partition.clone(),
                depth,
                shares: node.shares.to_string(),
                norm_shares: standing.norm_shares,
                usage: node.usage,
                norm_usage: if all > 0.0 { node.usage / all } else { 0.0 },
                effective_usage: standing.effective_usage,
                fair_share: standing.fair_share,
                level: Some(standing.level).filter(|level| level.is_finite()),
                id: 0,
                group_minutes: group_minutes(cluster, node),
                run_minutes: minutes.collect(),
            }
        });
        rows.collect()
    }
}

fn weights(policy: &PriorityPolicy) -> PriorityParts {
    PriorityParts {
        age: policy.age.into(),
        association: policy.association.into(),
        fair_share: policy.fair_share.into(),
        job_size: policy.job_size.into(),
        partition: policy.partition.into(),
        qos: policy.qos.into(),
        tres: policy.tres.clone(),
    }
}

/// Slurm's own TRES, in its order, then GPUs.
fn tracked(cluster: &Cluster) -> Vec<String> {
    let own = [
        "cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages",
    ];
    let has_gpus = cluster
        .classes()
        .iter()
        .any(|class| class.total.lane(0) > 0);
    let own = own.into_iter().chain(has_gpus.then_some("gres/gpu"));
    own.map(str::to_owned).collect()
}

/// Places with their depths: each account before its users, and those before the accounts in it; by
/// name.
fn in_order(nodes: &[NodeOfTree]) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    let mut open = vec![(0, 0)];
    while let Some((place, depth)) = open.pop() {
        order.push((place, depth));
        let mut below: Vec<usize> = (1..nodes.len())
            .filter(|at| nodes[*at].parent == place && nodes[place].user.is_none())
            .collect();
        below.sort_by_key(|at| {
            let node = &nodes[*at];
            let is_account = node.user.is_none();
            (
                is_account,
                node.user.clone().unwrap_or_default(),
                node.account.clone(),
                // Of a user's several the one that was added last stands first.
                Reverse(*at),
            )
        });
        open.extend(below.into_iter().rev().map(|at| (at, depth + 1)));
    }
    order
}

/// Whether a user's jobs count at a place of the tree: the user's own, or an account above.
fn is_below(nodes: &[NodeOfTree], member: &Member, place: usize) -> bool {
    let own = nodes.iter().position(|node| node.is(member));
    let mut at = own;
    while let Some(here) = at {
        if here == place {
            return true;
        }
        at = (here != 0).then(|| nodes[here].parent);
    }
    false
}

fn group_minutes(cluster: &Cluster, node: &NodeOfTree) -> String {
    let limits = match &node.user {
        Some(user) => {
            let own = cluster.association(user, Some(&node.account), node.partition.as_deref());
            own.map(|own| &own.limits)
        }
        None => {
            let own = cluster.find_account(&node.account);
            own.map(|own| &cluster.accounts()[usize::from(own.0)].limits)
        }
    };
    limits.map_or_else(String::new, |limits| limits.group_minutes.to_string())
}
