//! The embedded engine's wire: messages, framing, and a client.
//!
//! **Invariant:** no logic. Only `hello` and `handover` are stable between versions: a newer client
//! asks an older engine to hand over and starts its own; an older client of a newer engine goes on as
//! that one's program inside of jobs and under Slurm's names (`serving_program.rs`), else is refused. All
//! other messages may change with any version.

mod answer_portions;
mod call_error;
mod cancel_request;
mod client;
mod cluster_change;
mod cluster_report;
mod connect_error;
mod engine_facts;
mod engine_folder;
mod frame;
mod job_filter;
mod job_mail;
mod job_reports;
mod message;
mod named_job;
mod preemption;
mod reach_engine;
mod read_answer;
mod read_call;
mod refusal;
mod serving_program;
mod start_engine;
mod startup;
pub mod step_io;
mod step_launch;
mod step_programs;
mod submission;
mod version;
mod why_waiting;
#[cfg(test)]
mod wire_tests;

pub use answer_portions::WholeCall;
pub use call_error::CallError;
pub use cancel_request::{CancelRequest, Selector};
pub use client::{ChangedJobs, Client, SubmittedJob};
pub use cluster_change::{ClusterChange, NodeChange, NodeUpdate};
pub use cluster_report::{
    ClusterReport, LicenceReport, NodeReason, NodeReport, PartitionReport, SwitchReport,
};
pub use connect_error::ConnectError;
pub use engine_facts::{EngineFacts, NodeFacts, PartitionFacts, UNTYPED_GPU};
pub use engine_folder::EngineFolder;
pub use frame::{LONGEST_ANSWER, LONGEST_CALL, append_frame, read_frame, write_frame};
pub use job_filter::{EndedFilter, JobFilter};
pub use job_mail::JobMail;
pub use job_reports::{HistoryReports, JobReports};
pub use message::{Answer, Call, Handover, Hello, HelloAnswer, Watched};
pub use named_job::{ACCESS_DENIED, NOT_THE_LEADER, NamedJob};
pub use preemption::{LossOfPlace, LostPlace};
pub use read_call::read_call;
pub use refusal::Refusal;
pub use serving_program::{
    leave_serving_program, newer_program, pinned_name, program_of_newer_engine,
};
pub use start_engine::{StartAnswer, StartRequest, start_engine_here};
pub use startup::Startup;
pub use step_launch::{NewStep, StepLaunch, StepPart, StepRequestName, StepTask, TaskFiles};
pub use step_programs::StepPrograms;
pub use submission::{AsUser, Submission};
pub use version::{PROTOCOL, VERSION};
pub use why_waiting::{
    ArrayThrottle, AwaitedJob, HeldAmount, JobHolds, LicenceNeed, NeverMet, NodesNeeded,
    NotPlanned, OutOfUse, PreemptedJob, Unmet, WhyWaiting, WouldStart, WouldWait,
};
