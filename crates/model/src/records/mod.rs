//! What is known of jobs, steps, nodes and partitions that are there.

pub(crate) mod account_chains;
pub(crate) mod account_numbers;
pub(crate) mod accounting;
pub(crate) mod accounting_extras;
pub(crate) mod accounting_transaction;
pub(crate) mod array_facts;
pub(crate) mod array_info;
pub(crate) mod association_tree;
pub(crate) mod batch_files;
pub(crate) mod cluster_changes;
pub mod component_environment;
mod job_counts;
pub mod job_environment;
pub(crate) mod job_files;
pub(crate) mod job_info;
pub(crate) mod job_prolog;
pub(crate) mod job_reason;
pub(crate) mod job_record;
pub(crate) mod job_record_change;
mod job_request_info;
pub(crate) mod job_start;
pub(crate) mod job_state;
pub(crate) mod job_state_name;
mod job_variables;
pub(crate) mod node_event;
pub(crate) mod node_gres;
pub(crate) mod node_info;
pub(crate) mod node_state;
pub(crate) mod partition_bound;
pub(crate) mod priority_report;
pub mod program_environment;
pub(crate) mod reached_limit;
pub(crate) mod recorded;
pub(crate) mod requeue_hold;
pub(crate) mod reservation;
pub(crate) mod reservation_denial;
pub(crate) mod reservation_flag;
pub(crate) mod reservation_request;
pub(crate) mod reserved_for;
pub(crate) mod resize_scripts;
pub(crate) mod scheduler_statistics;
pub mod srun_environment;
pub(crate) mod started_by;
pub(crate) mod step;
pub(crate) mod step_use;
pub(crate) mod submitter;
mod task_counts;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod view_facts;

pub(crate) use account_chains::AccountChains;
pub use account_numbers::AccountNumbers;
pub use accounting::{
    Account, AccountAssociation, AccountUser, Accounting, AccountingUse, Qos, Settings,
    association_in,
};
pub use accounting_extras::{LicenceResource, Wckey};
pub use accounting_transaction::AccountingTransaction;
pub use array_facts::ArrayFacts;
pub use array_info::{ArrayInfo, ArrayTaskInfo};
pub use association_tree::TreePlace;
pub use batch_files::{BatchFile, batch_files, default_output};
pub use cluster_changes::{ClusterChanges, PartitionChange};
pub use job_info::JobInfo;
pub use job_prolog::JobProlog;
pub use job_reason::{reason_text, signal_description};
pub use job_record::{ArrayPlace, ArrayTask, JobRecord, JobStanding, PlannedStart};
pub use job_record_change::JobRecordChange;
pub use job_start::{JobHistory, JobStart};
pub use job_state::{
    Ending, HeldBy, JobState, OUT_OF_MEMORY, Outcome, PendingReason, Ran, Suspension, WaitStatus,
};
pub use job_state_name::JobStateName;
pub use node_event::{CLUSTER_REGISTERED, NodeEvent};
pub(crate) use node_gres::held_gpus_text;
pub use node_gres::{NodeGpus, NodeGres};
pub use node_info::{SinfoNode, SinfoPartition, SinfoReason, over_subscribe_text};
pub(crate) use node_state::flag as node_state_flag;
pub use node_state::{NodeMark, NodeState, NodeUse};
pub use partition_bound::{PartitionBound, PartitionSays};
pub use priority_report::{JobPriorityInfo, PriorityParts, PriorityReport, ShareRow};
pub use reached_limit::{LimitScope, LimitedAmount, ReachedLimit};
pub use recorded::Recorded;
pub use requeue_hold::RequeueHold;
pub use reservation::Reservation;
pub use reservation_denial::ReservationDenial;
pub use reservation_flag::{FlagWords, ReservationFlag};
pub use reservation_request::{LengthChange, ReservationRequest, ReservedNodes};
pub use reserved_for::{NameSign, NamesChange, ReservedFor};
pub use resize_scripts::ResizeScripts;
pub use scheduler_statistics::{CallCount, Passes, SchedulerStatistics};
pub use started_by::StartedBy;
pub use step::{SrunProcess, StepRecord, StepState};
pub use step_use::{StepHolders, StepUse, TaskUse};
pub use submitter::Submitter;
pub use view_facts::{PartitionSharing, PartitionView, ViewFacts};
