//! Which variables of a rank it gets inside a container.

use crate::RankCommand;

/// Beginnings of names of variables that say something about the job, its GPUs or its network. All
/// others of the node belong to programs of the node.
const PASSED: [&str; 24] = [
    "SLURM_", "SLURMD_", "PMI_", "PMIX_", "OMPI_", "PRTE_", "YARD_", "CUDA_", "NVIDIA_", "ROCR_",
    "HIP_", "GPU_", "NCCL_", "GLOO_", "UCX_", "FI_", "HOROVOD_", "WANDB_", "HF_", "TORCH", "OMP_",
    "JAX_", "XLA_", "PET_",
];

/// Variables of the node that would lead programs of an image astray.
pub(super) const MISLEADING: [&str; 10] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PYENV_*",
    "BASH_ENV",
    "ENV",
    "TMPDIR",
];

/// Where programs of most images stand.
pub(super) const PATH: &str = "/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether a rank gets the variable inside: one that it is started with, or that tells of its job.
#[must_use]
pub fn is_passed(name: &str, rank: &RankCommand) -> bool {
    rank.env.contains_key(name) || PASSED.iter().any(|start| name.starts_with(start))
}

/// Whether a variable of the node would lead programs of an image astray.
#[must_use]
pub fn is_misleading(name: &str) -> bool {
    MISLEADING
        .iter()
        .any(|known| match known.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *known,
        })
}
