//! What is asked for once command line, environment and script were put together.

pub(crate) mod asked_job;
pub(crate) mod cluster_facts;
pub(crate) mod component;
pub(crate) mod container_runtime;
pub(crate) mod described_job;
pub mod gres_check;
pub(crate) mod handed_on;
pub(crate) mod job_change;
mod job_change_table;
mod job_change_value;
pub mod job_description;
pub(crate) mod job_refusal;
pub mod multi_prog;
pub(crate) mod node_files;
pub(crate) mod rare_options;
#[cfg(test)]
pub(crate) mod read_line;
pub(crate) mod refused_together;
pub(crate) mod request;
pub mod salloc;
pub mod sbatch;
pub(crate) mod shown_options;
pub mod srun;
mod srun_step;
pub(crate) mod step_request;
pub mod submission_environment;

pub use cluster_facts::{ClusterFacts, Comeback, GpuGroup, Internet, KILL_WAIT, NodeGroup};
pub use component::{
    COMPONENT_VARIABLES, ComponentPlace, OWN_OF_COMPONENTS, exclude_nodes_of_others,
};
pub use container_runtime::{ContainerFacts, ContainerRuntime, RuntimeCache};
pub use job_change::{JobChange, JobChangeError, LimitChange, WrittenChange};
pub use job_change_table::job_changes;
pub use job_refusal::JobRefusal;
pub use rare_options::{RareOptions, RareOptionsBox};
pub use request::{AskedSwitches, AskedTres, CpuRange, NodeOptions, Request, Sharing};
pub use shown_options::ShownOptions;
pub use step_request::StepRequest;
