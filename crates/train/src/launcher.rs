//! The ways to start a training's processes.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who starts a training's processes, and how they find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launcher {
    /// One process.
    None,
    /// A rank a GPU with `RANK`, `MASTER_ADDR` and the rest, as `init_process_group("env://")`
    /// reads them.
    Srun,
    /// torchrun on each node, which starts the ranks there.
    Torchrun,
    /// A rank a GPU, as a plain `jax.distributed.initialize()` finds them.
    Jax,
    /// A rank a GPU, as Lightning's Slurm mode finds them.
    Lightning,
}

/// The two shapes of a step: what one task of `srun` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each task is a rank.
    Ranks,
    /// Each node has one task, which starts the node's ranks itself.
    Agents,
}

impl Launcher {
    /// All of them, in the order in which they are named to people.
    pub const ALL: [Launcher; 5] = [
        Launcher::Srun,
        Launcher::None,
        Launcher::Torchrun,
        Launcher::Lightning,
        Launcher::Jax,
    ];

    /// The word of the run file.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Launcher::None => "none",
            Launcher::Srun => "srun",
            Launcher::Torchrun => "torchrun",
            Launcher::Jax => "jax",
            Launcher::Lightning => "lightning",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub fn doc(self) -> &'static str {
        match self {
            Launcher::Srun => {
                "`srun` starts every rank, with `RANK`, `LOCAL_RANK`, `WORLD_SIZE`, `MASTER_ADDR` and \
                 `MASTER_PORT` set, as `init_process_group(\"env://\")`, DeepSpeed and Accelerate read \
                 them."
            }
            Launcher::None => "One process.",
            Launcher::Torchrun => "`torchrun` on each node, which starts the node's ranks.",
            Launcher::Lightning => {
                "`srun` starts every rank, as Lightning's Slurm mode expects; give its `Trainer` the \
                 same numbers of nodes and devices."
            }
            Launcher::Jax => {
                "`srun` starts every rank, with what a plain `jax.distributed.initialize()` reads."
            }
        }
    }

    /// What one task of it is.
    #[must_use]
    pub fn shape(self) -> Shape {
        match self {
            Launcher::Torchrun => Shape::Agents,
            Launcher::None | Launcher::Srun | Launcher::Jax | Launcher::Lightning => Shape::Ranks,
        }
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
