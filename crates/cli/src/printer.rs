//! The one printer: data to stdout, talk to stderr.

use std::cell::RefCell;
use std::io::{IsTerminal, Write};

/// Writes everything that `yard` says. A closed pipe (`yard ls | head`) is not an error.
///
/// On a terminal the last line may move: [`Printer::moving`] replaces it until something else is
/// written. In a log file nothing moves; each title is written once.
#[derive(Debug)]
pub struct Printer {
    terminal: bool,
    /// The moving line on screen now, or in a log the last title that was written.
    moving: RefCell<Option<String>>,
}

impl Printer {
    /// A printer on this process's stdout and stderr.
    #[must_use]
    pub fn new() -> Printer {
        Printer {
            terminal: std::io::stderr().is_terminal(),
            moving: RefCell::new(None),
        }
    }

    /// Whether lines can move.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Writes data, as it is.
    pub fn data(&self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes data that may be no text.
    pub fn bytes(&self, bytes: &[u8]) {
        self.settle();
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(bytes);
        let _ = stdout.flush();
    }

    /// Writes a line of data.
    pub fn line(&self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Writes a line of talk.
    pub fn say(&self, text: &str) {
        self.settle();
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// Shows what is under way: `title` names it, `detail` is how far it is.
    pub fn moving(&self, title: &str, detail: &str) {
        let mut last = self.moving.borrow_mut();
        let mut stderr = std::io::stderr().lock();
        if self.terminal {
            let line: String = format!("  {title:<12} {detail}")
                .chars()
                .take(100)
                .collect();
            let _ = write!(stderr, "\r\x1b[2K{line}");
            let _ = stderr.flush();
            *last = Some(line);
        } else if last.as_deref() != Some(title) {
            let _ = writeln!(stderr, "  {title:<12} {detail}");
            *last = Some(title.to_owned());
        }
    }

    /// Takes the moving line away before something else is written.
    fn settle(&self) {
        if self.terminal && self.moving.borrow_mut().take().is_some() {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.settle();
    }
}
