//! The arguments and the output of Slurm's commands.

pub(crate) mod assoc_mgr;
pub(crate) mod lost_submission;
pub(crate) mod option_tables;
mod padding;
pub(crate) mod reservation_counts;
pub(crate) mod sacct;
pub(crate) mod sacctmgr;
pub mod sattach;
pub mod sbcast;
pub mod scancel;
pub mod scontrol;
pub(crate) mod scontrol_config;
pub(crate) mod scontrol_nodes;
pub(crate) mod scontrol_partition;
pub(crate) mod scontrol_reservation;
pub(crate) mod scontrol_show_job;
pub(crate) mod sdiag;
pub(crate) mod show_reservation;
pub(crate) mod sinfo;
pub(crate) mod sinfo_args;
pub(crate) mod sinfo_order;
pub(crate) mod sinfo_reservations;
pub(crate) mod sinfo_states;
mod sinfo_verbose;
pub(crate) mod sprio;
pub(crate) mod squeue;
pub(crate) mod squeue_args;
pub(crate) mod squeue_order;
mod squeue_verbose;
pub(crate) mod sshare;
pub(crate) mod sstat;

pub use assoc_mgr::{AssocMgrFacts, AssocMgrRefusal, AssocMgrRequest, CountedJob};
pub use lost_submission::{FIND_BY_COMMENT, answer_was_lost, job_with_comment};
pub use option_tables::{commands_with_options, option_lines, options_of_command};
pub use sacct::{
    Parsable, SacctArgs, SacctBrought, SacctColumn, SacctData, SacctError, SacctJob, SacctRow,
    SacctShow, SacctUnits, TresUsed, UsedByTask, sacct_columns_text,
};
pub use sacctmgr::{
    ModifyJob, SacctmgrAnswer, SacctmgrArgs, SacctmgrFacts, SacctmgrFile, SacctmgrShow, TresName,
    UsageReset,
};
pub use scontrol_config::{config_text, decay_half_life};
pub use scontrol_nodes::{NodeStateWord, NodeWords, SaidOfWords, node_words};
pub use scontrol_partition::{PartitionWords, partition_words};
pub use scontrol_reservation::{ReservationWords, reservation_request};
pub use scontrol_show_job::{ShowStyle, show_job};
pub use sdiag::{
    DataFormat, SDIAG_HELP, SDIAG_USAGE, SdiagArgs, SdiagShow, SdiagSort, SdiagUsageError,
};
pub use show_reservation::show_reservation;
pub use sinfo_args::{SINFO_USAGE, SinfoAction, SinfoArgs, SinfoUsageError};
pub use sinfo_reservations::reservations_text;
pub use sinfo_states::NodeStateFilter;
pub use sprio::{SPRIO_USAGE, SprioArgs, SprioShow, SprioUsageError};
pub use squeue::Printed;
pub use squeue_args::{
    JobName, SQUEUE_USAGE, SqueueAction, SqueueArgs, SqueueUsageError, StateFilter,
};
pub use sshare::{SSHARE_USAGE, SshareArgs, SshareShow, SshareUsageError, sshare_fields_text};
pub use sstat::{
    SSTAT_USAGE, SstatArgs, SstatChoice, SstatShow, SstatStep, SstatUsageError, sstat_fields_text,
};
