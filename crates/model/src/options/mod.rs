//! The options of Slurm's commands: the table, getopt, how their values are read, and what is said of a wrong one.

pub(crate) mod defined_options;
pub(crate) mod diagnostic;
pub(crate) mod getopt;
pub(crate) mod getopt_long;
pub(crate) mod given;
pub(crate) mod given_options;
pub(crate) mod long_options;
pub(crate) mod option_rows;
pub mod option_table;
mod option_texts;
pub(crate) mod option_value;
pub(crate) mod problem;
pub(crate) mod reading;
pub(crate) mod surroundings;
pub(crate) mod text_lengths;
pub mod value_check;

pub use diagnostic::{Diagnostic, Severity, Span, Voice, first_error};
pub use given::{Given, Origin};
pub use long_options::{CommandOption, OptionVerdict};
pub use problem::{Problem, count_lines, render, render_as};
pub use surroundings::{GresTypes, ReadNodeFile, Show, Surroundings};
