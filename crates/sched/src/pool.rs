//! What is free.

use crate::{Gpu, Machine, Shape};
use model::{Allocation, GpuIndex, NodeShare};
use std::collections::BTreeSet;

/// The machine's resources that no job holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    cpus: BTreeSet<u32>,
    /// MiB that jobs hold; more than there is when a restart found a smaller machine.
    memory_held: u64,
    gpus: BTreeSet<GpuIndex>,
    /// Jobs that hold something; an exclusive one needs it to be 0.
    holders: u32,
    /// One of them is exclusive.
    exclusive: bool,
}

impl Pool {
    pub(crate) fn new(machine: &Machine) -> Pool {
        Pool {
            cpus: machine.cpus.iter().copied().collect(),
            memory_held: 0,
            gpus: machine.gpus.iter().map(|gpu| gpu.index).collect(),
            holders: 0,
            exclusive: false,
        }
    }

    /// Takes what a shape needs; `None`, and nothing taken, when it isn't free. GPUs in `barred`
    /// are in use by other users.
    pub(crate) fn take(
        &mut self,
        shape: &Shape,
        machine: &Machine,
        barred: &BTreeSet<GpuIndex>,
    ) -> Option<Allocation> {
        if self.exclusive || shape.exclusive && self.holders > 0 {
            return None;
        }
        let cpus: u64 = shape.nodes.iter().map(|need| u64::from(need.cpus)).sum();
        let memory: u64 = shape.nodes.iter().map(|need| need.memory).sum();
        let gpus: usize = shape.nodes.iter().map(|need| need.gpus as usize).sum();
        if cpus > self.cpus.len() as u64 || self.memory_held + memory > machine.memory {
            return None;
        }
        let kind = shape.nodes.iter().find_map(|need| need.gpu_kind.as_deref());
        let mut free_gpus = machine.gpus.iter().filter(|gpu: &&Gpu| {
            self.gpus.contains(&gpu.index)
                && !barred.contains(&gpu.index)
                && kind.is_none_or(|kind| gpu.is_kind(kind))
        });
        let chosen: Vec<GpuIndex> = free_gpus.by_ref().map(|gpu| gpu.index).take(gpus).collect();
        if chosen.len() < gpus {
            return None;
        }
        let mut chosen = chosen.into_iter();
        let mut free = self.cpus.iter().copied();
        let share = |need: &crate::NodeNeed| NodeShare {
            node: need.node.clone(),
            cpus: free.by_ref().take(need.cpus as usize).collect(),
            memory: need.memory,
            gpus: chosen.by_ref().take(need.gpus as usize).collect(),
            tasks: need.tasks,
        };
        let allocation = Allocation {
            nodes: shape.nodes.iter().map(share).collect(),
        };
        self.hold(&allocation, shape.exclusive);
        Some(allocation)
    }

    /// Marks an allocation as held, which after a restart may name what the machine no longer has.
    pub(crate) fn hold(&mut self, allocation: &Allocation, exclusive: bool) {
        for share in &allocation.nodes {
            for cpu in &share.cpus {
                self.cpus.remove(cpu);
            }
            for gpu in &share.gpus {
                self.gpus.remove(gpu);
            }
            self.memory_held += share.memory;
        }
        self.holders += 1;
        self.exclusive |= exclusive;
    }

    /// Gives back what [`Pool::take`] or [`Pool::hold`] took.
    pub(crate) fn give(&mut self, allocation: &Allocation, exclusive: bool, machine: &Machine) {
        for share in &allocation.nodes {
            let there = |cpu: &&u32| machine.cpus.binary_search(cpu).is_ok();
            self.cpus.extend(share.cpus.iter().filter(there));
            let there = |gpu: &&GpuIndex| machine.gpus.iter().any(|have| have.index == **gpu);
            self.gpus.extend(share.gpus.iter().filter(there));
            self.memory_held -= share.memory;
        }
        self.holders -= 1;
        if exclusive {
            self.exclusive = false;
        }
    }

    pub(crate) fn cpus_free(&self) -> usize {
        self.cpus.len()
    }
}
