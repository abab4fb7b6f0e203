//! The control groups of a step, which its tasks enter.

use super::cpu_bound;
use super::memory_limit::{MemoryLimit, group_name};
use crate::spec::StepSpec;
use model::{GpuIndex, PassedLimit};
use std::collections::BTreeSet;
use std::path::PathBuf;
use sys::cpu_cgroup::CpuCgroup;
use sys::device_cgroup::{DeviceCgroup, DeviceNumber};
use sys::process_cgroup::ProcessCgroup;

/// The name of the limit on processes, as `--propagate` knows it.
const PROCESSES: &str = "NPROC";

/// Groups that bound what a step's processes use; those made here are removed with it.
pub(super) struct StepGroups {
    entrances: Vec<PathBuf>,
    /// The GPUs that its tasks can open, where the others are closed to them.
    gpus: Option<Vec<GpuIndex>>,
    _processes: Option<ProcessCgroup>,
    _devices: Option<DeviceCgroup>,
    _cpus: Option<CpuCgroup>,
}

impl StepGroups {
    /// The group of its memory, and where fewer processes were passed on with the job (`ulimit -u`) than
    /// this machine's own limit, one that bounds them: the kernel's limit counts all processes of a user,
    /// and not at all those of root. Where the step has not all of the node's GPUs, one that keeps it from
    /// the others' devices; where it is kept to CPUs from its first moment on, one of these.
    pub(super) fn of(spec: &StepSpec, memory: &MemoryLimit, limits: &[PassedLimit]) -> StepGroups {
        let most = fewer_processes(limits, sys::soft_limit(PROCESSES));
        let made = most.map(|most| ProcessCgroup::make(&group_name(spec), most));
        let processes = match made {
            Some(Ok(group)) => Some(group),
            Some(Err(error)) => {
                tracing::debug!(step = %spec.key(), "no control group of processes: {error}");
                None
            }
            None => None,
        };
        let devices = devices(spec);
        let own = processes.as_ref().map(ProcessCgroup::entrance);
        let cpus = if cpu_bound::is_later(spec) {
            None
        } else {
            cpus(spec)
        };
        let own = own
            .into_iter()
            .chain(devices.as_ref().map(DeviceCgroup::entrance))
            .chain(cpus.as_ref().map(CpuCgroup::entrance));
        StepGroups {
            entrances: memory.entrance().into_iter().chain(own).collect(),
            gpus: devices
                .as_ref()
                .map(|_| gpus_of(spec).into_iter().collect()),
            _processes: processes,
            _devices: devices,
            _cpus: cpus,
        }
    }

    /// Whether its tasks can open no GPU but those of the step.
    pub(super) fn closes_others(&self) -> bool {
        self.gpus.is_some()
    }

    /// How the driver counts a GPU for the step's tasks: those that it can't open are none to it.
    pub(super) fn seen(&self, gpu: GpuIndex) -> GpuIndex {
        let place = |gpus: &Vec<GpuIndex>| gpus.iter().position(|own| *own == gpu);
        let place = self.gpus.as_ref().and_then(place);
        place
            .and_then(|place| GpuIndex::try_from(place).ok())
            .unwrap_or(gpu)
    }

    /// The files by which a task enters them.
    pub(super) fn entrances(&self) -> &[PathBuf] {
        &self.entrances
    }
}

/// The GPUs that the step's tasks have on this node.
fn gpus_of(spec: &StepSpec) -> BTreeSet<GpuIndex> {
    let tasks = spec.tasks.iter();
    tasks.flat_map(|task| task.gpus.iter().copied()).collect()
}

/// The group that keeps the step from the devices of other GPUs, where there are any.
fn devices(spec: &StepSpec) -> Option<DeviceCgroup> {
    let own = gpus_of(spec);
    let others = spec.gpu_devices.iter();
    let others = others.filter(|device| !own.contains(&device.gpu));
    let others: Vec<DeviceNumber> = others
        .map(|device| DeviceNumber {
            major: device.major,
            minor: device.minor,
        })
        .collect();
    if others.is_empty() {
        return None;
    }
    match DeviceCgroup::make(&group_name(spec), &others) {
        Ok(group) => Some(group),
        Err(error) => {
            tracing::debug!(step = %spec.key(), "no control group of devices: {error}");
            None
        }
    }
}

/// The group of the step's CPUs, where it is kept to them.
pub(super) fn cpus(spec: &StepSpec) -> Option<CpuCgroup> {
    if spec.cpus.is_empty() {
        return None;
    }
    match CpuCgroup::make(&group_name(spec), &spec.cpus) {
        Ok(group) => Some(group),
        Err(error) => {
            tracing::debug!(step = %spec.key(), "no control group of CPUs: {error}");
            None
        }
    }
}

/// How many processes a job may have, where that is fewer than this machine lets every process have.
fn fewer_processes(passed: &[PassedLimit], here: Option<u64>) -> Option<u64> {
    let asked = passed.iter().find(|limit| limit.name == PROCESSES)?;
    (asked.soft < here?).then_some(asked.soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(soft: u64, here: u64, want: Option<u64>) {
        let limit = |name: &str, soft: u64| PassedLimit {
            name: name.to_owned(),
            soft,
            asked: false,
        };
        let passed = [limit("CORE", 1), limit("NPROC", soft)];
        assert_eq!(fewer_processes(&passed, Some(here)), want);
    }

    #[test]
    fn only_a_limit_below_the_machines_own_makes_a_group() {
        check(40, 4096, Some(40));
        check(4096, 4096, None);
        check(u64::MAX, 4096, None);
        check(40, u64::MAX, Some(40));
        assert_eq!(fewer_processes(&[], Some(9)), None);
    }
}
