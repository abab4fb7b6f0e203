//! Slurm's own commands, by name: `sbatch …`, or `yard slurm sbatch …`.

use crate::printer::Printer;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Slurm's commands that this program answers to.
pub const NAMES: &[&str] = &["sbatch", "squeue", "scancel", "srun", "scontrol"];

/// The command that was meant and its arguments, when this call is for one of Slurm's.
#[must_use]
pub fn by_name(args: &[OsString]) -> Option<(&'static str, &[OsString])> {
    let known = |text: &OsString| {
        let name = Path::new(text).file_name()?.to_str()?;
        NAMES.iter().copied().find(|known| *known == name)
    };
    if let Some(name) = args.first().and_then(known) {
        return Some((name, &args[1..]));
    }
    if args.get(1).is_some_and(|word| word == "slurm")
        && let Some(name) = args.get(2).and_then(known)
    {
        return Some((name, &args[3..]));
    }
    None
}

/// Runs one of Slurm's commands.
#[must_use]
pub fn main(name: &str, _args: &[OsString], printer: &Printer) -> ExitCode {
    printer.say(&format!("{name}: not built in"));
    ExitCode::FAILURE
}
