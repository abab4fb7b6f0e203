//! Follows a file that others write, line by line.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Follows one file from its first line on; it need not be there yet.
#[derive(Clone, Debug)]
pub struct FileTail {
    path: PathBuf,
    offset: u64,
    /// What came after the last line feed.
    rest: Vec<u8>,
    /// What of it was last told as redrawn.
    drawn: Option<String>,
}

/// Of one file at a time: one that is written without end must not keep others waiting.
const AT_ONCE: u64 = 1 << 20;
/// A longer line is broken.
const LONGEST_LINE: usize = 1 << 16;

impl FileTail {
    /// From its first line on.
    #[must_use]
    pub fn new(path: PathBuf) -> FileTail {
        FileTail {
            path,
            offset: 0,
            rest: Vec::new(),
            drawn: None,
        }
    }

    /// Which file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lines since the last call, without their line feeds. Where a program drew over its line
    /// with carriage returns, what it drew last; what is no UTF-8 is replaced. A line that isn't
    /// whole is left for later, unless the writer is `over`: then everything that is left comes.
    ///
    /// # Errors
    /// What the system says; a file that isn't there has no lines.
    pub fn read(&mut self, over: bool) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        while self.take()? == AT_ONCE && over {
            self.lines(false, &mut lines);
        }
        self.lines(over, &mut lines);
        Ok(lines)
    }

    /// The line that isn't whole yet, where a program draws over it with carriage returns and it
    /// changed since the last call.
    pub fn redrawn(&mut self) -> Option<String> {
        let is_drawn_over = self.rest.contains(&b'\r');
        let now = is_drawn_over.then(|| line(&self.rest));
        if now == self.drawn {
            return None;
        }
        self.drawn.clone_from(&now);
        now.filter(|text| !text.is_empty())
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

    fn lines(&mut self, over: bool, lines: &mut Vec<String>) {
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            lines.push(line(&self.rest[start..start + length]));
            start += length + 1;
        }
        while self.rest.len() - start > LONGEST_LINE {
            lines.push(line(&self.rest[start..start + LONGEST_LINE]));
            start += LONGEST_LINE;
        }
        if over && start < self.rest.len() {
            lines.push(line(&self.rest[start..]));
            start = self.rest.len();
        }
        self.rest.drain(..start);
    }
}

fn line(bytes: &[u8]) -> String {
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

    #[test]
    fn a_flood_is_read_in_parts_and_in_full_at_the_end() {
        let (_root, mut tail) = tail_of(&b"0123456\n".repeat(400_000));
        let first = tail.read(false).unwrap().len();
        assert_eq!(first, (AT_ONCE / 8) as usize);
        assert_eq!(first + tail.read(true).unwrap().len(), 400_000);
    }

    #[test]
    fn a_line_without_end_is_broken() {
        let (_root, mut tail) = tail_of(&vec![b'x'; LONGEST_LINE + 5]);
        assert_eq!(tail.read(false).unwrap().len(), 1);
        assert_eq!(tail.read(true).unwrap(), ["xxxxx"]);
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
