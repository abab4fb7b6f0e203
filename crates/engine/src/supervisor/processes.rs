//! All processes of a step: whatever descends from its supervisor, and what its tasks left behind in the PID
//! namespace of their job.

use crate::own_processes::OwnProcesses;
use crate::quick_forkers::kill_at_once;
use std::collections::BTreeSet;
use std::io;
use sys::process;
use sys::signals::SIGKILL;

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

    /// Sends a signal to every process of the step. Forks that race with this may be missed: who must
    /// reach all asks again until [`StepProcesses::list`] is empty.
    pub(super) fn signal_all(&self, signal: i32) {
        for pid in self.list() {
            send(pid, signal);
        }
    }

    /// Kills every process of the step. What forks and ends over and over comes to this process each time.
    pub(super) fn kill_all(&self) {
        self.signal_all(SIGKILL);
        kill_at_once(|known| self.orphans(known));
    }

    /// Whether none is left, as far as can be seen; `has_children`: this process has some, as `wait` said just now.
    pub(super) fn are_gone(&self, has_children: bool) -> bool {
        if !has_children && self.namespace.is_none() {
            return true;
        }
        if !self.list().is_empty() || !self.orphans(&BTreeSet::new()).is_empty() {
            return false;
        }
        // The lists may miss the one that there is while it forks and ends.
        let listed = process::listed_children(std::process::id());
        !has_children || listed.is_none_or(|listed| shows_all(&listed, |pid| self.own.has(pid)))
    }

    /// What this process and the keeper of the namespace have as children of the step's now, in a short look; without
    /// those that are known.
    fn orphans(&self, known: &BTreeSet<u32>) -> Vec<u32> {
        let listed = |pid| process::listed_children(pid).unwrap_or_default();
        let mut found = listed(std::process::id());
        found.retain(|pid| !known.contains(pid) && !self.own.has(*pid));
        if let Some((keeper, hosts)) = &self.namespace {
            let below = listed(*keeper).into_iter();
            found.extend(below.filter(|pid| !known.contains(pid) && is_in(hosts, *pid)));
        }
        found
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
        let mut orphans = process::children(*keeper);
        orphans.retain(|pid| is_in(hosts, *pid));
        found.extend(process::descendants_of_all(&orphans, &belongs));
        found.extend(orphans);
        found
    }
}

/// Whether a list of a process's children, which has some, shows that all of them are its own: one that forks and ends
/// may be missing, or stand there now that it was not seen before.
fn shows_all(listed: &[u32], is_own: impl Fn(u32) -> bool) -> bool {
    !listed.is_empty() && listed.iter().all(|pid| is_own(*pid))
}

/// Whether a process is in one of these namespaces of host names.
fn is_in(hosts: &BTreeSet<u64>, pid: u32) -> bool {
    let host = process::namespace_of(pid, "uts");
    host.is_some_and(|host| hosts.contains(&host))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last look found, and those before had missed, was left alive.
    #[test]
    fn all_are_gone_where_own_processes_alone_are_left() {
        let check = |listed: &[u32], want: bool| {
            let is_own = |pid| pid < 10;
            assert_eq!(shows_all(listed, is_own), want, "{listed:?}");
        };
        check(&[1], true);
        check(&[1, 2], true);
        check(&[], false);
        check(&[10], false);
        check(&[1, 10], false);
    }
}
