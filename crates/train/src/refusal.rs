//! Why there is no plan.

use std::fmt;

/// Why there is no plan, in three parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// What kind of refusal it is.
    pub kind: RefusalKind,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What was asked, and where.
    pub asked: String,
    /// What there is.
    pub there: String,
    /// What to do.
    pub todo: String,
}

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// What was asked contradicts itself, or lacks something.
    Usage,
    /// It can never run on this cluster.
    NeverFits,
}

impl fmt::Display for Refusal {
    /// The message and the three parts, a line each, without a last line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.message)?;
        writeln!(f, "  asked   {}", self.asked)?;
        writeln!(f, "  there   {}", self.there)?;
        write!(f, "  do      {}", self.todo)
    }
}
