//! Slurm's commands, as the conductor runs them.

use std::process::{Command, Stdio};

/// One of them, by its name on `PATH`, without what is this job's: its number of restarts and its shape would be taken
/// for the next job's, and a user's own options for these commands change what they do and print.
pub fn slurm_command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_this_job) {
            command.env_remove(name);
        }
    }
    command
}

/// `SLURM_CONF` names the cluster, and `SLURM_JWT` who asks.
fn is_of_this_job(name: &str) -> bool {
    let prefixes = [
        "SLURM_", "SBATCH_", "SQUEUE_", "SCANCEL_", "SRUN_", "PMIX_", "PMI_",
    ];
    !["SLURM_CONF", "SLURM_JWT"].contains(&name)
        && prefixes.iter().any(|prefix| name.starts_with(prefix))
}
