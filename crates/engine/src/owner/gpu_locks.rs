//! GPUs are shared with the engines of other users: a lock a GPU, held while a job has it.

use super::Owner;
use model::{GpuIndex, JobState, Timestamp};
use sched::Event;
use std::collections::{BTreeMap, BTreeSet};
use sys::gpus::GpuLock;

/// How often to look whether a GPU that somebody else holds is free again.
const LOOK_MS: i64 = 5000;

/// Locks on GPUs.
#[derive(Debug, Default)]
pub(crate) struct GpuLocks {
    uuids: BTreeMap<GpuIndex, String>,
    held: BTreeMap<GpuIndex, GpuLock>,
    barred: BTreeSet<GpuIndex>,
    next_look: Option<Timestamp>,
}

impl GpuLocks {
    pub(crate) fn new(gpus: &[sys::gpus::Gpu]) -> GpuLocks {
        let uuids = gpus.iter().map(|gpu| (gpu.index, gpu.uuid.clone()));
        GpuLocks {
            uuids: uuids.collect(),
            ..GpuLocks::default()
        }
    }

    pub(crate) fn next_look(&self) -> Option<Timestamp> {
        self.next_look
    }

    pub(crate) fn any_barred(&self) -> bool {
        !self.barred.is_empty()
    }
}

impl Owner {
    /// Before a pass: takes the lock of every free GPU if a job might want one, and tells the
    /// scheduler which ones others hold.
    pub(super) fn bar_gpus(&mut self, now: Timestamp) {
        if self.gpus.uuids.is_empty() {
            return;
        }
        let waiting = |record: &model::JobRecord| {
            let request = &record.request;
            let wants = [
                &request.gpus,
                &request.gpus_per_node,
                &request.gpus_per_task,
            ];
            matches!(record.state, JobState::Pending { .. })
                && wants.iter().any(|gpus| gpus.is_some())
        };
        self.gpus.next_look = None;
        if !self.state.live().any(waiting) {
            return;
        }
        let mut barred = BTreeSet::new();
        for (index, uuid) in &self.gpus.uuids {
            if self.gpus.held.contains_key(index) {
                continue;
            }
            match sys::gpus::lock(uuid) {
                Ok(Some(lock)) => {
                    self.gpus.held.insert(*index, lock);
                }
                Ok(None) => {
                    barred.insert(*index);
                }
                Err(error) => {
                    crate::log::line(&format!("GPU {index} can't be locked: {error}"));
                    barred.insert(*index);
                }
            }
        }
        if !barred.is_empty() {
            self.gpus.next_look = Some(Timestamp(now.0 + LOOK_MS));
        }
        let list = barred.iter().copied().collect();
        self.gpus.barred = barred;
        self.state.apply(Event::GpusBarred(list));
    }

    /// After a pass: gives back the locks of GPUs that no job of ours has.
    pub(super) fn keep_gpu_locks(&mut self) {
        if self.gpus.held.is_empty() {
            return;
        }
        let running = self.state.live().filter_map(|record| match &record.state {
            JobState::Running { allocation, .. } => Some(&allocation.nodes),
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let used: BTreeSet<GpuIndex> = running
            .flatten()
            .flat_map(|share| share.gpus.iter().copied())
            .collect();
        self.gpus.held.retain(|index, _lock| used.contains(index));
    }

    /// After a start: takes the locks of the GPUs that running jobs have.
    pub(super) fn relock_gpus(&mut self) {
        let running = self.state.live().filter_map(|record| match &record.state {
            JobState::Running { allocation, .. } => Some(&allocation.nodes),
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let used: BTreeSet<GpuIndex> = running
            .flatten()
            .flat_map(|share| share.gpus.iter().copied())
            .collect();
        for index in used {
            if let (Some(uuid), false) = (
                self.gpus.uuids.get(&index),
                self.gpus.held.contains_key(&index),
            ) && let Ok(Some(lock)) = sys::gpus::lock(uuid)
            {
                self.gpus.held.insert(index, lock);
            }
        }
    }
}
