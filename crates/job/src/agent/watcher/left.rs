//! What is left of entries that never were complete.

/// An entry that never was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its name.
    pub name: String,
    /// Why it is not taken for complete, in words.
    pub why: String,
    /// Whether it may be complete all the same.
    pub may_be_whole: bool,
}
