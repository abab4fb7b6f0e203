//! The exit codes of `salloc`, `sbatch` and `srun` that their callers choose by variables.

use crate::printer::Printer;

const ERROR: &str = "SLURM_EXIT_ERROR";
const IMMEDIATE: &str = "SLURM_EXIT_IMMEDIATE";

/// The code of an error of the command's own: what `SLURM_EXIT_ERROR` says, else 1.
pub fn of_error() -> u8 {
    chosen(ERROR)
}

/// The code where `--immediate` found nothing free: what `SLURM_EXIT_IMMEDIATE` says, else 1.
pub fn of_lateness() -> u8 {
    chosen(IMMEDIATE)
}

/// Says which variables choose none; `sbatch` has no `--immediate`.
pub fn say_zero(command: &str, printer: &Printer) {
    let own = [ERROR, IMMEDIATE];
    let own = &own[..if command == "sbatch" { 1 } else { 2 }];
    for name in own {
        if super::variable(name).is_some_and(|text| code(&text).is_none()) {
            printer.say(&format!("{command}: error: {name} has zero value"));
        }
    }
}

fn chosen(variable: &str) -> u8 {
    let text = super::variable(variable);
    text.and_then(|text| code(&text)).unwrap_or(1)
}

/// The beginning of a value that is a number, of which an exit code keeps the last eight bits: none of 0 and of
/// what is no number.
fn code(text: &str) -> Option<u8> {
    // As `atoi`: of a number that is too large the last 32 bits.
    match model::leading_number(text).to_le_bytes() {
        [0, 0, 0, 0, ..] => None,
        [last, ..] => Some(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<u8>) {
        assert_eq!(code(text), want, "{text}");
    }

    /// Recorded of a real srun 22.05.8.
    #[test]
    fn a_code_that_is_chosen() {
        check("77", Some(77));
        check("255", Some(255));
        check("256", Some(0));
        check("257", Some(1));
        check("300", Some(44));
        check("512", Some(0));
        check("-1", Some(255));
        check("1x", Some(1));
        check("70000", Some(112));
        check("4294967297", Some(1));
        check("99999999999999999999", Some(255));
        check("-99999999999999999999", None);
        check(" 7", Some(7));
        check("--5", None);
        check("+-5", None);
        check("x", None);
        check("0", None);
    }
}
