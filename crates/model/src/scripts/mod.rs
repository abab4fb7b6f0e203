//! Batch scripts: their `#SBATCH` lines, and those of other schedulers.

pub(crate) mod foreign_directives;
pub(crate) mod script;
pub mod script_lines;
pub(crate) mod task_prolog;
pub use task_prolog::{TaskPrologLine, task_prolog_lines};
