//! The body of a batch script, as far as rules need it: which commands there are, what they set
//! and how they end. Tolerant: what is not understood is passed over, and said in
//! [`Shell::sound`].

mod assignments;
mod blocks;
mod command;
mod reader;
mod redirections;
mod words;

pub use command::{Assignment, Command, End, Word};

use std::ops::Range;

/// What was read of a shell script.
#[derive(Debug, Default)]
pub struct Shell<'a> {
    /// All simple commands in the order in which they stand, those of substitutions before the
    /// command that they stand in.
    pub commands: Vec<Command<'a>>,
    /// Bodies of here-documents.
    pub heredocs: Vec<Range<usize>>,
    /// Texts in quotes that have several lines.
    pub quotes: Vec<Range<usize>>,
    /// The byte from which on there was no room for more commands.
    pub full_at: Option<usize>,
    /// False where a quote or a here-document was never closed: from there on little is known.
    pub sound: bool,
}

impl<'a> Shell<'a> {
    /// Reads a script, or a piece of one that begins at byte `from`.
    #[must_use]
    pub fn read(text: &'a str, from: usize) -> Shell<'a> {
        reader::Reader::new(text, from).read()
    }

    /// Whether that byte is inside a here-document or a text in quotes that has several lines.
    #[must_use]
    pub fn is_text(&self, at: usize) -> bool {
        let inside = |range: &Range<usize>| range.start <= at && at < range.end;
        self.heredocs.iter().any(inside) || self.quotes.iter().any(inside)
    }

    /// The value that a variable has at the end of the script, where it is set once and plainly.
    pub fn sets(&self, name: &str) -> impl Iterator<Item = &Assignment<'a>> {
        self.commands
            .iter()
            .flat_map(Command::assignments)
            .filter(move |set| set.name == name)
    }
}

#[cfg(test)]
mod tests;
