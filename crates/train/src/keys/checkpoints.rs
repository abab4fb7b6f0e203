//! `[checkpoints]`: how they are recognised and kept.

use super::choices::words;
use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{CheckpointSection, CompleteWord, Keep, Resolved};
use toml::de::DeValue;

impl Section for CheckpointSection {
    const KEYS: &'static [Key<CheckpointSection>] = &[
        Key {
            row: KeyRow {
                name: "keep",
                value: Value::Keep,
                default: KeyDefault::Is("\"all\""),
                flag: None,
                doc: "How many checkpoints stay in the run folder, the newest ones. With 1 the one before goes \
                      once the bytes of the newest were read back from there. Besides stay: the newest that was \
                      seen to be complete, or the one before the newest where none was; and what the program \
                      wrote last.",
                example: "3",
            },
            read: |row, own, reader, raw| own.keep = keep(row, reader, raw),
        },
        Key {
            row: KeyRow {
                name: "complete",
                value: Value::OneOf(words::<CompleteWord>),
                default: KeyDefault::Described(
                    "by its format, where that is known; else as `\"settle\"`",
                ),
                flag: None,
                doc: "How a checkpoint is seen to be complete: the program renames it into place, \
                      writes a file `marker` last, or nothing of it changed for `settle`. Where several \
                      nodes write parts, it is saved once as many of them have theirs complete as earlier \
                      ones of its series had (names that differ in numbers alone are one); a node that \
                      writes none for a minute takes no part any more. One that lacks a part because the \
                      training ends stays, and is resumed from only where no other has all parts.",
                example: "\"rename\"",
            },
            read: |row, own, reader, raw| own.complete = reader.word(row, raw),
        },
        Key {
            row: KeyRow {
                name: "marker",
                value: Value::FileName,
                default: KeyDefault::Described("needed with `complete = \"marker\"`"),
                flag: None,
                doc: "The file that the program writes last: inside the checkpoint's folder, or \
                      beside it as `CHECKPOINT.MARKER`. One node's counts for the parts of all, once \
                      they have not changed for two seconds.",
                example: "\"done\"",
            },
            read: |row, own, reader, raw| own.marker = marker(row, reader, raw),
        },
        Key {
            row: KeyRow {
                name: "settle",
                value: Value::Length,
                default: KeyDefault::Is("\"10s\""),
                flag: None,
                doc: "How long a checkpoint must stay unchanged where nothing else shows that it is \
                      complete.",
                example: "\"30s\"",
            },
            read: |row, own, reader, raw| own.settle = reader.length(row, raw),
        },
    ];
}

fn keep(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Keep>> {
    let number = match raw {
        Raw::Toml(value) => matches!(value.get_ref(), DeValue::Integer(_)),
        Raw::Flag(..) => false,
    };
    if number {
        return Some(reader.count(row, raw)?.map(Keep::Newest));
    }
    reader.one_word(row, raw, &[("all", Keep::All)])
}

fn marker(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<String>> {
    let marker = reader.text(row, raw)?;
    if marker.value.contains('/') || [".", ".."].contains(&marker.value.as_str()) {
        let help = "name one file, such as \"done\"";
        reader.complain(span(raw), "marker is a path", "", help);
        return None;
    }
    Some(marker)
}
