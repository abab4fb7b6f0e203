//! The transport to a real Slurm: the only place outside `job` that runs its commands.

mod command;
mod discover;
mod query;
mod transport;

pub use discover::{Discovered, discover};
pub use transport::SlurmTransport;
