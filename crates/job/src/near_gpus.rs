//! Binds ranks to those of their CPUs that are near their GPUs.
//!
//! Slurm binds tasks where it has `task/affinity`, by the order of its CPUs and whatever the GPUs' sockets are; what
//! an agent such as `torchrun` starts within its task has all of the task's CPUs, at any socket. The node's agent, which
//! sees all of the job's GPUs there, notes which CPUs are near each; rank wrappers bind by that.

use crate::visible_gpus;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use sys::cpu;
use sys::process::{descendants, first_variable, start_time};
use train::Binding;

/// How often an agent's processes are looked at until all of its ranks are bound.
const SOON: Duration = Duration::from_millis(100);
/// How often after that, as it may start its ranks anew, and where some never come.
const LATER: Duration = Duration::from_secs(5);
/// After so long without a new one no more are expected soon.
const COMING: Duration = Duration::from_secs(60);

/// Notes the CPUs near each of the GPUs that this process's environment names; nothing where that is not known.
pub(crate) fn write_down(note: &Path) -> io::Result<()> {
    let near = of_own_gpus();
    if near.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_vec(&near).expect("invariant: numbers only");
    sys::atomic::write_relaxed(note, &text)
}

/// The CPUs near each of the GPUs that this process's environment names; none where that is not known.
fn of_own_gpus() -> Vec<Vec<u32>> {
    let [cuda, rocr] =
        [visible_gpus::CUDA, visible_gpus::ROCR].map(|name| std::env::var(name).ok());
    sys::near_gpus(cuda.as_deref(), rocr.as_deref())
}

/// Becomes a command, one of `ranks` ranks of its node with the number `local` there, bound to CPUs near its GPU as its
/// environment names the node's; comes back only where that failed.
///
/// `horovodrun` starts each rank on further nodes by an `ssh` of its own, where no rank wrapper is.
pub(crate) fn become_rank(local: u32, ranks: u32, command: &[OsString]) -> io::Error {
    let Some((program, words)) = command.split_first() else {
        return io::ErrorKind::InvalidInput.into();
    };
    let of_node = NearGpus {
        binding: Binding {
            local: Some(local),
            ranks: 1,
            cpus: 1,
        },
        near: of_own_gpus(),
        own: cpu::available(),
    };
    let cpus = of_node.shared_by(ranks).cpus_of(local);
    if let Some(Err(error)) = cpus.map(|cpus| cpu::bind(&cpus)) {
        note_unbound(&error);
    }
    Command::new(program).args(words).exec()
}

/// Says that a rank runs on all CPUs of its task.
pub(crate) fn note_unbound(error: &io::Error) {
    let _ = writeln!(
        io::stderr(),
        "note: the rank can't be bound to the CPUs at its GPU's socket: {error}"
    );
}

/// A node's ranks.
#[derive(Clone, Debug)]
pub(crate) struct NearGpus {
    binding: Binding,
    /// The CPUs near each GPU.
    near: Vec<Vec<u32>>,
    /// The CPUs of this process, which those that it starts have too.
    own: Vec<u32>,
}

impl NearGpus {
    /// Those of this process's task, by its node's note; `None` where nothing is known of GPUs.
    pub(crate) fn of_task(binding: Option<Binding>, note: &Path) -> Option<NearGpus> {
        let binding = binding?;
        let near = serde_json::from_slice(&std::fs::read(note).ok()?).ok()?;
        Some(NearGpus {
            binding,
            near,
            own: cpu::available(),
        })
    }

    /// Binds this thread, and what it starts, where the task is one rank.
    ///
    /// # Errors
    /// The system forbids it.
    pub(crate) fn bind_own(&self) -> io::Result<()> {
        let cpus = self.binding.local.and_then(|local| self.cpus_of(local));
        cpus.map_or(Ok(()), |cpus| cpu::bind(&cpus))
    }

    /// Binds the ranks that process `pid` starts, as they come, for as long as it lives; returns at once where the
    /// task is one rank itself, unless it starts Horovod's.
    pub(crate) fn bind_ranks_of(&self, pid: u32, starts_horovod: bool) {
        if self.binding.local.is_some() {
            if starts_horovod {
                self.bind_as_they_come(pid, &|pid| self.cpus_of_horovods(pid), None);
            }
            return;
        }
        let ranks = 0..self.binding.ranks;
        let of_ranks = ranks.filter_map(|local| Some((local, self.cpus_of(local)?)));
        let of_ranks: BTreeMap<u32, Vec<u32>> = of_ranks.collect();
        if of_ranks.is_empty() {
            return;
        }
        // One that has not become its program yet has none.
        let cpus_of = |pid| {
            let local: u32 = first_variable(pid, "LOCAL_RANK")?.parse().ok()?;
            Some((local, of_ranks.get(&local)?.clone()))
        };
        self.bind_as_they_come(pid, &cpus_of, Some(of_ranks.len()));
    }

    /// The CPUs of a rank of `horovodrun`, or of the `mpirun` that it starts; they say how many there are on the node.
    fn cpus_of_horovods(&self, pid: u32) -> Option<(u32, Vec<u32>)> {
        let number = |name: &str| first_variable(pid, name)?.parse::<u32>().ok();
        let either = |[first, second]: [&str; 2]| number(first).or_else(|| number(second));
        let local = either(["HOROVOD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"])?;
        let ranks = either(["HOROVOD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"]);
        let ranks = ranks.filter(|ranks| *ranks > local)?;
        Some((local, self.shared_by(ranks).cpus_of(local)?))
    }

    /// The same GPUs and CPUs, for so many ranks of which no one has said how many CPUs each is to have.
    fn shared_by(&self, ranks: u32) -> NearGpus {
        let own = u32::try_from(self.own.len()).unwrap_or(u32::MAX);
        NearGpus {
            binding: Binding {
                local: None,
                ranks,
                cpus: own.checked_div(ranks).unwrap_or(own).max(1),
            },
            ..self.clone()
        }
    }

    /// Binds what process `pid` starts to the CPUs that `cpus_of` names, with the rank's number on the node; `count` is how
    /// many ranks come, where that is known.
    fn bind_as_they_come(
        &self,
        pid: u32,
        cpus_of: &dyn Fn(u32) -> Option<(u32, Vec<u32>)>,
        count: Option<usize>,
    ) {
        let began = start_time(pid);
        // Each with the time when it began: numbers come again. One that can't be bound is not tried again.
        let mut bound: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
        let mut last_new = Instant::now();
        while began.is_some() && start_time(pid) == began {
            let all = descendants(pid);
            bound.retain(|pid, _| all.contains(pid));
            for pid in all {
                let Some(began) = start_time(pid) else {
                    continue;
                };
                if bound.get(&pid).is_some_and(|(_, known)| *known == began) {
                    continue;
                }
                if let Some((local, cpus)) = cpus_of(pid) {
                    // What may not be bound runs on all CPUs of its task, as it did before.
                    let _ = cpu::bind_process(pid, &self.own, &cpus);
                    bound.insert(pid, (local, began));
                    last_new = Instant::now();
                }
            }
            let there: BTreeSet<u32> = bound.values().map(|(local, _)| *local).collect();
            let has_all = count.is_some_and(|count| there.len() >= count);
            let is_late = has_all || last_new.elapsed() > COMING;
            std::thread::sleep(if is_late { LATER } else { SOON });
        }
    }

    /// The CPUs of a rank that are near its GPUs, where they are not all that there are and enough for all ranks
    /// that have the same.
    fn cpus_of(&self, local: u32) -> Option<Vec<u32>> {
        let cpus = self.near_cpus_of(local);
        let sharing = (0..self.binding.ranks).filter(|other| self.near_cpus_of(*other) == cpus);
        let needed = sharing.count().saturating_mul(self.binding.cpus as usize);
        (!cpus.is_empty() && cpus.len() < self.own.len() && cpus.len() >= needed).then_some(cpus)
    }

    fn near_cpus_of(&self, local: u32) -> Vec<u32> {
        let (gpus, ranks, local) = (self.near.len(), self.binding.ranks as usize, local as usize);
        let own = if ranks > 0 && gpus > 0 && gpus.is_multiple_of(ranks) {
            let each = gpus / ranks;
            &self.near[(local * each).min(gpus)..((local + 1) * each).min(gpus)]
        } else {
            // Ranks take turns at the GPUs.
            local
                .checked_rem(gpus)
                .map_or(&[][..], |at| &self.near[at..=at])
        };
        let is_near = |cpu: &&u32| own.iter().any(|near| near.contains(cpu));
        self.own.iter().filter(is_near).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    /// GPUs by their CPUs, ranks with the CPUs of each, and the CPUs of the task.
    #[track_caller]
    fn check(near: &[&[u32]], (ranks, cpus): (u32, u32), own: &[u32], want: &[Option<&[u32]>]) {
        let of_node = NearGpus {
            binding: Binding {
                local: None,
                ranks,
                cpus,
            },
            near: near.iter().map(|cpus| cpus.to_vec()).collect(),
            own: own.to_vec(),
        };
        let found: Vec<_> = (0..ranks).map(|local| of_node.cpus_of(local)).collect();
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn a_rank_has_the_cpus_of_its_socket() {
        let (first, second): (&[u32], &[u32]) = (&[0, 1, 2, 3], &[4, 5, 6, 7]);
        let all: Vec<u32> = (0..8).collect();
        let two = [first, second];
        let bound = [Some(first), Some(second)];
        check(&two, (2, 4), &all, &bound);
        // Of the job's own CPUs.
        check(
            &two,
            (2, 2),
            &[2, 3, 4, 5, 6],
            &[Some(&[2, 3]), Some(&[4, 5, 6])],
        );
        // A socket with fewer than its ranks are to have binds none.
        check(&two, (2, 2), &[3, 4, 5, 6], &[None, Some(&[4, 5, 6])]);
        check(&two, (2, 1), &[4, 5], &[None, None]);
        // Two ranks at each socket, and one with GPUs at both.
        let four = [first, first, second, second];
        let of_four = [Some(first), Some(first), Some(second), Some(second)];
        check(&four, (4, 2), &all, &of_four);
        check(&four, (4, 3), &all, &[None; 4]);
        check(&four, (2, 4), &all, &bound);
        check(&four, (1, 8), &all, &[None]);
        // More ranks than GPUs.
        check(
            &two,
            (4, 2),
            &all,
            &[Some(first), Some(second), Some(first), Some(second)],
        );
        // Of a task that is one rank with all GPUs, those that it starts.
        let one = NearGpus {
            binding: Binding {
                local: Some(0),
                ranks: 1,
                cpus: 8,
            },
            near: vec![first.to_vec(), second.to_vec()],
            own: all.clone(),
        };
        assert_eq!(one.cpus_of(0), None);
        let shared = one.shared_by(2);
        assert_eq!(shared.cpus_of(1).as_deref(), Some(second));
        assert_eq!(one.shared_by(3).cpus_of(2), Some(first.to_vec()));
        // One that Slurm bound as a task.
        check(&two, (2, 4), first, &[None, None]);
        check(&[], (2, 1), &all, &[None, None]);
    }

    #[test]
    fn what_horovodrun_starts_is_bound_by_its_number() {
        check_bound("HOROVOD_LOCAL_RANK=1 HOROVOD_LOCAL_SIZE=2");
        // Of its controller over MPI.
        check_bound("OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2");
    }

    #[track_caller]
    fn check_bound(variables: &str) {
        let own = cpu::available();
        let [first, second, ..] = own[..] else {
            return;
        };
        let gpus = NearGpus {
            binding: Binding {
                local: Some(0),
                ranks: 1,
                cpus: 2,
            },
            near: vec![vec![first], vec![second]],
            own: vec![first, second],
        };
        let script = format!("{variables} sleep 60 & echo $!; wait");
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &script]).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        cpu::bind_process(shell.id(), &own, &gpus.own).unwrap();
        let mut line = String::new();
        let output = shell.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let rank: u32 = line.trim().parse().unwrap();
        let pid = shell.id();
        // It may have been started with all CPUs of this machine.
        let _ = cpu::bind_process(rank, &own, &gpus.own);
        std::thread::spawn(move || gpus.bind_ranks_of(pid, true));
        testkit::wait_until("the rank is bound", || {
            cpu::of_process(rank).unwrap() == [second]
        });
        for process in [rank, pid] {
            sys::process::signal(process, 9).unwrap();
        }
        shell.wait().unwrap();
    }
}
