//! The ways to start a training's processes: one row each.
//!
//! A new launcher is a file with its row and what it starts a task with, and its name in this one: as a
//! module, and in `launchers!`.

mod accelerate;
mod command;
mod command_line;
mod deepspeed;
mod horovod;
mod jax;
mod launch;
mod lightning;
mod mpi;
mod none;
mod srun;
mod task;
mod torch;
mod torchrun;

pub use command_line::{FirstTask, command_line, first_task};
pub use horovod::starts_horovodrun;
pub(crate) use launch::known;
pub use launch::{Launch, launch};
pub use torch::TORCH_VARIABLES;

use serde::{Deserialize, Serialize};
use std::fmt;
use task::{Env, Task};

/// Makes the enum and the table, in the order in which launchers are named to people.
macro_rules! launchers {
    ($($(#[$doc:meta])* $launcher:ident = $file:ident,)*) => {
        /// Who starts a training's processes, and how they find each other.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Launcher {
            $($(#[$doc])* $launcher,)*
        }

        /// All of them.
        const ROWS: [Row; [$(Launcher::$launcher),*].len()] = [$($file::ROW),*];
    };
}

launchers! {
    /// A rank a GPU with `RANK`, `MASTER_ADDR` and the rest, as `init_process_group("env://")`
    /// reads them.
    Srun = srun,
    /// One process.
    None = none,
    /// torchrun on each node, which starts the ranks there.
    Torchrun = torchrun,
    /// A rank a GPU, as Lightning's Slurm mode finds them.
    Lightning = lightning,
    /// A rank a GPU, as a plain `jax.distributed.initialize()` finds them.
    Jax = jax,
    /// `mpirun` on the first node, which starts the ranks on all.
    Mpi = mpi,
    /// A rank a GPU, which meet by a key-value store as Horovod's Gloo controller does.
    Horovod = horovod,
    /// `accelerate launch` on each node, which starts the ranks there.
    Accelerate = accelerate,
    /// A rank a GPU, as DeepSpeed's own launcher starts them.
    Deepspeed = deepspeed,
}

/// What the tasks of the ranks' step are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Each task is a rank.
    Ranks,
    /// Each node has one task, which starts the node's ranks itself.
    Agents,
    /// The first node has one task, which starts the ranks of all nodes itself.
    Head,
}

/// What listens at the address where the ranks meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// One of the ranks, or a launcher's own process.
    Rank,
    /// A key-value store that the first node's agent serves.
    Store,
}

/// A launcher.
struct Row {
    launcher: Launcher,
    /// The word of the run file.
    word: &'static str,
    /// What it does, in a sentence.
    doc: &'static str,
    /// What one has to know beside that, for its page.
    about: &'static str,
    shape: Shape,
    meeting: Meeting,
    /// Beginnings of a command line that would start the same launcher once more.
    starters: &'static [&'static [&'static str]],
    /// Whether it has a command line of its own, into which `launcher_options` go.
    takes_options: bool,
    /// Whether its nodes can have different numbers of ranks.
    takes_uneven: bool,
    /// With [`Shape::Head`]: what runs on the first node, to which the words that start a rank's wrapper
    /// are added; it adds to the environment.
    head: Option<fn(&Task<'_>, &mut Env) -> Vec<String>>,
    /// Adds to a task's environment, and makes the task's command of the training's.
    start: fn(&Task<'_>, &mut Env, Vec<String>) -> Vec<String>,
}

impl Launcher {
    /// All of them, in the order in which they are named to people.
    pub const ALL: [Launcher; ROWS.len()] = {
        let mut all = [Launcher::None; ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            all[at] = ROWS[at].launcher;
            at += 1;
        }
        all
    };

    /// Each with its word.
    pub(crate) const WORDS: [(&'static str, Launcher); ROWS.len()] = {
        let mut words = [("", Launcher::None); ROWS.len()];
        let mut at = 0;
        while at < ROWS.len() {
            words[at] = (ROWS[at].word, ROWS[at].launcher);
            at += 1;
        }
        words
    };

    fn row(self) -> &'static Row {
        static TABLE: [Row; ROWS.len()] = ROWS;
        let row = TABLE.iter().find(|row| row.launcher == self);
        row.expect("every launcher has a row: a test walks them")
    }

    /// The word of the run file.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// What it does, in a sentence.
    #[must_use]
    pub fn doc(self) -> &'static str {
        self.row().doc
    }

    /// What one has to know beside that.
    #[must_use]
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// What the tasks of its step are.
    #[must_use]
    pub fn shape(self) -> Shape {
        self.row().shape
    }

    /// What listens where its ranks meet.
    #[must_use]
    pub fn meeting(self) -> Meeting {
        self.row().meeting
    }

    /// Whether it has a command line of its own, into which `launcher_options` go.
    #[must_use]
    pub fn takes_options(self) -> bool {
        self.row().takes_options
    }

    /// Whether its nodes can have different numbers of ranks.
    #[must_use]
    pub fn takes_uneven(self) -> bool {
        self.row().takes_uneven
    }

    /// The beginning of a command that would start this launcher once more.
    pub(crate) fn started_by(self, command: &[String]) -> Option<String> {
        let mut starters = self.row().starters.iter();
        let found = starters.find(|starter| command::begins_with(command, starter));
        found.map(|starter| starter.join(" "))
    }

    /// The launcher that a command starts, where it is not the program alone that it starts, and by which
    /// words; behind `srun` the one that it starts in each task.
    pub(crate) fn begun_by(command: &[String]) -> Option<(Launcher, String)> {
        let of = |command: &[String]| {
            let mut all = Launcher::ALL.into_iter();
            all.find_map(|launcher| Some((launcher, launcher.started_by(command)?)))
        };
        let (outer, starter) = of(command)?;
        let inner = (outer == Launcher::Srun).then(|| {
            let after = (1..command.len()).map(|at| &command[at..]);
            after.into_iter().find_map(of)
        });
        match inner.flatten() {
            Some((inner, of_inner)) => Some((inner, format!("{starter} {of_inner}"))),
            None => Some((outer, starter)),
        }
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
