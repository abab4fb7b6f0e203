//! The ways to start a training's processes: one row each.
//!
//! A new launcher is a variant, a row of [`ROWS`] and a file with what it starts a task with.

mod accelerate;
mod command;
mod command_line;
mod deepspeed;
mod horovod;
mod jax;
mod launch;
mod lightning;
mod mpi;
mod task;
mod torch;
mod torchrun;

pub use command_line::command_line;
pub(crate) use launch::known;
pub use launch::{Launch, launch};
pub use torch::TORCH_VARIABLES;

use serde::{Deserialize, Serialize};
use std::fmt;
use task::{Env, Task};

/// Who starts a training's processes, and how they find each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launcher {
    /// A rank a GPU with `RANK`, `MASTER_ADDR` and the rest, as `init_process_group("env://")`
    /// reads them.
    Srun,
    /// One process.
    None,
    /// torchrun on each node, which starts the ranks there.
    Torchrun,
    /// A rank a GPU, as Lightning's Slurm mode finds them.
    Lightning,
    /// A rank a GPU, as a plain `jax.distributed.initialize()` finds them.
    Jax,
    /// `mpirun` on the first node, which starts the ranks on all.
    Mpi,
    /// A rank a GPU, which meet by a key-value store as Horovod's Gloo controller does.
    Horovod,
    /// `accelerate launch` on each node, which starts the ranks there.
    Accelerate,
    /// A rank a GPU, as DeepSpeed's own launcher starts them.
    Deepspeed,
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
    shape: Shape,
    meeting: Meeting,
    /// Beginnings of a command line that would start the same launcher once more.
    starters: &'static [&'static [&'static str]],
    /// Whether it has a command line of its own, into which `launcher_options` go.
    takes_options: bool,
    /// Whether its nodes can have different numbers of ranks.
    takes_uneven: bool,
    /// Adds to a task's environment, and makes the task's command of the training's.
    start: fn(&Task<'_>, &mut Env, Vec<String>) -> Vec<String>,
}

/// All of them, in the order in which they are named to people.
const ROWS: [Row; 9] = [
    Row {
        launcher: Launcher::Srun,
        word: "srun",
        doc: "`srun` starts every rank, with `RANK`, `LOCAL_RANK`, `WORLD_SIZE`, `MASTER_ADDR` and \
              `MASTER_PORT` set, as `init_process_group(\"env://\")` reads them.",
        shape: Shape::Ranks,
        meeting: Meeting::Rank,
        starters: &[&["srun"]],
        takes_options: false,
        takes_uneven: true,
        start: torch::rank,
    },
    Row {
        launcher: Launcher::None,
        word: "none",
        doc: "One process.",
        shape: Shape::Ranks,
        meeting: Meeting::Rank,
        starters: &[],
        takes_options: false,
        takes_uneven: false,
        start: |_, _, command| command,
    },
    Row {
        launcher: Launcher::Torchrun,
        word: "torchrun",
        doc: "`torchrun` on each node, which starts the node's ranks. They meet at an address of the \
              first node.",
        shape: Shape::Agents,
        meeting: Meeting::Rank,
        starters: &[
            &["torchrun"],
            &["python", "-m", "torch.distributed.run"],
            &["python", "-m", "torch.distributed.launch"],
        ],
        takes_options: true,
        takes_uneven: true,
        start: torchrun::agent,
    },
    Row {
        launcher: Launcher::Lightning,
        word: "lightning",
        doc: "`srun` starts every rank, as Lightning's Slurm mode expects; give its `Trainer` the \
              same numbers of nodes and devices.",
        shape: Shape::Ranks,
        meeting: Meeting::Rank,
        starters: &[&["srun"]],
        takes_options: false,
        takes_uneven: false,
        start: lightning::rank,
    },
    Row {
        launcher: Launcher::Jax,
        word: "jax",
        doc: "`srun` starts every rank, with what a plain `jax.distributed.initialize()` reads.",
        shape: Shape::Ranks,
        meeting: Meeting::Rank,
        starters: &[&["srun"]],
        takes_options: false,
        takes_uneven: true,
        start: jax::rank,
    },
    Row {
        launcher: Launcher::Mpi,
        word: "mpi",
        doc: "Open MPI's `mpirun` on the first node, which starts the ranks of all nodes through \
              `srun`; also for Horovod over MPI.",
        shape: Shape::Head,
        meeting: Meeting::Rank,
        starters: &[&["mpirun"], &["mpiexec"], &["horovodrun"]],
        takes_options: true,
        takes_uneven: false,
        start: mpi::rank,
    },
    Row {
        launcher: Launcher::Horovod,
        word: "horovod",
        doc: "`srun` starts every rank, as `horovodrun --gloo` would; they meet by a key-value store \
              on the first node. No ssh is needed.",
        shape: Shape::Ranks,
        meeting: Meeting::Store,
        starters: &[&["horovodrun"], &["mpirun"]],
        takes_options: false,
        takes_uneven: true,
        start: horovod::rank,
    },
    Row {
        launcher: Launcher::Accelerate,
        word: "accelerate",
        doc: "`accelerate launch` on each node, which starts the node's ranks.",
        shape: Shape::Agents,
        meeting: Meeting::Rank,
        starters: &[
            &["accelerate"],
            &["python", "-m", "accelerate.commands.launch"],
        ],
        takes_options: true,
        takes_uneven: false,
        start: accelerate::agent,
    },
    Row {
        launcher: Launcher::Deepspeed,
        word: "deepspeed",
        doc: "`srun` starts every rank as DeepSpeed's own launcher would, with `--local_rank=N` \
              before the script's own arguments. No ssh and no host file are needed.",
        shape: Shape::Ranks,
        meeting: Meeting::Rank,
        starters: &[&["deepspeed"], &["python", "-m", "deepspeed.launcher"]],
        takes_options: false,
        takes_uneven: false,
        start: deepspeed::rank,
    },
];

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
