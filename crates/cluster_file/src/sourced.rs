//! Values with where they came from.

use std::ops::{Deref, Range};

/// A value of a cluster file and where it came from. Two are equal when value and source are;
/// where they stand makes no difference.
#[derive(Clone, Debug)]
pub struct Sourced<T> {
    /// The value; of a disputed one, the first that is said.
    pub value: T,
    /// Where it came from.
    pub source: Source,
    /// What the same document says elsewhere: not empty makes the value a disputed one.
    pub others: Vec<Other<T>>,
    /// Its bytes in the file; empty for a value that was made.
    pub span: Range<usize>,
}

/// Where a value came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The cluster file says it and nothing more.
    #[default]
    Stated,
    /// A document, a table or a configuration file says it: a short reference to the place.
    Quote(String),
    /// No source says it; why it was taken. A rule that rests on it is a note, never an error.
    Assumed(String),
}

/// Why a value is not sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// No source says it.
    Assumed,
    /// Its document says two things.
    Disputed,
}

/// What a document says elsewhere of the same thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Other<T> {
    /// The other value.
    pub value: T,
    /// Where that stands.
    pub quote: String,
}

impl<T> Sourced<T> {
    /// A value that was made, not read.
    pub fn new(value: T, source: Source) -> Sourced<T> {
        Sourced {
            value,
            source,
            others: Vec::new(),
            span: 0..0,
        }
    }

    /// No source says it: what rests on it is a note.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        matches!(self.source, Source::Assumed(_))
    }

    /// Its document says two things.
    #[must_use]
    pub fn is_disputed(&self) -> bool {
        !self.others.is_empty()
    }

    /// Why it is not sure; none where it is.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        if self.is_assumed() {
            Some(Doubt::Assumed)
        } else {
            self.is_disputed().then_some(Doubt::Disputed)
        }
    }

    /// All that is said: the value, then the others.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.value).chain(self.others.iter().map(|other| &other.value))
    }

    /// The same source for another value.
    #[must_use]
    pub fn map<U>(&self, change: impl Fn(&T) -> U) -> Sourced<U> {
        let others = self.others.iter().map(|other| Other {
            value: change(&other.value),
            quote: other.quote.clone(),
        });
        Sourced {
            value: change(&self.value),
            source: self.source.clone(),
            others: others.collect(),
            span: self.span.clone(),
        }
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Sourced<T> {
    fn eq(&self, other: &Sourced<T>) -> bool {
        self.value == other.value && self.source == other.source && self.others == other.others
    }
}

impl Source {
    /// The reference or the reason, where there is one.
    #[must_use]
    pub fn words(&self) -> Option<&str> {
        match self {
            Source::Stated => None,
            Source::Quote(words) | Source::Assumed(words) => Some(words),
        }
    }
}

/// A table that has a name, such as `[partition.gpu]`.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// Its name.
    pub name: String,
    /// The name's bytes in the file.
    pub span: Range<usize>,
    /// What it holds.
    pub body: T,
}

impl<T> Deref for Named<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

impl<T: PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Named<T>) -> bool {
        self.name == other.name && self.body == other.body
    }
}
