//! One process.

use super::{Launcher, Meeting, Row, Shape};

/// `launcher = "none"`
pub(super) const ROW: Row = Row {
    launcher: Launcher::None,
    word: "none",
    doc: "One process.",
    about: "It takes one node and one rank, and all GPUs that are asked for.",
    shape: Shape::Ranks,
    meeting: Meeting::Rank,
    starters: &[],
    takes_options: false,
    takes_uneven: false,
    head: None,
    start: |_, _, command| command,
};
