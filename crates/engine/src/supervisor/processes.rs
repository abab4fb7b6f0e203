//! All processes of a step: whatever descends from its supervisor.

use std::io;
use sys::process;

/// Sends a signal to every process of the step. Forks that race with this may be missed: who must
/// reach all asks again until [`list`] is empty.
pub(super) fn signal_all(signal: i32) {
    for pid in list() {
        send(pid, signal);
    }
}

/// Sends a signal; that the process is gone already is no error, and nobody could do anything
/// about others.
pub(super) fn send(pid: u32, signal: i32) {
    match process::signal(pid, signal) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => super::log(&format!("signal {signal} to process {pid}: {error}")),
    }
}

/// The step's processes. An engine that a command of the job started, and all below it, is not
/// one of them: it serves other jobs.
pub(super) fn list() -> Vec<u32> {
    process::descendants_where(std::process::id(), &|pid| !is_engine(pid))
}

/// Whether the process is an engine, its fork server, or a supervisor (which is forked from it without
/// a program of its own).
pub(crate) fn is_engine(pid: u32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"engine") && words.next() == Some(b"serve")
}
