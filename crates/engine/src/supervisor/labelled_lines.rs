//! Lines of a task in a file, each behind its rank: `srun --label` with `--output`.

use model::{LabelWidth, PartialLine};
use std::fs::File;
use std::io::{self, Write};

/// A file that gets a task's lines, whole and behind its rank.
#[derive(Debug)]
pub(super) struct LabelledLines<W = File> {
    to: W,
    rank: u32,
    width: LabelWidth,
    partial: PartialLine,
    /// It took no more, as the caller knows.
    is_full: bool,
}

impl<W: Write> LabelledLines<W> {
    pub(super) fn new(to: W, rank: u32, width: LabelWidth) -> LabelledLines<W> {
        LabelledLines {
            to,
            rank,
            width,
            partial: PartialLine::default(),
            is_full: false,
        }
    }

    /// Writes the lines that are whole; the rest waits for its end.
    ///
    /// # Errors
    /// The file takes none (a full disk): they are lost. Said once; the task goes on, as one does that writes there by
    /// itself and doesn't look.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let whole = self.partial.whole_with(bytes);
        self.put(&whole)
    }

    /// The task's end of the stream is closed: a last line without an end gets one.
    ///
    /// # Errors
    /// As [`LabelledLines::write`].
    pub(super) fn end(&mut self) -> io::Result<()> {
        let mut last = self.partial.take();
        if !last.is_empty() {
            last.push(b'\n');
        }
        self.put(&last)
    }

    /// At once, so that lines of tasks that share the file stay whole.
    fn put(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let labelled = self.width.labelled(self.rank, lines);
        match self.to.write_all(&labelled) {
            Err(error) if !self.is_full => {
                self.is_full = true;
                Err(error)
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rank: u32, tasks: u32, writes: &[&str], want: &str) {
        let mut lines = LabelledLines::new(Vec::new(), rank, LabelWidth::of(tasks));
        for text in writes {
            lines.write(text.as_bytes()).unwrap();
        }
        lines.end().unwrap();
        assert_eq!(String::from_utf8_lossy(&lines.to), want);
    }

    #[test]
    fn each_line_is_behind_its_rank() {
        check(0, 1, &["a\nb\n"], "0: a\n0: b\n");
        check(3, 11, &["a", "b\n\nc"], " 3: ab\n 3: \n 3: c\n");
        check(3, 4, &[], "");
        let long = "x".repeat(64 * 1024 + 1);
        check(0, 1, &[&long, "y\n"], &format!("0: {long}0: y\n"));
    }

    /// A disk that is full from the second write on.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn that_lines_are_lost_is_said_once() {
        let mut lines = LabelledLines::new(Full(0), 0, LabelWidth::of(1));
        let said = ["a\n", "b\nc", "d\n"].map(|text| lines.write(text.as_bytes()).is_err());
        assert_eq!(said, [false, true, false]);
        lines.end().unwrap();
    }
}
