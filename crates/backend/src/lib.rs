//! The two transports: the embedded engine and a real Slurm; and runs, seen through them.
//!
//! **Invariant:** the only place outside `job` that runs a real Slurm command.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod embedded;
mod facts;
mod follow;
mod job_view;
mod lost_work;
mod poller;
mod program;
mod reason_words;
mod run_links;
mod run_state;
mod runs;
mod slurm;
mod submit;
mod transport;

pub use embedded::{EmbeddedTransport, LOCAL};
pub use facts::node_local;
pub use follow::{FILE_PAUSE, Follower, Seen};
pub use job_view::{JobView, ViewState};
pub use poller::{Look, Poller, Reach};
pub use program::pin_program;
pub use reason_words::say_reason;
pub use run_state::{RunState, run_state};
pub use runs::{Run, Start, ask_for};
pub use slurm::{Discovered, SlurmTransport, discover, slurm_here};
pub use submit::submit_next;
pub use transport::{NewJob, TestedJob, Transport, TransportError};
