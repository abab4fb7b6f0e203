//! `yard`: the command line. One file a command; Slurm's names by `argv[0]`.
//!
//! **Invariant:** no domain rules here.

#![cfg_attr(not(test), no_main)]

mod commands;
mod exit_code;
mod failure;
mod go_on;
mod narrow;
mod other_engines;
mod output_file;
mod paint;
mod pretty_json;
mod printer;
mod reason_table;
mod reference;
mod slurm;
mod terminal_text;
mod usage_error;
mod words;

use printer::Printer;
use std::ffi::OsString;
use std::path::Path;

#[cfg(not(test))]
sys::entry!(run);

/// What the tests' own entry stands in place of.
#[cfg(test)]
fn main() {
    run();
}

/// Runs the command that this process was started as; its exit code.
fn run() -> u8 {
    let args: Vec<OsString> = std::env::args_os().collect();
    let word = |index: usize| args.get(index).and_then(|word| word.to_str());
    // The engine first: it forks its fork server, which must happen before any thread exists.
    if (word(1), word(2), word(3)) == (Some("engine"), Some("serve"), Some("--dir"))
        && let Some(dir) = args.get(4)
    {
        return engine::serve(Path::new(dir));
    }
    if (word(1), word(2), word(3)) == (Some("engine"), Some("networks"), Some("--dir"))
        && let Some(dir) = args.get(4)
    {
        return engine::keep_networks(Path::new(dir), &args[5..]);
    }
    // Then what runs inside a job, and Slurm's names: `srun` found on a job's PATH is this program
    // under another name.
    if let Some((name, rest)) = slurm::by_name(&args) {
        go_on::as_the_engines_program(&args, true);
        return slurm::main(name, rest, &Printer::new());
    }
    if (word(1), word(2), word(3)) == (Some("job"), Some("mail"), None) {
        return slurm::job_mail::main(&Printer::new());
    }
    if word(1) == Some("job") {
        return job::main(&args[2..]);
    }
    go_on::as_the_engines_program(&args, false);
    commands::main(args, &Printer::new())
}
