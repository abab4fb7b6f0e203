//! What joins commands and puts them into blocks: operators and the words of the grammar.

use super::command::{End, Word};
use super::reader::Reader;

/// The kinds of blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    If,
    Loop,
    Case,
    Brace,
    Paren,
}

impl Kind {
    pub(super) const COUNT: usize = Kind::Paren as usize + 1;
}

/// A block that is open.
pub(super) struct Block {
    pub(super) kind: Kind,
    /// It is a function's body, or stands in one.
    pub(super) function: bool,
    /// Number of commands before it.
    pub(super) first: usize,
}

#[cfg(test)]
thread_local! {
    /// How often a command was looked at to tell it that it runs beside what follows.
    pub(super) static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl<'a> Reader<'a> {
    /// `;`, `;;`, `&`, `&&`, `|`, `||`, `|&`, `;&` and what they do to what stood before.
    pub(super) fn operator(&mut self) {
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
    pub(super) fn ended(&mut self, end: End) {
        let commands = &mut self.shell.commands;
        if let Some(last) = commands.last_mut() {
            last.end = end;
        }
        if end != End::Background {
            return;
        }
        // Joined are the last command and those before it that end with `|`, `&&` or `||`. What runs
        // beside already was joined before, and all before it with it.
        let mut joined = true;
        for index in self.own.iter().rev() {
            #[cfg(test)]
            STEPS.with(|steps| steps.set(steps.get() + 1));
            let command = &mut commands[*index];
            let joins = matches!(command.end, End::Pipe | End::Logic);
            if command.background || !(joined || joins) {
                break;
            }
            command.background = true;
            joined = false;
        }
    }

    /// Says of the commands of groups that end with `&` that they run beside what follows.
    pub(super) fn settle_groups(&mut self) {
        let mut done = self.shell.commands.len();
        // A group stands behind those inside it: from the back, each byte is looked at once.
        for group in std::mem::take(&mut self.beside).into_iter().rev() {
            let until = group.end.min(done);
            if group.start < until {
                for command in &mut self.shell.commands[group.start..until] {
                    command.background = true;
                    #[cfg(test)]
                    STEPS.with(|steps| steps.set(steps.get() + 1));
                }
                done = group.start;
            }
        }
    }

    pub(super) fn open(&mut self, kind: Kind) {
        let function = std::mem::take(&mut self.function_next) || self.in_function();
        if !self.take_room() {
            return;
        }
        self.open[kind as usize] += 1;
        self.blocks.push(Block {
            kind,
            function,
            first: self.shell.commands.len(),
        });
    }

    /// Whether what stands here is part of a function.
    pub(super) fn in_function(&self) -> bool {
        self.blocks.last().is_some_and(|block| block.function)
    }

    /// Closes the block, and those inside it that were left open.
    pub(super) fn close(&mut self, kind: Kind) {
        // Asked first: a script may close what it never opened, many times, in many other blocks.
        if self.open[kind as usize] == 0 {
            return;
        }
        let mut first = self.shell.commands.len();
        while let Some(block) = self.blocks.pop() {
            self.open[block.kind as usize] -= 1;
            first = block.first;
            if block.kind == kind {
                break;
            }
        }
        self.blanks();
        if self.peek() == Some(b'&')
            && self.peek_at(1) != Some(b'&')
            && self.peek_at(1) != Some(b'>')
        {
            self.at += 1;
            self.beside.push(first..self.shell.commands.len());
        }
    }

    /// Passes over the patterns of a `case`, up to the `)` behind them.
    pub(super) fn patterns(&mut self) {
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

    /// Takes a word of the grammar, after which a new command begins.
    pub(super) fn keyword(&mut self, word: &Word<'a>) -> bool {
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
}
