//! `[watch]`: what is done about a run that hangs.

use super::choices::words;
use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::{OnHang, WatchSection};

impl Section for WatchSection {
    const KEYS: &'static [Key<WatchSection>] = &[
        Key {
            row: KeyRow {
                name: "hang",
                value: Value::Length,
                default: KeyDefault::Described("hangs are not looked for"),
                flag: None,
                doc: "The ranks hang if for so long none prints, no event file or checkpoint is \
                      written, no GPU works and no rank reads or writes a disk. Longer than the longest \
                      silence of the program, its start included.",
                example: "\"10m\"",
            },
            read: |row, own, reader, raw| own.hang = reader.length(row, raw),
        },
        Key {
            row: KeyRow {
                name: "on_hang",
                value: Value::OneOf(words::<OnHang>),
                default: KeyDefault::Is("\"restart\""),
                flag: None,
                doc: "What is done then, after each rank's stack was written to `logs/`: the run comes \
                      back as after the loss of a node, fails, or goes on (`log`).",
                example: "\"end\"",
            },
            read: |row, own, reader, raw| own.on_hang = reader.word(row, raw),
        },
    ];
}
