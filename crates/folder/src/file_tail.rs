//! Follows a file that others write, line by line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Follows one file from its first line on; it need not be there yet.
#[derive(Clone, Debug)]
pub struct FileTail {
    path: PathBuf,
    offset: u64,
    /// What was read and not returned: what came after the last line feed, or more lines.
    rest: Vec<u8>,
    /// What of it was last told as redrawn.
    drawn: Option<String>,
    has_more: bool,
}

/// Bytes of one portion: what is read must not stay in memory, and one file that is written without
/// end must not keep others waiting.
const AT_ONCE: u64 = 1 << 18;
/// Lines of one portion: a short one takes far more memory than its bytes.
const MOST_LINES: usize = 1 << 13;
/// A longer line is broken.
const LONGEST_LINE: usize = 1 << 16;

impl FileTail {
    /// From its first line on.
    #[must_use]
    pub fn new(path: PathBuf) -> FileTail {
        FileTail::from(path, 0)
    }

    /// From about so many bytes before its end on: its first line may lack its beginning.
    #[must_use]
    pub fn near_end(path: PathBuf, bytes: u64) -> FileTail {
        let length = std::fs::metadata(&path).map_or(0, |facts| facts.len());
        FileTail::from(path, length.saturating_sub(bytes))
    }

    /// From this byte on.
    #[must_use]
    pub(crate) fn from(path: PathBuf, offset: u64) -> FileTail {
        FileTail {
            path,
            offset,
            rest: Vec::new(),
            drawn: None,
            has_more: false,
        }
    }

    /// Which file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next lines since the last call as a person sees them: [`FileTail::read_bytes`], each as
    /// [`drawn_text`].
    ///
    /// # Errors
    /// As [`FileTail::read_bytes`].
    pub fn read(&mut self, over: bool) -> io::Result<Vec<String>> {
        let lines = self.read_bytes(over)?;
        Ok(lines.iter().map(|line| drawn_text(line)).collect())
    }

    /// The next lines since the last call, without their line feeds: a portion, after which
    /// [`FileTail::has_more`] tells whether to call again at once. A line that isn't whole is left
    /// for later, unless the writer is `over`: then everything that is left comes.
    ///
    /// # Errors
    /// What the system says; a file that isn't there has no lines.
    pub fn read_bytes(&mut self, over: bool) -> io::Result<Vec<Vec<u8>>> {
        // Lines that the last portion had no room for come before further bytes.
        let filled = if self.rest.len() as u64 > AT_ONCE {
            true
        } else {
            self.take()? == AT_ONCE
        };
        let mut lines = Vec::new();
        let all_lines = self.lines(&mut lines);
        self.has_more = filled || !all_lines;
        if over && !self.has_more && !self.rest.is_empty() {
            lines.push(std::mem::take(&mut self.rest));
        }
        Ok(lines)
    }

    /// The line that isn't whole yet, where a program draws over it with carriage returns and it
    /// changed since the last call.
    pub fn redrawn(&mut self) -> Option<String> {
        // Until all whole lines were read, what is left is not the last line.
        let is_drawn_over = !self.has_more && self.rest.contains(&b'\r');
        let now = is_drawn_over.then(|| drawn_text(&self.rest));
        if now == self.drawn {
            return None;
        }
        self.drawn.clone_from(&now);
        now.filter(|text| !text.is_empty())
    }

    /// Whether the last portion was not all there was.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Reads what is new, at most [`AT_ONCE`]; returns how much that was.
    fn take(&mut self) -> io::Result<u64> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            file => file?,
        };
        if file.metadata()?.len() < self.offset {
            // Emptied: a program that truncates its own output.
            self.offset = 0;
            self.rest.clear();
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let read = file.take(AT_ONCE).read_to_end(&mut self.rest)? as u64;
        self.offset += read;
        Ok(read)
    }

    /// Takes whole lines from what was read; whether none is left.
    fn lines(&mut self, lines: &mut Vec<Vec<u8>>) -> bool {
        let mut start = 0;
        let all = loop {
            let rest = &self.rest[start..];
            let (length, next) = match rest.iter().position(|byte| *byte == b'\n') {
                Some(length) if length <= LONGEST_LINE => (length, length + 1),
                None if rest.len() <= LONGEST_LINE => break true,
                Some(_) | None => (LONGEST_LINE, LONGEST_LINE),
            };
            if lines.len() == MOST_LINES {
                break false;
            }
            lines.push(rest[..length].to_vec());
            start += next;
        };
        self.rest.drain(..start);
        all
    }
}

/// What a person sees of a line: where its program drew over it with carriage returns, what it drew
/// last; what is no UTF-8 is replaced.
#[must_use]
pub fn drawn_text(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let drawn = bytes.rsplit(|byte| *byte == b'\r').next().unwrap_or(bytes);
    String::from_utf8_lossy(drawn).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail_of(bytes: &[u8]) -> (tempfile::TempDir, FileTail) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        std::fs::write(&path, bytes).unwrap();
        (root, FileTail::new(path))
    }

    /// All that is left, portion by portion; how many portions.
    fn drain(tail: &mut FileTail, over: bool) -> (Vec<String>, usize) {
        let (mut lines, mut portions) = (Vec::new(), 0);
        loop {
            let portion = tail.read(over).unwrap();
            assert!(portion.len() <= MOST_LINES + 1);
            lines.extend(portion);
            portions += 1;
            assert!(tail.rest.len() as u64 <= 2 * AT_ONCE);
            if !tail.has_more() {
                return (lines, portions);
            }
        }
    }

    #[test]
    fn a_flood_is_read_in_portions() {
        for line in ["", "0123456", "0123456789012345678901234567890123456789"] {
            let flood = format!("{line}\n").repeat(400_000);
            let (_root, mut tail) = tail_of(flood.as_bytes());
            let (lines, portions) = drain(&mut tail, false);
            assert!(lines.len() == 400_000 && lines.iter().all(|read| read == line));
            assert!(portions > 40);
        }
    }

    #[test]
    fn a_line_without_end_is_broken() {
        let (_root, mut tail) = tail_of(&vec![b'x'; 100 * LONGEST_LINE + 5]);
        assert_eq!(drain(&mut tail, false).0.len(), 100);
        assert_eq!(drain(&mut tail, true).0, ["xxxxx"]);
    }

    #[test]
    fn a_last_line_without_its_end_comes_when_its_writer_is_over() {
        let (_root, mut tail) = tail_of(b"one\ntwo");
        assert_eq!(drain(&mut tail, false).0, ["one"]);
        assert_eq!(drain(&mut tail, true).0, ["two"]);
    }

    #[test]
    fn a_progress_bar_is_seen_before_its_line_ends() {
        let (_root, mut tail) = tail_of(b"one\n10%");
        let mut seen = |text: &[u8]| {
            let file = File::options().append(true).open(tail.path()).unwrap();
            io::Write::write_all(&mut &file, text).unwrap();
            (tail.read(false).unwrap(), tail.redrawn())
        };
        // What is only not whole yet is no progress bar.
        assert_eq!(seen(b""), (vec!["one".to_owned()], None));
        assert_eq!(seen(b"\r20%"), (vec![], Some("20%".to_owned())));
        assert_eq!(seen(b""), (vec![], None));
        assert_eq!(seen(b"\r30%\r"), (vec![], Some("30%".to_owned())));
        assert_eq!(seen(b"\n"), (vec!["30%".to_owned()], None));
    }

    #[test]
    fn a_file_that_was_emptied_begins_anew() {
        let (_root, mut tail) = tail_of(b"one\ntwo\n");
        assert_eq!(tail.read(false).unwrap(), ["one", "two"]);
        std::fs::write(tail.path(), b"three\n").unwrap();
        assert_eq!(tail.read(false).unwrap(), ["three"]);
    }
}
