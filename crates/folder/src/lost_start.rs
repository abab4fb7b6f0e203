//! What the events of one start tell of its loss, whoever asks: the next start, a deputy, a client.

use crate::{Event, compare_names};
use std::cmp::Ordering;

/// So many starts in a row may be lost without a new checkpoint; then it is no accident.
pub const LOST_IN_A_ROW: u32 = 3;

/// Whether a start was lost without a new checkpoint: one of our own processes was killed, or no
/// process was left to record anything.
#[must_use]
pub fn was_lost(events: &[Event]) -> bool {
    let lost = events
        .iter()
        .any(|event| matches!(event, Event::Lost { .. }));
    (lost || !events.iter().any(is_end)) && !has_progress(events)
}

fn is_end(event: &Event) -> bool {
    matches!(
        event,
        Event::ComingBack { .. }
            | Event::Terminated { .. }
            | Event::Finished { .. }
            | Event::Failed { .. }
    )
}

/// Whether a start saved a checkpoint that is newer than what it had resumed from.
#[must_use]
pub fn has_progress(events: &[Event]) -> bool {
    let resumed = events.iter().find_map(|event| match event {
        // What another run saved has no step here: all that is saved is newer.
        Event::Resumed { checkpoint, step } => step.map(|_| checkpoint.as_str()),
        _ => None,
    });
    events.iter().any(|event| match event {
        Event::CheckpointOut { name, .. } => is_newer(name, resumed),
        _ => false,
    })
}

/// Whether a checkpoint is progress over the one that was resumed from. A program that begins anew
/// in each job writes the same steps for ever.
#[must_use]
pub fn is_newer(name: &str, resumed: Option<&str>) -> bool {
    let order = resumed.and_then(|resumed| compare_names(name, resumed));
    order.is_none_or(Ordering::is_gt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(step: u64) -> Event {
        Event::CheckpointOut {
            name: format!("c{step}"),
            step: Some(step),
            bytes: 1,
            took_ms: 1,
            proven: true,
            written: None,
        }
    }

    #[test]
    fn a_start_is_lost_that_says_so_or_nothing_and_saved_nothing_new() {
        let resumed = Event::Resumed {
            checkpoint: "c5".to_owned(),
            step: Some(5),
        };
        let lost = Event::Lost {
            cause: "signal 9".to_owned(),
        };
        let terminated = Event::Terminated { reason: None };
        let check = |events: &[Event], want: bool| assert_eq!(was_lost(events), want, "{events:?}");
        check(&[], true);
        check(std::slice::from_ref(&lost), true);
        check(std::slice::from_ref(&resumed), true);
        check(&[resumed.clone(), out(5)], true);
        check(&[resumed, out(6), lost.clone()], false);
        let of_another_run = Event::Resumed {
            checkpoint: "c100".to_owned(),
            step: None,
        };
        check(&[of_another_run, out(6), lost], false);
        check(&[terminated], false);
    }

    /// A run failed for it though it had saved several in each start.
    #[test]
    fn what_a_falling_loss_or_a_new_epoch_numbers_lower_is_newer() {
        let check = |name: &str, resumed: &str, want: bool| {
            assert_eq!(is_newer(name, Some(resumed)), want, "{name} {resumed}");
        };
        check("epoch=13-loss=0.20", "epoch=12-loss=0.33", true);
        check("epoch=12-loss=0.20", "epoch=12-loss=0.33", false);
        check("ep01-step0015", "ep00-step0027", true);
        check("loss0.20.bin", "loss0.33.bin", true);
        check("c4", "c5", false);
        check("last", "c5", true);
    }
}
