//! Whether a start gets further than what it had resumed from. Pure.
//!
//! A program that begins anew in each job saves the same steps for ever, and one that works on is not ended for it.

use crate::recency::goes_by_number;
use crate::{Age, Event, KnownCheckpoint, WholeCheckpoints, has_progress, series};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// What a start has saved, over what it resumed from.
#[derive(Clone, Debug, Default)]
pub struct TrainingProgress {
    resumed: Option<KnownCheckpoint>,
    /// Series of which it has saved one that is earlier than what it resumed from: the training began again.
    begun_again: BTreeSet<String>,
    is_made: bool,
}

impl TrainingProgress {
    /// None yet over this one.
    #[must_use]
    pub fn over(resumed: Option<KnownCheckpoint>) -> TrainingProgress {
        TrainingProgress {
            resumed,
            ..TrainingProgress::default()
        }
    }

    /// That of a start which has written down these events.
    #[must_use]
    pub fn of(events: &[Event]) -> TrainingProgress {
        let resumed = events.iter().find_map(|event| match event {
            // Of another run's checkpoint the event has no step: a number in its name counts that run's steps.
            Event::Resumed {
                checkpoint,
                step,
                written,
                bytes,
            } => Some(KnownCheckpoint {
                step: *step,
                written: *written,
                bytes: *bytes,
                ..KnownCheckpoint::named(checkpoint)
            }),
            _ => None,
        });
        TrainingProgress {
            is_made: has_progress(events),
            ..TrainingProgress::over(resumed)
        }
    }

    /// What the start resumed from.
    #[must_use]
    pub fn resumed(&self) -> Option<&KnownCheckpoint> {
        self.resumed.as_ref()
    }

    /// Whether any was made.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.is_made
    }

    /// Takes what was saved, beside what was whole `before`; whether it is progress.
    pub fn saved(&mut self, saved: &KnownCheckpoint, before: &WholeCheckpoints) -> bool {
        let is_further = self.is_further(saved, before);
        self.is_made |= is_further;
        is_further
    }

    fn is_further(&mut self, saved: &KnownCheckpoint, before: &WholeCheckpoints) -> bool {
        let Some(resumed) = &self.resumed else {
            return true;
        };
        let (age, from) = (saved.age(), resumed.age());
        // What another run saved has no step here: all that is saved is newer.
        let (Some(mine), Some(theirs)) = (age.position(), from.position()) else {
            return true;
        };
        let own = series(&saved.name);
        // Not what lacks a part: that may be a half of this very one.
        let is_same =
            |known: &&KnownCheckpoint| known.parts.lacks == 0 && series(&known.name) == own;
        let same = before.iter().filter(is_same);
        let mut ages: Vec<Age> = same.map(KnownCheckpoint::age).collect();
        if series(&resumed.name) != own {
            let is_new = ages.is_empty();
            let furthest = ages.iter().filter_map(Age::position).max().cloned();
            ages.push(age.clone());
            return match furthest {
                _ if !goes_by_number(&ages) => true,
                Some(furthest) => *mine > furthest,
                None => !is_new || saved.step > resumed.step,
            };
        }
        ages.extend([from.clone(), age.clone()]);
        if !goes_by_number(&ages) {
            return true;
        }
        match mine.cmp(theirs) {
            Ordering::Greater => true,
            Ordering::Less => {
                self.begun_again.insert(own);
                false
            }
            Ordering::Equal if mine.counts_epochs() => {
                // Within an epoch a program may save many times, but a step is one state of the training.
                !self.begun_again.contains(&own) && has_changed(saved, resumed)
            }
            // The numbers may be of the model's name, and what differs a metric.
            Ordering::Equal => !mine.is_named() && saved.name != resumed.name,
        }
    }
}

fn has_changed(saved: &KnownCheckpoint, resumed: &KnownCheckpoint) -> bool {
    match (saved.digest, resumed.digest) {
        (Some(mine), Some(theirs)) => mine != theirs,
        _ => saved.written > resumed.written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    /// `name`, `name@12` for one that was written in that second, `name#5` for one with these bytes.
    fn known(text: &str) -> KnownCheckpoint {
        let (text, digest) = match text.split_once('#') {
            Some((text, digest)) => (text, digest.parse().ok()),
            None => (text, None),
        };
        let (name, second) = text.split_once('@').unwrap_or((text, ""));
        KnownCheckpoint {
            written: second.parse().ok().map(|at: i64| Timestamp(at * 1000)),
            digest,
            ..KnownCheckpoint::named(name)
        }
    }

    /// Beside what is whole before, all in the order in which they were saved.
    #[track_caller]
    fn check(before: &[&str], resumed: &str, saved: &[&str], want: bool) {
        let mut out = WholeCheckpoints::new(before.iter().map(|text| known(text)).collect());
        let mut progress = TrainingProgress::over(Some(known(resumed)));
        for text in saved {
            progress.saved(&known(text), &out);
            out.publish(known(text));
        }
        let what = format!("{before:?}, from {resumed}: {saved:?}");
        assert_eq!(progress.is_made(), want, "{what}");
    }

    /// A run failed for it though it had saved several in each start.
    #[test]
    fn what_a_falling_loss_or_a_new_epoch_numbers_lower_is_newer() {
        check(&[], "epoch=12-loss=0.33", &["epoch=13-loss=0.20"], true);
        check(&[], "ep00-step0027", &["ep01-step0015"], true);
        check(&[], "loss0.33.bin", &["loss0.20.bin"], true);
        check(&[], "c5", &["c4"], false);
        check(&[], "c5", &["last"], true);
        check(&[], "net2-loss0.33", &["net2-loss0.31"], true);
    }

    /// Of a loss of 90 to 50 hundredths the newest is not the highest.
    #[test]
    fn numbers_that_fall_while_time_goes_on_do_not_tell() {
        let before = ["ck-90@10", "ck-70@20", "ck-50@30"];
        check(&before, "ck-50@30", &["ck-40@50"], true);
        let rising = ["ck-10@10", "ck-20@20", "ck-30@30"];
        check(&rising, "ck-30@30", &["ck-10@40", "ck-20@50"], false);
        check(&rising, "ck-30@30", &["ck-10@40", "ck-40@50"], true);
    }

    #[test]
    fn another_run_s_steps_count_nothing_here() {
        let mut progress = TrainingProgress::over(Some(KnownCheckpoint {
            step: None,
            ..KnownCheckpoint::named("c100")
        }));
        assert!(progress.saved(&known("c5"), &WholeCheckpoints::default()));
    }

    /// A run was failed after two jobs of one epoch.
    #[test]
    fn other_bytes_within_one_epoch_are_progress_and_the_same_step_again_is_none() {
        check(&[], "epoch=3#1", &["epoch=3#2"], true);
        check(&[], "epoch=3#1", &["epoch=3#1"], false);
        check(&[], "epoch=3@10", &["epoch=3@90"], true);
        check(&[], "epoch=12-loss=0.33#1", &["epoch=12-loss=0.20#2"], true);
        check(&[], "step=3#1", &["step=3#2"], false);
        check(&[], "epoch=3-step=9#1", &["epoch=3-step=9#2"], false);
        check(&[], "c5#1", &["c5#2"], false);
        // The training began again and has come as far as before.
        check(&[], "epoch=3#1", &["epoch=2#3", "epoch=3#2"], false);
    }

    #[test]
    fn of_other_series_what_was_there_before_tells() {
        let before = ["step-3000", "epoch-3"];
        check(&before, "step-3000", &["epoch-3"], false);
        check(&before, "step-3000", &["epoch-4"], true);
        check(&["step-3000"], "step-3000", &["epoch-1"], false);
        check(&["step-3000"], "step-3000", &["epoch-1", "epoch-2"], true);
    }
}
