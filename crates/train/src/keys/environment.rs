//! `[environment]`: modules, Python and variables of the ranks.

use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{EnvironmentSection, PythonChoice, Resolved};
use std::path::Path;

/// The section of the container.
const CONTAINER: &str = "environment.container";

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
                doc: "What a virtual environment is made of before the job, once for each content, and \
                      kept in the cache: a requirements file, a `Pipfile` or its lock, a \
                      `pyproject.toml`, of which the dependencies count, or a `uv.lock`, which needs \
                      uv. Of a folder the first that is there of `uv.lock`, `Pipfile.lock`, \
                      `Pipfile`, `pyproject.toml` and `requirements.txt`. The Python is `python3`, or the one \
                      on `PATH` or of uv's that `python_version` of a Pipfile, `requires-python` or \
                      `.python-version` want. uv installs where it is on `PATH`, else pip. Where the cluster's file has `internet = \"compute\"` a job of \
                      its own makes it, for which the run waits.",
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
                name: "modules",
                value: Value::Texts,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Environment modules, loaded in this order before the Python environment.",
                example: "[\"cuda/12.4\"]",
            },
            read: |row, own, reader, raw| own.modules = reader.texts(row, raw),
        },
        Key {
            row: KeyRow {
                name: "container",
                value: Value::Section(CONTAINER),
                default: KeyDefault::Described("no container"),
                flag: None,
                doc: "The container that the ranks run in: a section of its own.",
                example: "{ image = \"docker://python:3.12\" }",
            },
            read: |_, own, reader, raw| {
                if let Raw::Toml(value) = raw {
                    reader.section(&mut own.container, CONTAINER, value);
                }
            },
        },
        Key {
            row: KeyRow {
                name: "variables",
                value: Value::Variables,
                default: KeyDefault::Is("{}"),
                flag: None,
                doc: "Variables of the ranks, with placeholders. Those by which a launcher's ranks find \
                      each other stay as the launcher sets them.",
                example: "{ NCCL_DEBUG = \"INFO\" }",
            },
            read: |row, own, reader, raw| own.variables = reader.variables(row, raw),
        },
        Key {
            row: KeyRow {
                name: "secrets",
                value: Value::Texts,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Variables whose values are secret. They are read when the run is submitted and \
                      travel in a file of the run folder that is yours alone, never in a command line, \
                      a log or `run.json`. It is removed once the run has said that it is done or has \
                      failed, and by `yard cancel` and `yard rm`; `yard requeue` then reads them again, so \
                      that its shell needs them. `WANDB_API_KEY` is also found in \
                      `~/wandb_credentials.txt` and `~/.netrc`.",
                example: "[\"WANDB_API_KEY\", \"HF_TOKEN\"]",
            },
            read: |row, own, reader, raw| own.secrets = reader.names(row, raw),
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
    pub(crate) fn word(&self) -> &'static str {
        match self {
            PythonChoice::Venv(_) => "venv",
            PythonChoice::Requirements(_) => "requirements",
            PythonChoice::Conda(_) => "conda",
        }
    }
}
