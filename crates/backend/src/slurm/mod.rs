//! The transport to a real Slurm: the only place outside `job` that runs its commands.

mod batch_script;
mod cluster_query;
mod command;
mod commands;
mod discover;
mod query;
mod transport;

pub use batch_script::OutputFile;
pub use discover::{Discovered, ReportedNodes, discover, slurm_here};
pub use transport::SlurmTransport;
