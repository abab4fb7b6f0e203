//! A cluster file's cluster without a job: what has no place there never starts.

use crate::{Cluster, Compiled, Demand, Free, NodeSet, Order, PartId, Pick, Share, Trust, place};
use cluster_file::ClusterFile;
use model::Request;
use std::cell::OnceCell;

/// A cluster file's cluster, idle; built when it is first asked, and once.
#[derive(Debug)]
pub(super) struct Idle<'a> {
    pub file: &'a ClusterFile,
    all: OnceCell<(Cluster, Free)>,
    stated: OnceCell<(Cluster, Free)>,
}

impl<'a> Idle<'a> {
    pub fn new(file: &'a ClusterFile) -> Idle<'a> {
        Idle {
            file,
            all: OnceCell::new(),
            stated: OnceCell::new(),
        }
    }

    pub fn cluster(&self, trust: Trust) -> &Cluster {
        &self.of(trust).0
    }

    fn of(&self, trust: Trust) -> &(Cluster, Free) {
        let cell = match trust {
            Trust::All => &self.all,
            Trust::Stated => &self.stated,
        };
        cell.get_or_init(|| {
            let cluster = Cluster::build(self.file, trust);
            let free = Free::idle(&cluster);
            (cluster, free)
        })
    }

    /// What a request needs in a partition.
    pub fn demand(&self, partition: Option<&str>, request: &Request) -> Demand {
        let (cluster, partition) = self.partition(Trust::All, partition);
        Demand::of(request, cluster.defaults(partition))
    }

    /// The nodes that a demand's names and features leave of a partition, or of all.
    pub fn candidates(&self, partition: Option<&str>, demand: Demand) -> NodeSet {
        let (cluster, partition) = self.partition(Trust::All, partition);
        Compiled::new(cluster, partition, demand).candidates()
    }

    fn partition(&self, trust: Trust, name: Option<&str>) -> (&Cluster, Option<PartId>) {
        let cluster = self.cluster(trust);
        (cluster, name.and_then(|name| cluster.find_partition(name)))
    }

    /// A place for a demand among the nodes of a partition, or of all; `without` are left out.
    pub fn place(
        &self,
        trust: Trust,
        partition: Option<&str>,
        demand: Demand,
        order: Order,
        without: Option<&NodeSet>,
    ) -> Option<Vec<Share>> {
        let (cluster, partition) = self.partition(trust, partition);
        let pick = Pick {
            order,
            user: 0,
            without,
            later: None,
            few_switches: false,
        };
        let compiled = Compiled::new(cluster, partition, demand);
        place(cluster, &compiled, &self.of(trust).1, pick)
    }
}
