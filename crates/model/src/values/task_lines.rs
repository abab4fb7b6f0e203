//! Lines of a step's tasks on their way to one reader: kept until they are whole, and behind their rank with `srun --label`.

/// A line that is longer is passed on in parts.
const LONGEST_LINE: usize = 64 * 1024;

/// As wide as the greatest rank of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelWidth(usize);

impl LabelWidth {
    /// Of a step of so many tasks.
    #[must_use]
    pub fn of(tasks: u32) -> LabelWidth {
        LabelWidth(tasks.saturating_sub(1).to_string().len())
    }

    /// Lines of a task, each behind its rank.
    #[must_use]
    pub fn labelled(self, rank: u32, lines: &[u8]) -> Vec<u8> {
        let width = self.0;
        let label = format!("{rank:width$}: ");
        let mut labelled = Vec::with_capacity(lines.len() + lines.len() / 8);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            labelled.extend_from_slice(label.as_bytes());
            labelled.extend_from_slice(line);
        }
        labelled
    }
}

/// What a task wrote of a line that has no end yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialLine(Vec<u8>);

impl PartialLine {
    /// The lines that are whole with what was just written; the rest waits for its end.
    #[must_use]
    pub fn whole_with(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.extend_from_slice(bytes);
        let whole = match self.0.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.0.len() > LONGEST_LINE => self.0.len(),
            None => 0,
        };
        let rest = self.0.split_off(whole);
        std::mem::replace(&mut self.0, rest)
    }

    /// What is left at the end, and no more then.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}
