//! All processes of a step: whatever descends from its supervisor, and what its tasks left behind in the PID
//! namespace of their job.

use crate::own_processes::OwnProcesses;
use std::collections::BTreeSet;
use std::io;
use sys::process;

const SIGSTOP: i32 = 19;

/// By what a step's processes are known.
pub(super) struct StepProcesses<'a> {
    own: &'a OwnProcesses,
    /// The process that keeps the job's PID namespace here and inherits what its tasks leave behind; the
    /// namespaces of the tasks' host names, which no other step has.
    namespace: Option<(u32, BTreeSet<u64>)>,
}

impl<'a> StepProcesses<'a> {
    /// Those below this process alone.
    pub(super) fn below_this(own: &'a OwnProcesses) -> StepProcesses<'a> {
        StepProcesses {
            own,
            namespace: None,
        }
    }

    /// Those that run in a PID namespace, by its keeper and the tasks' own namespaces.
    pub(super) fn in_namespace(
        own: &'a OwnProcesses,
        keeper: u32,
        tasks: impl Iterator<Item = u64>,
    ) -> StepProcesses<'a> {
        StepProcesses {
            own,
            namespace: Some((keeper, tasks.collect())),
        }
    }

    /// Whether some may be no descendants of this process.
    pub(super) fn may_be_elsewhere(&self) -> bool {
        self.namespace.is_some()
    }

    /// Sends a signal to every process of the step. Forks that race with this may be missed: who must
    /// reach all asks again until [`StepProcesses::list`] is empty.
    pub(super) fn signal_all(&self, signal: i32) {
        for pid in self.list() {
            send(pid, signal);
        }
    }

    /// Stops every process of the step. What is stopped forks no more, so that rounds come to an end.
    pub(super) fn stop_all(&self) {
        let mut stopped = BTreeSet::new();
        loop {
            let all = self.list();
            let new: Vec<u32> = all.into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if new.is_empty() {
                return;
            }
            for pid in new {
                send(pid, SIGSTOP);
            }
        }
    }

    /// The step's processes. An engine that a command of the job started, and all below it, is not
    /// one of them: it serves other jobs.
    pub(super) fn list(&self) -> Vec<u32> {
        let belongs = |pid: u32| !self.own.has(pid);
        let mut found = process::descendants_where(std::process::id(), &belongs);
        let Some((keeper, hosts)) = &self.namespace else {
            return found;
        };
        let is_of_step = |pid: &u32| {
            let host = process::namespace_of(*pid, "uts");
            host.is_some_and(|host| hosts.contains(&host))
        };
        let mut orphans = process::children(*keeper);
        orphans.retain(is_of_step);
        found.extend(process::descendants_of_all(&orphans, &belongs));
        found.extend(orphans);
        found
    }
}

/// Sends a signal; that the process is gone already is no error, and nothing could be done
/// about others.
pub(super) fn send(pid: u32, signal: i32) {
    match process::signal(pid, signal) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => tracing::warn!("signal {signal} to process {pid}: {error}"),
    }
}
