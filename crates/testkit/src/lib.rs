//! Sealed environments for end-to-end tests, and a real Slurm beside them.
//!
//! **Invariant:** never shipped; drives the built binary from outside and knows nothing of its
//! insides.

mod engines;
mod failing_disk;
mod fake_slurm;
mod outcome;
mod pretended_gpus;
mod processes;
mod slurm;
mod test_env;
mod virtual_cluster;
mod wait;

pub use failing_disk::FailingDisk;
pub use fake_slurm::{FAKE_CLUSTER, FakeSlurm};
pub use outcome::Outcome;
pub use pretended_gpus::gpus_missing;
pub use processes::{end_all_that_mention, that_mention};
pub use slurm::{RealSlurm, SlurmShape};
pub use test_env::{TestEnv, this_user};
pub use virtual_cluster::VirtualCluster;
pub use wait::{skip, wait_until};
