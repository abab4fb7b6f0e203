//! The two transports: the embedded engine and a real Slurm.
//!
//! **Invariant:** the only place outside `job` that runs a real Slurm command.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod cluster_view;
mod embedded;
mod facts;
mod job_view;
mod output_file;
mod poller;
mod shared_queue;
mod slurm;
mod transport;

pub use api::{EngineFolder, WhyWaiting};
pub use cluster_view::{Amount, ClusterView, NodeView, QueueState, QueuedJob, Used};
pub use embedded::{EmbeddedTransport, LOCAL};
pub use facts::{node_local, runtimes_here};
pub use job_view::{JobView, ViewState};
pub use output_file::OutputFile;
pub use poller::{Look, Poller, Reach};
pub use shared_queue::{INTERVAL, SharedQueue, Snapshot};
pub use slurm::{
    Discovered, JobSize, ReportedNodes, ReportedSite, SlurmTransport, discover, slurm_here,
};
pub use transport::{NewJob, TestedJob, TestedStart, Transport, TransportError};
