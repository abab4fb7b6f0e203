//! Values that are words of a choice.

use super::{Raw, Reader, span};
use crate::Resolved;
use crate::keys::{Choice, KeyRow};
use model::nearest;
use std::ops::Range;

impl Reader<'_> {
    /// One of the words of a choice.
    pub fn word<T: Choice>(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<T>> {
        self.one_word(row, raw, T::WORDS)
    }

    /// One of several words.
    pub fn one_word<T: Copy>(
        &mut self,
        row: &KeyRow,
        raw: Raw<'_>,
        known: &[(&str, T)],
    ) -> Option<Resolved<T>> {
        let example = format!("one of {}", names(known));
        let word = self.text_of(row, raw, &example)?.value;
        let (_, value) = known[self.one_of(row.name, &word, span(raw), known)?];
        self.resolved(raw, value)
    }

    /// An array of words, each once.
    pub fn several<T: Choice>(&mut self, row: &KeyRow, raw: Raw<'_>) -> Option<Resolved<Vec<T>>> {
        let known = T::WORDS;
        let words = self.spanned_texts(row.name, raw, &format!("some of {}", names(known)))?;
        let mut places = Vec::new();
        for (word, span) in words {
            places.push(self.one_of(row.name, &word, span, known)?);
        }
        places.sort_unstable();
        places.dedup();
        let values = places.into_iter().map(|place| known[place].1).collect();
        self.resolved(raw, values)
    }

    /// The place of a word among those that are known.
    fn one_of<T>(
        &mut self,
        key: &str,
        word: &str,
        span: Range<usize>,
        known: &[(&str, T)],
    ) -> Option<usize> {
        let is_it = |(name, _): &(&str, T)| name.eq_ignore_ascii_case(word);
        if let Some(place) = known.iter().position(is_it) {
            return Some(place);
        }
        let label = match nearest(word, known.iter().map(|(name, _)| *name)) {
            Some(near) => format!("did you mean {near}?"),
            None => String::new(),
        };
        let help = format!("{key} is one of {}", names(known));
        self.complain(span, format!("unknown {key} {word:?}"), label, help);
        None
    }
}

fn names<T>(known: &[(&str, T)]) -> String {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
