//! What reading options depends on where a cluster file is known.

use crate::ClusterFile;
use jiff::tz::TimeZone;
use model::{ContainerRuntime, SlurmVersion, Surroundings, Timestamp};
use std::path::Path;

/// What surrounds a call of the commands of a cluster that is known by its file, or of a Slurm of
/// which nothing is known. `version` goes before the file's; where neither is said it is the
/// oldest. Pyxis is loaded where the file says that it runs the containers.
#[must_use]
pub fn surroundings<'a>(
    cluster: Option<&ClusterFile>,
    version: Option<SlurmVersion>,
    now: Timestamp,
    zone: &'a TimeZone,
    cwd: &'a Path,
) -> Surroundings<'a> {
    let stated = cluster.and_then(|cluster| Some(cluster.slurm.as_ref()?.value));
    let version = version.or(stated).unwrap_or(SlurmVersion::V22_05);
    let runtime = cluster.and_then(|cluster| cluster.containers.runtime.as_ref());
    Surroundings {
        pyxis: runtime.is_some_and(|runtime| runtime.value == ContainerRuntime::Pyxis),
        ..Surroundings::slurm(version, now, zone, cwd)
    }
}
