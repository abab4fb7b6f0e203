//! What the command line says beside, or instead of, a run file.

use crate::{Launcher, Resolved, ResourceSection};

/// The flags of `yard run`: the strongest layer of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--name`
    pub name: Option<Resolved<String>>,
    /// `--launcher`
    pub launcher: Option<Resolved<Launcher>>,
    /// What stands after `--`.
    pub command: Option<Resolved<Vec<String>>>,
    /// Slurm's flags.
    pub resources: ResourceSection,
}
