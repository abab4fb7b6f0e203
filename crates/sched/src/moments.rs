//! Moments that few jobs have, in a box of their own, so that a queue of plain jobs is small.

use model::Timestamp;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Moments that few jobs have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// When it may start at the earliest: as asked for, or a moment after a start that it was
    /// queued again right after.
    pub not_before: Option<Timestamp>,
    /// Since when it gains priority by its age, where a limit lets so many jobs alone do so; else since it
    /// may start.
    pub accrues: Option<Timestamp>,
    /// When it last lost nodes or gave some back while it ran; a requeue does not forget it.
    pub resized: Option<Timestamp>,
}

/// A box of [`Moments`] that is allocated by the first write.
#[derive(Clone, Default)]
pub struct MomentsBox(Option<Box<Moments>>);

static NONE: Moments = Moments {
    not_before: None,
    accrues: None,
    resized: None,
};

impl From<Moments> for MomentsBox {
    fn from(moments: Moments) -> MomentsBox {
        MomentsBox((moments != NONE).then(|| Box::new(moments)))
    }
}

impl Deref for MomentsBox {
    type Target = Moments;

    fn deref(&self) -> &Moments {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for MomentsBox {
    fn deref_mut(&mut self) -> &mut Moments {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for MomentsBox {
    fn eq(&self, other: &MomentsBox) -> bool {
        **self == **other
    }
}

impl fmt::Debug for MomentsBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
