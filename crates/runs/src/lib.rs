//! The run service: what can be done with runs, for a terminal, a page or another program alike.
//!
//! **Invariant:** it knows no terminal and prints nothing; what goes in and comes out is
//! serialisable, but for the way to a cluster.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod failure;
mod follower;
mod lost_work;
mod plain_jobs;
mod program;
mod reason_words;
mod run;
mod run_links;
mod run_state;
mod spoken_name;
mod submit;

pub use failure::{Failure, FailureKind};
pub use follower::{FILE_PAUSE, Follower, RunEvent};
pub use plain_jobs::{PlainJob, plain_jobs};
pub use program::pin_program;
pub use reason_words::say_reason;
pub use run::{Run, Start, ask_for};
pub use run_state::{RunState, run_state};
pub use spoken_name::{JobNumber, NEWEST, SLURM, SpokenName};
pub use submit::submit_next;
