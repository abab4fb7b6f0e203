//! The key that the user's config alone has.

use super::{KeyDefault, KeyRow, Value};

/// Above the config's first section.
pub(crate) const ON: KeyRow = KeyRow {
    name: "on",
    value: Value::Text,
    default: KeyDefault::Described(
        "this machine's Slurm, where it is set up for one, else `\"local\"`",
    ),
    flag: None,
    doc: "The cluster that runs go to without `--on`: `\"local\"` for the embedded engine, or the \
          name of the Slurm that answers here.",
    example: "\"local\"",
};
