//! What a real Slurm 22.05.8 answered, against what is made here of the same input.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod admit;
mod counts;
mod held_job;
mod language;

use yard_resources::{Defaults, Demand, LargestNode, recorded};
