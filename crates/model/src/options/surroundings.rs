//! What reading options depends on besides the words themselves.

use crate::options::option_table::Dialect;
use crate::values::{SlurmVersion, Timestamp};
use jiff::tz::TimeZone;
use std::fmt;
use std::path::Path;

/// Reads a file that names nodes; the error is the system's words.
pub type ReadNodeFile = fn(&Path) -> Result<String, String>;

/// The generic resources that a cluster has (`GresTypes`).
#[derive(Clone, Copy)]
pub enum GresTypes<'a> {
    /// It is not known which: any may be asked for.
    Unknown,
    /// These.
    Only(&'a [&'a str]),
    /// `gpu`, and those of which the cluster says so once they are asked for.
    OnRequest(&'a dyn Fn(&str) -> bool),
}

impl GresTypes<'_> {
    /// Whether one of that name may be asked for.
    pub(crate) fn may_have(self, name: &str) -> bool {
        match self {
            GresTypes::Unknown => true,
            GresTypes::Only(names) => names.contains(&name),
            GresTypes::OnRequest(has) => name == "gpu" || has(name),
        }
    }
}

impl fmt::Debug for GresTypes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GresTypes::Unknown => f.write_str("Unknown"),
            GresTypes::Only(names) => f.debug_tuple("Only").field(names).finish(),
            GresTypes::OnRequest(_) => f.write_str("OnRequest"),
        }
    }
}

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
    /// The embedded engine's cluster is one of several nodes with sockets and switches of their own;
    /// otherwise it is this machine.
    pub has_nodes: bool,
    /// The Slurm whose rules hold. The embedded engine speaks 22.05's language, and what came later.
    pub version: SlurmVersion,
    /// Whether the Pyxis plugin is loaded there.
    pub pyxis: bool,
    /// The generic resources that the cluster has. The embedded engine has `gpu` on this machine.
    pub gres_types: GresTypes<'a>,
    /// Whether root calls, who may submit for others.
    pub by_root: bool,
    /// How files that name nodes are read; `None` where they can't be.
    pub read_node_file: Option<ReadNodeFile>,
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
            has_nodes: false,
            version: SlurmVersion::V22_05,
            pyxis: false,
            gres_types: GresTypes::Only(&["gpu"]),
            by_root: false,
            read_node_file: None,
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
            gres_types: GresTypes::Unknown,
            ..Surroundings::embedded(now, zone, cwd)
        }
    }

    /// The same, of an engine whose cluster has nodes of its own.
    #[must_use]
    pub fn with_nodes(self, has_nodes: bool) -> Surroundings<'a> {
        Surroundings { has_nodes, ..self }
    }

    /// The same, of a cluster that says which resources besides GPUs it has.
    #[must_use]
    pub fn asking_for_gres(self, has: &'a dyn Fn(&str) -> bool) -> Surroundings<'a> {
        let gres_types = GresTypes::OnRequest(has);
        Surroundings { gres_types, ..self }
    }

    /// The same, where root calls, or where it doesn't.
    #[must_use]
    pub fn called_by_root(self, by_root: bool) -> Surroundings<'a> {
        Surroundings { by_root, ..self }
    }

    /// The same, where files that name nodes can be read.
    #[must_use]
    pub fn reading_files(self, read: ReadNodeFile) -> Surroundings<'a> {
        Surroundings {
            read_node_file: Some(read),
            ..self
        }
    }

    /// Whose commands read the words.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        if self.embedded {
            Dialect::Embedded
        } else {
            Dialect::Slurm {
                version: self.version,
                pyxis: self.pyxis,
            }
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
    /// `--mpi=list`
    Mpi,
    /// `--hint=help`, which ends with 1.
    Hint,
    /// `--cpu-bind=help`, which ends with 1.
    CpuBind,
    /// `--mem-bind=help`, which ends with 255.
    MemBind,
}
