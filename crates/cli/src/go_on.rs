//! Going on as the program of an engine that speaks a newer protocol.
//!
//! A job finds the commands of the program under which it began, also after another one's engine took
//! over: that engine's program does what they are asked, so that the job, and the run in it, is heard.
//! Before anything was read, said or done: the other program begins anew.

use crate::slurm::connection::engine_dir;
use api::{EngineFolder, newer_program, program_of_newer_engine};
use runs::SaidEngine;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Does not return where the engine is newer, and its program can be executed. `is_slurms`: one of Slurm's
/// commands, which goes on so outside of jobs, too.
pub fn as_the_engines_program(args: &[OsString], is_slurms: bool) {
    // A person hands a name, a job's environment has a folder.
    let in_job = matches!(SaidEngine::from_env(), Some(SaidEngine::Folder(_)));
    if !in_job && !is_slurms {
        return;
    }
    let Ok(folder) = engine_dir().map(EngineFolder::new) else {
        return;
    };
    let Some(program) = newer_program(&folder) else {
        return;
    };
    // Where none answers, a job's command starts the engine that knows the store. A person may be going
    // back to an older one.
    let is_stopped = sys::socket::connect(&folder.socket()).is_err();
    if !(in_job && is_stopped) && program_of_newer_engine(&folder).is_none() {
        return;
    }
    let mut command = Command::new(program);
    if let Some(name) = args.first() {
        command.arg0(name).args(&args[1..]);
    }
    // What can't be executed leaves this program, which says what is wrong.
    let _not_executed = command.exec();
}
