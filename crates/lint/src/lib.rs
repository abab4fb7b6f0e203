//! Finds the mistakes of a batch script before the queue does.
//!
//! **Invariant:** pure. The script, what is known of its cluster and what folders exist come in as
//! arguments; no file is opened here.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod edit;
mod finding;
pub mod shell;

pub use edit::{Edit, apply};
pub use finding::{Finding, Label, Severity};
