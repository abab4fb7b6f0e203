//! The embedded engine: owner, store, supervisors, recovery.
//!
//! **Invariant:** decides no scheduling; that is `sched`'s.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

pub mod nursery;
pub mod spec;
pub mod supervisor;
