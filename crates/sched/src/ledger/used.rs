//! What jobs hold, as limits count it.

use model::{LicenceCount, Request, parse_licences};
use resources::{Cluster, Partition, Share};

/// Jobs, and what they hold of each TRES that a limit of the cluster names
/// ([`Cluster::limited_tres`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(super) jobs: u32,
    /// By the place of its name; shorter where the rest is nothing.
    pub(super) tres: Vec<u64>,
}

impl Used {
    /// A job with these shares in a partition.
    pub(crate) fn of(
        cluster: &Cluster,
        partition: Option<&Partition>,
        request: &Request,
        shares: &[Share],
    ) -> Used {
        let licences = licences_of(request);
        let names = cluster.limited_tres().iter();
        let of = |name: &str| amount(cluster, shares, &licences, name);
        let tres = names.map(|name| match name.as_str() {
            "billing" => {
                let of = |name: &str| of(name) as f64;
                let billed = partition.map(|partition| partition.billing.billed(&of));
                billed.unwrap_or_else(|| of("cpu")) as u64
            }
            name => of(name),
        });
        Used {
            jobs: 1,
            tres: tres.collect(),
        }
    }

    pub(super) fn add(&mut self, other: &Used) {
        self.change(other, u32::saturating_add, u64::saturating_add);
    }

    pub(super) fn take(&mut self, other: &Used) {
        self.change(other, u32::saturating_sub, u64::saturating_sub);
    }

    fn change(&mut self, other: &Used, jobs: fn(u32, u32) -> u32, tres: fn(u64, u64) -> u64) {
        self.jobs = jobs(self.jobs, other.jobs);
        if self.tres.len() < other.tres.len() {
            self.tres.resize(other.tres.len(), 0);
        }
        for (own, other) in self.tres.iter_mut().zip(&other.tres) {
            *own = tres(*own, *other);
        }
    }

    /// What it has of the TRES at a place.
    pub(super) fn get(&self, at: usize) -> u64 {
        self.tres.get(at).copied().unwrap_or(0)
    }
}

/// The licences that a job asks for.
pub(super) fn licences_of(request: &Request) -> Vec<LicenceCount> {
    let text = request.rare.licenses.as_deref();
    text.and_then(parse_licences).unwrap_or_default()
}

/// What shares have of a TRES by Slurm's name.
fn amount(cluster: &Cluster, shares: &[Share], licences: &[LicenceCount], name: &str) -> u64 {
    let sum = |of: &dyn Fn(&Share) -> u32| shares.iter().map(|share| u64::from(of(share))).sum();
    match name {
        "cpu" => sum(&Share::cpus),
        "mem" => sum(&Share::mem_mib),
        "node" => {
            let mut nodes: Vec<_> = shares.iter().map(|share| share.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes.len() as u64
        }
        "gres/gpu" => sum(&Share::gpu_count),
        _ => match name.split_once('/') {
            Some(("license", name)) => {
                let own = licences.iter().find(|licence| licence.name == name);
                own.map_or(0, |own| own.count.into())
            }
            Some(("gres", name)) => {
                let (name, kind) = name
                    .split_once(':')
                    .map_or((name, None), |(name, kind)| (name, Some(kind)));
                shares
                    .iter()
                    .map(|share| of_gres(cluster, share, name, kind))
                    .sum()
            }
            _ => 0,
        },
    }
}

fn of_gres(cluster: &Cluster, share: &Share, name: &str, kind: Option<&str>) -> u64 {
    let class = cluster.class(share.node);
    if name == "gpu" {
        let kind = kind.unwrap_or_default();
        let groups = class.gpus.iter().filter(|group| group.kind.is_called(kind));
        let counts = groups.map(|group| u64::from((share.gpus & group.indices).count_ones()));
        return counts.sum();
    }
    let lanes = class.lanes.iter().enumerate();
    let lanes = lanes.filter_map(|(at, lane)| Some((at, lane.as_ref()?)));
    let own = lanes.filter(|(_, lane)| {
        lane.name == name && kind.is_none_or(|kind| lane.kind.as_deref() == Some(kind))
    });
    own.map(|(at, lane)| u64::from(share.amounts.lane(at)) << lane.shift)
        .sum()
}
