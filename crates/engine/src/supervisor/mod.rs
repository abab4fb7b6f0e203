//! The holder of one step on one node.

use std::path::Path;
use std::process::ExitCode;

/// Runs the node's part of the step whose `spec` lies in `folder`, to its end. The process has one
/// thread when this is called, and ends with what it returns.
///
/// While its parent is the nursery, writing `exit` and ending is all that the engine needs. Once
/// the parent is another (the engine is gone, or came back) it calls `StepEnded` after writing
/// `exit`, and starts an engine where none answers.
#[must_use]
pub fn main(_folder: &Path) -> ExitCode {
    ExitCode::FAILURE
}
