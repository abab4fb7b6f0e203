//! Slurm's language: what a person can say to Slurm and what Slurm says back.
//!
//! **Invariant:** pure. No clock, file, process, socket or environment is read here; time, user
//! names and host facts come in as arguments.

mod allocation;
mod cluster_facts;
mod ids;
mod job_record;
mod job_state;
mod request;
mod step;
mod timestamp;

pub use allocation::{Allocation, GpuIndex, NodeShare};
pub use cluster_facts::{ClusterFacts, GpuGroup, Internet, NodeGroup};
pub use ids::{JobId, NodeName, RestartCount, StepId};
pub use job_record::{ArrayPlace, ArrayTask, JobRecord};
pub use job_state::{Ending, JobState, Outcome, PendingReason, Ran, WaitStatus};
pub use request::{
    ArraySpec, GpuCount, MailEvent, MemoryRequest, OpenMode, Request, SignalSpec, SignalTarget,
    TimeLimitRequest,
};
pub use step::{StepRecord, StepRequest, StepState};
pub use timestamp::{Seconds, Timestamp};
