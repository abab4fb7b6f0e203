//! How the CPUs that a step has on a node are dealt out to its tasks there, as `task/affinity` of 22.05
//! does (`dist_tasks.c`).

use super::cpu_layout::CpuLayout;
use super::distribution::Dealing;

/// The tasks of a step on one of its nodes.
#[derive(Clone, Copy, Debug)]
pub struct NodeTasks<'a> {
    /// How many.
    pub tasks: u32,
    /// CPUs of each.
    pub cpus_per_task: u32,
    /// The CPUs that the step has there, ascending.
    pub cpus: &'a [u32],
    /// Where the node's CPUs lie.
    pub layout: &'a CpuLayout,
    /// How they are dealt out over sockets.
    pub over_sockets: Dealing,
}

/// What a task gets all of where it gets a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Thread,
    Core,
    Socket,
    /// A NUMA domain.
    Domain,
}

/// The CPUs of a step on a node, by place.
pub(super) struct Places<'a> {
    step: &'a NodeTasks<'a>,
    has: Vec<bool>,
    /// CPUs of a socket and of a core.
    socket: usize,
    core: usize,
}

impl<'a> Places<'a> {
    pub(super) fn of(step: &'a NodeTasks<'a>) -> Places<'a> {
        let shape = step.layout.shape();
        let core = shape.threads.max(1) as usize;
        let socket = (shape.cores.max(1) as usize) * core;
        let places = step.cpus.iter();
        let places: Vec<usize> = places
            .filter_map(|cpu| step.layout.place_of(*cpu))
            .collect();
        let last = places.iter().max().map_or(0, |last| last + 1);
        let mut has = vec![false; last.div_ceil(socket) * socket];
        places.into_iter().for_each(|place| has[place] = true);
        Places {
            step,
            has,
            socket,
            core,
        }
    }

    /// What tasks are bound to of which nothing was said: to what there are as many of, whole, as they have
    /// CPUs.
    pub(super) fn implied(&self) -> Option<Unit> {
        let wanted = self.step.tasks as usize * self.step.cpus_per_task as usize;
        let count = |size: usize| {
            let all = self.has.chunks(size);
            let whole = all.clone().filter(|unit| unit.iter().all(|has| *has));
            let begun = all.filter(|unit| unit.iter().any(|has| *has)).count();
            let whole = whole.count();
            (whole, begun - whole)
        };
        if count(self.socket) == (wanted, 0) {
            Some(Unit::Socket)
        } else if count(self.core) == (wanted, 0) {
            Some(Unit::Core)
        } else {
            (count(1).0 == wanted).then_some(Unit::Thread)
        }
    }

    /// The CPUs of each task; none where there are too few. `one_thread` of each core are used.
    pub(super) fn dealt(&self, unit: Unit, one_thread: bool) -> Option<Vec<Vec<u32>>> {
        let there = self.has.iter().filter(|has| **has).count();
        let tasks = self.step.tasks as usize;
        if tasks == 0 || there < tasks {
            return None;
        }
        let each = (self.step.cpus_per_task.max(1) as usize).min(there / tasks);
        let taken = match self.step.over_sockets {
            Dealing::Block => self.block(each, unit, one_thread),
            Dealing::Cyclic => self.cyclic(each, unit, one_thread, false),
            Dealing::FullyCyclic => self.cyclic(each, unit, one_thread, true),
        };
        let grown = taken?.into_iter().map(|places| self.grown(places, unit));
        Some(grown.collect())
    }

    /// Places in order, over and over where there are more tasks than places.
    fn block(&self, each: usize, unit: Unit, one_thread: bool) -> Option<Vec<Vec<usize>>> {
        let mut tasks: Vec<Vec<usize>> = Vec::new();
        let mut task = Vec::new();
        loop {
            let before = tasks.len();
            let mut used = vec![0_usize; self.has.len() / self.core];
            let mut place = 0;
            while place < self.has.len() {
                let at = place;
                place += 1;
                let core = &mut used[at / self.core];
                if !self.has[at] || one_thread && *core > 0 {
                    continue;
                }
                *core += 1;
                task.push(at);
                if task.len() < each {
                    continue;
                }
                tasks.push(std::mem::take(&mut task));
                if tasks.len() == self.step.tasks as usize {
                    return Some(tasks);
                }
                place += self.skipped(each, unit);
            }
            if tasks.len() == before {
                return None;
            }
        }
    }

    /// A task of each socket in turn; `fully`: each CPU of a task of the next socket.
    fn cyclic(
        &self,
        each: usize,
        unit: Unit,
        one_thread: bool,
        fully: bool,
    ) -> Option<Vec<Vec<usize>>> {
        let sockets = self.has.len() / self.socket;
        let mut tasks: Vec<Vec<usize>> = Vec::new();
        let mut task = Vec::new();
        let (mut next, mut used) = (
            vec![0_usize; sockets],
            vec![0_usize; self.has.len() / self.core],
        );
        let mut socket = 0;
        loop {
            let before = tasks.len();
            for _ in 0..self.has.len() {
                let first = socket;
                while next[socket] >= self.socket {
                    socket = (socket + 1) % sockets;
                    if socket == first {
                        // All are full: more tasks share them.
                        next.fill(0);
                        used.fill(0);
                    }
                }
                let at = socket * self.socket + next[socket];
                next[socket] += 1;
                let core = &mut used[at / self.core];
                if !self.has[at] || one_thread && *core > 0 {
                    continue;
                }
                *core += 1;
                task.push(at);
                let own = socket;
                if fully {
                    socket = (socket + 1) % sockets;
                }
                if task.len() < each {
                    continue;
                }
                // Slurm counts these of the next socket where it has gone on to it.
                let skipped_in = if fully { socket } else { own };
                next[skipped_in] += self.skipped(each, unit);
                if !fully {
                    socket = (socket + 1) % sockets;
                }
                tasks.push(std::mem::take(&mut task));
                if tasks.len() == self.step.tasks as usize {
                    return Some(tasks);
                }
            }
            if tasks.len() == before {
                return None;
            }
        }
    }

    /// Threads that are left over behind a task that is bound to cores.
    fn skipped(&self, each: usize, unit: Unit) -> usize {
        match unit {
            Unit::Core if each < self.core => self.core - each,
            Unit::Core => each % self.core,
            Unit::Thread | Unit::Socket | Unit::Domain => 0,
        }
    }

    /// All CPUs of the step in the units in which a task has some, ascending.
    fn grown(&self, places: Vec<usize>, unit: Unit) -> Vec<u32> {
        let layout = self.step.layout;
        let number = |place: usize| layout.number_at(place);
        let of_size = |size: usize| {
            let all = (0..self.has.len()).filter(|place| self.has[*place]);
            let same = |place: &usize| places.iter().any(|own| own / size == place / size);
            all.filter(same).filter_map(number).collect()
        };
        let mut cpus: Vec<u32> = match unit {
            Unit::Thread => places.into_iter().filter_map(number).collect(),
            Unit::Core => of_size(self.core),
            Unit::Socket => of_size(self.socket),
            Unit::Domain => {
                let own = places.into_iter().filter_map(number);
                let own: Vec<_> = own.map(|cpu| layout.domain_of(cpu)).collect();
                let all = self.step.cpus.iter().copied();
                all.filter(|cpu| own.contains(&layout.domain_of(*cpu)))
                    .collect()
            }
        };
        cpus.sort_unstable();
        cpus
    }
}
