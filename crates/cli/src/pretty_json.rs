//! JSON with indents, to the letter as `serde_json::to_writer_pretty` writes it.
//!
//! Much of a long answer (`squeue --json` of 5000 jobs has 16 MB) is indents: here one is one copy, where
//! `serde_json`'s own formatter copies two letters at a time.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Between two entries, with indents for the deepest that are copied at once.
const LINE: &[u8] = b",\n                                                                ";

/// Writes a value.
///
/// # Errors
/// The value's own, a key of a map that is no text and no number, and what keeps `out` from being written.
pub fn write_pretty(value: &impl Serialize, out: impl Write) -> Result<(), serde_json::Error> {
    value.serialize(&mut Serializer::with_formatter(out, Lines::default()))
}

/// Each entry on a line of its own.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// The list or map that was closed, or is written, has an entry.
    has_entry: bool,
}

impl Lines {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_entry = false;
        out.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_entry {
            self.line(out, true)?;
        }
        out.write_all(bracket)
    }

    fn entry_ends(&mut self) -> io::Result<()> {
        self.has_entry = true;
        Ok(())
    }

    fn line<W: ?Sized + Write>(&self, out: &mut W, is_first: bool) -> io::Result<()> {
        let indent = 2 * self.depth;
        let copied = indent.min(LINE.len() - 2);
        out.write_all(&LINE[usize::from(is_first)..2 + copied])?;
        (copied..indent).try_for_each(|_| out.write_all(b" "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.entry_ends()
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _out: &mut W) -> io::Result<()> {
        self.entry_ends()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(value: &impl Serialize) {
        let mut text = Vec::new();
        write_pretty(value, &mut text).unwrap();
        let want = serde_json::to_string_pretty(value).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), want);
    }

    #[test]
    fn it_is_what_serde_json_writes() {
        check(
            &json!({ "a": [1, -2, 1.5, 1e300, null, true, {}, [], "ü\u{7f}"], "q\"\n": { "b": { "c": [[1], [[]], {}] } } }),
        );
        check(&"a\\b\"\u{1}\t");
        let deep = (0..50).fold(json!(1), |value, _| json!([value, { "a": 2 }]));
        check(&deep);
    }
}
