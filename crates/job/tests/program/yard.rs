//! `yard` with nothing but its `job` branch: what this crate's tests start jobs with.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Program and `job`.
    let args: Vec<OsString> = std::env::args_os().skip(2).collect();
    ExitCode::from(yard_job::main(&args))
}
