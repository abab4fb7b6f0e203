//! The conductor's parent: the batch step's first process, which does nothing but wait, so that
//! there is somebody left to bring the run back when the conductor is killed.

use super::opening::Opened;
use super::state::ConductorState;
use super::{Conductor, ConductorError, history};
use crate::exit_code;
use folder::Event;
use model::Timestamp;
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
    let told = Arc::clone(&told_to_end);
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGTERM {
                told.store(true, Ordering::Relaxed);
            }
            // Where the whole group was signalled it hears it twice, which changes nothing.
            let _ = sys::process::signal(pid, signal);
        }
    });
    let status = child.wait().map_err(start)?;
    match exit_code::signal(status) {
        None => Ok(u8::try_from(exit_code::of(status)).unwrap_or(1)),
        Some(signal) => after_loss(folder, number, signal, told_to_end.load(Ordering::Relaxed)),
    }
}

fn after_loss(
    folder: &Path,
    number: u32,
    signal: i32,
    told_to_end: bool,
) -> Result<u8, ConductorError> {
    let now = Timestamp(sys::now());
    let (mut conductor, hear) = match Conductor::open(folder, number, now)? {
        Opened::Conducts(conductor, hear) => (*conductor, hear),
        Opened::Over(code) => return Ok(code),
    };
    if told_to_end {
        conductor.record(Event::Terminated { reason: None }, now)?;
        return Ok(u8::try_from(128 + signal).unwrap_or(1));
    }
    let attempt = conductor.steps.allocation.attempt;
    let events = history::events_of(&conductor.run, attempt);
    let progress = events.is_ok_and(|events| history::has_progress(&events));
    let mut state = ConductorState::new(conductor.facts(now)?);
    let effects = state.lost(
        format!("the conductor was ended by signal {signal}"),
        progress,
    );
    match conductor.perform_all(effects, now)? {
        Some(code) => Ok(code),
        None => conductor.listen(&mut state, &hear),
    }
}
