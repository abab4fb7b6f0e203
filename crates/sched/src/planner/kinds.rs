//! Sets of kinds of jobs.

/// Kinds of jobs, a bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds(Vec<u64>);

impl Kinds {
    /// Whether a kind is among them.
    pub fn has(&self, kind: u32) -> bool {
        let word = self.0.get(kind as usize / 64);
        word.is_some_and(|word| word & (1 << (kind % 64)) != 0)
    }

    /// Adds a kind.
    pub fn add(&mut self, kind: u32) {
        let at = kind as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (kind % 64);
    }
}
