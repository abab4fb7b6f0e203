//! Ctrl-C, or a terminal that is closed: it ends what is being prepared, and leaves alone what was submitted.

use crate::exit_code;
use crate::failure::{Failure, FailureKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the person asked to stop.
#[derive(Debug)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to watch. A second Ctrl-C ends the program at once, whatever it does.
    pub fn watch() -> Result<Interrupt, Failure> {
        let asked = Arc::new(AtomicBool::new(false));
        // `nohup` has it ignored, and means it.
        let hangup = (!sys::signals::is_ignored(SIGHUP)).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            let code = i32::from(exit_code::INTERRUPTED);
            let twice =
                signal_hook::flag::register_conditional_shutdown(signal, code, asked.clone());
            twice
                .and_then(|_id| signal_hook::flag::register(signal, asked.clone()))
                .map_err(|error| {
                    Failure::new(FailureKind::Io, format!("signals can't be caught: {error}"))
                })?;
        }
        Ok(Interrupt { asked })
    }

    /// Asked to stop.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Ends what is being prepared.
    pub fn check(&self) -> Result<(), Failure> {
        if self.asked() {
            Err(Failure::new(
                FailureKind::Interrupted,
                "interrupted; nothing was submitted",
            ))
        } else {
            Ok(())
        }
    }
}
