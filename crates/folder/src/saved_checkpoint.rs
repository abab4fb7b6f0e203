//! What the events of a start tell of a checkpoint that is saved, and which of several is the newest. Pure.

use crate::{Age, Event, newest_first};
use model::Timestamp;

/// A checkpoint that an event says is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedCheckpoint {
    /// Its name.
    pub name: String,
    /// Its step; what another run saved has none here.
    pub step: Option<u64>,
    /// When the program wrote it, where that is known.
    pub written: Option<Timestamp>,
    /// Its size, where that is known.
    pub bytes: Option<u64>,
}

impl SavedCheckpoint {
    /// The one that was saved then, or resumed from: that was saved too.
    #[must_use]
    pub fn of(event: &Event) -> Option<SavedCheckpoint> {
        match event {
            Event::CheckpointOut {
                name,
                step,
                written,
                bytes,
                ..
            } => Some(SavedCheckpoint {
                name: name.clone(),
                step: *step,
                written: *written,
                bytes: Some(*bytes),
            }),
            Event::Resumed {
                checkpoint,
                step,
                written,
                bytes,
            } => Some(SavedCheckpoint {
                name: checkpoint.clone(),
                step: *step,
                written: *written,
                bytes: *bytes,
            }),
            _ => None,
        }
    }

    fn age(&self) -> Age {
        let age = Age::new(&self.name, self.written, self.bytes);
        if self.step.is_some() {
            age
        } else {
            age.without_step()
        }
    }
}

/// The newest of them, in the order of their events: when a start ends the newest is saved first. Of one name that is
/// equally old the last.
pub fn newest_saved<T>(
    saved: impl IntoIterator<Item = T>,
    checkpoint: impl Fn(&T) -> &SavedCheckpoint,
) -> Option<T> {
    let mut saved: Vec<T> = saved.into_iter().collect();
    saved.reverse();
    let ordered = newest_first(saved, |one| checkpoint(one).age());
    ordered.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names with the second at which each was written; `-`: not known.
    #[track_caller]
    fn check(saved: &[(&str, &str)], want: &str) {
        let saved = saved.iter().map(|(name, at)| SavedCheckpoint {
            name: (*name).to_owned(),
            step: crate::step_of(name),
            written: at.parse().ok().map(|second: i64| Timestamp(second * 1000)),
            bytes: Some(9),
        });
        let newest = newest_saved(saved, |one| one).unwrap();
        assert_eq!(newest.name, want);
    }

    /// The list named another one than what was resumed from.
    #[test]
    fn what_is_named_as_the_newest_is_what_would_be_resumed_from() {
        check(
            &[("step-40", "-"), ("step-60", "-"), ("step-50", "-")],
            "step-60",
        );
        check(&[("ck-90", "1"), ("ck-70", "2"), ("ck-50", "3")], "ck-50");
        check(&[("ck-50", "3"), ("ck-70", "2"), ("ck-90", "1")], "ck-50");
        check(&[("step-40", "1"), ("last", "90")], "last");
        check(&[("step-40", "1"), ("last", "2")], "step-40");
    }

    #[test]
    fn what_another_run_saved_is_older_than_what_this_one_did() {
        let of = |name: &str, step| SavedCheckpoint {
            name: name.to_owned(),
            step,
            written: None,
            bytes: None,
        };
        let saved = [of("c100", None), of("c5", Some(5))];
        let newest = newest_saved(saved.iter(), |one| one);
        assert_eq!(newest, Some(&saved[1]));
    }
}
