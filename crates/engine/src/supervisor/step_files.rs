//! The files of a supervisor's folder, as the supervisor reads and writes them.

use crate::spec::{EXIT, ExitFile, PID, PidFile, SPEC, StepSpec};
use std::io;
use std::path::Path;

/// Reads what is to be done.
pub(super) fn read_spec(folder: &Path) -> io::Result<StepSpec> {
    Ok(serde_json::from_slice(&std::fs::read(folder.join(SPEC))?)?)
}

/// Reads the environment to begin with: pairs of name and value.
pub(super) fn read_environment(path: &Path) -> io::Result<Vec<(String, String)>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Says who holds the step. Never in place of another: of two supervisors that were forked for one
/// step, before and after an engine's death, the first alone runs it.
pub(super) fn write_pid(folder: &Path, boot_id: &str) -> io::Result<()> {
    let pid = std::process::id();
    let file = PidFile {
        pid,
        start_time: sys::process::start_time(pid).unwrap_or(0),
        boot_id: boot_id.to_owned(),
    };
    let beside = folder.join(format!("{PID}.{pid}"));
    std::fs::write(&beside, serde_json::to_vec(&file)?)?;
    let linked = std::fs::hard_link(&beside, folder.join(PID));
    std::fs::remove_file(&beside)?;
    linked
}

/// Says how the step ended. Not fsynced: after a power cut the boot id tells that it is lost.
pub(super) fn write_exit(folder: &Path, exit: &ExitFile) -> io::Result<()> {
    sys::atomic::write_relaxed(&folder.join(EXIT), &serde_json::to_vec(exit)?)
}
