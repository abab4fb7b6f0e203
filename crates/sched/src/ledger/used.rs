//! What jobs hold, as limits count it.

use model::{JobRecord, JobState};
use resources::Share;

/// Jobs, and what they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(super) jobs: u32,
    cpus: u64,
    mem_mib: u64,
    nodes: u64,
    gpus: u64,
}

impl Used {
    /// A job with these shares.
    pub(crate) fn of_shares(shares: &[Share]) -> Used {
        let sum = |of: fn(&Share) -> u32| shares.iter().map(|share| u64::from(of(share))).sum();
        let mut nodes: Vec<_> = shares.iter().map(|share| share.node).collect();
        nodes.dedup();
        Used {
            jobs: 1,
            cpus: sum(Share::cpus),
            mem_mib: sum(Share::mem_mib),
            nodes: nodes.len() as u64,
            gpus: sum(Share::gpu_count),
        }
    }

    pub(super) fn of_record(record: &JobRecord) -> Option<Used> {
        let JobState::Running { allocation, .. } = &record.state else {
            return None;
        };
        Some(Used {
            jobs: 1,
            cpus: allocation.cpus() as u64,
            mem_mib: allocation.nodes.iter().map(|share| share.memory).sum(),
            nodes: allocation.nodes.len() as u64,
            gpus: allocation.gpus() as u64,
        })
    }

    pub(super) fn plus(self, other: Used) -> Used {
        Used {
            jobs: self.jobs.saturating_add(other.jobs),
            cpus: self.cpus.saturating_add(other.cpus),
            mem_mib: self.mem_mib.saturating_add(other.mem_mib),
            nodes: self.nodes.saturating_add(other.nodes),
            gpus: self.gpus.saturating_add(other.gpus),
        }
    }

    /// The amount of a TRES by Slurm's name; none for what is not counted.
    pub(super) fn get(&self, name: &str) -> Option<u64> {
        match name {
            "cpu" => Some(self.cpus),
            "mem" => Some(self.mem_mib),
            "node" => Some(self.nodes),
            "gres/gpu" => Some(self.gpus),
            _ => None,
        }
    }
}
