//! Which GPUs of a node a job gets.

use super::Attempt;
use crate::cluster::{GpuGroup, NodeClass, NodeId};
use crate::demand::{GresNeed, Sharing};
use crate::{Amounts, Share, SocketCpus};
use std::cmp::Reverse;

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
        let is_known = class.knows_gpu_sockets();
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
        gpus_at(class, own.map(|(socket, _)| socket))
    }

    /// The sockets of a node from which both the CPUs and the GPUs have to come, as few as have the GPUs:
    /// empty where they may come from any, and none where too few are free.
    pub(super) fn sockets_of_gpus(&self, node: NodeId, need: &Amounts) -> Option<Vec<usize>> {
        let class = self.cluster.class(node);
        let asked = u32::from(need.lane(0));
        let is_known = class.knows_gpu_sockets() && class.cpus_of_socket().is_some();
        // GPUs of each socket come from all of them, wherever its CPUs are.
        let need_of_sockets = self.compiled.demand.sockets.as_deref();
        let is_of_each = need_of_sockets.is_some_and(|need| need.gpus_per_socket > 0);
        if !self.is_bound || asked == 0 || !is_known || is_of_each {
            return Some(Vec::new());
        }
        let of_type = |group: &&GpuGroup| group.lane > 0 && need.lane(group.lane.into()) > 0;
        let typed = class.gpus.iter().filter(of_type);
        let typed = typed.fold(0, |all, group| all | group.indices);
        let free = self.free.gpus(node) & if typed == 0 { u64::MAX } else { typed };
        let cpus = self.free.sockets(node).each().map(u32::from);
        let sockets = cpus.enumerate().map(|(socket, cpus)| {
            let gpus = (class.gpus_at(socket) & free).count_ones();
            (gpus, cpus, socket)
        });
        let each = class.core_cpus.max(1);
        let mut sockets: Vec<_> = sockets
            .filter(|(gpus, cpus, _)| *gpus > 0 && *cpus >= each)
            .collect();
        // One socket is the first that has all.
        let has_all = |(gpus, _, _): &&(u32, u32, usize)| *gpus >= asked;
        if sockets.iter().any(|socket| has_all(&socket)) {
            let one = sockets.iter().filter(has_all);
            let mut one = one.filter(|(_, cpus, _)| *cpus >= need.cpus);
            return one.next().map(|(_, _, socket)| vec![*socket]);
        }
        sockets.sort_by_key(|(gpus, cpus, socket)| (Reverse(*gpus), Reverse(*cpus), *socket));
        let (mut gpus, mut taken) = (0, Vec::new());
        for (own, _, socket) in sockets {
            if gpus < asked {
                gpus += own;
                taken.push(socket);
            }
        }
        (gpus >= asked).then_some(taken)
    }

    /// What a node gives where each socket with a GPU of the job gives CPUs too; none where a job that may
    /// have others asks for fewer CPUs than that.
    pub(super) fn with_cpus_of_sockets(&self, node: NodeId, mut need: Amounts) -> Option<Amounts> {
        let sockets = self.sockets_of_gpus(node, &need)?;
        let demand = &self.compiled.demand;
        let each = self.cluster.class(node).core_cpus.max(1);
        let least = u32::try_from(sockets.len()).ok()?.checked_mul(each)?;
        if sockets.len() > 1 && need.cpus < least {
            if !demand.enforce_binding {
                return None;
            }
            let more = u64::from(least - need.cpus).saturating_mul(demand.mem_per_cpu);
            need.mem_mib = need
                .mem_mib
                .saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            need.cpus = least;
        }
        Some(need)
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
            capped_in: self.compiled.demand.cpu_cap.map(|cap| cap.partition),
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
        let bound = self.sockets_of_gpus(node, &need)?;
        let free = if bound.is_empty() {
            free
        } else {
            free & gpus_at(class, bound.into_iter())
        };
        let sockets = self.sockets(node, &need).unwrap_or_default();
        let near = self.gpus_near(class, &sockets);
        let free = self.gpus_of_each_socket(class, free, near, need.lane(0).into());
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

    /// Of the free GPUs of a node so many of each socket as a job asks of one, where it is known which are at which
    /// and they are as many as it gets; else all. Sockets near its CPUs come first.
    fn gpus_of_each_socket(&self, class: &NodeClass, free: u64, near: u64, all: u32) -> u64 {
        let need = self.compiled.demand.sockets.as_deref();
        let Some(need) = need.filter(|need| need.gpus_per_socket > 0) else {
            return free;
        };
        let each = need.gpus_per_socket;
        let sockets = class.gpus.iter().map(|group| group.at_sockets.len()).max();
        let at = (0..sockets.unwrap_or(0)).map(|socket| class.gpus_at(socket) & free);
        let mut at: Vec<u64> = at.filter(|own| own.count_ones() >= each).collect();
        at.sort_by_key(|own| own & near == 0);
        let chosen = at.iter().take(need.sockets as usize);
        let chosen = chosen.fold(0, |sum, own| sum | lowest(*own, each.into()));
        if chosen.count_ones() == all {
            chosen
        } else {
            free
        }
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

/// The GPUs at some sockets.
fn gpus_at(class: &NodeClass, sockets: impl Iterator<Item = usize>) -> u64 {
    sockets.fold(0, |all, socket| all | class.gpus_at(socket))
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
