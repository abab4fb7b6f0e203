//! `yard`: the command line. One file a command; Slurm's names by `argv[0]`.
//!
//! **Invariant:** no domain rules here.

mod exit_code;
mod printer;
mod slurm;

use printer::Printer;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    // Slurm's names first: `srun` found on a job's PATH is this program under another name.
    if let Some((name, rest)) = slurm::by_name(&args) {
        return slurm::main(name, rest, &Printer::new());
    }
    ExitCode::SUCCESS
}
