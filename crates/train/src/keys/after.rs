//! `[after]`: what has to be done first.

use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::AfterSection;

impl Section for AfterSection {
    const KEYS: &'static [Key<AfterSection>] = &[Key {
        row: KeyRow {
            name: "run",
            value: Value::Text,
            default: KeyDefault::Described("none"),
            flag: None,
            doc: "The name or id of a run on the same cluster, such as one that transfers or prepares the \
                  data: this one starts when that one is done, and fails with its cause where it fails.",
            example: "\"prepare\"",
        },
        read: |row, own, reader, raw| own.run = reader.text(row, raw),
    }];
}
