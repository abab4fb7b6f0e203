//! What a job wrote, on its way to a person's terminal.

use anstyle_parse::{DefaultCharAccumulator, Params, Parser, Perform};
use std::io::{self, Write};

/// A sequence that is longer ends without effect.
const LONGEST_SEQUENCE: usize = 4096;

/// Takes away what controls a terminal: cursor movements, titles, the clipboard, queries that the
/// terminal answers. Text, colours (SGR), tabs, backspaces and carriage returns stay.
///
/// Bytes may come in any portions; a line end ends an unfinished sequence, so that it can't hide
/// what follows.
#[derive(Debug, Default)]
pub struct TerminalText {
    parser: Parser<DefaultCharAccumulator>,
    kept: Kept,
    /// Bytes since anything was kept.
    swallowed: usize,
}

impl TerminalText {
    /// What a terminal may get of the next bytes.
    pub fn clean(&mut self, bytes: &[u8]) -> Vec<u8> {
        for byte in bytes {
            let before = self.kept.bytes.len();
            if *byte == b'\n' || self.swallowed > LONGEST_SEQUENCE {
                self.parser = Parser::default();
            }
            self.parser.advance(&mut self.kept, *byte);
            self.swallowed = if self.kept.bytes.len() > before {
                0
            } else {
                self.swallowed + 1
            };
        }
        std::mem::take(&mut self.kept.bytes)
    }

    /// Whether the terminal's own colours are changed.
    #[must_use]
    pub fn is_coloured(&self) -> bool {
        self.kept.coloured
    }
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    coloured: bool,
}

impl Perform for Kept {
    fn print(&mut self, letter: char) {
        // Eight-bit forms of the same sequences, and marks that reverse a line.
        let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let letter = if letter.is_control() || turns {
            char::REPLACEMENT_CHARACTER
        } else {
            letter
        };
        let mut buffer = [0; 4];
        self.bytes
            .extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
    }

    fn execute(&mut self, byte: u8) {
        if matches!(byte, b'\n' | b'\r' | b'\t' | 8) {
            self.bytes.push(byte);
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: u8) {
        if action != b'm' || !intermediates.is_empty() || ignore {
            return;
        }
        let groups: Vec<String> = params
            .iter()
            .map(|group| {
                let numbers: Vec<String> = group.iter().map(ToString::to_string).collect();
                numbers.join(":")
            })
            .collect();
        let text = groups.join(";");
        self.coloured = !text.is_empty() && text != "0";
        self.bytes
            .extend_from_slice(format!("\x1b[{text}m").as_bytes());
    }
}

/// A writer to a terminal that [cleans](TerminalText) what a job wrote; to anything else the bytes
/// go as they are.
#[derive(Debug)]
pub struct JobOutput<W> {
    to: W,
    text: Option<TerminalText>,
}

impl<W: Write> JobOutput<W> {
    /// Writes to `to`, which is a terminal or not.
    pub fn new(to: W, terminal: bool) -> JobOutput<W> {
        JobOutput {
            to,
            text: terminal.then(TerminalText::default),
        }
    }
}

impl<W: Write> Write for JobOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.text {
            None => self.to.write(bytes),
            Some(text) => {
                self.to.write_all(&text.clean(bytes))?;
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], want: &str) {
        let whole = TerminalText::default().clean(bytes);
        assert_eq!(String::from_utf8(whole).unwrap(), want);
        // Every border between two portions.
        for border in 0..bytes.len() {
            let mut text = TerminalText::default();
            let mut parts = text.clean(&bytes[..border]);
            parts.extend(text.clean(&bytes[border..]));
            assert_eq!(String::from_utf8(parts).unwrap(), want, "cut at {border}");
        }
    }

    #[test]
    fn colours_stay() {
        check(b"\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m");
        check(b"\x1b[38:2:1:2:3mx\x1b[m", "\x1b[38:2:1:2:3mx\x1b[0m");
        check(
            "50%\r60% größe\t\u{1f600}\n".as_bytes(),
            "50%\r60% größe\t\u{1f600}\n",
        );
    }

    #[test]
    fn what_controls_a_terminal_is_taken_away() {
        check(b"a\x1b[2Jb\x1b[10;10Hc\x1b[?1049hd\x1bce", "abcde");
        check(b"a\x1b]52;c;aGk=\x07b\x1b]0;title\x1b\\c", "abc");
        check(b"a\x1bP$qm\x1b\\b\x1b[6n\x1b_apc\x1b\\c", "abc");
        check(b"a\x07\x0b\x0cb", "ab");
        check("a\u{9b}2Jb\u{202e}".as_bytes(), "a\u{fffd}2Jb\u{fffd}");
    }

    #[test]
    fn an_unfinished_sequence_hides_no_more_than_its_line() {
        check(b"a\x1b]0;never closed\nb", "a\nb");
        check(b"a\x1bPnever closed\nb\x1b[1\nc", "a\nb\nc");
        let mut long = b"\x1b]0;".to_vec();
        long.extend(vec![b'x'; 3 * LONGEST_SEQUENCE]);
        let mut text = TerminalText::default();
        assert!(!text.clean(&long).is_empty());
    }

    #[test]
    fn only_a_terminal_s_bytes_are_cleaned() {
        for (terminal, want) in [(true, &b"ab"[..]), (false, b"a\x1b[2Jb")] {
            let mut output = JobOutput::new(Vec::new(), terminal);
            output.write_all(b"a\x1b[2").unwrap();
            output.write_all(b"Jb").unwrap();
            assert_eq!(output.to, want);
        }
    }
}
