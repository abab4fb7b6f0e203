//! Run files, plans and launchers: from what a person wrote to what a rank is started with.
//!
//! **Invariant:** pure. Text, facts and paths come in as arguments; no file is opened here.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod environment_plan;
mod launcher;
mod overrides;
mod plan;
mod rank_command;
mod resolved;
mod run_file;

pub use environment_plan::{EnvironmentPlan, Prelude, Python};
pub use launcher::{Launcher, Shape};
pub use overrides::Overrides;
pub use plan::{CheckpointPlan, DataPlan, JobPlace, Plan, ResumePlan};
pub use rank_command::{EnvChange, JobShape, RankCommand, Rendezvous};
pub use resolved::{Resolved, Source};
pub use run_file::{
    CheckpointSection, Complete, CompleteWord, DataSection, EnvironmentSection, GpuMemory, Keep,
    MemorySize, Notify, NotifySection, PythonChoice, ResourceSection, ResumeOn, ResumeSection,
    RunFile, Sections,
};
