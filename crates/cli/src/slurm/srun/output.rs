//! What tasks write, on its way to `srun`'s own stdout and stderr.

use api::step_io::TaskStream;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

/// A line that is longer is passed on in parts.
const LONGEST_LINE: usize = 64 * 1024;

/// Keeps lines of different tasks apart, and labels them.
#[derive(Debug)]
pub struct Output<Out, Err> {
    out: Out,
    err: Err,
    /// `--label`: the ranks whose lines have one.
    labelled: Vec<Range<u32>>,
    /// The width of the greatest rank.
    width: usize,
    /// Lines are kept until they are whole.
    by_line: bool,
    partial: HashMap<(u32, bool), Vec<u8>>,
}

impl<Out: Write, Err: Write> Output<Out, Err> {
    /// For a step of so many tasks. One task alone needs no lines, nor does `--unbuffered`.
    pub fn new(
        out: Out,
        err: Err,
        tasks: u32,
        labelled: Vec<Range<u32>>,
        unbuffered: bool,
    ) -> Output<Out, Err> {
        Output {
            out,
            err,
            width: tasks.saturating_sub(1).to_string().len(),
            by_line: !labelled.is_empty() || (tasks > 1 && !unbuffered),
            labelled,
            partial: HashMap::new(),
        }
    }

    /// Passes on what a task wrote.
    ///
    /// # Errors
    /// No process reads any more, or the disk is full.
    pub fn write(&mut self, rank: u32, stream: TaskStream, bytes: &[u8]) -> io::Result<()> {
        if !self.by_line {
            return self.pass(stream, bytes);
        }
        let key = (rank, stream == TaskStream::Err);
        let mut text = self.partial.remove(&key).unwrap_or_default();
        text.extend_from_slice(bytes);
        let whole = match text.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if text.len() > LONGEST_LINE => text.len(),
            None => 0,
        };
        let rest = text.split_off(whole);
        if !rest.is_empty() {
            self.partial.insert(key, rest);
        }
        self.lines(rank, stream, text)
    }

    /// A task ended: what it wrote without a final newline is passed on.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn end(&mut self, rank: u32) -> io::Result<()> {
        for stream in [TaskStream::Out, TaskStream::Err] {
            if let Some(mut text) = self.partial.remove(&(rank, stream == TaskStream::Err)) {
                if self.is_labelled(rank) {
                    text.push(b'\n');
                }
                self.lines(rank, stream, text)?;
            }
        }
        Ok(())
    }

    fn is_labelled(&self, rank: u32) -> bool {
        self.labelled.iter().any(|ranks| ranks.contains(&rank))
    }

    fn lines(&mut self, rank: u32, stream: TaskStream, text: Vec<u8>) -> io::Result<()> {
        if !self.is_labelled(rank) {
            return self.pass(stream, &text);
        }
        let width = self.width;
        let mut labelled = Vec::with_capacity(text.len() + text.len() / 8);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            labelled.extend_from_slice(format!("{rank:width$}: ").as_bytes());
            labelled.extend_from_slice(line);
        }
        self.pass(stream, &labelled)
    }

    fn pass(&mut self, stream: TaskStream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            TaskStream::Out => {
                self.out.write_all(bytes)?;
                self.out.flush()
            }
            TaskStream::Err => {
                self.err.write_all(bytes)?;
                self.err.flush()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[track_caller]
    fn check(tasks: u32, label: bool, writes: &[(u32, &str)], want: &str) {
        let labelled = label.then_some(0..tasks).into_iter().collect();
        let mut output = Output::new(Vec::new(), Vec::new(), tasks, labelled, false);
        for (rank, text) in writes {
            output
                .write(*rank, TaskStream::Out, text.as_bytes())
                .unwrap();
        }
        for rank in 0..tasks {
            output.end(rank).unwrap();
        }
        assert_eq!(String::from_utf8(output.out).unwrap(), want);
        assert_eq!(output.err, b"");
    }

    #[test]
    fn lines_of_tasks_stay_apart() {
        let writes = [(0, "a"), (1, "x\ny"), (0, "b\n"), (1, "z\n"), (0, "end")];
        check(2, false, &writes, "x\nab\nyz\nend");
    }

    #[test]
    fn labels_are_as_wide_as_the_greatest_rank() {
        check(
            11,
            true,
            &[(9, "a\nb\n"), (10, "c")],
            " 9: a\n 9: b\n10: c\n",
        );
    }

    #[test]
    fn one_task_is_passed_on_as_it_comes() {
        let mut output = Output::new(Vec::new(), Vec::new(), 1, Vec::new(), false);
        output.write(0, TaskStream::Out, b"prompt> ").unwrap();
        assert_eq!(output.out, b"prompt> ");
        output.write(0, TaskStream::Err, b"e").unwrap();
        assert_eq!(output.err, b"e");
    }
}
