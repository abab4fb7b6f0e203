//! Input on its way from `srun` to the tasks, and its end.

use super::{CHUNK, Relay, is_temporary};
use api::step_io::FromSupervisor;
use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::time::Duration;
use sys::terminal;

/// What a terminal's user types to end the input: Ctrl-D.
const END_OF_INPUT: u8 = 4;
/// How often a terminal is looked at whose input has ended.
const TERMINAL_LOOK: Duration = Duration::from_millis(100);

/// Our end of a stream that a task reads.
pub(super) struct Sink {
    pub(super) file: std::fs::File,
    pub(super) waiting: VecDeque<u8>,
    /// A terminal's end of input is a character; a pipe's is its close.
    pub(super) is_terminal: bool,
}

impl Relay {
    /// When a terminal is to be looked at again.
    pub(in crate::supervisor) fn next_look(&self) -> Option<Duration> {
        (self.ended && self.terminal.is_some()).then_some(TERMINAL_LOOK)
    }

    /// The end of a terminal's input is said anew to a program that began to read letter by letter:
    /// the one that was typed before means nothing then.
    pub(in crate::supervisor) fn look_at_terminal(&mut self) {
        let Some(terminal) = self.terminal.as_ref().filter(|_| self.ended) else {
            return;
        };
        let was_raw = std::mem::replace(&mut self.raw, terminal::is_raw(terminal));
        if self.raw && !was_raw {
            self.type_end();
        }
    }

    /// What a terminal's user types to end the input.
    fn type_end(&mut self) {
        for sink in self.sinks.iter_mut().filter(|sink| sink.is_terminal) {
            sink.waiting.push_back(END_OF_INPUT);
        }
    }

    pub(super) fn end_input(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        if self.in_line {
            // Of a line that is not whole the first one only hands on what there is.
            self.type_end();
        }
        self.type_end();
        self.raw = self.terminal.as_ref().is_some_and(terminal::is_raw);
        self.sinks
            .retain(|sink| sink.is_terminal || !sink.waiting.is_empty());
    }

    /// Gives credit for what every sink has taken, in portions that are worth a frame.
    pub(super) fn report_taken(&mut self) {
        if self.ended {
            self.sinks
                .retain(|sink| sink.is_terminal || !sink.waiting.is_empty());
        }
        let most = self.sinks.iter().map(|sink| sink.waiting.len()).max();
        let taken = self.untaken.saturating_sub(most.unwrap_or(0));
        if taken > 0 && (most.unwrap_or(0) == 0 || taken >= CHUNK) {
            self.untaken -= taken;
            self.send(&FromSupervisor::Taken(
                u32::try_from(taken).unwrap_or(u32::MAX),
            ));
        }
    }
}

impl Sink {
    /// Whether the task will not take more: its end is closed.
    pub(super) fn write(&mut self) -> bool {
        while !self.waiting.is_empty() {
            let (first, _) = self.waiting.as_slices();
            match self.file.write(first) {
                Ok(length) => {
                    self.waiting.drain(..length);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if is_temporary(&error) => {}
                Err(_) => return true,
            }
        }
        false
    }
}
