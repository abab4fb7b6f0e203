//! The command line of `scontrol`: what of it the embedded engine answers to.

mod args;
mod command;
mod daemons;
mod entity;
mod jobs;
mod keyword;
mod settings;
mod show;
mod usage_error;

pub(super) use crate::values::abbreviates;
pub(super) use args::options;
pub use args::{ScontrolArgs, parse};
pub use command::{ClusterCommand, ScontrolCommand};
pub use jobs::{ScontrolJob, job_ids};
pub use usage_error::ScontrolUsageError;
