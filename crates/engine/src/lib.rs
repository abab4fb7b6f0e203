//! The embedded engine: owner, store, supervisors, recovery.
//!
//! **Invariant:** decides no scheduling; that is `sched`'s.

pub mod nursery;
pub mod spec;
pub mod supervisor;
