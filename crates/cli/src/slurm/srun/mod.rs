//! `srun`: runs a step, in the job around it or in one of its own.
//!
//! It listens; the step's supervisors call and send what tasks write; it sends them its stdin and
//! its signals. When it dies, the step dies.

mod allocation;
mod arguments;
mod call;
mod input;
mod interrupts;
mod listening;
mod output;
mod session;
mod step;
mod task_ends;

use super::connection;
use crate::printer::Printer;
use arguments::Caller;
use call::StepCall;
use std::ffi::OsString;

/// `srun` with its arguments; returns its exit code.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            printer.say(&format!(
                "srun: error: the working directory is gone: {error}"
            ));
            return 1;
        }
    };
    let umask = sys::process::set_umask(0o77);
    sys::process::set_umask(umask);
    let caller = Caller {
        environment: &environment,
        cwd: &cwd,
        umask,
    };
    match arguments::read(args, &caller) {
        Ok((call, notes)) => {
            if !call.quiet {
                for note in notes {
                    printer.say(&format!("srun: {note}"));
                }
            }
            run_step(&call, printer)
        }
        Err(error) => {
            printer.say(&format!("srun: error: {error}"));
            1
        }
    }
}

/// As [`run`], for a command of ours that becomes `srun`.
pub fn run_code(args: &[OsString], printer: &Printer) -> u8 {
    let args: Vec<String> = args
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    run(&args, printer)
}

/// Runs a step to its end; returns `srun`'s exit code.
fn run_step(call: &StepCall, printer: &Printer) -> u8 {
    let signals = match step::block_signals() {
        Ok(signals) => signals,
        Err(error) => {
            printer.say(&format!("srun: error: signals: {error}"));
            return 1;
        }
    };
    let mut client = match connection::connect() {
        Ok(client) => client,
        Err(trouble) => {
            trouble.say("srun", printer);
            return 1;
        }
    };
    match call.job {
        Some(job) => step::run(call, job, &mut client, printer, signals).code,
        None => allocation::run(call, &mut client, printer, signals),
    }
}
