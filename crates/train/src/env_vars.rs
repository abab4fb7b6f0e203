//! Names of environment variables: those that ranks find, the one place for ours, and those of
//! Slurm that a plan reads.

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

/// Slurm's `--job-name`, where a person set it for all jobs: a run's name.
pub const SBATCH_JOB_NAME: &str = "SBATCH_JOB_NAME";
/// Slurm's `--account`.
pub const SBATCH_ACCOUNT: &str = "SBATCH_ACCOUNT";
/// Slurm's `--constraint`.
pub const SBATCH_CONSTRAINT: &str = "SBATCH_CONSTRAINT";
/// Slurm's `--exclusive`: set to nothing or to `exclusive`.
pub const SBATCH_EXCLUSIVE: &str = "SBATCH_EXCLUSIVE";
/// Slurm's `--gpus-per-node`, `[TYPE:]N`.
pub const SBATCH_GPUS_PER_NODE: &str = "SBATCH_GPUS_PER_NODE";
/// Slurm's `--mem`, in MiB without a unit.
pub const SBATCH_MEM_PER_NODE: &str = "SBATCH_MEM_PER_NODE";
/// Slurm's `--partition`.
pub const SBATCH_PARTITION: &str = "SBATCH_PARTITION";
/// Slurm's `--qos`.
pub const SBATCH_QOS: &str = "SBATCH_QOS";
/// Slurm's `--time`, in minutes without a unit.
pub const SBATCH_TIMELIMIT: &str = "SBATCH_TIMELIMIT";
