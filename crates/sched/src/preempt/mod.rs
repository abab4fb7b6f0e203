//! Preemption: a job that waits takes the places of running ones that the cluster lets it take.
//!
//! ```text
//! rules.rs    who may take whose place, and what becomes of that one
//! choose.rs   which of those that may lose theirs do
//! claim.rs    in a pass: room for a job once they are gone
//! soon.rs     what is free for it then
//! lose.rs     what a job does that loses its place: it ends, is queued again, or stops for a while
//! resume.rs   those that stopped go on
//! ```
//! A job that has no room first gets what is free and then what those give back that are being
//! ended already. It does not start in the same pass, but for CPUs of jobs that are suspended: until
//! the others are gone its promise keeps their room.

mod choose;
mod claim;
mod lose;
mod resume;
pub(crate) mod rules;
mod soon;

pub(crate) use claim::{Claims, Taker};
pub(crate) use lose::grace_of;
