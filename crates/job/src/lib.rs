//! What runs inside a job: the conductor, the agents, the rank wrapper; and the environment and
//! the image that are made before it.
//!
//! **Invariant:** links no engine; of Slurm it runs `srun`, `scontrol requeue` and, where something
//! came from outside, `scontrol show job` and `show node`; `sbatch` for the job that takes over, `squeue` to look for
//! it where its answer was lost, and `scancel` for one that is no longer needed.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod agent;
pub mod cache;
mod checkpoint_series;
mod conductor;
mod curl;
mod deputy;
mod engine_watch;
pub mod environment;
mod exit_code;
mod grace;
mod hashed_copy;
pub mod image;
mod labelled_reports;
pub mod leftovers;
mod local_files;
mod local_folder;
mod made_once;
mod main_branch;
mod near_gpus;
pub mod notices;
mod protocol;
mod python_stack;
mod rank;
mod rank_stack;
pub mod shell;
mod srun;
mod srun_words;
pub mod stage;
mod start_values;
mod starting_point;
mod trained;
mod visible_gpus;

pub use conductor::{FirstFailure, first_failure, quoted};
pub use made_once::Waiter;
pub use main_branch::main;
pub use starting_point::{StartingPointError, starting_point};
