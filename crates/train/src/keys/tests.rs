//! The table says what the parser does.

use super::{KeyDefault, KeyRow, key_sections, top_keys};
use crate::env_vars::OF_SBATCH;
use crate::{INPUT_VARIABLES, RunFile};
use std::collections::BTreeSet;

/// Each key with its section; none above the first.
fn all() -> Vec<(Option<&'static str>, &'static KeyRow)> {
    let sections = key_sections().into_iter();
    let below = sections.flat_map(|section| {
        let keys = section.keys.into_iter();
        keys.map(move |row| (Some(section.name), row))
    });
    let top = top_keys().into_iter().map(|row| (None, row));
    top.chain(below).collect()
}

/// A run file that sets the key, with what it can't be without.
fn setting(section: Option<&str>, row: &KeyRow, value: &str) -> String {
    let head = section.map(|name| format!("[{name}]\n"));
    let beside = match row.name {
        "marker" => "complete = \"marker\"\n",
        "NAME.port" => "NAME.command = [\"x\"]\n",
        _ => "",
    };
    let name = row.name;
    format!("{}{beside}{name} = {value}\n", head.unwrap_or_default())
}

fn problems(text: &str) -> Vec<String> {
    let (_, problems) = RunFile::parse(text, "yard.toml");
    problems
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

#[test]
fn every_key_of_the_table_is_parsed() {
    for (section, row) in all() {
        let text = setting(section, row, row.example);
        let (read, _) = RunFile::parse(&text, "yard.toml");
        let set = read.body != crate::Sections::default();
        assert_eq!(problems(&text), [""; 0], "{text}");
        assert!(set, "{text}");
    }
}

/// Each key that is spelt in the structure of a run file: what [`RunFile`] holds beside it can't come
/// from a file.
#[test]
fn every_key_that_is_parsed_is_in_the_table() {
    let (read, _) = RunFile::parse("", "yard.toml");
    let shown = format!("{:?}", read.body);
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let fields: BTreeSet<String> = shown
        .split_inclusive(':')
        .filter_map(|part| part.strip_suffix(':'))
        .map(|part| part.rsplit(|letter| !is_name(letter)).next().unwrap_or(""))
        .map(str::to_owned)
        .collect();
    let mut known: BTreeSet<&str> = all().into_iter().map(|(_, row)| row.name).collect();
    known.extend(key_sections().iter().map(|section| section.name));
    // Three keys of one field.
    known.insert("python");
    // Services of any name.
    known.insert("named");
    for field in fields {
        assert!(known.contains(field.as_str()), "{field}");
    }
}

#[test]
fn a_default_reads_as_a_value_of_its_key() {
    for (section, row) in all() {
        if let Some(value) = row.default.value() {
            let text = setting(section, row, value);
            assert_eq!(problems(&text), [""; 0], "{text}");
        }
    }
}

#[test]
fn rows_are_named_once_and_say_what_they_are_for() {
    let mut seen = BTreeSet::new();
    for (section, row) in all() {
        assert!(seen.insert((section, row.name)), "{}", row.name);
        assert!(row.doc.ends_with('.') && row.doc.len() > 10, "{}", row.name);
        let words = match row.default {
            KeyDefault::Described(words) | KeyDefault::Unless(_, words) => words,
            KeyDefault::Is(_) => "-",
        };
        assert!(!words.is_empty() && !words.ends_with('.'), "{}", row.name);
    }
}

#[test]
fn every_variable_of_sbatch_sets_a_key_that_has_a_flag() {
    for (variable, key) in INPUT_VARIABLES {
        let row = all().into_iter().find(|(_, row)| row.name == key);
        let (_, row) = row.unwrap();
        assert!(row.flag.is_some(), "{variable}");
        let said = OF_SBATCH
            .iter()
            .find(|(name, _)| *name == variable)
            .unwrap()
            .1;
        assert!(said.starts_with(&format!("Sets `{key}`")), "{said}");
    }
    assert_eq!(OF_SBATCH.len(), INPUT_VARIABLES.len());
}
