//! `[data]`: what is brought to the nodes.

use super::{Key, KeyDefault, KeyRow, Section, Value};
use crate::reader::{Raw, Reader, span};
use crate::{DataSection, Resolved};

impl Section for DataSection {
    const KEYS: &'static [Key<DataSection>] = &[STAGE, COLLECT, LOCAL_LOGS];
}

const STAGE: Key<DataSection> = Key {
    row: KeyRow {
        name: "stage",
        value: Value::Paths,
        default: KeyDefault::Is("[]"),
        flag: None,
        doc: "Files and folders that are copied to each node's own disk before the ranks start, \
                  into `{data}`: a relative path keeps its place, so that `datasets/a` is \
                  `{data}/datasets/a`, an absolute one its last part. Archives (`.tar`, `.tar.gz`, \
                  `.tgz`, `.tar.zst`) are unpacked into `{data}` itself.",
        example: "[\"datasets/imagenet.tar\"]",
    },
    read: |row, own, reader, raw| own.stage = reader.texts(row, raw),
};

const COLLECT: Key<DataSection> = Key {
    row: KeyRow {
        name: "collect",
        value: Value::Texts,
        default: KeyDefault::Is("[]"),
        flag: None,
        doc: "Patterns of files below `{data}` that are copied into the run folder's `collected/` at the \
              end and at each stop, with several nodes into `collected/N/` for the node with the number N. \
              Each copy is compared with its original; a newer copy is never replaced by an older file.",
        example: "[\"results/**\"]",
    },
    read: |row, own, reader, raw| own.collect = patterns(row, reader, raw),
};

const LOCAL_LOGS: Key<DataSection> = Key {
    row: KeyRow {
        name: "local_logs",
        value: Value::Switch,
        default: KeyDefault::Is("false"),
        flag: None,
        doc: "`{logs}` is a folder on the node's own disk. What is written to event files there reaches \
              `tensorboard/` in the run folder within seconds.",
        example: "true",
    },
    read: |row, own, reader, raw| own.local_logs = reader.switch(row, raw),
};

/// Patterns without a leading slash and without `..`.
fn patterns(row: &KeyRow, reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
    let patterns = reader.texts(row, raw)?;
    for pattern in &patterns.value {
        let why = match globset::Glob::new(pattern) {
            Err(error) => error.kind().to_string(),
            Ok(_) if pattern.is_empty() => "it is empty".to_owned(),
            Ok(_) if pattern.starts_with('/') => "it begins with a slash".to_owned(),
            Ok(_) if pattern.split('/').any(|part| part == "..") => "it has ..".to_owned(),
            Ok(_) => continue,
        };
        let message = format!("{pattern:?} names no files below {{data}}: {why}");
        let help = "write it against {data}, which is $SLURM_TMPDIR: collect = [\"results/**\"]";
        reader.complain(span(raw), message, "", help);
        return None;
    }
    Some(patterns)
}
