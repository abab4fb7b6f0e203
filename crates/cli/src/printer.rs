//! The one printer: data to stdout, talk to stderr.

use crate::narrow::{NARROWEST, narrowed};
use crate::paint::painted;
use crate::pretty_json::write_pretty;
use crate::terminal_text::TerminalText;
use crate::words::harmless;
use anstream::{AutoStream, ColorChoice};
use model::WIDEST;
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;

/// Writes everything that `yard` says. A closed pipe (`yard ls | head`) is not an error; what else
/// keeps data from being written is said once, and [`Printer::exit_code`] tells of it.
///
/// Words for people hold no control characters: what a script says may not move their cursor. Data
/// that goes to a terminal loses what controls it and keeps its colours; to a file or a pipe its
/// bytes go as they are.
///
/// Words for people fit the terminal's width, else that of `COLUMNS`, and have colours where
/// `NO_COLOR`, `TERM` and `CLICOLOR_FORCE` don't say otherwise. Data stays as it is.
///
/// On a terminal the last line may move: [`Printer::moving`] replaces it until something else is
/// written. In a log file nothing moves; each title is written once.
#[derive(Debug)]
pub struct Printer {
    terminal: bool,
    /// What words for people on standard output look like.
    out: Look,
    /// And on standard error.
    err: Look,
    /// The moving line on screen now, or in a log the last title that was written.
    moving: RefCell<Option<String>>,
    /// Some data could not be written.
    lost: Cell<bool>,
    /// Where data goes to a terminal.
    shown: Option<RefCell<TerminalText>>,
    /// No talk is written any more.
    muted: Cell<bool>,
}

/// Bytes that are written at once of what is long.
pub const PORTION: usize = 64 << 10;

/// A printer's data, as a file.
struct Data<'a>(&'a Printer);

impl Write for Data<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.bytes(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Printer {
    /// A printer on this process's stdout and stderr.
    #[must_use]
    pub fn new() -> Printer {
        Printer {
            terminal: io::stderr().is_terminal(),
            out: Look {
                cut_paths: io::stdout().is_terminal(),
                ..Look::of(&io::stdout())
            },
            err: Look::of(&io::stderr()),
            moving: RefCell::new(None),
            lost: Cell::new(false),
            shown: io::stdout().is_terminal().then(RefCell::default),
            muted: Cell::new(false),
        }
    }

    /// Whether lines can move.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Whether data goes to a terminal, and not into a pipe or a file.
    #[must_use]
    pub fn writes_to_terminal(&self) -> bool {
        self.shown.is_some()
    }

    /// Writes data, as it is.
    pub fn data(&self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Writes data that may be no text.
    pub fn bytes(&self, bytes: &[u8]) {
        self.settle();
        let shown = self.shown.as_ref();
        let cleaned = shown.map(|text| text.borrow_mut().clean(bytes));
        let bytes = cleaned.as_deref().unwrap_or(bytes);
        if let Err(error) = written(&mut io::stdout().lock(), bytes)
            && !self.lost.replace(true)
        {
            self.say(&format!(
                "error: standard output can't be written: {error}; the output is not complete"
            ));
        }
    }

    /// Writes a value as JSON, in portions: nothing is kept of what may be long.
    pub fn json(&self, value: &impl Serialize) {
        let mut out = BufWriter::with_capacity(PORTION, Data(self));
        // What can't be written was said by then.
        let _said = write_pretty(value, &mut out);
        let _said = out.write_all(b"\n").and_then(|()| out.flush());
    }

    /// Whether standard output takes colours.
    #[must_use]
    pub fn has_colour(&self) -> bool {
        self.out.colour
    }

    /// The columns that words for people have on standard output.
    #[must_use]
    pub fn width(&self) -> usize {
        self.out.width
    }

    /// Writes text for people as data: as [`Printer::say`] writes talk.
    pub fn shown(&self, text: &str) {
        self.data(&self.out.apply(text));
    }

    /// Writes lines for people as data.
    pub fn show_line(&self, text: &str) {
        self.shown(&format!("{text}\n"));
    }

    /// Writes data that people may look at: as it is, but not onto a terminal.
    pub fn patch(&self, bytes: &[u8]) {
        if self.shown.is_some() {
            self.shown(&String::from_utf8_lossy(bytes));
        } else {
            self.bytes(bytes);
        }
    }

    /// The exit code of a command that came to `code`: where not all data could be written, `lost`.
    #[must_use]
    pub fn exit_code(&self, code: u8, lost: u8) -> u8 {
        if self.lost.get() { lost } else { code }
    }

    /// Writes a line of data.
    pub fn line(&self, text: &str) {
        self.data(&format!("{text}\n"));
    }

    /// Writes a line of a job's output after `prefix`: what a person sees of it onto a terminal, else
    /// its bytes as they are.
    pub fn output_line(&self, prefix: &str, line: &[u8]) {
        self.output_lines([(prefix, line)]);
    }

    /// The same for many lines, in one write.
    pub fn output_lines<'a, P: AsRef<str>>(&self, lines: impl IntoIterator<Item = (P, &'a [u8])>) {
        let mut bytes = Vec::new();
        for (prefix, line) in lines {
            bytes.extend_from_slice(prefix.as_ref().as_bytes());
            if self.shown.is_some() {
                bytes.extend_from_slice(folder::drawn_text(line).as_bytes());
            } else {
                bytes.extend_from_slice(line);
            }
            bytes.push(b'\n');
        }
        if !bytes.is_empty() {
            self.bytes(&bytes);
        }
    }

    /// From now on no talk is written, errors neither: `-QQ` of Slurm's commands.
    pub fn mute(&self) {
        self.muted.set(true);
    }

    /// Writes a line of talk.
    pub fn say(&self, text: &str) {
        if self.muted.get() {
            return;
        }
        self.settle();
        let _ = writeln!(io::stderr().lock(), "{}", self.err.apply(text));
    }

    /// Shows what is under way: `title` names it, `detail` is how far it is.
    pub fn moving(&self, title: &str, detail: &str) {
        let detail = harmless(detail).replace('\n', " ");
        let mut last = self.moving.borrow_mut();
        let mut stderr = io::stderr().lock();
        if self.terminal {
            *last = Some(self.redrawn(&mut stderr, &format!("  {title:<12} {detail}")));
        } else if last.as_deref() != Some(title) {
            let _ = writeln!(stderr, "  {title:<12} {detail}");
            *last = Some(title.to_owned());
        }
    }

    /// Shows a line that its program draws over, such as a progress bar; only on a terminal.
    pub fn redraw(&self, line: &str) {
        if self.terminal {
            let line = harmless(line).replace('\n', " ");
            let mut last = self.moving.borrow_mut();
            *last = Some(self.redrawn(&mut io::stderr().lock(), &line));
        }
    }

    /// Writes what fits of a line in place of the terminal's last; returns that.
    fn redrawn(&self, stderr: &mut impl Write, line: &str) -> String {
        let line: String = line.chars().take(self.err.width - 1).collect();
        let _ = write!(stderr, "\r\x1b[2K{line}");
        let _ = stderr.flush();
        line
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
        let coloured = |text: &RefCell<TerminalText>| text.borrow().is_coloured();
        if self.shown.as_ref().is_some_and(coloured) {
            let _gone = written(&mut io::stdout().lock(), b"\x1b[0m");
        }
    }
}

/// What words for people look like on one stream.
#[derive(Clone, Copy, Debug)]
struct Look {
    width: usize,
    colour: bool,
    /// Where a path may lack its beginning: what a pipe takes, or a message to act by, has it whole.
    cut_paths: bool,
}

impl Look {
    fn of(stream: &(impl anstream::stream::RawStream + AsFd)) -> Look {
        let columns = || std::env::var(sys::env_vars::COLUMNS).ok()?.parse().ok();
        let width = sys::terminal::columns(stream).or_else(columns);
        Look {
            width: width.map_or(WIDEST, |width| usize::from(width).clamp(NARROWEST, WIDEST)),
            colour: AutoStream::choice(stream) != ColorChoice::Never,
            cut_paths: false,
        }
    }

    fn apply(self, text: &str) -> String {
        let text = narrowed(&harmless(text), self.width, self.cut_paths);
        if self.colour { painted(&text) } else { text }
    }
}

/// Writes all of it; a closed pipe is no error.
fn written(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    match to.write_all(bytes).and_then(|()| to.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
