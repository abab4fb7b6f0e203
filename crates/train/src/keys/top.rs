//! The keys above the first section: what belongs to one run alone.

use super::choices::words;
use super::{Flag, Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{Launcher, Resolved, Sections};

impl Section for Sections {
    const KEYS: &'static [Key<Sections>] = &[
        Key {
            row: NAME,
            read: |_, own, reader, raw| own.name = name(reader, raw),
        },
        Key {
            row: LAUNCHER,
            read: |row, own, reader, raw| own.launcher = reader.word(row, raw),
        },
        Key {
            row: KeyRow {
                name: "launcher_options",
                value: Value::Texts,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Further options of the launcher's own command line: of `torchrun`, `accelerate \
                      launch` or `mpirun`.",
                example: "[\"--max_restarts=3\"]",
            },
            read: |row, own, reader, raw| own.launcher_options = reader.texts(row, raw),
        },
        Key {
            row: KeyRow {
                name: "command",
                value: Value::Command,
                default: KeyDefault::Described("needed, here or after `--` on the command line"),
                flag: None,
                doc: "Program and arguments of each rank; no shell reads them. \
                      It starts in the run's copy of the code, in the run file's folder.",
                example: "[\"python\", \"train.py\"]",
            },
            read: |row, own, reader, raw| own.command = command(row, reader, raw),
        },
        Key {
            row: REPEAT,
            read: |row, own, reader, raw| own.repeat = reader.count(row, raw),
        },
        Key {
            row: AT_ONCE,
            read: |row, own, reader, raw| own.at_once = reader.count(row, raw),
        },
    ];
}

pub(crate) const REPEAT: KeyRow = KeyRow {
    name: "repeat",
    value: Value::Count(1),
    default: KeyDefault::Is("1"),
    flag: Flag::own(
        "repeat",
        "N",
        "So many runs, as one array: {repeat} is 1 to N",
    ),
    doc: "How many runs are made of the file: the elements of one array, `NAME.1` to `NAME.N`, each with \
          its number as `{repeat}`, a run folder of its own, and resumed by itself.",
    example: "5",
};

pub(crate) const AT_ONCE: KeyRow = KeyRow {
    name: "at_once",
    value: Value::Count(1),
    default: KeyDefault::Described("as many as there is room for"),
    flag: Flag::own("at-once", "N", "Of the repeats so many run at once"),
    doc: "How many of the repeats run at once.",
    example: "2",
};

const NAME: KeyRow = KeyRow {
    name: "name",
    value: Value::Name,
    default: KeyDefault::Described(
        "the folder's name; without a run file the program's, or that of the file that Python runs",
    ),
    flag: Flag::own("name", "NAME", "The run's name"),
    doc: "The run's name; its id is the name and four letters or digits.",
    example: "\"resnet50\"",
};

pub(crate) const LAUNCHER: KeyRow = KeyRow {
    name: "launcher",
    value: Value::OneOf(words::<Launcher>),
    default: KeyDefault::Described(
        "`\"srun\"` where more than one node, rank or GPU is asked for, else `\"none\"`",
    ),
    flag: Flag::own(
        "launcher",
        "LAUNCHER",
        "What starts the ranks: srun, none, torchrun, lightning, jax, mpi, horovod, accelerate, deepspeed",
    ),
    doc: "What starts the ranks, and how they find each other.",
    example: "\"torchrun\"",
};

/// A name that can be part of a folder's and of a file pattern's.
pub(crate) fn name(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<String>> {
    let name = reader.text(&NAME, raw)?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let first = name
        .value
        .starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if !first || !name.value.chars().all(fits) || name.value.len() > 64 {
        let help = "letters, digits, - _ and . are fine, at most 64, the first a letter or a digit";
        reader.complain(
            span(raw),
            format!("{:?} can't name a run", name.value),
            "",
            help,
        );
        return None;
    }
    Some(name)
}

fn command(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
    let command = reader.words(row, raw)?;
    match command.value.first().map(String::as_str) {
        None | Some("") => {
            let help = format!("write command = {}", row.example);
            reader.complain(span(raw), "command is empty", "", help);
            None
        }
        Some(_) => Some(command),
    }
}
