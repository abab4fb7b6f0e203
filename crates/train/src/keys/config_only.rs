//! The keys that the user's config alone has.

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

/// Above the config's first section.
pub(crate) const POLL: KeyRow = KeyRow {
    name: "poll",
    value: Value::Length,
    default: KeyDefault::Is("\"10s\""),
    flag: None,
    doc: "The least time between two questions to a Slurm about the jobs that are followed: all of \
          your commands on a machine share one. The longer nothing changes or it does not answer, \
          the less often it is asked.",
    example: "\"30s\"",
};
