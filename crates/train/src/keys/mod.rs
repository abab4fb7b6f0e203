//! The keys of a run file: one table drives parsing, the flags, what is suggested for an unknown key,
//! `docs/run-file.md` and the comments of `yard init`.
//!
//! A file a section. A row says what a key takes; beside it stands the function that reads it.

mod after;
mod checkpoints;
mod choices;
mod config_only;
mod container;
mod data;
mod environment;
mod key_row;
mod notify;
mod resources;
mod resume;
mod sections;
mod services;
mod top;
mod watch;

pub(crate) use choices::Choice;
pub(crate) use config_only::{ON, POLL};
pub use key_row::{Flag, KeyDefault, KeyRow, Value};
pub(crate) use sections::{SECTIONS, SectionEntry, section_of};
pub use sections::{SectionRow, config_keys, is_of_one_run, key_sections, top_keys};
pub(crate) use top::{AT_ONCE, LAUNCHER, REPEAT, name};

use crate::reader::{Raw, Reader};

/// One key of a section `S`.
pub(crate) struct Key<S: 'static> {
    /// What it takes.
    pub row: KeyRow,
    /// Reads the value into the section; what is wrong goes to the reader.
    pub read: Read<S>,
}

/// Reads a value of a row into a section.
pub(crate) type Read<S> = fn(&KeyRow, &mut S, &mut Reader<'_>, Raw<'_>);

impl<S> Key<S> {
    /// Reads a value into the section.
    pub fn read_into(&self, own: &mut S, reader: &mut Reader<'_>, raw: Raw<'_>) {
        (self.read)(&self.row, own, reader, raw);
    }
}

/// A section as the table of its keys.
pub(crate) trait Section: Sized + 'static {
    const KEYS: &'static [Key<Self>];

    /// The key of that name.
    fn key(name: &str) -> Option<&'static Key<Self>> {
        Self::KEYS.iter().find(|key| key.row.name == name)
    }

    /// The rows of all keys.
    fn rows() -> Vec<&'static KeyRow> {
        Self::KEYS.iter().map(|key| &key.row).collect()
    }

    /// The names of all keys.
    fn names() -> Vec<&'static str> {
        Self::rows().iter().map(|row| row.name).collect()
    }
}

/// The rows of `[resources]`.
#[must_use]
pub fn resource_keys() -> Vec<&'static KeyRow> {
    crate::ResourceSection::rows()
}

#[cfg(test)]
mod tests;
