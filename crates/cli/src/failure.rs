//! Why a command of `yard` did not do what was asked, in three parts, and its exit code.

use crate::exit_code;
use crate::printer::Printer;
use backend::TransportError;
use folder::{CodeError, FolderError};
use model::{WIDEST, wrap_within};
use runs::FailureKind;

/// The blanks before the second line of a part.
const BELOW: &str = "          ";

/// What was asked, what there is, what to do.
#[derive(Debug)]
pub struct Failure {
    /// One of [`exit_code`].
    pub code: u8,
    /// What is said before it, one text each.
    pub before: Box<[String]>,
    /// The sentence after `error: `.
    pub what: String,
    /// What was asked, in the words of the one who asked.
    pub asked: Option<String>,
    /// What there is.
    pub there: Option<String>,
    /// What to do.
    pub todo: Option<String>,
}

/// What every command returns: an exit code of [`exit_code`], or a failure to be printed.
pub type Outcome = Result<u8, Failure>;

impl Failure {
    /// A failure of which only the sentence is known so far.
    pub fn new(code: u8, what: impl Into<String>) -> Failure {
        Failure {
            code,
            before: Box::default(),
            what: what.into(),
            asked: None,
            there: None,
            todo: None,
        }
    }

    /// Adds what was asked.
    #[must_use]
    pub fn asked(mut self, text: impl Into<String>) -> Failure {
        self.asked = Some(text.into());
        self
    }

    /// Adds what there is.
    #[must_use]
    pub fn there(mut self, text: impl Into<String>) -> Failure {
        self.there = Some(text.into());
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn todo(mut self, text: impl Into<String>) -> Failure {
        self.todo = Some(text.into());
        self
    }

    /// Prints it and returns its exit code.
    pub fn report(&self, printer: &Printer) -> u8 {
        for text in &self.before {
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
        self.code
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

impl From<runs::Failure> for Failure {
    fn from(failure: runs::Failure) -> Failure {
        Failure {
            code: match failure.kind {
                FailureKind::Failed => exit_code::FAILED,
                FailureKind::Usage => exit_code::USAGE,
                FailureKind::Refused => exit_code::REFUSED,
                FailureKind::Unreachable => exit_code::UNREACHABLE,
                FailureKind::Io => exit_code::IO,
                FailureKind::Interrupted => exit_code::INTERRUPTED,
            },
            before: failure.mistakes,
            what: failure.what,
            asked: failure.asked,
            there: failure.there,
            todo: failure.todo,
        }
    }
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Failure {
        runs::Failure::from(error).into()
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Failure {
        runs::Failure::from(error).into()
    }
}

impl From<CodeError> for Failure {
    fn from(error: CodeError) -> Failure {
        runs::Failure::from(error).into()
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
