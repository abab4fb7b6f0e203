//! What runs inside a job: the conductor, the agents, the rank wrapper.
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod agent;
mod grace;
mod hashed_copy;
mod protocol;
mod srun;
