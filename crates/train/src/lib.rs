//! Run files, plans and launchers: from what a person wrote to what a rank is started with.
//!
//! **Invariant:** pure. Text, facts and paths come in as arguments; no file is opened here.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod amounts;
mod cluster_names;
mod containers;
mod describe;
pub mod env_vars;
mod environment_job;
mod environment_plan;
mod gpu_spread;
mod grace;
mod hang_plan;
mod input_variables;
mod keys;
mod launcher_rules;
mod launchers;
mod new_run_file;
mod node_choice;
mod node_share;
mod notify_plan;
mod overlay;
mod overrides;
mod own_options;
mod parse;
mod per_gpu;
mod placeholders;
mod plan;
mod planned_environment;
mod planner;
mod rank_command;
mod reader;
mod refusal;
mod resolved;
mod run_file;
mod script;
mod service_plan;
mod show;
pub mod site;
mod slurms_words;
mod staging;
mod unsaved;

pub use amounts::{parse_length, say_bytes, say_limit, say_mebibytes, say_seconds};
pub use cluster_names::check_cluster_names;
pub use containers::{
    ContainerPlace, ContainerPlan, ContainerStart, Image, Mount, PrivateCopy, StepPlace,
    about as about_runtime, copy_words, enroot_address, is_misleading, is_passed,
};
pub use environment_plan::{CONDA_HOOK, EnvironmentPlan, Prelude, Python};
pub use grace::default_grace;
pub use hang_plan::HangPlan;
pub use input_variables::{INPUT_VARIABLES, Variables};
pub use keys::{
    Flag, KeyDefault, KeyRow, SectionRow, Value, config_keys, is_of_one_run, key_sections,
    resource_keys, top_keys,
};
pub use launchers::{
    FirstTask, Launch, Launcher, Meeting, Shape, TORCH_VARIABLES, command_line, first_task, launch,
    starts_horovodrun,
};
pub use model::{Problem, render};
pub use new_run_file::{NewRunFile, NewValue, ScriptStart, from_script, toml_text, toml_texts};
pub use notify_plan::{HookForm, MailServer, NotifyPlan};
pub use overrides::{OverrideProblem, Overrides};
pub use placeholders::{PLACEHOLDERS, Placeholder, UnknownPlaceholder, Values, fill};
pub use plan::{CheckpointPlan, DataPlan, JobPlace, Plan, ResumePlan};
pub use planned_environment::container_of;
pub use planner::{PlanInput, plan};
pub use rank_command::{Binding, EnvChange, JobShape, RankCommand, Rendezvous};
pub use refusal::{Refusal, RefusalKind};
pub use resolved::{Resolved, Source};
pub use run_file::{
    AfterSection, CheckpointSection, Complete, CompleteWord, ContainerSection, DataSection,
    EnvironmentSection, GpuMemory, Keep, MemorySize, Notify, NotifySection, OnHang, PythonChoice,
    ResourceSection, ResumeBy, ResumeOn, ResumeSection, RunFile, Sections, ServiceSection,
    WatchSection,
};
pub use script::directive;
pub use service_plan::ServicePlan;
pub use show::Row;
pub use slurms_words::slurms_word;
pub use staging::{StageKind, collision, place_below};
pub use unsaved::unsaved_notes;
