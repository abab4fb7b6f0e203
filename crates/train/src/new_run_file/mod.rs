//! A run file to begin with: what is known, and every other key as a comment.

mod from_script;
mod text;

pub use from_script::{ScriptStart, from_script};

use crate::placeholders::fill;
use std::collections::BTreeMap;

/// A run file to begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRunFile {
    /// What it was made of, in words.
    pub origin: String,
    /// Its values, of any section in any order.
    pub values: Vec<NewValue>,
    /// What it can't say, each a comment at its top.
    pub notes: Vec<String>,
}

/// A value of a run file to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewValue {
    /// Its section; empty above the first one.
    pub section: &'static str,
    /// Its key.
    pub key: &'static str,
    /// The value, as TOML has it.
    pub value: String,
    /// A comment above it.
    pub comment: Option<String>,
}

impl NewRunFile {
    /// Adds a value.
    pub fn set(&mut self, section: &'static str, key: &'static str, value: String) {
        self.values.push(NewValue {
            section,
            key,
            value,
            comment: None,
        });
    }

    /// Adds a value with a comment above it.
    pub fn set_with(
        &mut self,
        section: &'static str,
        key: &'static str,
        value: String,
        comment: impl Into<String>,
    ) {
        self.values.push(NewValue {
            section,
            key,
            value,
            comment: Some(comment.into()),
        });
    }

    /// The value of a key, as TOML has it.
    #[must_use]
    pub fn value(&self, section: &str, key: &str) -> Option<&str> {
        let is_it = |value: &&NewValue| value.section == section && value.key == key;
        self.values.iter().find(is_it).map(|value| &*value.value)
    }
}

/// A text as TOML has it.
#[must_use]
pub fn toml_text(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// An array of texts as TOML has it.
#[must_use]
pub fn toml_texts<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| toml_text(text.as_ref())).collect();
    format!("[{}]", texts.join(", "))
}

/// A word of a script as a command of a run file has it: what would be a placeholder there is none.
/// None where it can't be written so.
fn without_placeholders(word: &str) -> Option<String> {
    if word.contains('\0') {
        return None;
    }
    let none = BTreeMap::new();
    let candidates = [word.to_owned(), word.replace('{', "{{")];
    let mut candidates = candidates.into_iter();
    candidates.find(|candidate| fill(candidate, &none).is_ok_and(|filled| filled == word))
}

#[cfg(test)]
mod tests;
