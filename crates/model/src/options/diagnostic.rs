//! What parsing has to say about a text: it never gives up.

use crate::options::option_table::Command;
use std::fmt;

/// One remark about what was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// A name that stays: `unknown-option`, `invalid-value`, …
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub span: Span,
    /// In Slurm's own words where it has them; may have several lines.
    pub message: String,
    /// How Slurm prints it.
    pub voice: Voice,
    /// The exit status that Slurm's command ends with; 0 when it goes on.
    pub exit: u8,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing: an option has no effect here.
    Note,
    /// Probably a mistake.
    Warning,
    /// Slurm refuses it.
    Error,
}

/// Where a word stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// The request as a whole.
    Whole,
    /// A word of the command line, counted from 0 after the command's name.
    Argument(usize),
    /// An environment variable.
    Variable(String),
    /// Bytes of a line of the script, lines counted from 1.
    Script {
        /// The line.
        line: usize,
        /// Its first byte, counted from 0 in the line.
        start: usize,
        /// The byte after its last.
        end: usize,
    },
}

/// How Slurm's commands print a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// `sbatch: error: …` on every line.
    Error,
    /// `sbatch: fatal: …`
    Fatal,
    /// `sbatch: …`
    Info,
    /// As it stands.
    Bare,
    /// `sbatch: …` and the hint that `--help` helps: what `getopt_long` found.
    Usage,
}

impl Diagnostic {
    /// An error in Slurm's words, after which its command ends with `exit`.
    #[must_use]
    pub fn error(code: &'static str, span: Span, message: impl Into<String>, exit: u8) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            span,
            message: message.into(),
            voice: Voice::Error,
            exit,
        }
    }

    /// An error of which Slurm says `fatal:`.
    #[must_use]
    pub fn fatal(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            voice: Voice::Fatal,
            ..Diagnostic::error(code, span, message, 1)
        }
    }

    /// Something that does not stop the command.
    #[must_use]
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            voice: Voice::Info,
            ..Diagnostic::error(code, span, message, 0)
        }
    }

    /// Something worth knowing.
    #[must_use]
    pub fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Note,
            ..Diagnostic::warning(code, span, message)
        }
    }

    /// The lines that the command prints, each with its name and kind in front.
    #[must_use]
    pub fn printed(&self, command: Command) -> String {
        let name = command.name();
        let prefix = match self.voice {
            Voice::Error => format!("{name}: error: "),
            Voice::Fatal => format!("{name}: fatal: "),
            Voice::Info | Voice::Usage => format!("{name}: "),
            Voice::Bare => String::new(),
        };
        let mut text = String::new();
        for line in self.message.lines() {
            text.push_str(&format!("{prefix}{line}\n"));
        }
        if self.voice == Voice::Usage {
            text.push_str(&format!("Try \"{name} --help\" for more information\n"));
        }
        text
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.span {
            Span::Whole => {}
            Span::Argument(word) => write!(f, "argument {}: ", word + 1)?,
            Span::Variable(name) => write!(f, "{name}: ")?,
            Span::Script { line, start, .. } => write!(f, "{line}:{}: ", start + 1)?,
        }
        write!(f, "{}", self.message)
    }
}

/// The first error, at which Slurm's commands stop.
#[must_use]
pub fn first_error(diagnostics: &[Diagnostic]) -> Option<&Diagnostic> {
    diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == Severity::Error)
}
