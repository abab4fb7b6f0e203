//! Which networks of nodes a job began with: all its steps have those or none, so that no step is in another
//! network than the others. An engine may have made others since.

use crate::networks;
use crate::spec::StepSpec;
use model::{JobId, RestartCount};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Notes that a job begins with the networks that are there now.
///
/// # Errors
/// What the system says.
pub(crate) fn note(place: &Path, job: JobId, restart: RestartCount) -> io::Result<()> {
    fs::create_dir_all(folder(place))?;
    let now = networks::now(place).join("\n");
    sys::atomic::write(&record(place, job, restart), now.as_bytes())
}

/// Whether the step's job began with networks of nodes.
///
/// # Errors
/// It did, and they are gone.
pub(crate) fn has(place: &Path, spec: &StepSpec) -> io::Result<bool> {
    let noted = match fs::read_to_string(record(place, spec.job, spec.restart)) {
        Ok(noted) => noted,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let now = networks::now(place);
    let is_there = |line| now.iter().any(|other| other == line);
    let is_led = networks::link(place, spec.node.as_str()).is_some();
    if !noted.is_empty() && is_led && noted.lines().all(is_there) {
        return Ok(true);
    }
    Err(io::Error::other(
        "its network is gone: the job began with networks of nodes that are no more, so submit it again",
    ))
}

/// The job ended.
pub(crate) fn forget(place: &Path, job: JobId, restart: RestartCount) {
    let _none = fs::remove_file(record(place, job, restart));
}

/// No job is left.
pub(crate) fn forget_all(place: &Path) {
    let _none = fs::remove_dir_all(folder(place));
}

/// No node has such a name.
fn folder(place: &Path) -> PathBuf {
    place.join(".networks")
}

fn record(place: &Path, job: JobId, restart: RestartCount) -> PathBuf {
    folder(place).join(format!("{job}.{}", restart))
}
