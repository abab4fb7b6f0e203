//! Names of environment variables: those that ranks find, the one place for them, and those of
//! Slurm that a plan reads.

/// Makes a constant of each name, and one table of all with what is written above them.
macro_rules! variables {
    (
        $(#[doc = $table_doc:literal])+ $table:ident:
        $( $(#[doc = $doc:literal])+ $name:ident; )*
    ) => {
        $( $(#[doc = $doc])+ pub const $name: &str = stringify!($name); )*

        $(#[doc = $table_doc])+
        pub const $table: &[(&str, &str)] = &[
            $( (stringify!($name), concat!($($doc),+).trim_ascii_start()), )*
        ];
    };
}

variables! {
    /// What each rank finds.
    OF_RANKS:

    /// The value of `{data}`.
    YARD_DATA;
    /// The value of `{checkpoints}`.
    YARD_CHECKPOINTS;
    /// The value of `{resume}`.
    YARD_RESUME;
    /// The value of `{resume_file}`; unset when there is nothing to resume.
    YARD_RESUME_FILE;
    /// The value of `{logs}`.
    YARD_LOGS;
    /// The value of `{run}`.
    YARD_RUN;
    /// The value of `{nodes}`.
    YARD_NODES;
    /// The value of `{gpus_per_node}`.
    YARD_GPUS_PER_NODE;
    /// The value of `{world_size}`.
    YARD_WORLD_SIZE;
    /// The value of `{repeat}`.
    YARD_REPEAT;
    /// Where rank 0 can listen, as `address:port`.
    YARD_COORDINATOR;
    /// The number of processes that Slurm starts: ranks, or with torchrun one a node.
    YARD_NUM_PROCESSES;
    /// The number of this process among them, from 0.
    YARD_PROCESS_ID;
    /// The number of this process on its node, from 0.
    YARD_LOCAL_PROCESS_ID;
    /// With `[resume] notify = "file"`: a path. When the file appears, the job is about to end.
    YARD_STOP_FILE;
}

variables! {
    /// What a user can set for all of their jobs, in Slurm's own language.
    OF_SBATCH:

    /// Sets `name`.
    SBATCH_JOB_NAME;
    /// Sets `account`.
    SBATCH_ACCOUNT;
    /// Sets `constraint`.
    SBATCH_CONSTRAINT;
    /// Sets `exclusive`: empty, or `exclusive`.
    SBATCH_EXCLUSIVE;
    /// Sets `cpus_per_gpu`.
    SBATCH_CPUS_PER_GPU;
    /// Sets `gpus`: `[TYPE:]N`.
    SBATCH_GPUS;
    /// Sets `gpus_per_node`: `[TYPE:]N`.
    SBATCH_GPUS_PER_NODE;
    /// Sets `memory_per_cpu`: in MiB without a unit.
    SBATCH_MEM_PER_CPU;
    /// Sets `memory_per_gpu`: in MiB without a unit.
    SBATCH_MEM_PER_GPU;
    /// Sets `memory`: in MiB without a unit.
    SBATCH_MEM_PER_NODE;
    /// Sets `partition`.
    SBATCH_PARTITION;
    /// Sets `qos`.
    SBATCH_QOS;
    /// Sets `time`: in minutes without a unit.
    SBATCH_TIMELIMIT;
}
