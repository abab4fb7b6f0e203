//! The sections of a run file, each with its keys and what reads it.

use super::{KeyRow, Section};
use crate::reader::Reader;
use crate::{
    AfterSection, CheckpointSection, ContainerSection, DataSection, EnvironmentSection,
    NotifySection, ResourceSection, ResumeSection, Sections, WatchSection,
};
use toml::Spanned;
use toml::de::DeValue;

/// A section of a run file, for people.
#[derive(Clone, Debug)]
pub struct SectionRow {
    /// Its name, without brackets.
    pub name: &'static str,
    /// What it is for, in a sentence.
    pub doc: &'static str,
    /// Its keys.
    pub keys: Vec<&'static KeyRow>,
    /// Whether it belongs to one run alone, so that the user's config can't have it.
    pub of_one_run: bool,
}

/// A section of a run file, and how it is read.
pub(crate) struct SectionEntry {
    pub name: &'static str,
    doc: &'static str,
    of_one_run: bool,
    keys: fn() -> Vec<&'static KeyRow>,
    /// Reads a value into the section of that name.
    pub read: fn(&mut Sections, &mut Reader<'_>, &'static str, &Spanned<DeValue<'_>>),
}

impl SectionEntry {
    /// Whether it stands at the top of a file, and not inside of another.
    pub fn is_at_top(&self) -> bool {
        !self.name.contains('.')
    }
}

/// All of them, in the order in which they are shown.
pub(crate) const SECTIONS: &[SectionEntry] = &[
    SectionEntry {
        name: "resources",
        doc: "What each job of the run asks for.",
        of_one_run: false,
        keys: ResourceSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.resources, name, value),
    },
    SectionEntry {
        name: "environment",
        doc: "Modules, Python and variables of the ranks. Paths are against the run file's folder.",
        of_one_run: false,
        keys: EnvironmentSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.environment, name, value),
    },
    SectionEntry {
        name: "environment.container",
        doc: "The container that the ranks run in. Paths are against the run file's folder.",
        of_one_run: false,
        keys: ContainerSection::rows,
        read: |own, reader, name, value| {
            reader.section(&mut own.environment.container, name, value);
        },
    },
    SectionEntry {
        name: "after",
        doc: "What has to be done before the run starts.",
        of_one_run: true,
        keys: AfterSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.after, name, value),
    },
    SectionEntry {
        name: "data",
        doc: "What is brought to the nodes and from them. Paths are against the run file's folder.",
        of_one_run: true,
        keys: DataSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.data, name, value),
    },
    SectionEntry {
        name: "checkpoints",
        doc: "How checkpoints are recognised and kept.",
        of_one_run: false,
        keys: CheckpointSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.checkpoints, name, value),
    },
    SectionEntry {
        name: "resume",
        doc: "When and how the run comes back after its job has ended.",
        of_one_run: false,
        keys: ResumeSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.resume, name, value),
    },
    SectionEntry {
        name: "watch",
        doc: "What is done about ranks that hang (docs/monitor.md).",
        of_one_run: false,
        keys: WatchSection::rows,
        read: |own, reader, name, value| reader.section(&mut own.watch, name, value),
    },
    SectionEntry {
        name: "notify",
        doc: "Who gets mail, and about what; and a web hook. Paths are against the run file's folder.",
        of_one_run: false,
        keys: NotifySection::rows,
        read: |own, reader, name, value| reader.section(&mut own.notify, name, value),
    },
    SectionEntry {
        name: "services",
        doc: "Programs beside the ranks, on the first node: they end with the job (docs/services.md).",
        of_one_run: false,
        keys: super::services::rows,
        read: |own, reader, name, value| {
            super::services::read(&mut own.services, reader, name, value);
        },
    },
];

/// The keys above the first section.
#[must_use]
pub fn top_keys() -> Vec<&'static KeyRow> {
    Sections::rows()
}

/// The keys that the user's config alone has, above its first section.
#[must_use]
pub fn config_keys() -> Vec<&'static KeyRow> {
    vec![&super::ON, &super::POLL]
}

/// The sections with their keys.
#[must_use]
pub fn key_sections() -> Vec<SectionRow> {
    let row = |entry: &SectionEntry| SectionRow {
        name: entry.name,
        doc: entry.doc,
        keys: (entry.keys)(),
        of_one_run: entry.of_one_run,
    };
    SECTIONS.iter().map(row).collect()
}

/// The first section that has a key of that name.
pub(crate) fn section_of(key: &str) -> Option<&'static str> {
    let has = |entry: &&SectionEntry| (entry.keys)().iter().any(|row| row.name == key);
    SECTIONS.iter().find(has).map(|entry| entry.name)
}

/// Whether a key or section at the top of a file belongs to one run, so that the user's config can't
/// have it.
#[must_use]
pub fn is_of_one_run(name: &str) -> bool {
    let mut sections = SECTIONS.iter();
    Sections::key(name).is_some() || sections.any(|entry| entry.name == name && entry.of_one_run)
}
