//! What a job counts for under limits on TRES.

use super::Judge;
use crate::{Demand, LargestNode, recorded};
use cluster_file::{Named, Partition};
use model::{Recorded, Request};

/// What a job counts for before it has nodes, by Slurm's names.
#[derive(Debug)]
pub struct Counts {
    pub(super) recorded: Recorded,
    /// CPUs that it needs, which those of its GPUs may make more than are recorded.
    cpus: u64,
    /// Memory where it was asked for and is a number.
    mem_mib: Option<u64>,
}

impl Counts {
    /// What a request counts for, of which this is the demand.
    #[must_use]
    pub fn new(demand: &Demand, request: &Request) -> Counts {
        let least = demand.nodes.least;
        // The size of the nodes counts only where all of their memory does.
        let largest = LargestNode {
            cpus: u32::MAX,
            mem_mib: 0,
        };
        let recorded = recorded(demand, largest, false);
        let is_asked = request.memory.is_some() && !demand.all_memory;
        Counts {
            cpus: demand.cpus_for(demand.tasks_on(least), demand.gpus_on(least)),
            mem_mib: is_asked.then_some(recorded.mem_mib),
            recorded,
        }
    }

    /// How much of a TRES; none where it asks for none that could be counted.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<u64> {
        match name {
            "cpu" => Some(self.cpus.max(self.recorded.cpus.into())),
            "node" => Some(self.recorded.least_nodes.into()),
            "mem" => self.mem_mib,
            "gres/gpu" => Some(self.recorded.gpu_count()),
            name => {
                let kind = name.strip_prefix("gres/gpu:")?;
                let gpus = self.recorded.gpus.iter();
                let of_kind = gpus.filter(|gpus| gpus.kind.as_deref() == Some(kind));
                let counts = of_kind.map(|gpus| u64::from(gpus.count));
                counts.reduce(u64::saturating_add)
            }
        }
    }
}

impl Judge<'_, '_> {
    /// What the job counts for in a partition.
    pub(super) fn counts(&self, partition: Option<&Named<Partition>>) -> Counts {
        let name = partition.map(|partition| partition.name.as_str());
        Counts::new(&self.idle.demand(name, self.request), self.request)
    }
}
