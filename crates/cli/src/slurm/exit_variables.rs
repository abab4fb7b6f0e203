//! The exit codes of `salloc` and `srun` that their callers choose by variables.

/// The code of an error of `salloc`'s or `srun`'s own: what `SLURM_EXIT_ERROR` says, else 1.
pub fn of_error() -> u8 {
    chosen("SLURM_EXIT_ERROR")
}

/// The code where `--immediate` found nothing free: what `SLURM_EXIT_IMMEDIATE` says, else 1.
pub fn of_lateness() -> u8 {
    chosen("SLURM_EXIT_IMMEDIATE")
}

/// A code of 0 would hide the error: Slurm does not take it either.
fn chosen(variable: &str) -> u8 {
    let text = super::variable(variable);
    let code = text.and_then(|text| text.trim().parse().ok());
    code.filter(|code| *code != 0).unwrap_or(1)
}
