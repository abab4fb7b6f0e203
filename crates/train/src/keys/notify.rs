//! `[notify]`: who gets mail.

use super::choices::words;
use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::NotifySection;
use model::MailEvent;

impl Section for NotifySection {
    const KEYS: &'static [Key<NotifySection>] = &[
        Key {
            row: KeyRow {
                name: "mail",
                value: Value::Text,
                default: KeyDefault::Described("no mail"),
                flag: None,
                doc: "The address that a real Slurm sends mail to; the embedded engine sends none.",
                example: "\"me@example.org\"",
            },
            read: |row, own, reader, raw| own.mail = reader.text(row, raw),
        },
        Key {
            row: KeyRow {
                name: "on",
                value: Value::SomeOf(words::<MailEvent>),
                default: KeyDefault::Is("[\"end\", \"fail\"]"),
                flag: None,
                doc: "What mail is sent about.",
                example: "[\"fail\"]",
            },
            read: |row, own, reader, raw| own.on = reader.several(row, raw),
        },
    ];
}
