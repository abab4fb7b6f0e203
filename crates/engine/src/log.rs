//! What the engine has to say to a person: lines in `engine.log`, which is its standard error.

use std::io::Write;

/// Writes a line with the time.
pub(crate) fn line(text: &str) {
    let time = sys::local_time(sys::wall_clock() / 1000);
    // A log that can't be written must not end the engine.
    let _unwritten = writeln!(std::io::stderr(), "{time} engine: {text}");
}
