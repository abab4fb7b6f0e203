//! `[data]`: what is brought to the nodes.

use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::DataSection;

impl Section for DataSection {
    const KEYS: &'static [Key<DataSection>] = &[Key {
        row: KeyRow {
            name: "stage",
            value: Value::Paths,
            default: KeyDefault::Is("[]"),
            flag: None,
            doc: "Files and folders that are copied to each node's own disk before the ranks start, \
                  into `{data}`; archives (`.tar`, `.tar.gz`, `.tgz`, `.tar.zst`) are unpacked there.",
            example: "[\"datasets/imagenet.tar\"]",
        },
        read: |row, own, reader, raw| own.stage = reader.texts(row, raw),
    }];
}
