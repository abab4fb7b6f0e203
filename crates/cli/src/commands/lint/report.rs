//! What is printed of the findings, and what it came to.

use super::script_file;

use super::{Args, Deny, Format};
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Report as _};
use crate::output_file;
use crate::printer::Printer;
use ::lint::render::{self, Counts};
use ::lint::{Finding, Fixed, Lines};
use runs::ScriptPlace;
use runs::input_file::{self, InputFile, Kind, STDIN};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// So much is printed at once.
const CHUNK: usize = 64 << 10;

/// What is printed, and what it came to.
pub(super) struct Report<'a> {
    args: &'a Args,
    printer: &'a Printer,
    waiting: String,
    counts: Counts,
    files: usize,
    results: usize,
    first_code: Option<&'static str>,
    /// Of what could not be read or written.
    failed: Option<u8>,
    /// What was read was not all UTF-8.
    odd: bool,
    /// The file that is looked at is not.
    of_bytes: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &'a Args, printer: &'a Printer) -> Report<'a> {
        let waiting = match args.format {
            Format::Json => render::json_head(),
            Format::Sarif => render::sarif_head(env!("CARGO_PKG_VERSION")),
            Format::Text | Format::Github => String::new(),
        };
        Report {
            args,
            printer,
            waiting,
            counts: Counts::default(),
            files: 0,
            results: 0,
            first_code: None,
            failed: None,
            odd: false,
            of_bytes: false,
        }
    }

    /// Says what could not be read or written; the other files go on.
    pub(super) fn failed(&mut self, failure: &Failure) {
        // What was found before it is said before it.
        self.flush(0);
        let _ = failure.report(self.printer);
        self.failed = self.failed.or(Some(failure.code()));
    }

    /// Looks at a file, or at standard input.
    pub(super) fn file(&mut self, path: &Path, around: &ScriptPlace) {
        match input_file::read(path) {
            Ok(file) => self.read(path, &file, around),
            Err(failure) => self.failed(&failure),
        }
    }

    fn read(&mut self, path: &Path, file: &InputFile, around: &ScriptPlace) {
        let name = &*path.to_string_lossy();
        // Byte for byte: what a fix leaves alone comes back as it was.
        let text = match std::str::from_utf8(&file.bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(sys::odd_text::text(OsStr::from_bytes(&file.bytes))),
        };
        let odd = matches!(text, Cow::Owned(_));
        let bytes = |text: &str| {
            if odd {
                sys::odd_text::bytes(text).as_bytes().to_owned()
            } else {
                text.as_bytes().to_owned()
            }
        };
        self.odd |= odd;
        self.of_bytes = odd;
        if odd && script_file::is_run_file(name, &text) {
            let failure = Failure::new(
                FailureKind::Usage,
                format!("{name} can't be read: it is not UTF-8"),
            );
            return self.failed(&failure.todo("write it as UTF-8: yard run takes no other"));
        }
        if script_file::is_run_file(name, &text) {
            match runs::check_run_file(path, &text, around.cluster()) {
                Ok(findings) => self.findings(&findings, &text, path),
                Err(failure) => self.failed(&failure),
            }
            return;
        }
        let check = |text: &str| around.check(name, text, &[]);
        if !self.args.fix && !self.args.diff {
            self.findings(&check(&text), &text, path);
            return;
        }
        let why = (file.kind == Kind::Pipe && self.args.fix)
            .then_some("is a pipe: --fix - writes what - reads");
        if let Some(why) = why {
            self.printer.say(&format!("note: {name} {why}"));
        }
        let as_it_is = |findings| Fixed {
            text: text.to_string(),
            made: 0,
            findings,
        };
        let mut fixed = match why {
            None => lint::fix(&text, check),
            Some(_) => as_it_is(check(&text)),
        };
        if self.args.diff {
            let diff = render::diff(&text, &fixed.text, name);
            self.count(&fixed.findings);
            if odd {
                self.flush(0);
                self.printer.bytes(&bytes(&diff));
            } else {
                self.waiting.push_str(&diff);
                self.flush(CHUNK);
            }
            return;
        }
        if file.kind == Kind::Stdin {
            self.printer.bytes(&bytes(&fixed.text));
        } else if fixed.made > 0
            && let Err(failure) = output_file::write(path, &file.bytes, &bytes(&fixed.text))
        {
            self.failed(&failure);
            fixed = as_it_is(check(&text));
        }
        if fixed.made > 0 {
            let fixes = if fixed.made == 1 {
                "1 fix".to_owned()
            } else {
                format!("{} fixes", fixed.made)
            };
            self.printer.say(&format!("{name}: {fixes}"));
        }
        self.findings(&fixed.findings, &fixed.text, path);
    }

    fn findings(&mut self, findings: &[Finding], text: &str, path: &Path) {
        let name = &*path.to_string_lossy();
        let lines = Lines::new(text);
        let first = self.files == 0;
        match self.args.format {
            Format::Text => {
                for finding in findings {
                    let shown = render::text(finding, &lines, name, self.printer.width());
                    self.waiting.push_str(&shown);
                }
            }
            Format::Json => {
                // A byte that is no UTF-8 stands as a character of three.
                let odd = text.match_indices(is_stand_in).filter(|_| self.of_bytes);
                let odd: Vec<usize> = odd.map(|(at, _)| at).collect();
                let place = |at: usize| at - 2 * odd.partition_point(|one| *one < at);
                self.waiting
                    .push_str(&render::json_file(findings, &lines, &place, name, first));
            }
            Format::Sarif => {
                let first = self.results == 0;
                self.waiting.push_str(&render::sarif_results(
                    findings,
                    &lines,
                    path.as_os_str().as_bytes(),
                    first,
                ));
            }
            Format::Github => {
                for finding in findings {
                    self.waiting
                        .push_str(&render::github(finding, &lines, name));
                }
            }
        }
        self.count(findings);
        self.flush(CHUNK);
    }

    fn count(&mut self, findings: &[Finding]) {
        self.files += 1;
        self.results += findings.len();
        self.counts.add(findings);
        let worst = findings.iter().max_by_key(|finding| finding.severity);
        if self.first_code.is_none() {
            self.first_code = worst.map(|finding| finding.code);
        }
    }

    /// Prints what waits, once it is longer than `least`. With `--fix -` the text alone is data.
    fn flush(&mut self, least: usize) {
        if self.waiting.len() < least || self.waiting.is_empty() {
            return;
        }
        let mut text = std::mem::take(&mut self.waiting);
        // Bytes that are no text stand as characters that nobody can read.
        if self.odd {
            text = text.replace(is_stand_in, "\u{fffd}");
        }
        match self.args.fix && self.args.files.iter().any(|path| path.as_os_str() == STDIN) {
            true => self.printer.say(text.trim_end()),
            false if self.args.diff => self.printer.patch(text.as_bytes()),
            false if matches!(self.args.format, Format::Text | Format::Github) => {
                self.printer.shown(&text);
            }
            false => self.printer.data(&text),
        }
    }

    /// Prints the rest and tells the exit code. What could not be read or written goes before what
    /// was found: not everything was looked at.
    pub(super) fn end(mut self) -> u8 {
        match self.args.format {
            _ if self.args.diff => {}
            Format::Json => self.waiting.push_str(&render::json_tail()),
            Format::Sarif => self.waiting.push_str(&render::sarif_tail()),
            // Of nothing that could be read there is nothing to sum up.
            Format::Text if self.files == 0 && self.failed.is_some() => {}
            Format::Text => {
                self.waiting
                    .push_str(&render::summary(self.counts, self.first_code));
            }
            Format::Github => {}
        }
        self.flush(0);
        let denied = match self.args.deny {
            None => 0,
            Some(Deny::Warnings) => self.counts.warnings,
            Some(Deny::Notes) => self.counts.warnings + self.counts.notes,
        };
        match (self.failed, self.counts.errors + denied) {
            (Some(code), _) => code,
            (None, 0) => exit_code::DONE,
            (None, _) => exit_code::FOUND,
        }
    }
}

/// What stands for a byte that is no UTF-8: see `sys::odd_text`.
fn is_stand_in(letter: char) -> bool {
    ('\u{f780}'..='\u{f7ff}').contains(&letter)
}
