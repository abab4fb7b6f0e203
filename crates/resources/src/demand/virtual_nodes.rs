//! A job on several virtual nodes of one machine.

use super::{Demand, Sharing};

/// What one of a job's virtual nodes needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualNeed {
    /// Tasks.
    pub tasks: u32,
    /// CPUs.
    pub cpus: u64,
    /// MiB.
    pub mem_mib: u64,
    /// GPUs of all types.
    pub gpus: u64,
    /// What it gives of each resource of the whole job.
    pub of_job: Vec<u64>,
}

impl Demand {
    /// Spreads the job evenly over so many virtual nodes of a machine, the first ones getting one
    /// more. An exclusive job has all of the machine's CPUs.
    #[must_use]
    pub fn on_virtual_nodes(&self, count: u32, cpus: u32, mem_mib: u64) -> Vec<VirtualNeed> {
        let tasks = even(self.tasks_on(count).into(), count);
        let of_job = self.job.gres.iter();
        let of_job: Vec<Vec<u64>> = of_job.map(|gres| even(gres.count, count)).collect();
        let all_cpus = even(cpus.into(), count);
        let need = |at: usize| {
            let of_job: Vec<u64> = of_job.iter().map(|counts| counts[at]).collect();
            let is_gpus = self.job.gres.iter().map(super::GresNeed::is_gpus);
            let of_all = of_job.iter().zip(is_gpus).filter(|(_, is_gpus)| *is_gpus);
            let of_all = of_all.fold(0_u64, |sum, (count, _)| sum.saturating_add(*count));
            let of_tasks = self.task.gpus().saturating_mul(tasks[at]);
            let gpus = self
                .node
                .gpus()
                .saturating_add(of_tasks)
                .saturating_add(of_all);
            let by_tasks = tasks[at].saturating_mul(self.task.cpus.into());
            let by_gpus = gpus.saturating_mul(self.gpu.cpus.into());
            let cpus = match self.sharing {
                Sharing::Whole => all_cpus[at],
                Sharing::Any
                | Sharing::Beside(_)
                | Sharing::Forced
                | Sharing::User
                | Sharing::Over(_) => by_tasks.max(by_gpus).max(self.node.cpus.into()).max(1),
            };
            let by_cpus = self.mem_per_cpu.saturating_mul(cpus);
            let by_gpus = self.gpu.mem_mib.saturating_mul(gpus);
            VirtualNeed {
                tasks: u32::try_from(tasks[at]).unwrap_or(u32::MAX),
                cpus,
                mem_mib: if self.all_memory {
                    mem_mib / u64::from(count.max(1))
                } else {
                    self.node
                        .mem_mib
                        .saturating_add(by_cpus)
                        .saturating_add(by_gpus)
                },
                gpus,
                of_job,
            }
        };
        (0..count as usize).map(need).collect()
    }
}

/// So many over so many, the first ones getting one more.
fn even(all: u64, over: u32) -> Vec<u64> {
    let over = u64::from(over.max(1));
    let (each, more) = (all / over, all % over);
    (0..over).map(|at| each + u64::from(at < more)).collect()
}
