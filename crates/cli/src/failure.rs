//! How a failure is printed, in three parts, and its exit code.

use crate::exit_code;
use crate::printer::Printer;
use api::{CallError, ConnectError};
use model::{WIDEST, wrap_within};
pub use runs::{Failure, FailureKind};

/// The blanks before the second line of a part.
const BELOW: &str = "          ";

/// What every command returns: an exit code of [`exit_code`], or a failure to be printed.
pub type Outcome = Result<u8, Failure>;

/// What the program does with a failure.
pub trait Report {
    /// One of [`exit_code`].
    fn code(&self) -> u8;
    /// Prints it and returns its exit code.
    fn report(&self, printer: &Printer) -> u8;
}

impl Report for Failure {
    fn code(&self) -> u8 {
        match self.kind {
            FailureKind::Failed => exit_code::FAILED,
            FailureKind::Usage => exit_code::USAGE,
            FailureKind::Refused => exit_code::REFUSED,
            FailureKind::Unreachable => exit_code::UNREACHABLE,
            FailureKind::Io => exit_code::IO,
            FailureKind::Interrupted => exit_code::INTERRUPTED,
        }
    }

    fn report(&self, printer: &Printer) -> u8 {
        for text in &self.mistakes {
            printer.say(text);
        }
        printer.say(&format!("error: {}", self.what));
        // What to do may be a command to copy: it stays one line.
        let parts = [
            ("asked", &self.asked, WIDEST),
            ("there", &self.there, WIDEST),
            ("do", &self.todo, usize::MAX),
        ];
        for (title, text, width) in parts {
            if let Some(text) = text {
                printer.say(&part(title, text, width));
            }
        }
        self.code()
    }
}

/// A part with its title, in lines of at most `width`. What has several lines, such as the end of a
/// log, has them below each other.
fn part(title: &str, text: &str, width: usize) -> String {
    let mut shown = String::new();
    for (index, line) in text.lines().enumerate() {
        let title = if index == 0 { title } else { "" };
        wrap_within(width, &mut shown, &format!("  {title:<7} "), BELOW, line);
    }
    shown.pop();
    shown
}

/// An engine that can't be reached or started.
pub fn unreachable(error: ConnectError) -> Failure {
    let todo = error.todo();
    let failure = match error {
        ConnectError::Failed { asked, there, .. } => {
            Failure::new(FailureKind::Unreachable, "the engine can't start")
                .asked(asked)
                .there(there)
        }
        other => Failure::new(FailureKind::Unreachable, other.to_string()),
    };
    failure.todo(todo)
}

/// What an engine did not do.
pub fn not_done(error: CallError) -> Failure {
    match error {
        CallError::Connect(error) => unreachable(error),
        CallError::Refused(refusal) => Failure::new(FailureKind::Failed, refusal.to_string()),
        other => Failure::new(FailureKind::Unreachable, other.to_string())
            .todo("try again; yard engine status shows where its log is"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_part_is_below_the_first() {
        assert_eq!(part("do", "wait", usize::MAX), "  do      wait");
        assert_eq!(
            part("there", "ERROR: no package\n\nof that name", WIDEST),
            "  there   ERROR: no package\n          \n          of that name"
        );
    }
}
