//! The text of a run file to begin with.

use super::{NewRunFile, NewValue};
use crate::keys::{KeyRow, Value, key_sections, top_keys};
use model::wrap;

/// The first lines of every file.
const HEAD: &str = "# A run file of yard: yard plan shows what comes of it, yard run runs it.\n\
                    # Lines that begin with # are comments: a key in one shows what can be set.\n";

impl NewRunFile {
    /// The file, with every key of the table: those without a value as comments.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        comment(&mut text, &self.origin);
        if !self.notes.is_empty() {
            text.push_str("#\n");
        }
        for note in &self.notes {
            wrap(&mut text, "# - ", "#   ", &harmless(note));
        }
        for row in top_keys() {
            self.key(&mut text, "", row);
        }
        for section in key_sections() {
            text.push_str(&format!("\n[{}]\n", section.name));
            let doc = section.doc;
            comment(&mut text, doc);
            for row in section.keys {
                self.key(&mut text, section.name, row);
            }
        }
        text
    }

    fn key(&self, text: &mut String, section: &str, row: &KeyRow) {
        let is_it = |value: &&NewValue| value.section == section && value.key == row.name;
        let own = self.values.iter().find(is_it);
        // One that can't be anything else needs no line.
        let is_fixed = row.default.value() == Some(row.example);
        if own.is_none() && (row.is_section() || is_fixed) {
            return;
        }
        text.push('\n');
        comment(text, &about(row));
        match own {
            Some(NewValue {
                value,
                comment: why,
                ..
            }) => {
                if let Some(why) = why {
                    comment(text, why);
                }
                text.push_str(&format!("{} = {value}\n", row.name));
            }
            None => text.push_str(&format!("# {} = {}\n", row.name, row.example)),
        }
    }
}

/// What it is for, what it takes where that is one of several, and what holds without it.
fn about(row: &KeyRow) -> String {
    let takes = match row.value {
        Value::OneOf(_) | Value::SomeOf(_) => format!(" {}.", first_upper(&row.value.to_string())),
        _ => String::new(),
    };
    format!("{}{takes} Default: {}.", row.doc, row.default).replace('`', "")
}

fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn comment(text: &mut String, words: &str) {
    if !words.is_empty() {
        wrap(text, "# ", "# ", &harmless(words));
    }
}

/// TOML's comments hold no control characters.
fn harmless(words: &str) -> String {
    words.replace(char::is_control, " ")
}
