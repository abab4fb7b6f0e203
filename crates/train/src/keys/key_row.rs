//! What a row of the table says of a key.

use std::fmt;

/// A key of a run file.
#[derive(Clone, Copy, Debug)]
pub struct KeyRow {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub value: Value,
    /// What holds without it.
    pub default: KeyDefault,
    /// The flag of `yard run` and `yard plan` that sets it.
    pub flag: Option<Flag>,
    /// What it is for, in a sentence.
    pub doc: &'static str,
    /// A value as a run file has it.
    pub example: &'static str,
}

impl KeyRow {
    /// Whether it is a section of its own.
    #[must_use]
    pub fn is_section(&self) -> bool {
        matches!(self.value, Value::Section(_))
    }
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Text that is not empty.
    Text,
    /// A name that can be part of a folder's.
    Name,
    /// A file's name without a folder.
    FileName,
    /// A path, against the run file's folder.
    Path,
    /// A whole number of at least so much.
    Count(u32),
    /// A whole number, or `TYPE:N`.
    Gpus,
    /// `true` or `false`.
    Switch,
    /// An array of texts.
    Texts,
    /// An array of paths.
    Paths,
    /// An array of texts with placeholders in them.
    Command,
    /// One of these words.
    OneOf(fn() -> Vec<&'static str>),
    /// An array of these words.
    SomeOf(fn() -> Vec<&'static str>),
    /// How many are kept, or `"all"`.
    Keep,
    /// A time limit.
    Time,
    /// A length of time.
    Length,
    /// Memory of a node.
    Memory,
    /// An amount of memory.
    Amount,
    /// An array of mounts of a container.
    Mounts,
    /// A table of texts: variables with their values.
    Variables,
    /// A section of its own, of this name.
    Section(&'static str),
}

impl Value {
    /// The least number that it takes.
    #[must_use]
    pub fn least(self) -> u32 {
        match self {
            Value::Count(least) => least,
            Value::Keep => 1,
            _ => 0,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |words: Vec<&'static str>| {
            let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            words.join(", ")
        };
        f.write_str(match self {
            Value::Text => "text",
            Value::Name => "text: letters, digits, `-`, `_` and `.`, at most 64",
            Value::FileName => "the name of a file, without a folder",
            Value::Path => "path",
            Value::Count(least) => return write!(f, "whole number, at least {least}"),
            Value::Gpus => "whole number, or `\"TYPE:N\"`",
            Value::Switch => "`true` or `false`",
            Value::Texts => "array of texts",
            Value::Paths => "array of paths",
            Value::Command => "array of texts with placeholders",
            Value::OneOf(words) => return write!(f, "one of {}", quoted(words())),
            Value::SomeOf(words) => return write!(f, "array of some of {}", quoted(words())),
            Value::Keep => "whole number, at least 1, or `\"all\"`",
            Value::Time => "length of time, or `\"unlimited\"`",
            Value::Length => "length of time",
            Value::Memory => "amount of memory, `\"all\"` or `\"default\"`",
            Value::Amount => "amount of memory",
            Value::Mounts => "array of mounts",
            Value::Variables => "table of texts",
            Value::Section(name) => return write!(f, "the section `[{name}]`"),
        })
    }
}

/// What holds where a key is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDefault {
    /// This value, as a run file has it.
    Is(&'static str),
    /// This value, as a run file has it, unless something holds.
    Unless(&'static str, &'static str),
    /// What the sentence says.
    Described(&'static str),
}

impl KeyDefault {
    /// The value that holds without the key, as a run file has it.
    #[must_use]
    pub fn value(self) -> Option<&'static str> {
        match self {
            KeyDefault::Is(value) | KeyDefault::Unless(value, _) => Some(value),
            KeyDefault::Described(_) => None,
        }
    }
}

impl fmt::Display for KeyDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyDefault::Is(value) => write!(f, "`{value}`"),
            KeyDefault::Unless(value, unless) => write!(f, "`{value}`; {unless}"),
            KeyDefault::Described(words) => f.write_str(words),
        }
    }
}

/// A flag of `yard run` and `yard plan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its long name, which is Slurm's where Slurm has one.
    pub long: &'static str,
    /// What its value is called; none where it takes no value.
    pub value: Option<&'static str>,
    /// Its help, where Slurm has none, or a run file takes the value more strictly than Slurm does.
    pub help: Option<&'static str>,
    /// Whether Slurm has it.
    pub of_slurm: bool,
    /// Can be given several times.
    pub several: bool,
}

impl Flag {
    /// One of Slurm's.
    pub(super) const fn slurms(long: &'static str, value: &'static str) -> Option<Flag> {
        Some(Flag {
            long,
            value: Some(value),
            help: None,
            of_slurm: true,
            several: false,
        })
    }

    /// One of Slurm's, with a help of its own.
    pub(super) const fn stricter(
        long: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Option<Flag> {
        Some(Flag {
            long,
            value: Some(value),
            help: Some(help),
            of_slurm: true,
            several: false,
        })
    }

    /// One that Slurm doesn't have.
    pub(super) const fn own(
        long: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Option<Flag> {
        Some(Flag {
            long,
            value: Some(value),
            help: Some(help),
            of_slurm: false,
            several: false,
        })
    }
}
