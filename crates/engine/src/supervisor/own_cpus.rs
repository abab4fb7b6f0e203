//! On which CPUs a supervisor itself runs: those to which a batch script is bound. A task begins where its
//! supervisor runs, and to take a process that runs to another CPU costs the kernel a tenth of a millisecond. What
//! passes on the output of tasks is not bound: it would take their time.

use crate::spec::{StepSpec, Streams};
use api::StepTask;
use std::collections::BTreeSet;
use sys::cpu;

/// The CPUs of a supervisor.
pub(super) struct OwnCpus {
    /// Those that it had before its first step.
    all: Vec<u32>,
    /// Those that it is bound to.
    now: Vec<u32>,
}

impl OwnCpus {
    /// Of a process that has no step yet.
    pub(super) fn new() -> OwnCpus {
        let all = cpu::available();
        OwnCpus {
            now: all.clone(),
            all,
        }
    }

    /// Binds this process to the CPUs of a step's tasks; to none where a task is bound to none, which has then those of
    /// this process, and where their output comes through it.
    pub(super) fn follow(&mut self, spec: &StepSpec) {
        self.bind(of_tasks(spec).unwrap_or_else(|| self.all.clone()));
    }

    /// Takes the bounds away again: an engine that this process starts has the CPUs that it has.
    pub(super) fn unbind(&mut self) {
        self.bind(self.all.clone());
    }

    fn bind(&mut self, wanted: Vec<u32>) {
        if wanted == self.now {
            return;
        }
        self.now = match cpu::bind(&wanted) {
            Ok(()) => wanted,
            Err(_) => {
                let _as_before = cpu::bind(&self.all);
                self.all.clone()
            }
        };
    }
}

fn of_tasks(spec: &StepSpec) -> Option<Vec<u32>> {
    let is_unbound = |task: &StepTask| task.cpus.is_empty();
    let writes_files = matches!(spec.streams, Streams::Files { .. });
    if !writes_files || spec.tasks.is_empty() || spec.tasks.iter().any(is_unbound) {
        return None;
    }
    let cpus = spec.tasks.iter().flat_map(|task| task.cpus.iter().copied());
    Some(cpus.collect::<BTreeSet<u32>>().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::test_spec::spec;

    #[test]
    fn it_runs_where_all_tasks_of_its_step_may() {
        let all = cpu::available();
        let mut own = OwnCpus::new();
        let mut check = |of_tasks: &[&[u32]], want: &[u32]| {
            let mut spec = spec();
            let task = spec.tasks[0].clone();
            let tasks = of_tasks.iter().map(|cpus| StepTask {
                cpus: cpus.to_vec(),
                ..task.clone()
            });
            spec.tasks = tasks.collect();
            own.follow(&spec);
            assert_eq!(cpu::available(), want, "{of_tasks:?}");
        };
        let (first, last) = (all[0], all[all.len() - 1]);
        let mut both = vec![first, last];
        both.dedup();
        check(&[&[last]], &[last]);
        check(&[&[last], &[first]], &both);
        check(&[&[first]], &[first]);
        // One that is not there.
        check(&[&[1023]], &all);
        check(&[&[last]], &[last]);
        check(&[&[last], &[]], &all);
        check(&[&[first]], &[first]);
        check(&[], &all);
        check(&[&[first]], &[first]);
        own.unbind();
        assert_eq!(cpu::available(), all);
    }
}
