//! All processes of a step: whatever descends from its supervisor.

use crate::own_processes::OwnProcesses;
use std::collections::BTreeSet;
use std::io;
use sys::process;

const SIGSTOP: i32 = 19;

/// Sends a signal to every process of the step. Forks that race with this may be missed: who must
/// reach all asks again until [`list`] is empty.
pub(super) fn signal_all(signal: i32, own: &OwnProcesses) {
    for pid in list(own) {
        send(pid, signal);
    }
}

/// Stops every process of the step. What is stopped forks no more, so that rounds come to an end.
pub(super) fn stop_all(own: &OwnProcesses) {
    let mut stopped = BTreeSet::new();
    loop {
        let all = list(own);
        let new: Vec<u32> = all.into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            return;
        }
        for pid in new {
            send(pid, SIGSTOP);
        }
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

/// The step's processes. An engine that a command of the job started, and all below it, is not
/// one of them: it serves other jobs.
pub(super) fn list(own: &OwnProcesses) -> Vec<u32> {
    process::descendants_where(std::process::id(), &|pid| !own.has(pid))
}
