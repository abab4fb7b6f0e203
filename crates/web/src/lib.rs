//! Live pages about a user's runs: a list, a run with its log and plots, what waits and why. On a
//! loopback address, behind a token.
//!
//! **Invariant:** shows and never decides; what it knows comes from `runs`.

mod guard;
mod news;
mod serve;

pub use guard::Token;
pub use serve::{Server, open};
