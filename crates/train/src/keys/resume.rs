//! `[resume]`: when and how a run comes back.

use super::choices::words;
use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::{Notify, ResumeBy, ResumeOn, ResumeSection};

impl Section for ResumeSection {
    const KEYS: &'static [Key<ResumeSection>] = &[
        Key {
            row: KeyRow {
                name: "on",
                value: Value::SomeOf(words::<ResumeOn>),
                default: KeyDefault::Is("[\"timeout\", \"preemption\", \"node-failure\"]"),
                flag: None,
                doc: "After what the run comes back by itself; `[]` is never.",
                example: "[\"timeout\"]",
            },
            read: |row, own, reader, raw| own.on = reader.several(row, raw),
        },
        Key {
            row: KeyRow {
                name: "by",
                value: Value::OneOf(words::<ResumeBy>),
                default: KeyDefault::Unless(
                    "\"requeue\"",
                    "`\"successor\"` on a cluster that can't requeue jobs",
                ),
                flag: None,
                doc: "How it comes back: the same job is queued again, or another job waits from the \
                      start and takes over.",
                example: "\"successor\"",
            },
            read: |row, own, reader, raw| own.by = reader.word(row, raw),
        },
        Key {
            row: KeyRow {
                name: "grace",
                value: Value::Length,
                default: KeyDefault::Unless("\"2m\"", "an eighth of `time` where that is shorter"),
                flag: None,
                doc: "How long before the time limit the ranks are ended, so that the last \
                      checkpoints are copied out.",
                example: "\"5m\"",
            },
            read: |row, own, reader, raw| own.grace = reader.length(row, raw),
        },
        Key {
            row: KeyRow {
                name: "notify",
                value: Value::OneOf(words::<Notify>),
                default: KeyDefault::Is("\"none\""),
                flag: None,
                doc: "How the program learns that its job is about to end: by the file that \
                      `YARD_STOP_FILE` names, or by a signal, which it must handle.",
                example: "\"SIGUSR1\"",
            },
            read: |row, own, reader, raw| own.notify = reader.word(row, raw),
        },
        Key {
            row: KeyRow {
                name: "args",
                value: Value::Command,
                default: KeyDefault::Is("[]"),
                flag: None,
                doc: "Arguments that are added to `command` where there is a checkpoint to resume \
                      from.",
                example: "[\"--resume\", \"{resume_file}\"]",
            },
            read: |row, own, reader, raw| own.args = reader.words(row, raw),
        },
        Key {
            row: KeyRow {
                name: "own_checkpoints",
                value: Value::Switch,
                default: KeyDefault::Is("false"),
                flag: None,
                doc: "The program keeps its checkpoints itself, outside of `{checkpoints}`, and goes on from them \
                      when it is started again. Without it a run has failed whose jobs reach their time limit \
                      twice in a row, or are lost three times in a row, without a new checkpoint in \
                      `{checkpoints}`, since it would begin again for ever; with it the run comes back as often \
                      as it takes.",
                example: "true",
            },
            read: |row, own, reader, raw| own.own_checkpoints = reader.switch(row, raw),
        },
    ];
}
