//! A cluster file as TOML: what is printed reads back as the same value.

use super::section::{Entry, Form, Section};
use super::value::quoted;
use super::{ClusterFile, Source};
use std::fmt;

impl fmt::Display for ClusterFile {
    /// Tables in a fixed order. Where all values of a table come from one place, it is said once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.visit("", &mut |path, form, entries| {
            // A table that is named is there even where it says nothing.
            if entries.is_empty() && (path.is_empty() || !is_named(path)) {
                return;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            match (path, form) {
                ("", _) => {}
                (path, Form::Table) => text.push_str(&format!("[{path}]\n")),
                (path, Form::Listed) => text.push_str(&format!("[[{path}]]\n")),
            }
            text.push_str(&lines(&entries));
        });
        f.write_str(&text)
    }
}

/// `[partition.gpu]` has a name of its own, `[limits]` has none.
fn is_named(path: &str) -> bool {
    path.contains('.')
}

fn lines(entries: &[Entry]) -> String {
    let common = common_source(entries);
    let mut text = match &common {
        Source::Stated => String::new(),
        source => format!("{}\n", source_pair(source)),
    };
    for entry in entries {
        let own = (entry.source != common).then_some(&entry.source);
        if own.is_none() && entry.others.is_empty() {
            text.push_str(&format!("{} = {}\n", entry.key, entry.toml));
            continue;
        }
        let mut parts = vec![format!("value = {}", entry.toml)];
        parts.extend(
            own.filter(|source| **source != Source::Stated)
                .map(source_pair),
        );
        let others: Vec<String> = entry
            .others
            .iter()
            .map(|(value, _, quote)| format!("{{ value = {value}, from = {} }}", quoted(quote)))
            .collect();
        match &others[..] {
            [] => {}
            [other] => parts.push(format!("or = {other}")),
            others => parts.push(format!("or = [{}]", others.join(", "))),
        }
        text.push_str(&format!("{} = {{ {} }}\n", entry.key, parts.join(", ")));
    }
    text
}

/// The source that most values have, where a table can have one: not where some value has none.
fn common_source(entries: &[Entry]) -> Source {
    if entries.iter().any(|entry| entry.source == Source::Stated) {
        return Source::Stated;
    }
    let count = |source: &Source| {
        entries
            .iter()
            .filter(|entry| entry.source == *source)
            .count()
    };
    let best = entries
        .iter()
        .map(|entry| &entry.source)
        .max_by_key(|source| count(source));
    match best {
        Some(source) if count(source) > 1 => source.clone(),
        _ => Source::Stated,
    }
}

fn source_pair(source: &Source) -> String {
    match source {
        Source::Stated => String::new(),
        Source::Quote(words) => format!("from = {}", quoted(words)),
        Source::Assumed(words) => format!("assumed = {}", quoted(words)),
    }
}
