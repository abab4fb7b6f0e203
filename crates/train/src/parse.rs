//! Reads a run file.

use crate::keys::{ON, POLL, SECTIONS, Section, SectionEntry, is_of_one_run, section_of};
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
            sections.environment.container.place_in(folder);
            let notify = &mut sections.notify;
            let paths = [&mut notify.password_file, &mut notify.hook_file];
            for path in paths.into_iter().flatten() {
                // One below the home folder is of that folder wherever it is written.
                if !path.value.starts_with("~/") {
                    path.value = folder.join(&path.value).display().to_string();
                }
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

fn read_document(run_file: &mut RunFile, reader: &mut Reader<'_>, document: &DeTable<'_>) {
    let place = if reader.is_user_config() {
        "the config"
    } else {
        "a run file"
    };
    let beside: &[&str] = if reader.is_user_config() {
        &["cluster", ON.name, POLL.name]
    } else {
        &["cluster"]
    };
    read_sections(&mut run_file.body, reader, document, place, beside);
    if reader.is_user_config()
        && let Some((_, on)) = document.iter().find(|(key, _)| key.get_ref() == ON.name)
    {
        run_file.on = reader.text(&ON, Raw::Toml(on));
    }
    if reader.is_user_config()
        && let Some((_, poll)) = document.iter().find(|(key, _)| key.get_ref() == POLL.name)
    {
        run_file.poll = reader.length(&POLL, Raw::Toml(poll));
    }
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
        let name = key.get_ref().as_ref();
        if reader.is_user_config() && is_of_one_run(name) {
            let message = format!("{name} belongs to one run");
            let help = "write it into the run file: the config holds what all runs share";
            reader.complain(key.span(), message, "", help);
        } else if let Some(section) = at_top(name) {
            (section.read)(own, reader, section.name, value);
        } else if let Some(known) = Sections::key(name) {
            known.read_into(own, reader, Raw::Toml(value));
        } else if !beside.contains(&name) {
            unknown_at_top(reader, key, place, beside);
        }
    }
    check_marker(own, reader, table);
}

fn at_top(name: &str) -> Option<&'static SectionEntry> {
    let mut at_top = SECTIONS.iter().filter(|section| section.is_at_top());
    at_top.find(|section| section.name == name)
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
    let own = Sections::names().into_iter();
    let sections = SECTIONS.iter().filter(|section| section.is_at_top());
    let sections = sections.map(|section| section.name);
    let all = own.chain(sections).chain(beside.iter().copied());
    let of_config = reader.is_user_config();
    let known: Vec<&str> = all
        .filter(|name| !of_config || !is_of_one_run(name))
        .collect();
    reader.unknown_key(key.span(), name, place, &known);
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
