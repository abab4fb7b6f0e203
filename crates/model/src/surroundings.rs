//! What reading options depends on besides the words themselves.

use crate::cluster::{ClusterFile, ContainerRuntime};
use crate::option_table::Dialect;
use crate::{SlurmVersion, Timestamp};
use jiff::tz::TimeZone;
use std::path::Path;

/// What reading options depends on besides the words themselves.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The time, for `--begin`.
    pub now: Timestamp,
    /// The caller's time zone.
    pub zone: &'a TimeZone,
    /// The caller's working directory, absolute.
    pub cwd: &'a Path,
    /// Whether the embedded engine is asked. Otherwise a real Slurm is, and what is said is what its
    /// command says before it asks a controller, and behind it, with the code `refused`, what any
    /// controller would refuse; nothing is said of what the engine lacks.
    pub embedded: bool,
    /// The Slurm whose rules hold. The embedded engine speaks 22.05's language, and what came later.
    pub version: SlurmVersion,
    /// Whether the Pyxis plugin is loaded there.
    pub pyxis: bool,
    /// The generic resources that the cluster has (`GresTypes`); `None` where that is not known, and
    /// any may be asked for. The embedded engine has `gpu`.
    pub gres_types: Option<&'a [&'a str]>,
}

impl<'a> Surroundings<'a> {
    /// What surrounds a call of the embedded engine's commands.
    #[must_use]
    pub fn embedded(now: Timestamp, zone: &'a TimeZone, cwd: &'a Path) -> Surroundings<'a> {
        Surroundings {
            now,
            zone,
            cwd,
            embedded: true,
            version: SlurmVersion::V22_05,
            pyxis: false,
            gres_types: Some(&["gpu"]),
        }
    }

    /// What surrounds a call of a real Slurm's commands of which no more is known than its version.
    #[must_use]
    pub fn slurm(
        version: SlurmVersion,
        now: Timestamp,
        zone: &'a TimeZone,
        cwd: &'a Path,
    ) -> Surroundings<'a> {
        Surroundings {
            embedded: false,
            version,
            gres_types: None,
            ..Surroundings::embedded(now, zone, cwd)
        }
    }

    /// What surrounds a call of the commands of a cluster that is known by its file, or of a Slurm of
    /// which nothing is known. `version` goes before the file's; where neither is said it is the
    /// oldest. Pyxis is loaded where the file says that it runs the containers.
    #[must_use]
    pub fn of_cluster(
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

    /// Whose commands read the words.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.embedded {
            true => Dialect::Embedded,
            false => Dialect::Slurm {
                version: self.version,
                pyxis: self.pyxis,
            },
        }
    }
}

/// What a command is asked to print instead of doing its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
    /// `--gres=help`
    Gres,
    /// `--hint=help`, which ends with 1.
    Hint,
}
