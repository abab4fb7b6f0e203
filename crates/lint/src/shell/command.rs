//! A simple command of the shell.

use std::borrow::Cow;
use std::ops::Range;

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Its bytes, quotes and all.
    pub range: Range<usize>,
    /// Without quotes; what is expanded (`$X`, `` `…` ``) stands as it was written.
    pub text: Cow<'a, str>,
    /// True where something in it is expanded.
    pub expands: bool,
}

/// A variable that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it becomes; empty for an array.
    pub value: Word<'a>,
    /// Name and value.
    pub range: Range<usize>,
}

/// What stands behind a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `;`, the line's end, or the end of a block.
    Plain,
    /// `&&` or `||`
    Logic,
    /// `|`
    Pipe,
    /// `&`
    Background,
}

/// A simple command.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// From its first to its last word.
    pub range: Range<usize>,
    /// The variables before its words; of a command without words, all that it does.
    pub sets: Vec<Assignment<'a>>,
    /// Its words.
    pub words: Vec<Word<'a>>,
    /// What stands behind it.
    pub end: End,
    /// Runs beside what follows: it, its pipe or its block ends with `&`.
    pub background: bool,
    /// Stands in `$(…)` or backticks.
    pub substitution: bool,
    /// Stands in a function: runs when that is called.
    pub function: bool,
    /// Depth of blocks (`if`, loops, groups) that it stands in.
    pub depth: usize,
}

/// Programs that run the rest of their words, and the letters of theirs that take a value.
const WRAPPERS: &[(&str, &str)] = &[
    ("exec", "a"),
    ("command", ""),
    ("builtin", ""),
    ("time", "fo"),
    ("/usr/bin/time", "fo"),
    ("nohup", ""),
    ("nice", "n"),
    ("ionice", "cn"),
    ("stdbuf", "ioe"),
    ("env", "uCS"),
    ("/usr/bin/env", "uCS"),
    ("timeout", "ks"),
    ("sudo", "ug"),
    ("numactl", "NmCpi"),
    ("taskset", ""),
    ("setsid", ""),
    ("xvfb-run", "nsef"),
];

impl<'a> Command<'a> {
    /// The words from the program on, without wrappers such as `time`, `exec`, `env A=b`.
    #[must_use]
    pub fn program(&self) -> &[Word<'a>] {
        let mut words = &self.words[..];
        while let Some((first, mut rest)) = words.split_first() {
            let Some((name, letters)) = WRAPPERS.iter().find(|(name, _)| *name == first.text)
            else {
                return words;
            };
            while let Some(word) = rest.first() {
                let text = &*word.text;
                if let Some(option) = text.strip_prefix('-') {
                    let value = option.len() == 1 && letters.contains(option);
                    rest = rest.get(1 + usize::from(value)..).unwrap_or_default();
                } else if name.ends_with("env") && is_assignment(text) {
                    rest = &rest[1..];
                } else {
                    break;
                }
            }
            // `timeout 5m program`, `taskset ff program`.
            if matches!(*name, "timeout" | "taskset") {
                rest = rest.get(1..).unwrap_or_default();
            }
            words = rest;
        }
        words
    }

    /// The program's name without its folder; empty where there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        let first = self.program().first();
        let text = first.map_or("", |word| &*word.text);
        text.rsplit('/').next().unwrap_or(text)
    }

    /// The variables that it sets in the shell: bare, or by `export`, `declare` and the like.
    pub fn assignments(&self) -> impl Iterator<Item = &Assignment<'a>> {
        let stay = self.words.is_empty()
            || matches!(
                &*self.words[0].text,
                "export" | "declare" | "local" | "readonly" | "typeset" | "setenv"
            );
        self.sets.iter().filter(move |_| stay)
    }
}

/// `NAME=…`
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// A variable's name.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
