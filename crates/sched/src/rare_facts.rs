//! Facts that few jobs have, in a box of their own, so that a queue of plain jobs is small.

use model::Timestamp;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Facts that few jobs have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RareFacts {
    /// When it may start at the earliest: as asked for, or a moment after a start that it was
    /// queued again right after.
    pub not_before: Option<Timestamp>,
    /// Since when it gains priority by its age, where a limit lets so many jobs alone do so; else since it
    /// may start.
    pub accrues: Option<Timestamp>,
    /// When it last lost nodes or gave some back while it ran; a requeue does not forget it.
    pub resized: Option<Timestamp>,
    /// The priority that was set, by `--priority` or `scontrol update`; a release clears it. None is calculated
    /// then.
    pub priority_set: Option<u32>,
    /// The reservations in which it may run, as `--reservation` names them: those that it asked for, without those
    /// that are over; once it started, the one in which it did, which may have drawn it.
    pub reservation: Option<Box<str>>,
}

/// A box of [`RareFacts`] that is allocated by the first write.
#[derive(Clone, Default)]
pub struct RareFactsBox(Option<Box<RareFacts>>);

static NONE: RareFacts = RareFacts {
    not_before: None,
    accrues: None,
    resized: None,
    priority_set: None,
    reservation: None,
};

impl From<RareFacts> for RareFactsBox {
    fn from(rare: RareFacts) -> RareFactsBox {
        RareFactsBox((rare != NONE).then(|| Box::new(rare)))
    }
}

impl Deref for RareFactsBox {
    type Target = RareFacts;

    fn deref(&self) -> &RareFacts {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for RareFactsBox {
    fn deref_mut(&mut self) -> &mut RareFacts {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for RareFactsBox {
    fn eq(&self, other: &RareFactsBox) -> bool {
        **self == **other
    }
}

impl fmt::Debug for RareFactsBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
