//! GPUs are shared with the engines of other users: a lock a GPU, held while a job has it, by this
//! engine and by the job's supervisors: they outlive an engine that is killed, stopped or replaced.

use super::Owner;
use super::barred::Barred;
use crate::spec::GpuDevice;
use model::{GpuIndex, Timestamp};
use sched::Event;
use std::collections::{BTreeMap, BTreeSet};
use sys::device_cgroup::DeviceNumber;
use sys::gpus::GpuLock;

/// How often to look whether a GPU that another process holds is free again.
const LOOK_MS: i64 = 5000;

/// Locks on GPUs.
#[derive(Debug, Default)]
pub(crate) struct GpuLocks {
    /// Why there are none, if so.
    none: String,
    uuids: BTreeMap<GpuIndex, String>,
    /// Of all GPUs, or none.
    devices: Vec<GpuDevice>,
    held: BTreeMap<GpuIndex, GpuLock>,
    pub(super) barred: Barred,
}

impl GpuLocks {
    pub(crate) fn new(gpus: &[sys::gpus::Gpu], none: String) -> GpuLocks {
        let uuids = gpus.iter().map(|gpu| (gpu.index, gpu.uuid.clone()));
        let device = |gpu: &sys::gpus::Gpu| {
            let DeviceNumber { major, minor } = gpu.device?;
            Some(GpuDevice {
                gpu: gpu.index,
                major,
                minor,
            })
        };
        let devices: Option<Vec<GpuDevice>> = gpus.iter().map(device).collect();
        GpuLocks {
            none,
            uuids: uuids.collect(),
            devices: devices.unwrap_or_default(),
            ..GpuLocks::default()
        }
    }

    /// Why the machine has no GPUs, where it has none.
    pub(crate) fn none(&self) -> &str {
        &self.none
    }

    /// The devices of the machine's GPUs; none where not all are known.
    pub(crate) fn devices(&self) -> &[GpuDevice] {
        &self.devices
    }

    /// What the locks of these GPUs are named for.
    pub(crate) fn uuids<'a>(&self, gpus: impl Iterator<Item = &'a GpuIndex>) -> Vec<String> {
        gpus.filter_map(|gpu| self.uuids.get(gpu).cloned())
            .collect()
    }
}

impl Owner {
    /// Before a pass: takes the lock of every free GPU if a job might want one, and tells the
    /// scheduler which ones others hold.
    pub(super) fn bar_gpus(&mut self, now: Timestamp) {
        if self.gpus.uuids.is_empty() {
            return;
        }
        let mut barred = BTreeSet::new();
        if self.state.is_gpu_wanted() {
            let used = self.in_use(|share| &share.gpus);
            for (index, uuid) in self.gpus.uuids.clone() {
                if self.gpus.held.contains_key(&index) {
                    continue;
                }
                // The supervisors of our own job hold it.
                let locked = if used.contains(&index) {
                    sys::gpus::share(&uuid).map(Some)
                } else {
                    sys::gpus::lock(&uuid)
                };
                match locked {
                    Ok(Some(lock)) => {
                        self.gpus.held.insert(index, lock);
                    }
                    Ok(None) => {
                        barred.insert(index);
                    }
                    Err(error) => {
                        tracing::warn!("GPU {index} can't be locked: {error}");
                        barred.insert(index);
                    }
                }
            }
        }
        if barred.is_empty() && self.gpus.barred.all().is_empty() {
            return;
        }
        let list = barred.iter().copied().collect();
        self.gpus.barred.set(barred, now, LOOK_MS);
        self.state.apply(Event::GpusBarred(list));
    }

    /// After a pass: gives back the locks of GPUs that no job of ours has.
    pub(super) fn keep_gpu_locks(&mut self) {
        if self.gpus.held.is_empty() {
            return;
        }
        let used = self.in_use(|share| &share.gpus);
        self.gpus.held.retain(|index, _lock| used.contains(index));
    }

    /// After a start: holds again the locks of the GPUs that running jobs have.
    pub(super) fn relock_gpus(&mut self) {
        for index in self.in_use(|share| &share.gpus) {
            let Some(uuid) = self.gpus.uuids.get(&index) else {
                continue;
            };
            match sys::gpus::share(uuid) {
                Ok(lock) => {
                    self.gpus.held.insert(index, lock);
                }
                Err(error) => tracing::warn!("GPU {index} can't be locked: {error}"),
            }
        }
    }
}
