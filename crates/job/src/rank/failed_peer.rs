//! After a rank has failed srun ends the others with SIGTERM. One that ignores it would hold the run for as long
//! as the cluster's `KillWait`: its wrapper kills it sooner.

use super::start::Place;
use crate::agent::{kill, numbered};
use folder::{Attempt, Event, EventTail, RankExit};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long a rank may take to end after SIGTERM where another one has failed: enough to write last lines and
/// release a GPU. What is asked to save before the job's end has the run's grace period instead.
const GRACE: Duration = Duration::from_secs(5);
/// Between two looks whether one has failed: how it ended may be written down a moment later.
const PAUSE: Duration = Duration::from_secs(1);

/// Kills the program of that task so long after SIGTERM, if another rank has failed and it is not asked to
/// save before the job's end.
///
/// # Errors
/// The signal can't be caught.
pub(super) fn end_after(attempt: Attempt, place: &Place<'_>, local: &Path) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM])?;
    let (run, local) = (place.run.clone(), local.to_owned());
    let (task, node_index) = (place.task, place.node_index);
    std::thread::spawn(move || {
        if signals.forever().next().is_none() {
            return;
        }
        std::thread::sleep(GRACE);
        loop {
            let exits = run.read_exits(attempt).unwrap_or_default();
            let events = EventTail::new(run.events(attempt)).read();
            let events: Vec<Event> = events
                .unwrap_or_default()
                .into_iter()
                .map(|line| line.event)
                .collect();
            if has_failed_peer(&exits, &events) {
                let own = numbered(&local, node_index).into_iter();
                let own = own.filter(|(number, _)| *number == task);
                kill(&own.map(|(_, process)| process).collect::<Vec<_>>());
            }
            std::thread::sleep(PAUSE);
        }
    });
    Ok(())
}

/// Whether a rank failed by itself, and not while all were asked to end.
fn has_failed_peer(exits: &[RankExit], events: &[Event]) -> bool {
    let is_end = |event: &Event| matches!(event, Event::Stopping { .. });
    exits.iter().any(RankExit::has_failed) && !events.iter().any(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::StopReason;
    use model::{Seconds, Timestamp};

    #[track_caller]
    fn check(status: i32, told_to_end: bool, is_stopping: bool, want: bool) {
        let exit = RankExit {
            rank: 1,
            status,
            signal: None,
            at: Timestamp(0),
            host: "n1".to_owned(),
            told_to_end,
        };
        let stopping = Event::Stopping {
            reason: StopReason::Limit,
            left: Seconds(9),
        };
        let events: Vec<Event> = is_stopping.then_some(stopping).into_iter().collect();
        assert_eq!(has_failed_peer(&[exit], &events), want);
    }

    #[test]
    fn only_after_a_failure_and_not_while_all_save() {
        check(1, false, false, true);
        check(0, false, false, false);
        // Its own end after SIGTERM.
        check(1, true, false, false);
        // All are to save before the limit, and have until then.
        check(1, false, true, false);
        assert!(!has_failed_peer(&[], &[]));
    }
}
