//! `[services]`: programs beside the ranks.

use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{Resolved, ServiceSection, placeholders};
use toml::Spanned;
use toml::de::DeValue;

impl Section for ServiceSection {
    const KEYS: &'static [Key<ServiceSection>] = &[
        Key {
            row: KeyRow {
                name: "tensorboard",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: None,
                doc: "Starts TensorBoard on the event files of the run.",
                example: "true",
            },
            read: |row, own, reader, raw| own.tensorboard = reader.switch(row, raw),
        },
        Key {
            row: KeyRow {
                name: "jupyter",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: None,
                doc: "Starts JupyterLab in the run's copy of the code.",
                example: "true",
            },
            read: |row, own, reader, raw| own.jupyter = reader.switch(row, raw),
        },
    ];
}

const COMMAND: KeyRow = KeyRow {
    name: "NAME.command",
    value: Value::Command,
    default: KeyDefault::Described("needed in `[services.NAME]`"),
    flag: None,
    doc: "Program and arguments of a service of any name, with the ranks' environment, started on \
          the first node beside them. `{port}` is its port.",
    example: "[\"nvdashboard\", \"{port}\"]",
};

const PORT: KeyRow = KeyRow {
    name: "NAME.port",
    value: Value::Count(1),
    default: KeyDefault::Described("a free one"),
    flag: None,
    doc: "The port that it listens on.",
    example: "8888",
};

/// All rows, those of a service of any name among them.
pub(super) fn rows() -> Vec<&'static KeyRow> {
    let mut rows = ServiceSection::rows();
    rows.extend([&COMMAND, &PORT]);
    rows
}

/// Reads the section: what is no key of its own names a service.
pub(super) fn read(
    own: &mut ServiceSection,
    reader: &mut Reader<'_>,
    name: &'static str,
    value: &Spanned<DeValue<'_>>,
) {
    let DeValue::Table(table) = value.get_ref() else {
        // It says what is wrong.
        reader.section(own, name, value);
        return;
    };
    for (key, value) in table.iter() {
        let name = key.get_ref().as_ref();
        match (ServiceSection::key(name), value.get_ref()) {
            (Some(known), _) => known.read_into(own, reader, Raw::Toml(value)),
            (None, DeValue::Table(keys)) if is_name(name) => {
                let service = own.named.entry(name.to_owned()).or_default();
                for (key, value) in keys.iter() {
                    match key.get_ref().as_ref() {
                        "command" => service.command = command(reader, Raw::Toml(value)),
                        "port" => service.port = port(reader, Raw::Toml(value)),
                        other => {
                            let place = format!("[services.{name}]");
                            reader.unknown_key(key.span(), other, &place, &["command", "port"]);
                        }
                    }
                }
                if service.command.is_none() {
                    let help = format!("write command = {}", COMMAND.example);
                    let message = format!("[services.{name}] has no command");
                    reader.complain(key.span(), message, "", help);
                }
            }
            (None, DeValue::Table(_)) => {
                let help = "letters, digits, - and _ are fine, at most 32";
                let message = format!("{name:?} can't name a service");
                reader.complain(key.span(), message, "", help);
            }
            (None, _) => {
                reader.unknown_key(key.span(), name, "[services]", &ServiceSection::names());
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    (1..=32).contains(&name.len()) && name.chars().all(fits)
}

fn command(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
    let command = reader.texts(
        &KeyRow {
            name: "command",
            ..COMMAND
        },
        raw,
    )?;
    for word in &command.value {
        if let Err(unknown) = placeholders::check(&word.replace("{port}", "")) {
            let help = "{port} and the placeholders of command are known";
            reader.complain(span(raw), unknown.to_string(), "", help);
            return None;
        }
    }
    if command.value.first().is_none_or(String::is_empty) {
        let help = format!("write command = {}", COMMAND.example);
        reader.complain(span(raw), "command is empty", "", help);
        return None;
    }
    Some(command)
}

fn port(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<u32>> {
    let port = reader.count(
        &KeyRow {
            name: "port",
            ..PORT
        },
        raw,
    )?;
    if port.value > u32::from(u16::MAX) {
        reader.complain(
            span(raw),
            "port is more than 65535",
            "",
            "leave it out for a free one",
        );
        return None;
    }
    Some(port)
}
