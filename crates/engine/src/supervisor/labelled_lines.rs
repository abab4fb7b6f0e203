//! Lines of a task in a file, each behind its rank: `srun --label` with `--output`.

use std::fs::File;
use std::io::Write;

/// A line that is longer is written in parts, each with a label.
const LONGEST_LINE: usize = 64 * 1024;

/// As wide as the greatest rank of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelWidth(usize);

impl LabelWidth {
    /// Of a step of so many tasks.
    pub(super) fn of(tasks: u32) -> LabelWidth {
        LabelWidth(tasks.saturating_sub(1).to_string().len())
    }
}

/// A file that gets a task's lines, whole and behind its rank.
#[derive(Debug)]
pub(super) struct LabelledLines<W = File> {
    to: W,
    label: Vec<u8>,
    /// What has no end yet.
    partial: Vec<u8>,
    /// The file took no more, which was said.
    is_full: bool,
}

impl<W: Write> LabelledLines<W> {
    pub(super) fn new(to: W, rank: u32, LabelWidth(width): LabelWidth) -> LabelledLines<W> {
        LabelledLines {
            to,
            label: format!("{rank:width$}: ").into_bytes(),
            partial: Vec::new(),
            is_full: false,
        }
    }

    /// Writes the lines that are whole; the rest waits for its end.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let whole = match self.partial.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.partial.len() > LONGEST_LINE => self.partial.len(),
            None => return,
        };
        let rest = self.partial.split_off(whole);
        let whole = std::mem::replace(&mut self.partial, rest);
        self.put(&whole);
    }

    /// The task's end of the stream is closed: a last line without an end gets one.
    pub(super) fn end(&mut self) {
        if !self.partial.is_empty() {
            let mut last = std::mem::take(&mut self.partial);
            last.push(b'\n');
            self.put(&last);
        }
    }

    /// At once, so that lines of tasks that share the file stay whole. Where the file takes none (a full disk) the task
    /// goes on, as one does that writes there by itself and doesn't look.
    fn put(&mut self, lines: &[u8]) {
        let mut labelled = Vec::with_capacity(lines.len() + lines.len() / 8);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            labelled.extend_from_slice(&self.label);
            labelled.extend_from_slice(line);
        }
        match self.to.write_all(&labelled) {
            Ok(()) => self.is_full = false,
            Err(error) if !self.is_full => {
                self.is_full = true;
                tracing::warn!("lines of a task with labels are lost: {error}");
            }
            Err(_) => {}
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
            lines.write(text.as_bytes());
        }
        lines.end();
        assert_eq!(String::from_utf8_lossy(&lines.to), want);
    }

    #[test]
    fn each_line_is_behind_its_rank() {
        check(0, 1, &["a\nb\n"], "0: a\n0: b\n");
        check(3, 11, &["a", "b\n\nc"], " 3: ab\n 3: \n 3: c\n");
        check(3, 4, &[], "");
        let long = "x".repeat(LONGEST_LINE + 1);
        check(0, 1, &[&long, "y\n"], &format!("0: {long}0: y\n"));
    }
}
