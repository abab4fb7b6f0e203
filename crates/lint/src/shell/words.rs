//! Words: quotes, escapes and expansions.
//!
//! Each `$(…)` is read by a reader of its own on the same text, to a depth of [`DEEPEST`]; deeper
//! ones are passed over.

use super::command::Word;
use super::reader::Reader;
use std::borrow::Cow;
use std::ops::Range;

/// So deep substitutions are read.
const DEEPEST: usize = 16;

impl<'a> Reader<'a> {
    /// A word, which ends at a blank or an operator.
    pub(super) fn word(&mut self) -> Word<'a> {
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut expands = false;
        let mut kept = self.at;
        // Text is copied only when a quote or an escape makes it differ from what is written.
        macro_rules! cut {
            ($to:expr) => {
                owned
                    .get_or_insert_default()
                    .push_str(self.text.get(kept..$to).unwrap_or_default())
            };
        }
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    break;
                }
                b'\\' => {
                    cut!(self.at);
                    self.at += 1;
                    if self.peek() == Some(b'\n') {
                        self.at += 1;
                        kept = self.at;
                        continue;
                    }
                    kept = self.at;
                    // The whole character, so that cuts stay at its borders.
                    let length = self
                        .text
                        .get(self.at..)
                        .and_then(|rest| rest.chars().next())
                        .map_or(0, char::len_utf8);
                    self.at += length;
                }
                b'\'' => {
                    cut!(self.at);
                    self.at += 1;
                    let inner = self.at;
                    self.until(b'\'');
                    self.long_quote(inner);
                    kept = inner;
                    cut!(self.at);
                    self.at = (self.at + 1).min(self.bytes.len());
                    kept = self.at;
                }
                b'"' => {
                    cut!(self.at);
                    self.at += 1;
                    let inner = self.at;
                    let mut text = String::new();
                    expands |= self.double_quoted(&mut text);
                    self.long_quote(inner);
                    owned.get_or_insert_default().push_str(&text);
                    kept = self.at;
                }
                b'`' if self.closing == Some(byte) => break,
                b'$' | b'`' => {
                    expands = true;
                    self.dollar();
                }
                _ => self.at += 1,
            }
        }
        let text = match owned {
            None => Cow::Borrowed(self.text.get(start..self.at).unwrap_or_default()),
            Some(mut text) => {
                text.push_str(self.text.get(kept..self.at).unwrap_or_default());
                Cow::Owned(text)
            }
        };
        Word {
            range: start..self.at,
            text,
            expands,
        }
    }

    /// Goes to the byte, or to the end.
    pub(super) fn until(&mut self, byte: u8) {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|found| *found == byte) {
            Some(position) => self.at += position,
            None => {
                self.at = self.bytes.len();
                self.shell.sound = false;
            }
        }
    }

    pub(super) fn long_quote(&mut self, from: usize) {
        let range: Range<usize> = from..self.at;
        if self.bytes[range.clone()].contains(&b'\n') {
            self.shell.quotes.push(range);
        }
    }

    /// What stands in double quotes, past the closing one; true when something in it is expanded.
    pub(super) fn double_quoted(&mut self, text: &mut String) -> bool {
        let mut expands = false;
        let mut kept = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    text.push_str(self.text.get(kept..self.at).unwrap_or_default());
                    self.at += 1;
                    return expands;
                }
                b'\\' if matches!(self.peek_at(1), Some(b'"' | b'\\' | b'$' | b'`' | b'\n')) => {
                    text.push_str(self.text.get(kept..self.at).unwrap_or_default());
                    kept = self.at + 1;
                    self.at += 2;
                }
                b'`' if self.closing == Some(byte) => self.at += 1,
                b'$' | b'`' => {
                    expands = true;
                    self.dollar();
                }
                _ => self.at += 1,
            }
        }
        text.push_str(self.text.get(kept..).unwrap_or_default());
        self.shell.sound = false;
        expands
    }

    /// `$X`, `${…}`, `$(…)`, `$((…))`, `` `…` ``, `$'…'`.
    pub(super) fn dollar(&mut self) {
        if self.bytes[self.at] == b'`' {
            self.at += 1;
            self.substitute(b'`');
            return;
        }
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.peek_at(1) == Some(b'(') => self.arithmetic(),
            Some(b'(') => {
                self.at += 1;
                self.substitute(b')');
            }
            Some(b'{') => {
                let mut depth = 0;
                while let Some(byte) = self.peek() {
                    match byte {
                        b'{' => depth += 1,
                        b'}' => depth -= 1,
                        b'\\' => self.at += 1,
                        // An expansion that is never closed must not eat the script.
                        b'\n' => {
                            self.shell.sound = false;
                            return;
                        }
                        _ => {}
                    }
                    self.at = (self.at + 1).min(self.bytes.len());
                    if depth == 0 {
                        return;
                    }
                }
                self.shell.sound = false;
            }
            Some(b'\'') => {
                self.at += 1;
                while let Some(byte) = self.peek() {
                    self.at += 1 + usize::from(byte == b'\\');
                    if byte == b'\'' {
                        break;
                    }
                }
                self.at = self.at.min(self.bytes.len());
            }
            Some(b'$' | b'?' | b'!' | b'#' | b'@' | b'*' | b'-') => self.at += 1,
            _ => {}
        }
    }

    pub(super) fn arithmetic(&mut self) {
        self.at += 2;
        let mut depth = 2;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
        self.shell.sound = false;
    }

    /// Reads the commands of a substitution, past what closes it.
    pub(super) fn substitute(&mut self, closing: u8) {
        if self.substitution >= DEEPEST {
            self.until(closing);
            self.at = (self.at + 1).min(self.bytes.len());
            return;
        }
        let mut inner = Reader::new(self.text, self.at);
        inner.closing = Some(closing);
        inner.substitution = self.substitution + 1;
        inner.room = self.room;
        inner.commands();
        self.room = inner.room;
        let in_function = self.in_function();
        let end = inner.at;
        let mut read = inner.shell;
        for command in &mut read.commands {
            command.function |= in_function;
        }
        self.shell.commands.append(&mut read.commands);
        self.shell.heredocs.append(&mut read.heredocs);
        self.shell.quotes.append(&mut read.quotes);
        self.shell.sound &= read.sound;
        self.shell.full_at = self.shell.full_at.or(read.full_at);
        self.at = (end + 1).min(self.bytes.len());
    }
}
