//! Values that are text: one, several, variables and words with placeholders.

use super::{Raw, Reader, span, type_name};
use crate::Resolved;
use crate::keys::KeyRow;
use crate::placeholders::{self, PLACEHOLDERS};
use model::nearest;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::DeValue;

impl Reader<'_> {
    /// Text that isn't empty.
    pub fn text(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<String>> {
        self.text_of(row, raw, row.example)
    }

    pub(super) fn text_of(
        &mut self,
        row: &KeyRow,
        raw: Raw<'_>,
        example: &str,
    ) -> Option<Resolved<String>> {
        let key = row.name;
        let text = match raw {
            Raw::Flag(text, _) => text,
            Raw::Toml(value) => match value.get_ref() {
                DeValue::String(text) => text.as_ref(),
                _ => {
                    self.wrong_type(key, raw, &format!("text, such as {example}"));
                    return None;
                }
            },
        };
        if text.trim().is_empty() {
            let help = format!("write {example}, or leave the key out");
            self.complain(span(raw), format!("{key} is empty"), "", help);
            return None;
        }
        if let Some(odd) = text.chars().find(|letter| letter.is_control()) {
            self.complain(span(raw), format!("{key} holds {odd:?}"), "", "");
            return None;
        }
        self.resolved(raw, text.to_owned())
    }

    /// An array of texts, each of which may be any text.
    pub fn texts(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
        let texts = self.spanned_texts(row.name, raw, row.example)?;
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        self.resolved(raw, texts)
    }

    /// An array of names of variables.
    pub fn names(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
        let texts = self.spanned_texts(row.name, raw, row.example)?;
        for (text, span) in &texts {
            if !is_variable(text) {
                let message = format!("{text:?} can't be the name of a variable");
                let help = "letters, digits and _, and no digit first";
                self.complain(span.clone(), message, "", help);
                return None;
            }
        }
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        self.resolved(raw, texts)
    }

    /// A table of variables, with placeholders in their values.
    pub fn variables(
        &mut self,
        row: &KeyRow,
        raw: Raw<'_>,
    ) -> Option<Resolved<BTreeMap<String, String>>> {
        let Raw::Toml(value) = raw else { return None };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(row.name, raw, &format!("a table, such as {}", row.example));
            return None;
        };
        let mut variables = BTreeMap::new();
        for (name, value) in table.iter() {
            let key = name.get_ref().as_ref();
            if !is_variable(key) {
                let message = format!("{key:?} can't be the name of a variable");
                let help = "letters, digits and _, and no digit first";
                self.complain(name.span(), message, "", help);
                return None;
            }
            let text = match value.get_ref() {
                DeValue::String(text) if !text.contains('\0') => text.as_ref().to_owned(),
                other => {
                    let source = self.text.get(value.span()).unwrap_or_default();
                    let help = match other {
                        DeValue::String(_) => "leave the NUL character out".to_owned(),
                        _ => format!("write \"{source}\""),
                    };
                    let message = format!("{key} is {}", type_name(other));
                    self.complain(value.span(), message, "expected text", help);
                    return None;
                }
            };
            self.placeholders(&text, value.span());
            variables.insert(key.to_owned(), text);
        }
        self.resolved(raw, variables)
    }

    /// An array of texts with placeholders in them.
    pub fn words(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
        let texts = self.spanned_texts(row.name, raw, row.example)?;
        for (text, span) in &texts {
            self.placeholders(text, span.clone());
        }
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        self.resolved(raw, texts)
    }

    /// Complains about an unknown placeholder in a word.
    pub fn placeholders(&mut self, word: &str, span: Range<usize>) {
        let Err(unknown) = placeholders::check(word) else {
            return;
        };
        // Where the word stands in the text without escapes, the placeholder itself is marked.
        let marked = format!("{{{}}}", unknown.name);
        let source = self.text.get(span.clone()).unwrap_or_default();
        let span = match source.find(&marked) {
            Some(at) => span.start + at..span.start + at + marked.len(),
            None => span,
        };
        let label = match nearest(&unknown.name, PLACEHOLDERS.map(|known| known.name)) {
            Some(near) => format!("did you mean {{{near}}}?"),
            None => String::new(),
        };
        let known = PLACEHOLDERS
            .map(|known| format!("{{{}}}", known.name))
            .join(" ");
        let help = format!("known are {known}; {{{{ is a brace");
        self.complain(span, unknown.to_string(), label, help);
    }

    pub(super) fn spanned_texts(
        &mut self,
        key: &str,
        raw: Raw<'_>,
        example: &str,
    ) -> Option<Vec<(String, Range<usize>)>> {
        let items = match raw {
            Raw::Toml(value) => match value.get_ref() {
                DeValue::Array(items) => items,
                DeValue::String(text) => {
                    let words: Vec<String> = text
                        .split_whitespace()
                        .map(|word| format!("{word:?}"))
                        .collect();
                    let message = format!("{key} is one text");
                    // Of others nobody expects that a shell would.
                    let no_shell = if ["command", "args"].contains(&key) {
                        "; no shell reads it"
                    } else {
                        ""
                    };
                    let help = format!("write {key} = [{}]{no_shell}", words.join(", "));
                    self.complain(span(raw), message, "expected an array of texts", help);
                    return None;
                }
                _ => {
                    self.wrong_type(key, raw, &format!("an array of texts, such as {example}"));
                    return None;
                }
            },
            Raw::Flag(..) => return None,
        };
        let mut texts = Vec::new();
        for item in items.iter() {
            match item.get_ref() {
                DeValue::String(text) if text.contains('\0') => {
                    self.complain(item.span(), format!("{key} holds a NUL character"), "", "");
                    return None;
                }
                DeValue::String(text) => texts.push((text.as_ref().to_owned(), item.span())),
                other => {
                    let found = type_name(other);
                    let source = self.text.get(item.span()).unwrap_or_default();
                    let message = format!("{key} holds {found}");
                    let help = format!("write \"{source}\"");
                    self.complain(item.span(), message, "expected text", help);
                    return None;
                }
            }
        }
        Some(texts)
    }
}

/// Whether a shell could set a variable of that name.
fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let mut bytes = name.bytes();
    bytes.next().is_some_and(is_letter)
        && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit())
}
