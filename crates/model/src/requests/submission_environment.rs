//! The variables that a submission sets, and those that it must not hand on.

use crate::requests::Request;
use crate::values::{OpenMode, Setter, Variables};
use std::path::Path;

/// Beginnings of the names of variables that belong to one job or step: what `sbatch`, called
/// inside a job, must not hand on to the new one.
pub const OF_ONE_JOB: &[&str] = &[
    "SLURM_ARRAY_",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPUS_PER_",
    "SLURM_GPUS",
    "SLURM_GTIDS",
    "SLURM_JOB",
    "SLURM_LOCALID",
    "SLURM_MEM_PER_",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NODELIST",
    "SLURM_NODE_ALIASES",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_OVERCOMMIT",
    "SLURM_PROCID",
    "SLURM_RESTART_COUNT",
    "SLURM_STEP",
    "SLURM_TASKS_PER_NODE",
    "SLURM_TASK_PID",
    "SLURM_THREADS_PER_CORE",
    "SLURMD_NODENAME",
    "SRUN_CPUS_PER_TASK",
];

/// What the submitting command adds to the environment that it sends: where and how it was called.
/// `request` gives what later `srun`s read again.
#[must_use]
pub fn submission_variables(request: &Request, host: &str, cwd: &Path, umask: u32) -> Variables {
    let mut set = Setter::default();
    set.to("SLURM_SUBMIT_DIR", cwd.display());
    set.to("SLURM_SUBMIT_HOST", host);
    set.to("SLURM_JOB_NAME", &request.name);
    set.to("SLURM_UMASK", format!("{umask:04o}"));
    set.to("SLURM_PRIO_PROCESS", 0);
    set.maybe("SLURM_JOB_DEPENDENCY", request.rare.dependency.as_ref());
    set.maybe(
        "SLURM_OPEN_MODE",
        request.rare.open_mode.map(|mode| match mode {
            OpenMode::Append => "a",
            OpenMode::Truncate => "t",
        }),
    );
    set.0
}
