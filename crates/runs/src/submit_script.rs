//! Submits a batch script to a real Slurm, as it stands.

use crate::failure::{Failure, FailureKind};
use backend::SlurmTransport;
use model::JobId;

/// Submits it as the user's own `sbatch` would: in this folder, with this environment, and with these arguments,
/// the script among them. Returns the job, and what was said to standard error.
///
/// # Errors
/// The cluster is not this machine's Slurm, or `sbatch` refuses the script or gives no number in time.
pub fn submit_script(cluster: &str, args: &[String]) -> Result<(JobId, String), Failure> {
    let transport = SlurmTransport::to(cluster).ok_or_else(|| {
        Failure::new(
            FailureKind::Unreachable,
            format!("{cluster} is no longer this machine's Slurm"),
        )
        .todo("look at SLURM_CONF and PATH")
    })?;
    Ok(transport.sbatch(args)?)
}
