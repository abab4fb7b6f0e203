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
        let open = self.locks.take().map_or_else(NumberLocks::of_cpus, Ok);
        let shared = open.and_then(|mut locks| {
            locks.share(spec.cpu_locks.iter().copied())?;
            Ok(locks)
        });
        match shared {
            Ok(locks) => self.locks = Some(locks),
            // Closing the folder ends those of which it can't be told whether they are held.
            Err(error) => {
                tracing::warn!(step = %spec.key(), "its CPUs can't be locked: {error}");
            }
        }
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
