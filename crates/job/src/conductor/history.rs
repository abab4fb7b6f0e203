//! What the jobs before this one tell. Pure but for reading their events.

use crate::trained::{self, DONE_BEFORE};
use folder::{Attempt, Event, EventTail, RunFolder, StopReason, has_progress, was_lost};
use std::io;

/// How many starts right before this one ran into their limit without a new checkpoint.
///
/// # Errors
/// The run folder can't be read.
pub fn stuck_before(run: &RunFolder, now: Attempt) -> io::Result<u32> {
    in_a_row(run, now, was_stuck)
}

/// How many starts right before this one were lost without a new checkpoint: one of our own
/// processes was killed, or no process was left to record anything.
///
/// # Errors
/// The run folder can't be read.
pub fn lost_in_a_row(run: &RunFolder, now: Attempt) -> io::Result<u32> {
    in_a_row(run, now, was_lost)
}

/// Whether the start right before this one trained to its end, whatever became of it then: one of
/// our processes was killed before it could say so, or the node was lost before the job had ended. A
/// training that is done is not run again unless a person asks.
///
/// # Errors
/// The run folder can't be read.
pub fn trained_before(run: &RunFolder, now: Attempt) -> io::Result<bool> {
    let asked_again = run.take_asked_again();
    let mut attempts = run.attempts()?.into_iter();
    let before = attempts.rfind(|attempt| *attempt < now);
    let Some(before) = before.filter(|_| !asked_again) else {
        return Ok(false);
    };
    let events = events_of(run, before)?;
    let finished = |event: &Event| matches!(event, Event::Finished { .. });
    let said = before.job == now.job && events.iter().any(finished);
    // One that only had to bring out the last checkpoint, and was lost over that.
    let noted = |event: &Event| matches!(event, Event::Note { text } if text == DONE_BEFORE);
    Ok(said || events.iter().any(noted) || trained::is_done(run, before))
}

fn in_a_row(run: &RunFolder, now: Attempt, is: fn(&[Event]) -> bool) -> io::Result<u32> {
    let mut count = 0;
    let before = run.attempts()?.into_iter().filter(|attempt| *attempt < now);
    for attempt in before.rev() {
        if !is(&events_of(run, attempt)?) {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// What one start wrote down.
///
/// # Errors
/// It can't be read.
pub fn events_of(run: &RunFolder, attempt: Attempt) -> io::Result<Vec<Event>> {
    let lines = EventTail::new(run.events(attempt)).read()?;
    Ok(lines.into_iter().map(|line| line.event).collect())
}

/// Whether a start came to its limit with nothing newer than what it had resumed from.
fn was_stuck(events: &[Event]) -> bool {
    let at_limit = events.iter().any(|event| {
        matches!(
            event,
            Event::Stopping {
                reason: StopReason::Limit,
                ..
            } | Event::ComingBack { .. }
        )
    });
    let lost = events
        .iter()
        .any(|event| matches!(event, Event::Lost { .. }));
    at_limit && !lost && !has_progress(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::{ComingBack, EventLog};
    use model::{Seconds, Timestamp};

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

    /// The events of the starts before; all of them came to their limit.
    #[track_caller]
    fn check(starts: &[&[Event]], want: u32) {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        std::fs::create_dir_all(run.links()).unwrap();
        let attempt = |restart| Attempt { job: 7, restart };
        let mut restart = 0;
        for events in starts {
            let mut log = EventLog::open(&run.events(attempt(restart))).unwrap();
            for event in *events {
                log.append(Timestamp(0), event.clone()).unwrap();
            }
            let stopping = Event::Stopping {
                reason: StopReason::Limit,
                left: Seconds(3),
            };
            log.append(Timestamp(0), stopping).unwrap();
            log.append(
                Timestamp(0),
                Event::ComingBack {
                    how: ComingBack::Requeue,
                },
            )
            .unwrap();
            restart += 1;
        }
        assert_eq!(stuck_before(&run, attempt(restart)).unwrap(), want);
    }

    #[test]
    fn counts_starts_without_progress_up_to_the_last_that_had_some() {
        check(&[], 0);
        check(&[&[out(false)]], 0);
        check(&[&[]], 1);
        check(&[&[], &[out(false)], &[], &[]], 2);
        check(&[&[out(false)], &[out(true), out(true)]], 1);
    }

    #[test]
    fn a_training_that_is_done_is_not_run_again_unless_a_person_asks() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        std::fs::create_dir_all(run.links()).unwrap();
        let attempt = |job, restart| Attempt { job, restart };
        let mut log = EventLog::open(&run.events(attempt(7, 0))).unwrap();
        assert!(!trained_before(&run, attempt(7, 0)).unwrap());
        assert!(!trained_before(&run, attempt(7, 1)).unwrap());
        log.append(
            Timestamp(0),
            Event::Finished {
                status: 0,
                left: None,
            },
        )
        .unwrap();
        assert!(trained_before(&run, attempt(7, 1)).unwrap());
        assert!(!trained_before(&run, attempt(8, 0)).unwrap());
        run.write_asked_again().unwrap();
        assert!(!trained_before(&run, attempt(7, 1)).unwrap());
        assert!(trained_before(&run, attempt(7, 1)).unwrap());
    }

    #[test]
    fn starts_that_were_lost_are_counted_apart() {
        let lost = Event::Lost {
            cause: "signal 9".to_owned(),
        };
        check(&[&[], std::slice::from_ref(&lost)], 0);
    }
}
