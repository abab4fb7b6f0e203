//! What a real Slurm 22.05.8 answered, against what is made here of the same input.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod admit;
mod held_job;
mod language;
