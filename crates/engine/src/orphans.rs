//! Processes of a step whose supervisor was killed: nobody else would end them.

use crate::own_processes::OwnProcesses;
use model::{JobId, RestartCount};
use std::path::Path;

/// Kills every process that was started for this start of a job, as its environment tells, but our
/// own: an engine that a command of the job started has its environment. Returns how many there
/// were.
pub(crate) fn kill(engine: &Path, job: JobId, restart: RestartCount, own: &OwnProcesses) -> usize {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let pids = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut killed = 0;
    for pid in pids {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if belongs(&environment, engine, job, restart) && !own.has(pid) {
            // Gone in between is as good.
            let _gone = sys::process::signal(pid, 9);
            killed += 1;
        }
    }
    killed
}

fn belongs(environment: &[u8], engine: &Path, job: JobId, restart: RestartCount) -> bool {
    let value = |name: &str| {
        environment.split(|byte| *byte == 0).find_map(|pair| {
            let rest = pair.strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })
    };
    let restarts = value("SLURM_RESTART_COUNT").unwrap_or(b"0");
    value("SLURM_JOB_ID") == Some(job.to_string().as_bytes())
        && restarts == restart.to_string().as_bytes()
        && value(sys::env_vars::TRAINYARD_ENGINE)
            == Some(std::os::unix::ffi::OsStrExt::as_bytes(engine.as_os_str()))
}
