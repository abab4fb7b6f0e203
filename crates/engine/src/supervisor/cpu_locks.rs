//! The locks on a step's CPUs, which its supervisor holds beside the engine: that may end before the step.

use crate::spec::StepSpec;
use std::collections::BTreeSet;
use sys::number_locks::NumberLocks;

/// What a supervisor locks. The folder of the locks stays open from one step to the next.
#[derive(Default)]
pub(super) struct CpuLocks {
    locks: Option<NumberLocks>,
}

impl CpuLocks {
    /// Holds those of a step.
    pub(super) fn share(&mut self, spec: &StepSpec) {
        if spec.cpu_locks.is_empty() {
            return;
        }
        let mut locks = match self.locks.take() {
            Some(locks) => Ok(locks),
            None => NumberLocks::of_cpus(),
        };
        let shared = locks
            .as_mut()
            .map_err(|error| error.to_string())
            .and_then(|locks| {
                let cpus = spec.cpu_locks.iter().copied();
                locks.share(cpus).map_err(|error| error.to_string())
            });
        if let Err(error) = shared {
            tracing::warn!(step = %spec.key(), "its CPUs can't be locked: {error}");
        }
        self.locks = locks.ok();
    }

    /// Gives all of them back.
    pub(super) fn give_back(&mut self) {
        if let Some(locks) = &mut self.locks
            && locks.keep(&BTreeSet::new()).is_err()
        {
            // Closing the folder ends them too.
            self.locks = None;
        }
    }
}
