//! The one printer: data to stdout, talk to stderr.

use std::io::Write;

/// Writes everything that `yard` says. A closed pipe (`yard ls | head`) is not an error.
#[derive(Debug, Default)]
pub struct Printer;

impl Printer {
    /// A printer on this process's stdout and stderr.
    #[must_use]
    pub fn new() -> Printer {
        Printer
    }

    /// Writes data, as it is.
    pub fn data(&self, text: &str) {
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }

    /// Writes a line of data.
    pub fn line(&self, text: &str) {
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    /// Writes a line of talk.
    pub fn say(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}
