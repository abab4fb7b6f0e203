//! Reads a run file.

use crate::keys::{SECTIONS, Section, names_of};
use crate::reader::{From, Raw, Reader};
use crate::{CompleteWord, Problem, RunFile, Sections};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl RunFile {
    /// Reads a run file; never gives up: what is understood, and what is wrong with the rest.
    /// `origin` is the file's name as the person gave it. Show problems with [`crate::render`].
    #[must_use]
    pub fn parse(text: &str, origin: &str) -> (RunFile, Vec<Problem>) {
        let from = From::File {
            file: origin.to_owned(),
        };
        let mut reader = Reader::new(text, from);
        let mut run_file = RunFile::default();
        let (document, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            read_document(&mut run_file, &mut reader, document.get_ref());
        } else {
            for error in errors {
                let span = error.span().unwrap_or(0..0);
                let help = "a run file is written in TOML: https://toml.io";
                reader.complain(span, error.message(), "", help);
            }
        }
        reader.problems.sort_by_key(|problem| problem.span.start);
        (run_file, reader.problems)
    }
}

fn read_document(run_file: &mut RunFile, reader: &mut Reader<'_>, document: &DeTable<'_>) {
    read_sections(
        &mut run_file.body,
        reader,
        document,
        "a run file",
        &["cluster"],
    );
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
        let message = format!("{name} belongs to [{section}]");
        let help = format!("write it below the line [{section}]");
        reader.complain(key.span(), message, "", help);
        return;
    }
    let own = Sections::KEYS.iter().map(|key| key.name);
    let known: Vec<&str> = own.chain(SECTIONS).chain(beside.iter().copied()).collect();
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
