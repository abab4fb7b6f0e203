//! Keeps a step's processes to its CPUs once it has run for a moment: to enter a control group takes the kernel
//! milliseconds, as long as a short step takes as a whole. Until then they are bound by affinity, which they can change.

use super::processes::StepProcesses;
use super::step_groups;
use crate::spec::StepSpec;
use api::StepTask;
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
        CpuBound {
            due: is_later(spec).then(|| Instant::now() + MOMENT),
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

/// Whether a step's processes enter their group a moment after they began. Who enters it is bound to all of its CPUs,
/// before Linux 6.2 also one that was bound to fewer: where tasks are, they enter before that.
pub(super) fn is_later(spec: &StepSpec) -> bool {
    let is_bound = |task: &StepTask| !task.cpus.is_empty() && task.cpus.len() < spec.cpus.len();
    !spec.cpus.is_empty() && !spec.cpus_at_once && !spec.tasks.iter().any(is_bound)
}

/// What is forked by one that is in the group is in it too: rounds come to an end with the first that moves none.
fn take_all(group: &CpuCgroup, processes: &StepProcesses<'_>) {
    loop {
        let all = processes.list();
        // Read after the list: what was forked inside is inside.
        let inside = std::fs::read_to_string(group.processes()).unwrap_or_default();
        let inside: BTreeSet<u32> = inside.lines().filter_map(|pid| pid.parse().ok()).collect();
        let mut has_moved = false;
        for pid in all.into_iter().filter(|pid| !inside.contains(pid)) {
            match std::fs::write(group.processes(), pid.to_string()) {
                Ok(()) => has_moved = true,
                // It is gone by now.
                Err(error) if error.raw_os_error() == Some(NO_PROCESS) => {}
                Err(error) => {
                    tracing::warn!("process {pid} is not kept to its CPUs: {error}");
                }
            }
        }
        if !has_moved {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::test_spec::spec;

    #[track_caller]
    fn check(cpus: &[u32], at_once: bool, of_tasks: &[&[u32]], want: bool) {
        let mut spec = spec();
        let task = spec.tasks[0].clone();
        spec.cpus = cpus.to_vec();
        spec.cpus_at_once = at_once;
        spec.tasks = of_tasks
            .iter()
            .map(|cpus| StepTask {
                cpus: cpus.to_vec(),
                ..task.clone()
            })
            .collect();
        assert_eq!(is_later(&spec), want);
    }

    /// Before Linux 6.2 tasks that were moved into the group lost their binding.
    #[test]
    fn tasks_that_are_bound_enter_before_they_are() {
        check(&[0, 1], false, &[&[], &[]], true);
        check(&[0, 1], false, &[&[0, 1]], true);
        check(&[0, 1], false, &[&[0], &[1]], false);
        check(&[0, 1], true, &[&[], &[]], false);
        check(&[], false, &[&[]], false);
    }
}
