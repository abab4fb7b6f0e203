//! Edits of a text, and how several are made at once.

use std::ops::Range;

/// One change of a text: these bytes become that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// The first byte that goes.
    pub start: usize,
    /// The byte after the last that goes; `start` where something is only put in.
    pub end: usize,
    /// What comes instead.
    pub text: String,
}

impl Edit {
    /// Puts `text` in the place of `range`.
    #[must_use]
    pub fn new(range: Range<usize>, text: impl Into<String>) -> Edit {
        Edit {
            start: range.start,
            end: range.end,
            text: text.into(),
        }
    }

    /// Whether both can't be made at once: they touch the same bytes, or put something in at the
    /// same place.
    #[must_use]
    pub fn meets(&self, other: &Edit) -> bool {
        if self.start == other.start {
            return true;
        }
        self.start < other.end && other.start < self.end
    }
}

/// Makes all the edits, which must not meet each other. The text comes back unchanged when one of
/// them does, or doesn't fit into it.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort();
    let mut made = String::with_capacity(text.len());
    let mut from = 0;
    for edit in sorted {
        let (Some(kept), true) = (text.get(from..edit.start), edit.start <= edit.end) else {
            return text.to_owned();
        };
        if !text.is_char_boundary(edit.end) || edit.end > text.len() {
            return text.to_owned();
        }
        made.push_str(kept);
        made.push_str(&edit.text);
        from = edit.end;
    }
    made.push_str(&text[from..]);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_at_once() {
        let edits = [
            Edit::new(4..5, "E"),
            Edit::new(0..1, ""),
            Edit::new(2..2, "++"),
        ];
        assert_eq!(apply("abcdef", &edits), "b++cdEf");
    }

    #[test]
    fn edits_that_do_not_fit_change_nothing() {
        assert_eq!(apply("äb", &[Edit::new(1..2, "x")]), "äb");
        assert_eq!(apply("ab", &[Edit::new(1..9, "x")]), "ab");
        let meeting = [Edit::new(0..2, "x"), Edit::new(1..2, "y")];
        assert_eq!(apply("ab", &meeting), "ab");
        assert!(meeting[0].meets(&meeting[1]));
        assert!(!Edit::new(0..1, "").meets(&Edit::new(1..2, "")));
        assert!(Edit::new(1..1, "").meets(&Edit::new(1..1, "")));
    }
}
