//! The transport to a real Slurm: the only place outside `job` that runs its commands.

mod batch_script;
mod cluster_query;
mod command;
mod commands;
mod discover;
mod query;
mod transport;

pub use discover::{Discovered, JobSize, ReportedNodes, ReportedSite, discover, slurm_here};
pub use transport::SlurmTransport;

use crate::transport::TransportError;
use model::{Denial, JobRefusal};

/// What a command that submits says against a job.
fn refused(cluster: &str, asked: String, there: String, todo: &str) -> TransportError {
    TransportError::Refused {
        cluster: cluster.to_owned(),
        refusal: Box::new(JobRefusal {
            denial: Denial::in_answer(&there),
            asked,
            there,
            todo: todo.to_owned(),
            limit: None,
            detail: None,
        }),
    }
}
