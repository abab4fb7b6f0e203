//! The embedded engine: owner, store, supervisors, recovery.
//!
//! ```text
//! clients ─► connection threads ─┐
//! fork server ─► events ─────────────┼─► owner (one thread) ─► sched ─► store ─► effects
//! adopted supervisors, signals ──┘
//! ```
//! **Invariant:** decides no scheduling; that is `sched`'s.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod connection;
pub mod fork_server;
mod log;
mod message;
mod messenger;
mod orphans;
mod outcome;
mod owner;
mod pinned;
pub mod record;
mod serve;
pub mod spec;
mod store;
pub mod supervisor;
mod supervisor_key;
mod users;

pub use serve::serve;
pub use supervisor_key::SupervisorKey;
