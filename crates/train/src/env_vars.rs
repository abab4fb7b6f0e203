//! Names of the environment variables that ranks find: the one place for ours.

/// `{data}`
pub const YARD_DATA: &str = "YARD_DATA";
/// `{checkpoints}`
pub const YARD_CHECKPOINTS: &str = "YARD_CHECKPOINTS";
/// `{resume}`
pub const YARD_RESUME: &str = "YARD_RESUME";
/// `{resume_file}`; unset when there is nothing to resume.
pub const YARD_RESUME_FILE: &str = "YARD_RESUME_FILE";
/// `{logs}`
pub const YARD_LOGS: &str = "YARD_LOGS";
/// `{run}`
pub const YARD_RUN: &str = "YARD_RUN";
/// `{nodes}`
pub const YARD_NODES: &str = "YARD_NODES";
/// `{gpus_per_node}`
pub const YARD_GPUS_PER_NODE: &str = "YARD_GPUS_PER_NODE";
/// `{world_size}`
pub const YARD_WORLD_SIZE: &str = "YARD_WORLD_SIZE";
/// `{repeat}`
pub const YARD_REPEAT: &str = "YARD_REPEAT";
/// Where rank 0 listens, as `address:port`.
pub const YARD_COORDINATOR: &str = "YARD_COORDINATOR";
/// How many tasks the ranks' step has.
pub const YARD_NUM_PROCESSES: &str = "YARD_NUM_PROCESSES";
/// The task's number among them, from 0.
pub const YARD_PROCESS_ID: &str = "YARD_PROCESS_ID";
/// The task's number on its node, from 0.
pub const YARD_LOCAL_PROCESS_ID: &str = "YARD_LOCAL_PROCESS_ID";
/// The file whose appearance says that the job is about to end, where `[resume] notify = "file"`.
pub const YARD_STOP_FILE: &str = "YARD_STOP_FILE";
