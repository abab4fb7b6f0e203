//! An option that was given, and where.

use crate::options::diagnostic::Span;
use crate::options::option_table::Opt;

/// An option that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// Its row of the table.
    pub option: &'static Opt,
    /// Its value, where one stood.
    pub value: Option<String>,
    /// What was written for its name: `--out` for `--output`, `-p`, or the variable's name.
    pub written: String,
    /// The word that it began in.
    pub span: Span,
    /// Its value alone: the next word, or what follows `=` or the letter in the same word. The whole
    /// word where quotes or backslashes stand in it.
    pub value_span: Option<Span>,
    /// Where it was read from.
    pub origin: Origin,
}

/// Where an option came from; a later one goes before an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A directive of the script.
    Script,
    /// An input variable.
    Environment,
    /// The command line.
    Arguments,
}
