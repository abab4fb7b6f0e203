//! Finds the mistakes of a batch script before the queue does.
//!
//! [`check`] reads a script as `sbatch` does (`model`), takes its commands apart ([`shell`]) and asks
//! every rule of [`RULES`]. A rule is a file in `rules/`: code, page and check stand together.
//!
//! **Invariant:** pure. The script, what is known of its cluster and what folders exist come in as
//! arguments; no file is opened here.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod body;
mod check;
mod components;
mod cut_short;
mod edit;
mod finding;
mod fix;
mod found;
mod ignore;
mod input;
mod lines;
pub mod port;
pub mod render;
mod rule;
mod rules;
mod script;
pub mod shell;
mod signals;
mod slip;
mod steps;
#[cfg(test)]
mod testing;
mod variables_read;

pub use body::{Activated, Body, Container, Start, Starter, Variable};
pub use check::{check, is_refused};
pub use edit::{Edit, apply};
pub use finding::{Finding, Label, Severity};
pub use fix::{Fixed, choose, fix};
pub use found::Found;
pub use input::{FolderFact, LintInput};
pub use lines::Lines;
pub use rule::{Holds, Rule};
pub use rules::{RULES, run_file_findings, run_misses, run_refused, run_without_plan};
pub use variables_read::variables_read;
