//! `[environment]`: modules and Python of the ranks.

use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{EnvironmentSection, PythonChoice, Resolved};
use std::path::Path;

/// Which Python, where none is named.
const AS_IT_IS: KeyDefault = KeyDefault::Described("the Python that the job finds");

impl Section for EnvironmentSection {
    const KEYS: &'static [Key<EnvironmentSection>] = &[
        Key {
            row: KeyRow {
                name: "venv",
                value: Value::Path,
                default: AS_IT_IS,
                flag: None,
                doc: "A virtual environment that exists. At most one of `venv`, `requirements` and \
                      `conda` can be set.",
                example: "\"../env\"",
            },
            read: |row, own, reader, raw| python(row, own, reader, raw, PythonChoice::Venv),
        },
        Key {
            row: KeyRow {
                name: "requirements",
                value: Value::Path,
                default: AS_IT_IS,
                flag: None,
                doc: "A requirements file: a virtual environment is made of it before the job, once \
                      for each content, and kept in the cache.",
                example: "\"requirements.txt\"",
            },
            read: |row, own, reader, raw| python(row, own, reader, raw, PythonChoice::Requirements),
        },
        Key {
            row: KeyRow {
                name: "conda",
                value: Value::Text,
                default: AS_IT_IS,
                flag: None,
                doc: "A conda environment, by name or by folder: with a `/` or a leading `.` it is \
                      a folder.",
                example: "\"my-env\"",
            },
            read: |row, own, reader, raw| python(row, own, reader, raw, PythonChoice::Conda),
        },
        Key {
            row: KeyRow {
                name: "container",
                value: Value::NotYet("use venv, requirements or conda"),
                default: KeyDefault::Described("none"),
                flag: None,
                doc: "A container image.",
                example: "\"image.sif\"",
            },
            read: |row, _, reader, raw| {
                let help = match row.value {
                    Value::NotYet(instead) => instead,
                    _ => "",
                };
                reader.complain(span(raw), "containers are not supported yet", "", help);
            },
        },
        Key {
            row: KeyRow {
                name: "modules",
                value: Value::Texts,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Environment modules, loaded in this order before the Python environment.",
                example: "[\"cuda/12.4\"]",
            },
            read: |row, own, reader, raw| own.modules = reader.texts(row, raw),
        },
    ];
}

fn python(
    row: &KeyRow,
    own: &mut EnvironmentSection,
    reader: &mut Reader<'_>,
    raw: Raw<'_>,
    choice: fn(String) -> PythonChoice,
) {
    let Some(path) = reader.text(row, raw) else {
        return;
    };
    if let Some(other) = &own.python {
        let message = format!("{} beside {}", row.name, other.value.word());
        let help = "one of venv, requirements and conda; modules go with any";
        reader.complain(span(raw), message, "", help);
        return;
    }
    own.python = Some(Resolved::new(choice(path.value), path.source));
}

impl PythonChoice {
    /// Puts a path that is not absolute into a folder; a conda environment's name stays.
    pub(crate) fn place_in(&mut self, folder: &Path) {
        let path = match self {
            PythonChoice::Venv(path) | PythonChoice::Requirements(path) => path,
            PythonChoice::Conda(name) if !name.contains('/') && !name.starts_with('.') => return,
            PythonChoice::Conda(path) => path,
        };
        *path = folder.join(&path).display().to_string();
    }

    /// The key of the run file.
    fn word(&self) -> &'static str {
        match self {
            PythonChoice::Venv(_) => "venv",
            PythonChoice::Requirements(_) => "requirements",
            PythonChoice::Conda(_) => "conda",
        }
    }
}
