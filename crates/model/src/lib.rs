//! Slurm's language: what a person can say to Slurm and what Slurm says back.
//!
//! The rooms stand in an order: one knows itself and those before it (`workspace/rooms.rs` holds it). From
//! outside everything is `model::Name`.
//!
//! | room | holds |
//! |---|---|
//! | `values` | what one option, field or variable holds, and how it is read and printed |
//! | `options` | the options of Slurm's commands: the table, getopt, how their values are read, and what is said of a wrong one |
//! | `scripts` | batch scripts: their `#SBATCH` lines, and those of other schedulers |
//! | `requests` | what is asked for once command line, environment and script were put together |
//! | `records` | what is known of jobs, steps, nodes and partitions that are there |
//! | `fields` | the fields in which they are printed: letters, names and widths |
//! | `commands` | the arguments and the output of Slurm's commands |
//!
//! **Invariant:** pure. No clock, file, process, socket or environment is read here; time, user
//! names and host facts come in as arguments.

mod commands;
mod fields;
mod options;
mod records;
mod requests;
mod scripts;
mod values;

pub use commands::*;
pub use fields::*;
pub use options::*;
pub use records::*;
pub use requests::*;
pub use scripts::*;
pub use values::*;
