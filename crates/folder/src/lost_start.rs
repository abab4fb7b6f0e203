//! What the events of one start tell of its loss, whoever asks: the next start, a deputy, a client.

use crate::Event;

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
    let is_progress = |event: &Event| matches!(event, Event::CheckpointOut { again: false, .. });
    events.iter().any(is_progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(again: bool) -> Event {
        Event::CheckpointOut {
            name: "c5".to_owned(),
            step: Some(5),
            bytes: 1,
            took_ms: 1,
            proven: true,
            written: None,
            again,
        }
    }

    #[test]
    fn a_start_is_lost_that_says_so_or_nothing_and_saved_nothing_new() {
        let lost = Event::Lost {
            cause: "signal 9".to_owned(),
        };
        let terminated = Event::Terminated { reason: None };
        let check = |events: &[Event], want: bool| assert_eq!(was_lost(events), want, "{events:?}");
        check(&[], true);
        check(std::slice::from_ref(&lost), true);
        check(&[out(true)], true);
        check(&[out(true), out(false), lost], false);
        check(&[terminated], false);
    }
}
