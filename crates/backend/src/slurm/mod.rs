//! The door to a real Slurm: the only place outside `job` that runs its commands.

mod command;
mod discover;
mod door;
mod query;

pub use discover::{Discovered, discover};
pub use door::SlurmDoor;
