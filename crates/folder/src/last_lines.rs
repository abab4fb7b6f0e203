//! The end of a log.

use crate::FileTail;
use std::fs::File;
use std::io;
use std::path::Path;

/// Bytes before the end that are looked at.
const LOOKED_AT: u64 = 1 << 16;

/// The last `count` lines of a file, as [`FileTail`] gives them. Of a long file only the end is
/// read; a line that is longer than that comes without its beginning.
///
/// # Errors
/// What the system says; a file that isn't there has no lines.
pub fn last_lines(path: &Path, count: usize) -> io::Result<Vec<String>> {
    let length = match File::open(path).and_then(|file| file.metadata()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        facts => facts?.len(),
    };
    let begin = length.saturating_sub(LOOKED_AT);
    let mut tail = FileTail::from(path.to_owned(), begin);
    let mut last: Vec<String> = Vec::new();
    let mut is_cut = begin > 0;
    loop {
        let lines = tail.read(true)?;
        last.extend(lines);
        // The rest of a line that began before.
        if is_cut && last.len() > 1 {
            last.remove(0);
            is_cut = false;
        }
        let superfluous = last.len().saturating_sub(count);
        last.drain(..superfluous);
        if !tail.has_more() {
            return Ok(last.into_iter().map(end_of).collect());
        }
    }
}

/// The end of a line that is longer than what is looked at: the file grew meanwhile.
fn end_of(line: String) -> String {
    let most = usize::try_from(LOOKED_AT).unwrap_or(usize::MAX);
    let from = line.ceil_char_boundary(line.len().saturating_sub(most));
    if from == 0 {
        line
    } else {
        line[from..].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check("one", 2, &["one"]);
        check("one\ntwo\nthree\n", 2, &["two", "three"]);
        assert!(last_lines(Path::new("/no/such"), 2).unwrap().is_empty());
    }

    #[test]
    fn of_a_line_that_grew_the_end_is_left() {
        let most = LOOKED_AT as usize;
        assert_eq!(end_of("one".to_owned()), "one");
        let grown = format!("{}\u{e9}end", "x".repeat(2 * most));
        assert_eq!(end_of(grown.clone()), grown[grown.len() - most..]);
        let cut = end_of(format!("\u{e9}{}", "x".repeat(most - 1)));
        assert_eq!(cut.len(), most - 1, "within the first letter");
    }

    #[test]
    fn of_a_long_file_only_the_end_is_read() {
        let long = "0123456789\n".repeat(50_000);
        check(&format!("{long}last"), 2, &["0123456789", "last"]);
        let line = "x".repeat(1 << 20);
        check(&line, 2, &[&line[..LOOKED_AT as usize]]);
    }
}
