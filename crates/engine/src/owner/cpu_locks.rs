//! CPUs are shared with the engines of other users: each that a job has is locked, by this engine
//! and by the job's supervisors: they outlive an engine that is killed, stopped or replaced.

use super::Owner;
use super::barred::Barred;
use model::{NodeShare, Timestamp};
use sched::Event;
use std::collections::BTreeSet;
use std::sync::Arc;
use sys::number_locks::NumberLocks;

/// How often to look whether a CPU that another engine has given to its jobs is free again.
const LOOK_MS: i64 = 1000;

/// Locks on the machine's CPUs.
#[derive(Debug, Default)]
pub(crate) struct CpuLocks {
    /// None where the nodes are pretended, or no lock can be had.
    locks: Option<NumberLocks>,
    all: Arc<[u32]>,
    pub(super) barred: Barred,
    /// What keeps CPUs from being locked.
    limits: Vec<String>,
}

impl CpuLocks {
    /// Of these CPUs, which are the machine's; none of a pretended cluster. To be called in the
    /// engine's own process: a fork would hold the locks with it.
    pub(crate) fn new(all: Arc<[u32]>) -> CpuLocks {
        let mut own = CpuLocks {
            all,
            ..CpuLocks::default()
        };
        if own.all.is_empty() {
            return own;
        }
        match NumberLocks::of_cpus() {
            Ok(locks) => own.locks = Some(locks),
            Err(error) => own.give_up(&error),
        }
        for limit in &own.limits {
            tracing::warn!("{limit}");
        }
        own
    }

    /// Goes on without locks: jobs run all the same.
    fn give_up(&mut self, error: &std::io::Error) {
        self.locks = None;
        self.barred = Barred::default();
        self.limits.push(format!(
            "CPUs are not locked, so that another engine of this machine may give its jobs the same: {error}"
        ));
    }

    /// What a user should know of them, a sentence each.
    pub(super) fn limits(&self) -> impl Iterator<Item = String> + '_ {
        self.limits.iter().cloned()
    }

    /// Which CPUs other engines held when a job last wanted some. Whose those are is for clients to find: it may
    /// take long.
    pub(super) fn held_elsewhere(&self) -> Vec<u32> {
        self.barred.all().iter().copied().collect()
    }

    /// Those that a supervisor holds for its step.
    pub(super) fn of<'a>(&self, shares: impl IntoIterator<Item = &'a NodeShare>) -> Vec<u32> {
        if self.locks.is_none() {
            return Vec::new();
        }
        let cpus = shares.into_iter().flat_map(|share| &share.cpus);
        cpus.copied()
            .collect::<BTreeSet<u32>>()
            .into_iter()
            .collect()
    }
}

impl Owner {
    /// Before a pass: takes every free CPU if a job waits, and tells the scheduler which ones the
    /// jobs of others have.
    pub(super) fn bar_cpus(&mut self, now: Timestamp) {
        if self.cpus.locks.is_none() {
            return;
        }
        let barred = match self.take_cpus() {
            Ok(barred) => barred,
            Err(error) => {
                tracing::warn!("CPUs can't be locked: {error}");
                self.cpus.give_up(&error);
                BTreeSet::new()
            }
        };
        self.cpus.barred.set(barred.clone(), now, LOOK_MS);
        // The scheduler may be a new one, of what the store has.
        self.state.apply(Event::CpusBarred(barred));
    }

    /// Those that others have, where a job waits.
    fn take_cpus(&mut self) -> std::io::Result<BTreeSet<u32>> {
        let used = self.in_use(|share| &share.cpus);
        let Some(locks) = &mut self.cpus.locks else {
            return Ok(BTreeSet::new());
        };
        // The supervisors of our own jobs hold them.
        let unlocked = used.difference(locks.held());
        let unlocked: Vec<u32> = unlocked.copied().collect();
        locks.share(unlocked)?;
        if self.state.waiting_count() == 0 {
            return Ok(BTreeSet::new());
        }
        locks.take(self.cpus.all.iter().copied())
    }

    /// After a pass: gives back the CPUs that no job of ours has.
    pub(super) fn keep_cpu_locks(&mut self) {
        let used = self.in_use(|share| &share.cpus);
        if let Some(Err(error)) = self.cpus.locks.as_mut().map(|locks| locks.keep(&used)) {
            tracing::warn!("CPUs can't be given back: {error}");
            self.cpus.give_up(&error);
        }
    }
}
