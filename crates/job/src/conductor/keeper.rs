//! The conductor's parent: the batch step's first process, which does nothing but wait, so that
//! there is a process left to bring the run back when the conductor is killed.

use super::{ConductorError, comeback, loss};
use crate::exit_code;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts the conductor of one start of one job and waits for it; returns the batch script's exit
/// code. Where a signal ended it the run comes back as after a lost node.
///
/// # Errors
/// It could not be started, or what was left of it not be read.
pub fn keep(folder: &Path, number: u32) -> Result<u8, ConductorError> {
    let start = |source| ConductorError::Start {
        what: "the conductor",
        source,
    };
    // The steps of a conductor that is killed are this process's to end.
    sys::process::become_subreaper().map_err(start)?;
    // Before there is a child: a signal that comes in between must not end this process.
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT]).map_err(start)?;
    let mut child = Command::new(std::env::current_exe().map_err(start)?)
        .args(["job", "conduct"])
        .arg(folder)
        .arg(number.to_string())
        .spawn()
        .map_err(start)?;
    let pid = child.id();
    let told_to_end = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&told_to_end);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGTERM {
                ended.store(true, Ordering::Relaxed);
            }
            // Where the whole group was signalled it hears it twice, which changes nothing.
            let _ = sys::process::signal(pid, signal);
        }
    });
    let status = child.wait().map_err(start)?;
    match exit_code::signal(status) {
        None => Ok(u8::try_from(exit_code::of(status)).unwrap_or(1)),
        Some(signal) => {
            let told_to_end = told_to_end.load(Ordering::Relaxed);
            let result = loss::after_conductor(folder, number, signal, told_to_end);
            if told_to_end {
                result
            } else {
                comeback::or_come_back(folder, result)
            }
        }
    }
}
