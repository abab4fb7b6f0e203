//! The embedded engine: owner, store, supervisors, recovery.
//!
//! ```text
//! clients ─► connection threads ─┐
//! fork server ─► events ─────────────┼─► owner (one thread) ─► sched ─► store ─► effects
//! adopted supervisors, signals ──┘
//! ```
//! **Invariant:** decides no scheduling; that is `sched`'s.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod boot_time;
mod call_counts;
mod connection;
mod connection_threads;
mod engine_cluster;
pub mod fork_server;
mod isolation;
mod job_networks;
mod job_program;
mod job_record;
mod log;
mod message;
mod messenger;
mod named_ids;
mod networks;
mod node_disks;
mod open_connections;
mod orphans;
mod outcome;
mod own_processes;
mod owner;
mod pinned;
mod private;
mod quick_forkers;
pub mod record;
mod record_tag;
mod serve;
mod shared_parts;
pub mod spec;
mod srun_folder;
mod stopped;
mod store;
pub mod supervisor;
mod supervisor_key;

mod taken_port;
mod user_networks;
mod users;

pub use boot_time::BootTime;
pub use engine_cluster::check_cluster;
pub use pinned::add_slurm_commands;
pub use record_tag::RecordTag;
pub use serve::serve;
pub use supervisor_key::SupervisorKey;
pub use user_networks::keep as keep_networks;
