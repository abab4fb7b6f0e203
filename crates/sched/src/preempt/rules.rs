//! Who may take whose place, and what becomes of those that lose it: what the cluster says.

use crate::live_job::LiveJob;
use crate::{Job, member};
use cluster_file::{PreemptMode, PreemptType};
use model::{JobState, Seconds, Timestamp};
use resources::{Cluster, PartId, Partition, Qos, QosId};
use std::cmp::Reverse;

/// A job that asks for room, as far as that decides whose place it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claimant {
    tier: u32,
    qos: Option<QosId>,
}

/// In which order places are taken; the least goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Worth {
    started: Option<Reverse<Timestamp>>,
    tier: u32,
    nodes: usize,
}

/// Whether any job of the cluster may lose its place to another.
pub(crate) fn is_on(cluster: &Cluster) -> bool {
    let policy = cluster.preemption();
    let can_be = |mode: Option<PreemptMode>| mode.unwrap_or(policy.mode) != PreemptMode::Off;
    match policy.by {
        PreemptType::None => false,
        PreemptType::Partition => cluster
            .partitions()
            .iter()
            .any(|it| can_be(it.preempt_mode)),
        PreemptType::Qos => {
            let mut lists = cluster.qos().iter();
            lists.any(|qos| !qos.preempt.is_empty())
        }
    }
}

/// A job that asks for room in a partition.
pub(crate) fn claimant(cluster: &Cluster, record: &Job, partition: PartId) -> Claimant {
    Claimant {
        tier: cluster.partition(partition).tier,
        qos: member::qos_of(cluster, record),
    }
}

/// Whether one may take the place of another, by what both are.
pub(crate) fn takes_from(cluster: &Cluster, one: Claimant, other: Claimant) -> bool {
    match cluster.preemption().by {
        PreemptType::None => false,
        PreemptType::Partition => one.tier > other.tier,
        PreemptType::Qos => match (one.qos, other.qos) {
            (Some(one), Some(other)) => qos(cluster, one).preempt.contains(&other),
            _ => false,
        },
    }
}

/// What a running job is as one that may lose its place.
pub(crate) fn holder(cluster: &Cluster, record: &Job) -> Claimant {
    Claimant {
        tier: partition_of(cluster, record).map_or(1, |partition| partition.tier),
        qos: member::qos_of(cluster, record),
    }
}

/// What is said of jobs like this one whose place is taken.
pub(crate) fn mode_of(cluster: &Cluster, record: &Job) -> PreemptMode {
    let policy = cluster.preemption();
    let own = match policy.by {
        PreemptType::None => None,
        PreemptType::Partition => partition_of(cluster, record).and_then(|it| it.preempt_mode),
        PreemptType::Qos => qos_of(cluster, record).and_then(|it| it.preempt_mode),
    };
    own.unwrap_or(policy.mode)
}

/// How long it may end by itself.
pub(crate) fn grace_of(cluster: &Cluster, record: &Job) -> Seconds {
    let grace = match cluster.preemption().by {
        PreemptType::None => None,
        PreemptType::Partition => partition_of(cluster, record).map(|it| it.grace_time),
        PreemptType::Qos => qos_of(cluster, record).map(|it| it.grace_time),
    };
    grace.unwrap_or(Seconds(0))
}

/// Until when a running job keeps its place whoever wants it: the partition's QOS, the job's and the
/// cluster say it in this order.
pub(crate) fn exempt_until(cluster: &Cluster, record: &Job) -> Option<Timestamp> {
    let JobState::Running { since, .. } = &record.state else {
        return None;
    };
    let of_partition = partition_of(cluster, record).and_then(|partition| partition.qos);
    let own = of_partition.map(|id| qos(cluster, id));
    let own = own.and_then(|qos| qos.exempt_time);
    let own = own.or_else(|| qos_of(cluster, record)?.exempt_time);
    let time = own.unwrap_or(cluster.preemption().exempt_time);
    (time > Seconds(0)).then(|| *since + time)
}

/// What the place of a running job is worth.
pub(crate) fn worth(cluster: &Cluster, job: &LiveJob) -> Worth {
    let record = &job.record;
    let policy = cluster.preemption();
    if policy.youngest_first {
        let started = match &record.state {
            JobState::Running { since, .. } => Some(Reverse(*since)),
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        };
        return Worth {
            started,
            tier: 0,
            nodes: 0,
        };
    }
    let tier = match policy.by {
        PreemptType::Partition | PreemptType::None => holder(cluster, record).tier,
        PreemptType::Qos => qos_of(cluster, record).map_or(0, |qos| qos.priority),
    };
    let holding = job.derived.holding.as_ref();
    let mut nodes: Vec<_> = holding.map_or_else(Vec::new, |holding| {
        holding.shares.iter().map(|share| share.node).collect()
    });
    nodes.dedup();
    Worth {
        started: None,
        tier,
        nodes: nodes.len(),
    }
}

fn partition_of<'a>(cluster: &'a Cluster, record: &Job) -> Option<&'a Partition> {
    let partition = cluster.find_partition(record.partitions()?)?;
    Some(cluster.partition(partition))
}

fn qos_of<'a>(cluster: &'a Cluster, record: &Job) -> Option<&'a Qos> {
    member::qos_of(cluster, record).map(|id| qos(cluster, id))
}

fn qos(cluster: &Cluster, id: QosId) -> &Qos {
    &cluster.qos()[usize::from(id.0)]
}
