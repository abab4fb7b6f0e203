//! Variables that are set, arrays among them.

use super::command::{Assignment, Word, is_name};
use super::reader::Reader;
use std::borrow::Cow;

impl<'a> Reader<'a> {
    /// `NAME=value`, `NAME+=value`, `NAME[i]=value`, `NAME=(…)`.
    pub(super) fn assignment(&mut self, word: &Word<'a>) -> Option<Assignment<'a>> {
        let written = &self.text[word.range.clone()];
        let equals = written.find('=')?;
        let mut name = &written[..equals];
        name = name.strip_suffix('+').unwrap_or(name);
        if let Some((array, index)) = name.split_once('[')
            && index.ends_with(']')
        {
            name = array;
        }
        if !is_name(name) {
            return None;
        }
        let from = word.range.start + equals + 1;
        if from == word.range.end && self.peek() == Some(b'(') && self.at == from {
            self.at += 1;
            self.parens();
            return Some(Assignment {
                name,
                value: Word {
                    range: from..self.at,
                    text: Cow::Borrowed(""),
                    expands: true,
                },
                range: word.range.start..self.at,
            });
        }
        let text = match &word.text {
            Cow::Borrowed(text) => {
                Cow::Borrowed(text.split_once('=').map_or("", |(_, value)| value))
            }
            Cow::Owned(text) => Cow::Owned(
                text.split_once('=')
                    .map_or("", |(_, value)| value)
                    .to_owned(),
            ),
        };
        Some(Assignment {
            name,
            value: Word {
                range: from..word.range.end,
                text,
                expands: word.expands,
            },
            range: word.range.clone(),
        })
    }

    /// Passes over what is left up to the closing parenthesis.
    pub(super) fn parens(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                None => {
                    self.shell.sound = false;
                    return;
                }
                Some(b')') => {
                    self.at += 1;
                    return;
                }
                Some(b'\n') => self.newline(),
                Some(b'#') => self.comment(),
                Some(_) => {
                    let before = self.at;
                    self.word();
                    if self.at == before {
                        self.at += 1;
                    }
                }
            }
        }
    }
}
