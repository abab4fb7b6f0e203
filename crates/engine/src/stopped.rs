//! Supervisors that were stopped, by a process of their own step perhaps: they have a time limit to keep and calls to
//! answer, and are let go on.

use std::io;
use std::time::Duration;
use sys::process::{self, PidFd};
use sys::signals::SIGCONT;

/// So long one may be stopped.
pub(crate) const LONGEST_STOP: Duration = Duration::from_secs(10);

/// Lets a process go on. That it is gone in between is as good.
pub(crate) fn go_on(process: &PidFd) {
    let _gone = process.signal(SIGCONT);
}

/// The same for a child of this process, whose number is no other's until it is reaped.
pub(crate) fn let_child_go_on(pid: u32) {
    let _gone = process::signal(pid, SIGCONT);
}

/// Waits for the end of a process, and lets it go on where two looks, so far apart, find it stopped.
///
/// # Errors
/// It can't be waited for.
pub(crate) fn wait_for_end(process: &PidFd, longest_stop: Duration) -> io::Result<()> {
    let mut was_stopped = false;
    while !process.wait_exit(Some(longest_stop))? {
        let is_stopped = process::is_stopped(process.pid());
        if was_stopped && is_stopped {
            tracing::warn!("supervisor {} was stopped, and goes on", process.pid());
            go_on(process);
        }
        was_stopped = is_stopped;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::thread;

    /// Below the fork server of an engine before it was one let go on alone: the next engine's supervisors kept no limit.
    #[test]
    fn one_that_is_waited_for_and_was_stopped_goes_on() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = child.id();
        process::signal(pid, 19).unwrap();
        while !process::is_stopped(pid) {
            thread::yield_now();
        }
        let hand = PidFd::open(pid).unwrap();
        let waits = thread::spawn(move || wait_for_end(&hand, Duration::from_millis(1)));
        while process::is_stopped(pid) {
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        waits.join().unwrap().unwrap();
    }
}
