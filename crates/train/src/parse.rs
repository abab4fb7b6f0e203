//! Reads a run file.

use crate::keys::{SECTIONS, Section, names_of};
use crate::reader::{From, Raw, Reader, Whose};
use crate::{CompleteWord, Problem, RunFile, Sections};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl RunFile {
    /// Reads a run file; never gives up: what is understood, and what is wrong with the rest.
    /// `origin` is the file's name as the person gave it. Show problems with [`crate::render`].
    #[must_use]
    pub fn parse(text: &str, origin: &str) -> (RunFile, Vec<Problem>) {
        read(text, origin, Whose::Run)
    }

    /// Reads the user's config: a run file's defaults, without what belongs to one run alone.
    /// Reads and shows like [`RunFile::parse`]; paths are against `folder`, where the file stands.
    #[must_use]
    pub fn parse_user_config(text: &str, origin: &str, folder: &Path) -> (RunFile, Vec<Problem>) {
        let (mut config, problems) = read(text, origin, Whose::User);
        for sections in std::iter::once(&mut config.body).chain(config.clusters.values_mut()) {
            if let Some(python) = &mut sections.environment.python {
                python.value.place_in(folder);
            }
        }
        (config, problems)
    }
}

fn read(text: &str, origin: &str, whose: Whose) -> (RunFile, Vec<Problem>) {
    let from = From::File {
        file: origin.to_owned(),
        whose,
        cluster: None,
    };
    let mut reader = Reader::new(text, from);
    let mut run_file = RunFile::default();
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        read_document(&mut run_file, &mut reader, document.get_ref());
    } else {
        let file = match whose {
            Whose::Run => "a run file",
            Whose::User => "the config",
        };
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let help = format!("{file} is written in TOML: text stands in quotes, https://toml.io");
            reader.complain(span, error.message(), "", help);
        }
    }
    reader.problems.sort_by_key(|problem| problem.span.start);
    (run_file, reader.problems)
}

/// Keys that the user's config can't have: they belong to one run.
const OF_ONE_RUN: [&str; 5] = ["name", "launcher", "command", "repeat", "data"];

fn read_document(run_file: &mut RunFile, reader: &mut Reader<'_>, document: &DeTable<'_>) {
    let place = match reader.is_user_config() {
        true => "the config",
        false => "a run file",
    };
    read_sections(&mut run_file.body, reader, document, place, &["cluster"]);
    let Some((_, clusters)) = document.iter().find(|(key, _)| key.get_ref() == "cluster") else {
        return;
    };
    let Some(clusters_table) = clusters.get_ref().as_table() else {
        let help = "write [cluster.NAME] and below it what differs there";
        reader.complain(clusters.span(), "cluster is not a table", "", help);
        return;
    };
    for (name, section) in clusters_table.iter() {
        let mut sections = Sections::default();
        reader.inside(Some(name.get_ref()));
        let place = format!("[cluster.{}]", name.get_ref());
        match section.get_ref() {
            DeValue::Table(table) => read_sections(&mut sections, reader, table, &place, &[]),
            _ => {
                let help = format!("write {place} and below it what differs there");
                reader.complain(section.span(), format!("{place} is not a table"), "", help);
            }
        }
        run_file
            .clusters
            .insert(name.get_ref().clone().into_owned(), sections);
    }
    reader.inside(None);
}

/// Reads top-level keys and sections; keys in `beside` are read elsewhere.
fn read_sections(
    own: &mut Sections,
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    place: &str,
    beside: &[&'static str],
) {
    for (key, value) in table.iter() {
        let raw = Raw::Toml(value);
        match key.get_ref().as_ref() {
            name if reader.is_user_config() && OF_ONE_RUN.contains(&name) => {
                let message = format!("{name} belongs to one run");
                let help = "write it into the run file: the config holds what all runs share";
                reader.complain(key.span(), message, "", help);
            }
            "resources" => read_section(&mut own.resources, reader, key, value),
            "environment" => read_section(&mut own.environment, reader, key, value),
            "data" => read_section(&mut own.data, reader, key, value),
            "checkpoints" => read_section(&mut own.checkpoints, reader, key, value),
            "resume" => read_section(&mut own.resume, reader, key, value),
            "notify" => read_section(&mut own.notify, reader, key, value),
            name if beside.contains(&name) => {}
            name => match Sections::KEYS.iter().find(|known| known.name == name) {
                Some(known) => (known.read)(own, reader, raw),
                None => unknown_at_top(reader, key, place, beside),
            },
        }
    }
    check_marker(own, reader, table);
}

fn read_section<S: Section>(
    own: &mut S,
    reader: &mut Reader<'_>,
    name: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
) {
    let place = format!("[{}]", name.get_ref());
    let DeValue::Table(table) = value.get_ref() else {
        let help = format!("write {place} on a line of its own and its keys below");
        let message = format!("{} is not a table", name.get_ref());
        reader.complain(value.span(), message, "", help);
        return;
    };
    for (key, value) in table.iter() {
        match S::KEYS.iter().find(|known| known.name == key.get_ref()) {
            Some(known) => (known.read)(own, reader, Raw::Toml(value)),
            None => {
                let known: Vec<&str> = names_of::<S>();
                reader.unknown_key(key.span(), key.get_ref(), &place, &known);
            }
        }
    }
}

/// A key that stands in no section: perhaps it belongs to one.
fn unknown_at_top(
    reader: &mut Reader<'_>,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    place: &str,
    beside: &[&'static str],
) {
    let name = key.get_ref().as_ref();
    if let Some(section) = section_of(name) {
        let header = match place.strip_suffix(']') {
            Some(of_cluster) => format!("{of_cluster}.{section}]"),
            None => format!("[{section}]"),
        };
        let message = format!("{name} belongs to {header}");
        let help = format!("write it below the line {header}");
        reader.complain(key.span(), message, "", help);
        return;
    }
    let own = Sections::KEYS.iter().map(|key| key.name);
    let all = own.chain(SECTIONS).chain(beside.iter().copied());
    let known: Vec<&str> = match reader.is_user_config() {
        true => all.filter(|name| !OF_ONE_RUN.contains(name)).collect(),
        false => all.collect(),
    };
    reader.unknown_key(key.span(), name, place, &known);
}

fn section_of(name: &str) -> Option<&'static str> {
    fn has<S: Section>(name: &str) -> bool {
        S::KEYS.iter().any(|key| key.name == name)
    }
    let owners = [
        ("resources", has::<crate::ResourceSection>(name)),
        ("environment", has::<crate::EnvironmentSection>(name)),
        ("data", has::<crate::DataSection>(name)),
        ("checkpoints", has::<crate::CheckpointSection>(name)),
        ("resume", has::<crate::ResumeSection>(name)),
    ];
    let owner = owners.iter().find(|(_, owns)| *owns);
    owner.map(|(section, _)| *section)
}

/// `complete = "marker"` needs a name, and a name needs it.
fn check_marker(own: &Sections, reader: &mut Reader<'_>, table: &DeTable<'_>) {
    let inside = |name: &str| {
        let (_, section) = table
            .iter()
            .find(|(key, _)| key.get_ref() == "checkpoints")?;
        let (_, value) = section
            .get_ref()
            .as_table()?
            .iter()
            .find(|(key, _)| key.get_ref() == name)?;
        Some(value.span())
    };
    let complete = own.checkpoints.complete.as_ref().map(|word| word.value);
    match (complete, &own.checkpoints.marker) {
        (Some(CompleteWord::Marker), None) if inside("marker").is_none() => {
            let help = "write marker = \"NAME\", the file that the program writes last";
            let span = inside("complete").unwrap_or(0..0);
            reader.complain(span, "complete = \"marker\" without a marker", "", help);
        }
        (Some(CompleteWord::Rename | CompleteWord::Settle) | None, Some(_)) => {
            let span = inside("marker").unwrap_or(0..0);
            let help = "write complete = \"marker\" beside it";
            reader.complain(span, "a marker without complete = \"marker\"", "", help);
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
