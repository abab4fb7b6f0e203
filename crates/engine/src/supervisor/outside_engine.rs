//! Starts an engine for a command of the job that sees the job's processes alone: an engine that it started
//! itself would see no others either, and end with the job.

use crate::own_processes::OwnProcesses;
use api::EngineFolder;
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use sys::process::{self, Fork};

/// Starts one in a process of its own, which answers the caller with a line of JSON
/// ([`api::StartAnswer`]). `own` is the supervisor's engine: its sweeps leave that process alone.
pub(super) fn start(mut caller: &UnixStream, own: &Path, folder: &Path, program: &Path) {
    match process::fork() {
        Ok(Fork::Parent(_)) => {}
        Ok(Fork::Child) => {
            process::close_all_but(&[caller.as_fd()]);
            sys::signals::unblock_all();
            let _leads_a_session = process::new_session();
            let _entered = OwnProcesses::enter(&EngineFolder::new(own));
            let answer: api::StartAnswer =
                api::start_engine_here(&EngineFolder::new(folder), program)
                    .map_err(|error| error.to_string());
            let mut line = serde_json::to_vec(&answer).unwrap_or_default();
            line.push(b'\n');
            let _blocking = caller.set_nonblocking(false);
            let _gone = caller.write_all(&line);
            process::exit_now(0);
        }
        Err(error) => tracing::warn!("an engine is not started for a command of the job: {error}"),
    }
}
