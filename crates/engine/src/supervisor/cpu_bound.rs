//! Keeps a step's processes to its CPUs once it has run for a moment: to enter a control group takes the kernel
//! milliseconds, as long as a short step takes as a whole. Until then they are bound by affinity, which they can change.

use super::processes::StepProcesses;
use super::step_groups;
use crate::spec::StepSpec;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use sys::cpu_cgroup::CpuCgroup;

/// What is over by then is not kept.
const MOMENT: Duration = Duration::from_millis(20);

/// What the system says of a process that there is not.
const NO_PROCESS: i32 = 3;

/// Where it stands.
pub(super) struct CpuBound {
    /// When it is to be done, until it is.
    due: Option<Instant>,
    _group: Option<CpuCgroup>,
}

impl CpuBound {
    /// Of a step that begins now.
    pub(super) fn of(spec: &StepSpec) -> CpuBound {
        let is_later = !spec.cpus.is_empty() && !spec.cpus_at_once;
        CpuBound {
            due: is_later.then(|| Instant::now() + MOMENT),
            _group: None,
        }
    }

    /// How long until it is to be done.
    pub(super) fn due(&self) -> Option<Duration> {
        let at = self.due?;
        Some(at.saturating_duration_since(Instant::now()))
    }

    /// Takes the processes into their group where it is time.
    pub(super) fn keep(&mut self, spec: &StepSpec, processes: &StepProcesses<'_>) {
        if self.due() != Some(Duration::ZERO) {
            return;
        }
        let group = step_groups::cpus(spec);
        if let Some(group) = &group {
            take_all(group, processes);
        }
        *self = CpuBound {
            due: None,
            _group: group,
        };
    }
}

/// What is forked by one that is in the group is in it too, so that rounds come to an end.
fn take_all(group: &CpuCgroup, processes: &StepProcesses<'_>) {
    let mut taken = BTreeSet::new();
    loop {
        let all = processes.list().into_iter();
        let new: Vec<u32> = all.filter(|pid| taken.insert(*pid)).collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            let taken = std::fs::write(group.entrance(), pid.to_string());
            // It may be gone by now.
            if let Err(error) = taken
                && error.raw_os_error() != Some(NO_PROCESS)
            {
                tracing::warn!("process {pid} is not kept to its CPUs: {error}");
            }
        }
    }
}
