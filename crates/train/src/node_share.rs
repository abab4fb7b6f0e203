//! What each rank gets of a node where nothing else is asked.

use crate::node_choice::Wanted;
use crate::{Resolved, Source, per_gpu, say_mebibytes};
use model::NodeGroup;

/// Says that a value that was not requested is the least of those that could be given.
pub(crate) fn as_least<T>(value: Resolved<T>) -> Resolved<T> {
    if value.source.is_asked() {
        return value;
    }
    let why = format!("{}: the least of what could be given", value.source);
    Resolved::new(value.value, Source::cluster(why))
}

impl Wanted<'_> {
    pub(crate) fn cpus_per_rank(&self, group: &NodeGroup) -> Resolved<u32> {
        if let Some(asked) = self.cpus_per_rank {
            return asked.clone();
        }
        let ranks = self.ranks_on_one().max(1);
        let gpus = self.gpus_of(group);
        if self.gpus_per_node.value > 0 && gpus > 0 {
            let share = u64::from(group.cpus) * u64::from(self.gpus_on_one()) / u64::from(gpus);
            let share = u32::try_from(share).unwrap_or(u32::MAX);
            let share = share.min(self.cpus_with_memory(group));
            let why = format!("a node's {} CPUs for its {gpus} GPUs", group.cpus);
            return Resolved::new((share / ranks).max(1), Source::cluster(why));
        }
        let why = match (self.facts.embedded, ranks) {
            (true, 1) => format!("this machine's {} CPUs for 1 rank", group.cpus),
            (true, _) => format!("this machine's {} CPUs for {ranks} ranks", group.cpus),
            (false, 1) => format!("a node's {} CPUs for its 1 rank", group.cpus),
            (false, _) => format!("a node's {} CPUs for its {ranks} ranks", group.cpus),
        };
        let cpus = group.cpus.min(self.cpus_with_memory(group));
        Resolved::new((cpus / ranks).max(1), Source::cluster(why))
    }

    /// CPUs of a node of the cluster that can each have the memory that is asked for a CPU.
    fn cpus_with_memory(&self, group: &NodeGroup) -> u32 {
        let each = self.memory_per_cpu.map_or(0, |each| each.value);
        let cpus = group.memory_mib.checked_div(each);
        cpus.map_or(u32::MAX, |cpus| u32::try_from(cpus).unwrap_or(u32::MAX))
    }

    /// CPUs of the ranks of a node.
    fn cpus_of_ranks(&self, group: &NodeGroup) -> u32 {
        let each = self.cpus_per_rank(group).value;
        each.saturating_mul(self.ranks_per_node.value)
    }

    /// As asked; with `gpu_memory`, the type that has it, since Slurm can't be asked for memory.
    pub(crate) fn gpu_type(&self, group: &NodeGroup) -> Option<Resolved<String>> {
        if let Some(asked) = self.gpu_type {
            // As the cluster writes it: Slurm compares types letter by letter.
            let own = group.gpus.iter().find(|gpus| gpus.is_kind(&asked.value));
            let own = own.and_then(|gpus| gpus.kind.clone());
            let value = own.unwrap_or_else(|| asked.value.clone());
            return Some(Resolved::new(value, asked.source.clone()));
        }
        let least = self.gpu_memory?;
        let gpus = group.gpus.iter().find(|gpus| self.is_wanted(gpus))?;
        let why = match gpus.memory_mib {
            Some(size) => format!("has {}; {}", say_mebibytes(size), least.source),
            None => format!("{}", least.source),
        };
        Some(Resolved::new(gpus.kind.clone()?, Source::cluster(why)))
    }

    /// On Slurm memory is always asked: without it a job may get a whole node's, and wait for it.
    pub(crate) fn memory(&self, group: &NodeGroup) -> Option<Resolved<u64>> {
        if let Some(asked) = self.memory {
            let size = asked.value.0?;
            return Some(Resolved::new(size, asked.source.clone()));
        }
        if let Some(each) = self.memory_per_cpu {
            return Some(per_gpu::memory_of_cpus(each, self.cpus_of_ranks(group)));
        }
        if self.facts.embedded {
            return None;
        }
        let used = u64::from(self.cpus_of_ranks(group).min(group.cpus));
        let by_cpus = group.memory_mib * used / u64::from(group.cpus.max(1));
        let gpus = u64::from(self.gpus_of(group));
        let by_gpus = match gpus {
            0 => 0,
            gpus => group.memory_mib * u64::from(self.gpus_per_node.value).min(gpus) / gpus,
        };
        let why = format!("this share of a node's {}", say_mebibytes(group.memory_mib));
        Some(Resolved::new(
            by_cpus.max(by_gpus).max(1),
            Source::cluster(why),
        ))
    }
}
