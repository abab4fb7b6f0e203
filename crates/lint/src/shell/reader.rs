//! Takes a shell script apart into simple commands.
//!
//! One pass over the bytes. Each `$(…)` is read by a reader of its own on the same text, to a depth
//! of [`DEEPEST`]; deeper ones are passed over.

use super::Shell;
use super::command::{Assignment, Command, End, Word, is_name};
use std::borrow::Cow;
use std::ops::Range;

/// So deep substitutions are read.
const DEEPEST: usize = 16;

pub(super) struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Ends at this byte outside of all else; none for the end of the text.
    closing: Option<u8>,
    substitution: usize,
    shell: Shell<'a>,
    blocks: Vec<Block>,
    /// Here-documents whose bodies begin at the next line: delimiter, tabs stripped.
    waiting: Vec<(String, bool)>,
    /// The next `{` or `(` is a function's body.
    function_next: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    If,
    Loop,
    Case,
    Brace,
    Paren,
}

struct Block {
    kind: Kind,
    function: bool,
    /// Number of commands before it.
    first: usize,
}

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
            waiting: Vec::new(),
            function_next: false,
        }
    }

    pub(super) fn read(mut self) -> Shell<'a> {
        self.commands();
        self.shell
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn commands(&mut self) {
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
        if !self.waiting.is_empty() || (self.closing.is_some() && self.peek().is_none()) {
            self.shell.sound = false;
        }
    }

    fn blanks(&mut self) {
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

    fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        self.at = end.map_or(self.bytes.len(), |end| self.at + end);
    }

    fn newline(&mut self) {
        self.at += 1;
        for (delimiter, tabs) in std::mem::take(&mut self.waiting) {
            let start = self.at;
            let mut found = false;
            while self.at < self.bytes.len() {
                let line_start = self.at;
                self.comment();
                let line = &self.text[line_start..self.at];
                self.at = (self.at + 1).min(self.bytes.len());
                let line = line.strip_suffix('\r').unwrap_or(line);
                let line = if tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                // In `$(cat <<E … E)` the closing parenthesis may stand behind the delimiter.
                if line == delimiter
                    || (self.closing.is_some() && line.strip_suffix(')') == Some(&delimiter))
                {
                    if line.ends_with(')') && !delimiter.ends_with(')') {
                        self.at = line_start + delimiter.len();
                    }
                    self.shell.heredocs.push(start..line_start);
                    found = true;
                    break;
                }
            }
            if !found {
                self.shell.heredocs.push(start..self.bytes.len());
                self.shell.sound = false;
            }
        }
    }

    /// `;`, `;;`, `&`, `&&`, `|`, `||`, `|&`, `;&` and what they do to what stood before.
    fn operator(&mut self) {
        let first = self.bytes[self.at];
        let second = self.peek_at(1);
        let (end, length) = match (first, second) {
            (b'&', Some(b'&')) | (b'|', Some(b'|')) => (End::Logic, 2),
            (b'|', Some(b'&')) => (End::Pipe, 2),
            (b'|', _) => (End::Pipe, 1),
            (b'&', _) => (End::Background, 1),
            (_, Some(b';' | b'&')) => {
                self.at += 2;
                self.patterns();
                return;
            }
            _ => (End::Plain, 1),
        };
        self.at += length;
        self.ended(end);
    }

    /// Tells the last command, and all that is joined to it, how it ends.
    fn ended(&mut self, end: End) {
        let commands = &mut self.shell.commands;
        if let Some(last) = commands.last_mut() {
            last.end = end;
        }
        if end != End::Background {
            return;
        }
        let mut joined = true;
        for command in commands.iter_mut().rev() {
            if command.substitution && self.substitution == 0 {
                continue;
            }
            if !joined && !matches!(command.end, End::Pipe | End::Logic) {
                break;
            }
            command.background = true;
            joined = false;
        }
    }

    fn open(&mut self, kind: Kind) {
        let function = std::mem::take(&mut self.function_next);
        self.blocks.push(Block {
            kind,
            function,
            first: self.shell.commands.len(),
        });
    }

    /// Closes the block, and those inside it that were left open.
    fn close(&mut self, kind: Kind) {
        let Some(index) = self.blocks.iter().rposition(|block| block.kind == kind) else {
            return;
        };
        let first = self.blocks[index].first;
        self.blocks.truncate(index);
        self.blanks();
        if self.peek() == Some(b'&')
            && self.peek_at(1) != Some(b'&')
            && self.peek_at(1) != Some(b'>')
        {
            self.at += 1;
            for command in &mut self.shell.commands[first..] {
                command.background = true;
            }
        }
    }

    fn arithmetic(&mut self) {
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

    /// Passes over the patterns of a `case`, up to the `)` behind them.
    fn patterns(&mut self) {
        if self
            .blocks
            .last()
            .is_none_or(|block| block.kind != Kind::Case)
        {
            return;
        }
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => self.newline(),
                Some(b'#') => self.comment(),
                _ => break,
            }
        }
        if self.bytes[self.at..].starts_with(b"esac") {
            return;
        }
        if self.peek() == Some(b'(') {
            self.at += 1;
        }
        while let Some(byte) = self.peek() {
            match byte {
                b')' => {
                    self.at += 1;
                    return;
                }
                b'\n' => return,
                b'|' | b' ' | b'\t' | b'&' | b';' | b'<' | b'>' | b'(' => self.at += 1,
                _ => {
                    let before = self.at;
                    self.word();
                    self.at = self.at.max(before + 1);
                }
            }
        }
    }

    fn command(&mut self) {
        let start = self.at;
        let mut command = Command {
            range: start..start,
            sets: Vec::new(),
            words: Vec::new(),
            end: End::Plain,
            background: false,
            substitution: self.substitution > 0,
            function: self.blocks.iter().any(|block| block.function),
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
        self.shell.commands.push(command);
    }

    /// `()` here, blanks allowed.
    fn empty_parens(&mut self) -> bool {
        let rest = &self.bytes[self.at + 1..];
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        if rest.get(blanks) == Some(&b')') {
            self.at += blanks + 2;
            return true;
        }
        false
    }

    /// Takes a word of the grammar, after which a new command begins.
    fn keyword(&mut self, word: &Word<'a>) -> bool {
        let written = &self.text[word.range.clone()];
        match written {
            "if" => self.open(Kind::If),
            "fi" => self.close(Kind::If),
            "do" => self.open(Kind::Loop),
            "done" => self.close(Kind::Loop),
            "{" => self.open(Kind::Brace),
            "}" => self.close(Kind::Brace),
            "esac" => self.close(Kind::Case),
            "then" | "else" | "elif" | "while" | "until" | "!" => {}
            "for" | "select" => {
                self.blanks();
                if self.bytes[self.at..].starts_with(b"((") {
                    self.arithmetic();
                    return true;
                }
                // The words of the list are no command; substitutions in them are.
                loop {
                    self.blanks();
                    match self.peek() {
                        None | Some(b'\n' | b';' | b'#') => return true,
                        Some(b'|' | b'&' | b'<' | b'>' | b'(' | b')') => self.at += 1,
                        Some(_) => {
                            let before = self.at;
                            self.word();
                            if self.at == before {
                                self.at += 1;
                            }
                        }
                    }
                }
            }
            "case" => {
                self.blanks();
                self.word();
                self.blanks();
                while self.peek() == Some(b'\n') {
                    self.newline();
                    self.blanks();
                }
                if self.bytes[self.at..].starts_with(b"in") {
                    self.at += 2;
                }
                self.open(Kind::Case);
                self.patterns();
            }
            "function" => {
                self.blanks();
                self.word();
                self.blanks();
                if self.peek() == Some(b'(') {
                    self.empty_parens();
                }
                self.function_next = true;
            }
            "[[" => {
                while self.at < self.bytes.len() {
                    self.blanks();
                    match self.peek() {
                        Some(b'\n') | None => return true,
                        Some(b'<' | b'>' | b'(' | b')' | b'&' | b'|' | b';') => self.at += 1,
                        Some(_) => {
                            let before = self.at;
                            let word = self.word();
                            if &self.text[word.range] == "]]" {
                                return true;
                            }
                            if self.at == before {
                                self.at += 1;
                            }
                        }
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// `NAME=value`, `NAME+=value`, `NAME[i]=value`, `NAME=(…)`.
    fn assignment(&mut self, word: &Word<'a>) -> Option<Assignment<'a>> {
        let written = &self.text[word.range.clone()];
        let equals = written.find('=')?;
        let mut name = &written[..equals];
        name = name.strip_suffix('+').unwrap_or(name);
        if let Some((array, index)) = name.split_once('[')
            && index.ends_with(']')
        {
            name = array;
        }
        if !is_name(name) {
            return None;
        }
        let from = word.range.start + equals + 1;
        if from == word.range.end && self.peek() == Some(b'(') && self.at == from {
            self.at += 1;
            self.parens();
            return Some(Assignment {
                name,
                value: Word {
                    range: from..self.at,
                    text: Cow::Borrowed(""),
                    expands: true,
                },
                range: word.range.start..self.at,
            });
        }
        let text = match &word.text {
            Cow::Borrowed(text) => {
                Cow::Borrowed(text.split_once('=').map_or("", |(_, value)| value))
            }
            Cow::Owned(text) => Cow::Owned(
                text.split_once('=')
                    .map_or("", |(_, value)| value)
                    .to_owned(),
            ),
        };
        Some(Assignment {
            name,
            value: Word {
                range: from..word.range.end,
                text,
                expands: word.expands,
            },
            range: word.range.clone(),
        })
    }

    /// Passes over what is left up to the closing parenthesis.
    fn parens(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                None => {
                    self.shell.sound = false;
                    return;
                }
                Some(b')') => {
                    self.at += 1;
                    return;
                }
                Some(b'\n') => self.newline(),
                Some(b'#') => self.comment(),
                Some(_) => {
                    let before = self.at;
                    self.word();
                    if self.at == before {
                        self.at += 1;
                    }
                }
            }
        }
    }

    /// `> file`, `2>&1`, `<<EOF`, `<<< word`.
    fn redirection(&mut self) {
        let rest = &self.bytes[self.at..];
        let heredoc = rest.starts_with(b"<<") && !rest.starts_with(b"<<<");
        while matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
            self.at += 1;
        }
        let tabs = heredoc && self.peek() == Some(b'-');
        if tabs {
            self.at += 1;
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        if matches!(self.peek(), Some(b'<' | b'>')) && self.peek_at(1) == Some(b'(') {
            self.at += 2;
            self.substitute(b')');
            return;
        }
        let word = self.word();
        if heredoc && !word.text.is_empty() {
            self.waiting.push((word.text.into_owned(), tabs));
        }
    }

    /// A word, which ends at a blank or an operator.
    fn word(&mut self) -> Word<'a> {
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
    fn until(&mut self, byte: u8) {
        let rest = &self.bytes[self.at..];
        match rest.iter().position(|found| *found == byte) {
            Some(position) => self.at += position,
            None => {
                self.at = self.bytes.len();
                self.shell.sound = false;
            }
        }
    }

    fn long_quote(&mut self, from: usize) {
        let range: Range<usize> = from..self.at;
        if self.bytes[range.clone()].contains(&b'\n') {
            self.shell.quotes.push(range);
        }
    }

    /// What stands in double quotes, past the closing one; true when something in it is expanded.
    fn double_quoted(&mut self, text: &mut String) -> bool {
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
    fn dollar(&mut self) {
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

    /// Reads the commands of a substitution, past what closes it.
    fn substitute(&mut self, closing: u8) {
        if self.substitution >= DEEPEST {
            self.until(closing);
            self.at = (self.at + 1).min(self.bytes.len());
            return;
        }
        let mut inner = Reader::new(self.text, self.at);
        inner.closing = Some(closing);
        inner.substitution = self.substitution + 1;
        inner.commands();
        let in_function = self.blocks.iter().any(|block| block.function);
        let end = inner.at;
        let mut read = inner.shell;
        for command in &mut read.commands {
            command.function |= in_function;
        }
        self.shell.commands.append(&mut read.commands);
        self.shell.heredocs.append(&mut read.heredocs);
        self.shell.quotes.append(&mut read.quotes);
        self.shell.sound &= read.sound;
        self.at = (end + 1).min(self.bytes.len());
    }
}
