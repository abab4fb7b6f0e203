//! What tasks write, on its way to `srun`'s own stdout and stderr.

use api::step_io::TaskStream;
use model::{LabelWidth, PartialLine};
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

/// Keeps lines of different tasks apart, and labels them.
#[derive(Debug)]
pub struct Output<Out, Err> {
    out: Out,
    err: Err,
    /// `--label`: the ranks whose lines have one.
    labelled: Vec<Range<u32>>,
    width: LabelWidth,
    /// Lines are kept until they are whole.
    by_line: bool,
    partial: HashMap<(u32, bool), PartialLine>,
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
            width: LabelWidth::of(tasks),
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
        let whole = self.partial.entry(key).or_default().whole_with(bytes);
        self.lines(rank, stream, &whole)
    }

    /// A task ended: what it wrote without a final newline is passed on.
    ///
    /// # Errors
    /// As [`Output::write`].
    pub fn end(&mut self, rank: u32) -> io::Result<()> {
        for stream in [TaskStream::Out, TaskStream::Err] {
            let partial = self.partial.remove(&(rank, stream == TaskStream::Err));
            let mut text = partial.unwrap_or_default().take();
            if text.is_empty() {
                continue;
            }
            if self.is_labelled(rank) {
                text.push(b'\n');
            }
            self.lines(rank, stream, &text)?;
        }
        Ok(())
    }

    fn is_labelled(&self, rank: u32) -> bool {
        self.labelled.iter().any(|ranks| ranks.contains(&rank))
    }

    fn lines(&mut self, rank: u32, stream: TaskStream, text: &[u8]) -> io::Result<()> {
        if self.is_labelled(rank) {
            self.pass(stream, &self.width.labelled(rank, text))
        } else {
            self.pass(stream, text)
        }
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
