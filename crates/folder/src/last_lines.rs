//! The end of a log.

use crate::file_tail::drawn_text;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes before the end that are looked at.
const LOOKED_AT: u64 = 1 << 16;

/// The last `count` lines of a file, as a person sees them. Of a long file only the end is read, as
/// far as the file goes when it is opened; a line that is longer than that comes without its
/// beginning.
///
/// # Errors
/// What the system says; a file that isn't there has no lines.
pub fn last_lines(path: &Path, count: usize) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let begin = file.metadata()?.len().saturating_sub(LOOKED_AT);
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let mut lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    // The rest of a line that began before.
    if begin > 0 && lines.len() > 1 {
        lines.remove(0);
    }
    let last = lines.split_off(lines.len().saturating_sub(count));
    Ok(last.into_iter().map(drawn_text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[track_caller]
    fn check(text: &str, count: usize, want: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        std::fs::write(&path, text).unwrap();
        assert_eq!(last_lines(&path, count).unwrap(), want);
    }

    #[test]
    fn of_a_short_file() {
        check("", 2, &[]);
        check("\n", 2, &[""]);
        check("one\n", 0, &[]);
        check("one", 2, &["one"]);
        check("one\ntwo\nthree\n", 2, &["two", "three"]);
        assert!(last_lines(Path::new("/no/such"), 2).unwrap().is_empty());
    }

    /// A writer that never rests: what it adds meanwhile is left to the next look.
    #[test]
    fn of_a_line_that_grows_the_end_is_read_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        std::fs::write(&path, "begin\n").unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut log = File::options().append(true).open(&path).unwrap();
                while !is_over.load(Ordering::Relaxed) && log.metadata().unwrap().len() < 1 << 26 {
                    log.write_all(&[b'x'; 1 << 16]).unwrap();
                }
            });
            for _ in 0..50 {
                let lines = last_lines(&path, 200).unwrap();
                let bytes: usize = lines.iter().map(String::len).sum();
                assert!(bytes as u64 <= LOOKED_AT, "{bytes} bytes");
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn of_a_long_file_only_the_end_is_read() {
        let long = "0123456789\n".repeat(50_000);
        check(&format!("{long}last"), 2, &["0123456789", "last"]);
        let line = "x".repeat(1 << 20);
        check(&line, 2, &[&line[..LOOKED_AT as usize]]);
    }
}
