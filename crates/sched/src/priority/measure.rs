//! What the jobs of a cluster are measured by: how large it and its partitions are, and what weighs
//! most of each kind.

use super::{Factors, JobFacts, Scale};
use model::{Recorded, Seconds};
use resources::{Cluster, Demand, LargestNode, PartId, Partition, recorded};

/// What jobs of a cluster are measured by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    scale: Scale,
    partitions: Vec<PartitionScale>,
}

/// What of a job's priority does not follow from what it asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    /// How long it has been waiting where that counts, in seconds.
    pub(crate) waited: f64,
    /// How long since its submission, in seconds.
    pub(crate) since_submission: f64,
    /// Its user's fair share; none without an association.
    pub(crate) fair_share: Option<f64>,
    /// `Priority` of its association.
    pub(crate) association: u32,
    /// `Priority` of its QOS.
    pub(crate) qos: u32,
    /// Its time limit; none is no limit.
    pub(crate) limit: Option<Seconds>,
    /// `--nice`
    pub(crate) nice: i64,
    /// `SiteFactor`
    pub(crate) site: i64,
}

/// What jobs of a partition are measured by.
#[derive(Clone, Debug, PartialEq)]
struct PartitionScale {
    largest: LargestNode,
    /// What it has of each TRES that has a weight.
    there: Vec<f64>,
}

impl Measure {
    /// That of a cluster.
    pub(crate) fn of(cluster: &Cluster) -> Measure {
        let partitions = cluster.partitions().iter();
        Measure {
            scale: scale(cluster),
            partitions: partitions
                .map(|partition| PartitionScale::of(cluster, partition))
                .collect(),
        }
    }

    /// What a job's priority in a partition is made of.
    pub(crate) fn factors(
        &self,
        cluster: &Cluster,
        partition: PartId,
        demand: &Demand,
        circumstances: Circumstances,
    ) -> Option<Factors> {
        let policy = cluster.priority();
        let own = cluster.partition(partition);
        let there = &self.partitions.get(usize::from(partition.0))?.there;
        let asked = self.asked(partition, demand)?;
        let of = |name: &str| amount(&asked, name);
        let weighted = policy.tres.iter().zip(there);
        let tres: Vec<(&str, f64, f64)> = weighted
            .map(|((name, _), there)| match name.as_str() {
                "billing" => ("billing", own.billing.billed(&of), *there),
                name => (name, of(name), *there),
            })
            .collect();
        let facts = JobFacts {
            waited: circumstances.waited,
            since_submission: circumstances.since_submission,
            fair_share: circumstances.fair_share,
            association: circumstances.association,
            partition: own.factor,
            qos: circumstances.qos,
            nodes: asked.least_nodes,
            cpus: asked.cpus,
            limit: circumstances.limit,
            tres: &tres,
            nice: circumstances.nice,
            site: circumstances.site,
        };
        Some(Factors::of(policy, &self.scale, &facts))
    }

    /// What a job is billed a second by what it asks for.
    pub(crate) fn rate(
        &self,
        cluster: &Cluster,
        partition: PartId,
        demand: &Demand,
    ) -> Option<f64> {
        let asked = self.asked(partition, demand)?;
        let own = cluster.partition(partition);
        Some(own.billing.billed(&|name| amount(&asked, name)))
    }

    fn asked(&self, partition: PartId, demand: &Demand) -> Option<Recorded> {
        let scale = self.partitions.get(usize::from(partition.0))?;
        Some(recorded(demand, scale.largest, false))
    }
}

/// How much of a TRES a job asks for.
fn amount(asked: &Recorded, name: &str) -> f64 {
    let gpus = asked.gpus.iter();
    match name {
        "cpu" => f64::from(asked.cpus),
        "mem" => asked.mem_mib as f64,
        "node" => f64::from(asked.nodes),
        "gres/gpu" => gpus.map(|gpus| f64::from(gpus.count)).sum(),
        other => gpus
            .filter(|gpus| other.strip_prefix("gres/gpu:") == gpus.kind.as_deref())
            .map(|gpus| f64::from(gpus.count))
            .sum(),
    }
}

impl PartitionScale {
    fn of(cluster: &Cluster, partition: &Partition) -> PartitionScale {
        let classes = || partition.nodes.iter().map(|node| cluster.class(node));
        let largest = LargestNode {
            cpus: classes().map(|class| class.total.cpus).max().unwrap_or(1),
            mem_mib: classes()
                .map(|class| u64::from(class.total.mem_mib))
                .max()
                .unwrap_or(1),
        };
        let of = |name: &str| -> f64 {
            let kind = match name.strip_prefix("gres/") {
                Some(gres) => gres
                    .split_once(':')
                    .map_or((gres, None), |(name, kind)| (name, Some(kind))),
                None => ("", None),
            };
            let each = classes().map(|class| match name {
                "cpu" => f64::from(class.total.cpus),
                "mem" => f64::from(class.total.mem_mib),
                "node" => 1.0,
                _ => {
                    let lanes = class.lanes.iter().enumerate();
                    let mut lanes = lanes.filter_map(|(at, lane)| Some((at, lane.as_ref()?)));
                    let own = lanes
                        .find(|(_, lane)| lane.name == kind.0 && lane.kind.as_deref() == kind.1);
                    own.map_or(0.0, |(at, lane)| {
                        (u64::from(class.total.lane(at)) << lane.shift) as f64
                    })
                }
            });
            each.sum()
        };
        let policy = cluster.priority();
        let weights = policy.tres.iter();
        PartitionScale {
            largest,
            there: weights
                .map(|(name, _)| match name.as_str() {
                    "billing" => partition.billing.billed(&of),
                    name => of(name),
                })
                .collect(),
        }
    }
}

fn scale(cluster: &Cluster) -> Scale {
    let associations = cluster.associations().iter().map(|one| one.priority);
    let accounts = cluster.accounts().iter().map(|one| one.priority);
    let cpus = cluster.nodes().map(|node| cluster.class(node).total.cpus);
    Scale {
        nodes: cluster.node_count(),
        cpus: cpus.fold(0, u32::saturating_add),
        partition: cluster
            .partitions()
            .iter()
            .map(|one| one.factor)
            .max()
            .unwrap_or(0),
        qos: cluster
            .qos()
            .iter()
            .map(|one| one.priority)
            .max()
            .unwrap_or(0),
        association: associations.chain(accounts).max().unwrap_or(0),
    }
}
