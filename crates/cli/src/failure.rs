//! Why a command of `yard` did not do what was asked, in three parts, and its exit code.

use crate::exit_code;
use crate::printer::Printer;
use backend::TransportError;

/// What was asked, what there is, what to do.
#[derive(Debug)]
pub struct Failure {
    /// One of [`exit_code`].
    pub code: u8,
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

    /// All of it in one line, for a list of notes.
    #[must_use]
    pub fn line(&self) -> String {
        let more = [&self.asked, &self.there, &self.todo];
        let more = more.into_iter().flatten().map(String::as_str);
        let parts: Vec<&str> = std::iter::once(self.what.as_str()).chain(more).collect();
        parts.join("; ")
    }

    /// Prints it and returns its exit code.
    pub fn report(&self, printer: &Printer) -> u8 {
        printer.say(&format!("error: {}", self.what));
        let parts = [
            ("asked", &self.asked),
            ("there", &self.there),
            ("do", &self.todo),
        ];
        for (title, text) in parts {
            if let Some(text) = text {
                printer.say(&format!("  {title:<7} {text}"));
            }
        }
        self.code
    }
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Failure {
        match error {
            TransportError::Unreachable {
                cluster,
                message,
                todo,
            } => Failure::new(
                exit_code::UNREACHABLE,
                format!("{cluster} can't be reached"),
            )
            .there(message)
            .todo(todo),
            TransportError::Refused {
                cluster,
                asked,
                there,
                todo,
            } => Failure::new(exit_code::REFUSED, format!("{cluster} refuses the job"))
                .asked(asked)
                .there(there)
                .todo(todo),
            TransportError::Job { message } => {
                Failure::new(exit_code::FAILED, message).todo("yard ls shows what there is")
            }
            error @ (TransportError::Command { .. }
            | TransportError::Answer { .. }
            | TransportError::TimedOut { .. }) => {
                Failure::new(exit_code::UNREACHABLE, error.to_string())
            }
            TransportError::File { path, source } => Failure::new(
                exit_code::IO,
                format!("{} can't be used: {source}", path.display()),
            )
            .todo("make room or give yourself the right, or set TRAINYARD_HOME to another folder"),
            TransportError::Folder(error) => error.into(),
        }
    }
}
