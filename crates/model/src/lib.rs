//! Slurm's language: what a person can say to Slurm and what Slurm says back.
//!
//! **Invariant:** pure. No clock, file, process, socket or environment is read here; time, user
//! names and host facts come in as arguments.

mod allocation;
mod array_facts;
mod array_spec;
mod asked_job;
mod begin_time;
mod cluster_facts;
mod constraint;
mod counted;
mod dependency;
mod described_job;
mod diagnostic;
mod distribution;
mod export;
mod foreign_directives;
mod getopt;
mod getopt_long;
mod given;
mod given_options;
mod gpu_names;
mod gres;
pub mod gres_check;
mod ids;
pub mod job_description;
mod job_record;
mod job_state;
mod mail_type;
mod memory_size;
mod nearest;
mod node_count;
mod node_name;
mod number;
mod problem;
mod refused_together;
mod request;
pub mod sbatch;
mod script;
mod signal_spec;
mod slurm_version;
pub mod srun;
mod step;
mod surroundings;
mod text_lengths;
mod time_limit;
mod timestamp;

pub mod file_pattern;
pub mod job_environment;
pub mod node_list;
mod option_rows;
pub mod option_table;
mod option_value;
mod reading;
pub mod script_lines;
mod value_check;

// What Slurm's commands print.
mod amount_text;
mod array_text;
mod duration_text;
mod field_table;
mod job_files;
mod job_info;
mod job_reason;
mod job_state_name;
mod long_options;
mod one_line;
mod sacct_fields;
pub mod scancel;
pub mod scontrol;
mod scontrol_show_job;
mod sinfo;
mod sinfo_fields;
mod squeue;
mod squeue_args;
mod squeue_format;
mod squeue_json;
mod squeue_order;
mod step_field_table;
mod wrap;

pub use allocation::{Allocation, GpuIndex, NodeShare};
pub use begin_time::parse_moment;
pub use cluster_facts::{ClusterFacts, Comeback, GpuGroup, Internet, NodeGroup};
pub use constraint::Constraint;
pub use counted::counted;
pub use dependency::{Condition, DependedJob, Dependency, DependencyKind, Element};
pub use diagnostic::{Diagnostic, Severity, Span, Voice, first_error};
pub use distribution::{Dealing, Distribution, Levels};
pub use export::Export;
pub use given::{Given, Origin};
pub use gpu_names::{counted_gpus, is_gpu_kind};
pub use gres::{GresItem, GresList, NoGres};
pub use ids::{JobId, RestartCount, StepId};
pub use job_record::{ArrayPlace, ArrayTask, JobRecord};
pub use job_state::{Ending, JobState, Outcome, PendingReason, Ran, WaitStatus};
pub use mail_type::{mail_types_text, parse_mail_types};
pub use memory_size::{mebibytes_option, parse_mebibytes};
pub use nearest::nearest;
pub use node_count::NodeCount;
pub use node_name::NodeName;
pub use problem::{Problem, count_lines, render, render_as};
pub use request::{
    ArraySpec, AskedTres, GpuCount, MailEvent, MemoryRequest, OpenMode, Request, SignalSpec,
    SignalTarget, TimeLimitRequest,
};
pub use signal_spec::{parse_signal, signal_name};
pub use slurm_version::{NoSlurmVersion, SlurmVersion};
pub use step::{StepRecord, StepRequest, StepState};
pub use surroundings::{Show, Surroundings};
pub use timestamp::{Seconds, Timestamp};

pub use amount_text::mebibytes_text;
pub use array_facts::ArrayFacts;
pub use array_text::array_elements_text;
pub use duration_text::{elapsed_text, moment_text, padded_elapsed_text};
pub use field_table::{Cell, FieldKind, JOB_FIELDS, JobField};
pub use job_info::{ArrayInfo, ArrayTaskInfo, JobInfo, ViewFacts};
pub use job_reason::{reason_text, signal_description};
pub use job_state_name::JobStateName;
pub use one_line::one_line;
pub use sacct_fields::{SACCT_FIELDS, SACCT_FORMAT, SacctField};
pub use scontrol_show_job::{ShowStyle, show_job};
pub use sinfo::{SINFO_FORMAT, SINFO_LONG, SINFO_SUMMARY, SinfoNode, SinfoPartition, sinfo_lines};
pub use sinfo_fields::{SINFO_FIELDS, SinfoField, SinfoValue};
pub use squeue::Printed;
pub use squeue_args::{
    JobName, SQUEUE_USAGE, SqueueAction, SqueueArgs, SqueueUsageError, StateFilter,
};
pub use squeue_format::{FieldTable, Format, Part};
pub use squeue_json::JobJson;
pub use step_field_table::{STEP_FIELDS, StepField, StepInfo};
pub use wrap::{WIDEST, wrap, wrap_within};
