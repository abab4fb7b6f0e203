//! Exit codes as shells have them.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The program's own code, or 128 and the signal that ended it.
pub fn of(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1)
}

/// The signal that ended it.
pub fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}
