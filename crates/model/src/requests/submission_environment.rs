//! The variables that a submission sets, and those that it must not hand on.

use crate::requests::Request;
use crate::requests::job_description::JobDescription;
use crate::values::{OpenMode, Setter, Variables};
use std::path::Path;

/// The variable with the job's name.
pub(crate) const JOB_NAME: &str = "SLURM_JOB_NAME";

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
    set.to(JOB_NAME, &request.name);
    set.to("SLURM_UMASK", format!("{umask:04o}"));
    set.to("SLURM_PRIO_PROCESS", 0);
    set.maybe("SLURM_JOB_DEPENDENCY", request.rare.dependency.as_ref());
    set.0
}

/// What `sbatch` hands on of a job's options, by the names from which an `srun` in the job takes them
/// again; the others follow from what the job was given.
#[must_use]
pub fn option_variables(request: &Request, job: &JobDescription) -> Variables {
    let mut set = Setter::default();
    // Tasks on threads are as many as a core has, whatever their number.
    let all_threads = job.hint.as_deref() == Some("multithread");
    let of_core = job.tasks_per_core.or(all_threads.then_some(ANY_NUMBER));
    set.maybe("SLURM_HINT", job.hint.as_ref());
    set.maybe("SLURM_NTASKS_PER_CORE", of_core);
    set.maybe("SLURM_NTASKS_PER_SOCKET", job.tasks_per_socket);
    set.maybe("SLURM_THREADS_PER_CORE", job.threads_per_core);
    let of_socket = job.gres_per_socket.gpus().map(|gpus| gpus.to_string());
    set.maybe("SLURM_GPUS_PER_SOCKET", of_socket);
    let of_gpu = |text: &Option<String>| text.as_deref()?.strip_prefix("gpu:").map(str::to_owned);
    set.maybe("SLURM_GPU_BIND", of_gpu(&request.rare.asked.bind));
    set.maybe("SLURM_GPU_FREQ", of_gpu(&request.rare.asked.frequency));
    set.maybe("SLURM_OVERCOMMIT", job.overcommit.then_some(1));
    set.maybe(
        "SLURM_OPEN_MODE",
        request.rare.open_mode.map(|mode| match mode {
            OpenMode::Append => "a",
            OpenMode::Truncate => "t",
        }),
    );
    set.0.extend(job.handed_on.iter().cloned());
    set.0
}

/// `INFINITE16`: no number of its own.
const ANY_NUMBER: u32 = 0xffff;
