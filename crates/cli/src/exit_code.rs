//! Exit codes of `yard` (Slurm's names keep Slurm's own codes).

/// Done.
pub const DONE: u8 = 0;
/// The run or job failed.
pub const FAILED: u8 = 1;
/// `yard lint` found an error, or what `--deny` names.
pub const FOUND: u8 = 1;
/// Wrong usage, or a run file that can't be read as one.
pub const USAGE: u8 = 2;
/// Refused: it could never start there.
pub const REFUSED: u8 = 3;
/// The engine or the cluster can't be reached.
pub const UNREACHABLE: u8 = 4;
/// A file or folder can't be read or written.
pub const IO: u8 = 5;
/// The run is done, and something of it could not be saved and stays on a node.
pub const UNSAVED: u8 = 6;
/// `yard wait --timeout`: not over yet; as `timeout(1)` says it.
pub const TIMED_OUT: u8 = 124;
/// Interrupted before anything was submitted.
pub const INTERRUPTED: u8 = 130;
