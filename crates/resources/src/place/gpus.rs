//! Which GPUs of a node a job gets.

use super::Attempt;
use crate::cluster::{GpuGroup, NodeClass, NodeId};
use crate::demand::{GresNeed, Sharing};
use crate::{Amounts, Share, SocketCpus};

impl Attempt<'_> {
    /// Whether a node has the GPUs with their types, beside those that are barred.
    pub(super) fn has_gpus(&self, node: NodeId, need: &Amounts) -> bool {
        let class = self.cluster.class(node);
        if need.lane(0) == 0 || class.gpu_indices() == 0 {
            return true;
        }
        if self.sharing() == Sharing::Whole {
            return self.free.gpus(node).count_ones() > 0;
        }
        let free = self.free.gpus(node);
        let of_group = |group: &GpuGroup| {
            let asked = u32::from(need.lane(group.lane.into()));
            group.lane == 0 || (free & group.indices).count_ones() >= asked
        };
        free.count_ones() >= need.lane(0).into() && class.gpus.iter().all(of_group)
    }

    /// Of the free CPUs of a node those at whose sockets enough GPUs are free for a job, then those at whose
    /// sockets any are; nothing where it asks for none, or no GPU's socket is known.
    pub(super) fn near_gpus(
        &self,
        node: NodeId,
        class: &NodeClass,
        free: SocketCpus,
    ) -> impl Iterator<Item = SocketCpus> {
        let is_known = class.gpus.iter().any(|group| !group.at_sockets.is_empty());
        let asked = self.compiled.demand.gpus_on(1);
        let gpus = self.free.gpus(node);
        let with = move |least: u64| {
            let at = |socket| u64::from((class.gpus_at(socket) & gpus).count_ones());
            free.of_sockets(|socket| at(socket) >= least)
        };
        let counts = [asked, 1]
            .into_iter()
            .filter(move |_| is_known && asked > 0);
        counts.map(with)
    }

    /// The GPUs of a node at the sockets of which a share gets CPUs.
    fn gpus_near(&self, class: &NodeClass, sockets: &SocketCpus) -> u64 {
        let sockets = sockets.each().enumerate();
        let own = sockets.filter(|(_, cpus)| *cpus > 0);
        own.fold(0, |all, (socket, _)| all | class.gpus_at(socket))
    }

    /// A share with GPUs chosen of those that are free; none where there are too few of a type.
    pub(super) fn with_gpus(
        &self,
        node: NodeId,
        tasks: u32,
        mut need: Amounts,
        free: u64,
    ) -> Option<Share> {
        let share = |amounts, gpus| Share {
            node,
            tasks,
            amounts,
            sockets: SocketCpus::default(),
            gpus,
        };
        let class = self.cluster.class(node);
        if need.lane(0) == 0 {
            return Some(share(need, 0));
        }
        if class.gpu_indices() == 0 {
            return Some(share(need, 0));
        }
        if self.sharing() == Sharing::Whole {
            // GPUs that others use stay theirs.
            set_lanes(&mut need, class.gpus.iter(), free);
            return Some(share(need, free));
        }
        let sockets = self.sockets(node, need.cpus).unwrap_or_default();
        let near = self.gpus_near(class, &sockets);
        let mut taken = 0_u64;
        let mut left = u64::from(need.lane(0));
        // Those of a type go first: what is left serves who asks for any.
        for (gres, count) in self.typed(tasks, left) {
            let kind = gres.kind.as_deref();
            let count = count.min(left);
            let mut wanted = count;
            for group in class.gpus_called(kind) {
                let bits = nearest(free & group.indices & !taken, near, wanted);
                taken |= bits;
                wanted -= u64::from(bits.count_ones());
            }
            if wanted > 0 {
                return None;
            }
            left -= count;
        }
        let bits = nearest(free & !taken & class.gpu_indices(), near, left);
        if u64::from(bits.count_ones()) < left {
            return None;
        }
        taken |= bits;
        set_lanes(&mut need, class.gpus.iter(), taken);
        Some(share(need, taken))
    }

    /// GPUs of types that are asked of a node with so many tasks. Of those of the whole job's a
    /// node gives what the rest leaves.
    fn typed(&self, tasks: u32, all: u64) -> Vec<(&GresNeed, u64)> {
        let demand = &self.compiled.demand;
        let is_typed = |gres: &&GresNeed| gres.is_gpus() && gres.kind.is_some();
        let of_node = demand.node.gres.iter().filter(is_typed);
        let of_task = demand.task.gres.iter().filter(is_typed);
        let mut typed: Vec<(&GresNeed, u64)> = of_node.map(|gres| (gres, gres.count)).collect();
        typed.extend(of_task.map(|gres| (gres, gres.count.saturating_mul(tasks.into()))));
        let known = typed
            .iter()
            .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let mut rest = all.saturating_sub(known);
        let of_job: Vec<&GresNeed> = demand.job.gres.iter().filter(is_typed).collect();
        let last = of_job.len().saturating_sub(1);
        for (index, gres) in of_job.into_iter().enumerate() {
            let count = if index == last {
                rest
            } else {
                rest.min(gres.count)
            };
            rest -= count;
            typed.push((gres, count));
        }
        typed
    }
}

/// The lanes of those GPUs.
fn set_lanes<'a>(need: &mut Amounts, groups: impl Iterator<Item = &'a GpuGroup>, taken: u64) {
    need.set_lane(0, taken.count_ones().into());
    for group in groups.filter(|group| group.lane > 0) {
        let count = (taken & group.indices).count_ones();
        need.set_lane(group.lane.into(), count.into());
    }
}

/// So many bits of a set, those that are near first.
fn nearest(bits: u64, near: u64, count: u64) -> u64 {
    let own = lowest(bits & near, count);
    let left = count.saturating_sub(own.count_ones().into());
    own | lowest(bits & !near, left)
}

/// The lowest bits of a set, so many or as many as there are.
fn lowest(mut bits: u64, count: u64) -> u64 {
    let mut taken = 0;
    for _ in 0..count.min(64) {
        let bit = bits & bits.wrapping_neg();
        taken |= bit;
        bits &= !bit;
    }
    taken
}
