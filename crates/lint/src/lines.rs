//! The lines of a text and where they begin.

use std::cell::Cell;
use std::ops::Range;

/// Where the lines of a text are. They end at `\n`; a `\r` before it belongs to the end.
#[derive(Debug)]
pub struct Lines<'a> {
    text: &'a str,
    /// Half as wide as it could be: a text of 4 MiB may have 4 million lines.
    starts: Vec<u32>,
    /// A byte, and its column: many places of one long line are asked for in turn.
    last: Cell<(usize, usize)>,
}

impl<'a> Lines<'a> {
    /// Finds the lines of a text.
    #[must_use]
    pub fn new(text: &'a str) -> Lines<'a> {
        let is_end = |byte: &u8| *byte == b'\n';
        let mut starts = Vec::with_capacity(text.bytes().filter(|byte| is_end(byte)).count() + 1);
        starts.push(0);
        // No file that is read is longer than 64 MiB; of one past 4 GiB lines would be joined.
        let behind = |(at, byte): (usize, u8)| is_end(&byte).then(|| u32::try_from(at + 1).ok())?;
        starts.extend(text.bytes().enumerate().filter_map(behind));
        Lines {
            text,
            starts,
            last: Cell::new((0, 1)),
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The line, counted from 1, that a byte is in.
    #[must_use]
    pub fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= at)
    }

    /// The bytes of a line, counted from 1, without its end; empty for a line that isn't there.
    #[must_use]
    pub fn range(&self, number: usize) -> Range<usize> {
        let whole = self.with_end(number);
        let line = self.text[whole.clone()].trim_end_matches(['\n', '\r']);
        whole.start..whole.start + line.len()
    }

    /// The bytes of a line, counted from 1, with its end.
    #[must_use]
    pub fn with_end(&self, number: usize) -> Range<usize> {
        let past = self.text.len();
        let start = number
            .checked_sub(1)
            .and_then(|index| self.starts.get(index));
        let start = start.map_or(past, |start| *start as usize);
        let end = self.starts.get(number);
        start..end.map_or(past, |end| *end as usize)
    }

    /// The text of a line, counted from 1.
    #[must_use]
    pub fn line(&self, number: usize) -> &'a str {
        &self.text[self.range(number)]
    }

    /// How many there are; a text that ends in `\n` has no empty line behind it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.starts.len() - usize::from(self.text.ends_with('\n') || self.text.is_empty())
    }

    /// Line and column of a byte, both from 1, the column in characters.
    #[must_use]
    pub fn position(&self, at: usize) -> (usize, usize) {
        let number = self.number(at);
        let start = self.with_end(number).start;
        let (known, column) = match self.last.get() {
            (known, column) if start <= known && known <= at => (known, column),
            _ => (start, 1),
        };
        let Some(between) = self.text.get(known..at) else {
            return (number, 1);
        };
        let column = column + between.chars().count();
        self.last.set((at, column));
        (number, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_positions() {
        let lines = Lines::new("ab\r\nä c\n");
        assert_eq!(lines.count(), 2);
        assert_eq!(
            (lines.line(1), lines.line(2), lines.line(3)),
            ("ab", "ä c", "")
        );
        for (at, place) in [
            (7, (2, 3)),
            (8, (2, 4)),
            (7, (2, 3)),
            (1, (1, 2)),
            (4, (2, 1)),
        ] {
            assert_eq!(lines.position(at), place, "byte {at}");
        }
        assert_eq!(lines.number(0), 1);
        assert_eq!(Lines::new("").count(), 0);
        assert_eq!(Lines::new("a").count(), 1);
    }
}
