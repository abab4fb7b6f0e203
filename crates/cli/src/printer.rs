//! The one printer: data to stdout, talk to stderr.

use crate::words::harmless;
use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Writes everything that `yard` says. A closed pipe (`yard ls | head`) is not an error; what else
/// keeps data from being written is said once, and [`Printer::exit_code`] tells of it.
///
/// Words for people hold no control characters: what a script says may not move their cursor.
///
/// On a terminal the last line may move: [`Printer::moving`] replaces it until something else is
/// written. In a log file nothing moves; each title is written once.
#[derive(Debug)]
pub struct Printer {
    terminal: bool,
    /// The moving line on screen now, or in a log the last title that was written.
    moving: RefCell<Option<String>>,
    /// Some data could not be written.
    lost: Cell<bool>,
}

impl Printer {
    /// A printer on this process's stdout and stderr.
    #[must_use]
    pub fn new() -> Printer {
        Printer {
            terminal: io::stderr().is_terminal(),
            moving: RefCell::new(None),
            lost: Cell::new(false),
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
        if let Err(error) = written(&mut io::stdout().lock(), bytes)
            && !self.lost.replace(true)
        {
            self.say(&format!(
                "error: standard output can't be written: {error}; what was printed is not whole"
            ));
        }
    }

    /// Writes text for people as data: as [`Printer::say`] writes talk.
    pub fn shown(&self, text: &str) {
        self.data(&harmless(text));
    }

    /// Writes data that people may look at: as it is, but not onto a terminal.
    pub fn patch(&self, bytes: &[u8]) {
        match io::stdout().is_terminal() {
            true => self.shown(&String::from_utf8_lossy(bytes)),
            false => self.bytes(bytes),
        }
    }

    /// The exit code of a command that came to `code`: where not all data could be written, `lost`.
    #[must_use]
    pub fn exit_code(&self, code: u8, lost: u8) -> u8 {
        match self.lost.get() {
            true => lost,
            false => code,
        }
    }

    /// Writes a line of data.
    pub fn line(&self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Writes a line of talk.
    pub fn say(&self, text: &str) {
        self.settle();
        let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
    }

    /// Shows what is under way: `title` names it, `detail` is how far it is.
    pub fn moving(&self, title: &str, detail: &str) {
        let detail = harmless(detail).replace('\n', " ");
        let mut last = self.moving.borrow_mut();
        let mut stderr = io::stderr().lock();
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
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.settle();
    }
}

/// Writes all of it; nobody there to read it any more is no error.
fn written(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
