//! Everything unsafe, and every edge to the system: processes, locks, atomic files, sockets, CPUs,
//! GPUs. Each newer system call has its fallback.
//!
//! **Invariant:** knows no job. All `unsafe` of the project lives here.

#![expect(unsafe_code, reason = "this crate is where it lives")]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod amd_gpus;
pub mod atomic;
mod attributes;
mod boot_id;
mod bounded;
mod c_math;
pub mod control_group;
pub mod copy;
pub mod copy_tree;
pub mod cpu;
pub mod cpu_cgroup;
pub mod cpu_topology;
pub mod daemon;
pub mod device_cgroup;
mod device_program;
pub mod disk_errors;
mod disk_free;
pub mod entry;
pub mod env_vars;
pub mod fs_kind;
mod gone;
mod gpu_samples;
pub mod gpus;
mod host_name;
pub mod inherited;
mod kernel_log;
mod limits;
mod listeners;
mod local_time;
mod local_zone;
pub mod lock;
pub mod machine_state;
pub mod memory;
pub mod memory_cgroup;
pub mod mounts;
pub mod named_file;
mod near_gpus;
mod nonblocking;
mod now;
pub mod number_locks;
pub mod odd_text;
pub mod own_file;
mod places;
pub mod poll;
pub mod private_folder;
pub mod process;
pub mod process_cgroup;
mod program_port;
mod random;
pub mod signals;
pub mod socket;
pub mod terminal;
mod tree_size;
pub mod usage;
pub mod users;
mod writable;

pub use amd_gpus::{AmdSampler, DRM};
pub use boot_id::boot_id;
pub use bounded::{Bounded, run_bounded};
pub use disk_free::disk_free;
pub use gone::FileWatch;
pub use gpu_samples::{GpuSample, GpuSampler};
pub use host_name::{host_name, machine};
pub use kernel_log::{KERNEL_LOG, KernelLog};
pub use limits::{SoftLimit, soft_limit, soft_limits};
pub use listeners::listeners;
pub use local_time::local_time;
pub use local_zone::local_zone;
pub use near_gpus::near_gpus;
pub use nonblocking::set_nonblocking;
pub use now::{boot_clock, now, wall_clock};
pub use places::{
    ENGINE_SOCKET, OWN_ENGINE, OWN_ENGINE_NAME, PlaceFacts, Places, PlacesError, is_usable,
};
pub use program_port::ProgramPort;
pub use random::{random, unique};
pub use tree_size::tree_size;
pub use writable::may_write_in;
