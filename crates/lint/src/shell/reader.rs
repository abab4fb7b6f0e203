//! Takes a shell script apart into simple commands.
//!
//! One pass over the bytes. Here are simple commands and what parts them; `blocks` has the words of
//! the grammar, `words` quotes and expansions, `redirections` files and here-documents,
//! `assignments` variables.

use super::Shell;
use super::blocks::{Block, Kind};
use super::command::{Command, End};
use std::ops::Range;

/// Where reading is, and what was read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Ends at this byte outside of all else; none for the end of the text.
    pub(super) closing: Option<u8>,
    pub(super) substitution: usize,
    pub(super) shell: Shell<'a>,
    pub(super) blocks: Vec<Block>,
    /// How many of them there are of each kind.
    pub(super) open: [usize; Kind::COUNT],
    /// Here-documents whose bodies begin at the next line: delimiter, tabs stripped.
    pub(super) waiting: Vec<(String, bool)>,
    /// The next `{` or `(` is a function's body.
    pub(super) function_next: bool,
    /// For so many words, commands, blocks and here-documents there is room.
    pub(super) room: usize,
    /// The commands that are this reader's own, not those of a substitution.
    pub(super) own: Vec<usize>,
    /// Commands of groups that end with `&`, each group behind those inside it.
    pub(super) beside: Vec<Range<usize>>,
}

/// For so many words, commands, blocks and here-documents there is room in all: some 40 MiB, and more
/// than a script of 1 MB with ordinary lines has.
const ROOM: usize = 200_000;

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, from: usize) -> Reader<'a> {
        Reader {
            text,
            bytes: text.as_bytes(),
            at: from,
            closing: None,
            substitution: 0,
            shell: Shell {
                sound: true,
                ..Shell::default()
            },
            blocks: Vec::new(),
            open: [0; Kind::COUNT],
            waiting: Vec::new(),
            function_next: false,
            room: ROOM,
            own: Vec::new(),
            beside: Vec::new(),
        }
    }

    pub(super) fn read(mut self) -> Shell<'a> {
        self.commands();
        self.shell
    }

    /// Takes room for one thing more; where there is none, reading ends here.
    pub(super) fn take_room(&mut self) -> bool {
        match self.room.checked_sub(1) {
            Some(left) => self.room = left,
            None => {
                let from = self.at.min(self.bytes.len());
                self.shell.full_at.get_or_insert(from);
                self.shell.sound = false;
                self.at = self.bytes.len();
            }
        }
        self.shell.full_at.is_none()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn commands(&mut self) {
        loop {
            self.blanks();
            let Some(byte) = self.peek() else { break };
            if self.closing == Some(byte) && self.blocks.is_empty() {
                break;
            }
            let before = self.at;
            match byte {
                b'\n' => self.newline(),
                b'#' => self.comment(),
                b';' | b'&' | b'|' => self.operator(),
                b'(' if self.peek_at(1) == Some(b'(') => self.arithmetic(),
                b'(' => {
                    self.at += 1;
                    self.open(Kind::Paren);
                }
                b')' => {
                    self.at += 1;
                    self.close(Kind::Paren);
                }
                _ => self.command(),
            }
            // What nothing takes is passed over, so that the end is reached.
            self.at = self.at.max(before + 1);
        }
        self.settle_groups();
        if !self.waiting.is_empty() || (self.closing.is_some() && self.peek().is_none()) {
            self.shell.sound = false;
        }
    }

    pub(super) fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') if self.peek_at(1) == Some(b'\r') && self.peek_at(2) == Some(b'\n') => {
                    self.at += 3
                }
                _ => return,
            }
        }
    }

    pub(super) fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        self.at = end.map_or(self.bytes.len(), |end| self.at + end);
    }

    pub(super) fn command(&mut self) {
        let start = self.at;
        let mut command = Command {
            range: start..start,
            sets: Vec::new(),
            words: Vec::new(),
            end: End::Plain,
            background: false,
            substitution: self.substitution > 0,
            function: self.in_function(),
            depth: self.blocks.len(),
        };
        loop {
            self.blanks();
            let Some(byte) = self.peek() else { break };
            if self.closing == Some(byte) && self.blocks.is_empty() {
                break;
            }
            match byte {
                b'\n' | b';' => break,
                b'|' => break,
                b'&' if self.peek_at(1) == Some(b'>') => self.redirection(),
                b'&' => break,
                b'#' => break,
                b'<' | b'>' => {
                    if self.peek_at(1) == Some(b'(') {
                        self.at += 2;
                        self.substitute(b')');
                    } else {
                        self.redirection();
                    }
                }
                b')' => break,
                b'(' => {
                    // `name ()` begins a function.
                    if command.words.len() == 1 && command.sets.is_empty() && self.empty_parens() {
                        self.function_next = true;
                        return;
                    }
                    // Not shell, or an array that is not at its place: passed over.
                    self.at += 1;
                    self.open(Kind::Paren);
                    break;
                }
                _ => {
                    let before = self.at;
                    let digits = self.bytes[self.at..]
                        .iter()
                        .take_while(|byte| byte.is_ascii_digit())
                        .count();
                    if digits > 0 && matches!(self.peek_at(digits), Some(b'<' | b'>')) {
                        self.at += digits;
                        self.redirection();
                        continue;
                    }
                    if !self.take_room() {
                        break;
                    }
                    let word = self.word();
                    if self.at == before {
                        // Nothing takes this byte: pass it over, so that the end is reached.
                        self.at += 1;
                        continue;
                    }
                    if command.words.is_empty() && command.sets.is_empty() && self.keyword(&word) {
                        return;
                    }
                    command.range.end = word.range.end;
                    let declares = command.words.first().is_none_or(|first| {
                        matches!(
                            &*first.text,
                            "export" | "declare" | "local" | "readonly" | "typeset"
                        )
                    });
                    match self.assignment(&word) {
                        Some(set) if declares => {
                            command.range.end = set.range.end;
                            command.sets.push(set);
                        }
                        _ => command.words.push(word),
                    }
                }
            }
        }
        if command.words.is_empty() && command.sets.is_empty() {
            return;
        }
        if self.take_room() {
            self.own.push(self.shell.commands.len());
            self.shell.commands.push(command);
        }
    }

    /// `()` here, blanks allowed.
    pub(super) fn empty_parens(&mut self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        if rest.get(blanks) == Some(&b')') {
            self.at += blanks + 2;
            return true;
        }
        false
    }
}
