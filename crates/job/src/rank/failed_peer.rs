//! After a rank has failed srun ends the others with SIGTERM. One that ignores it would hold the run for as long
//! as the cluster's `KillWait`: its wrapper kills it sooner, unless it saves.

use super::start::Place;
use crate::agent::{is_being_written, kill, numbered};
use crate::local_folder;
use folder::{Attempt, Event, EventTail, RankExit, RunFolder};
use model::Timestamp;
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;
use train::Notify;

/// How long a rank may take to end after another one has failed: enough to write last lines and release a GPU.
/// What is asked to save before the job's end has the run's grace period instead.
const GRACE_MS: i64 = 5_000;
/// Before each look after SIGTERM whether one has failed, in seconds: how it ended may be written down a moment
/// later. More looks are of no use: `KillWait` is over then, or SIGTERM came for another reason.
const PAUSES: [u64; 5] = [5, 1, 2, 6, 15];

/// What is to be done about a rank that lives on after SIGTERM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing is known that it should end for.
    Waits,
    /// All are asked to save and end, and have the run's grace period.
    IsLeft,
    /// Another rank failed so lately, in milliseconds, that it is given the rest of its time.
    Soon(i64),
    /// It holds up the run.
    IsKilled,
}

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
        let mut peers = PeerEnds::new(run, attempt);
        // One that is sent as a mere word to the program may be followed by another.
        while signals.forever().next().is_some() {
            for pause in PAUSES {
                std::thread::sleep(Duration::from_secs(pause));
                let mut verdict = peers.verdict();
                if let Verdict::Soon(left) = verdict {
                    std::thread::sleep(Duration::from_millis(left.unsigned_abs()));
                    verdict = peers.verdict();
                }
                let own = numbered(&local, node_index).into_iter();
                let own = own.filter(|(number, _)| *number == task);
                let own: Vec<_> = own.map(|(_, process)| process).collect();
                match verdict {
                    _ if own.is_empty() => return,
                    Verdict::IsLeft => return,
                    Verdict::Waits => {}
                    Verdict::Soon(_) | Verdict::IsKilled => {
                        if !peers.may_save_unseen()
                            && !is_being_written(&local_folder::checkpoints(&local))
                        {
                            kill(&own);
                        }
                    }
                }
            }
        }
    });
    Ok(())
}

/// What the run folder tells of the other ranks. Only what is new is read: a thousand wrappers may look at once.
struct PeerEnds {
    run: RunFolder,
    attempt: Attempt,
    events: EventTail,
    is_stopping: bool,
    seen: BTreeSet<u32>,
    failed: Option<Timestamp>,
}

impl PeerEnds {
    fn new(run: RunFolder, attempt: Attempt) -> PeerEnds {
        PeerEnds {
            events: EventTail::new(run.events(attempt)),
            run,
            attempt,
            is_stopping: false,
            seen: BTreeSet::new(),
            failed: None,
        }
    }

    fn verdict(&mut self) -> Verdict {
        // What can't be read now is read at the next look.
        for line in self.events.read().unwrap_or_default() {
            self.is_stopping |= matches!(line.event, Event::Stopping { .. });
        }
        if !self.is_stopping && self.failed.is_none() {
            let new = self.run.new_exits(self.attempt, &mut self.seen);
            self.failed = first_failure(&new.unwrap_or_default());
        }
        verdict(self.failed, self.is_stopping, Timestamp(sys::now()))
    }

    /// Whether the program may save now where nothing shows it: SIGTERM is what it is to save at, or it keeps
    /// checkpoints in a place of its own. Of a run that can't be read it is not known.
    fn may_save_unseen(&self) -> bool {
        let opened = RunFolder::open(self.run.path());
        opened.map_or(true, |(_, json)| {
            let resume = &json.plan.resume;
            resume.notify.value == Notify::Sigterm || resume.own_checkpoints.value
        })
    }
}

/// When the first rank failed by itself, and not while all were asked to end.
fn first_failure(exits: &[RankExit]) -> Option<Timestamp> {
    let failed = exits.iter().filter(|exit| exit.has_failed());
    failed.map(|exit| exit.at).min()
}

fn verdict(failed: Option<Timestamp>, is_stopping: bool, now: Timestamp) -> Verdict {
    match failed {
        _ if is_stopping => Verdict::IsLeft,
        None => Verdict::Waits,
        // The clocks of two nodes may differ.
        Some(at) => match GRACE_MS - now.since(at).clamp(0, GRACE_MS) {
            0 => Verdict::IsKilled,
            left => Verdict::Soon(left),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_failure(status: i32, told_to_end: bool, want: Option<i64>) {
        let exit = RankExit {
            rank: 1,
            status,
            signal: None,
            at: Timestamp(7),
            host: "n1".to_owned(),
            told_to_end,
        };
        assert_eq!(first_failure(&[exit]), want.map(Timestamp));
    }

    #[test]
    fn a_failure_is_what_a_rank_does_by_itself() {
        check_failure(1, false, Some(7));
        check_failure(0, false, None);
        // Its own end after SIGTERM.
        check_failure(1, true, None);
    }

    #[track_caller]
    fn check(failed: Option<i64>, is_stopping: bool, want: Verdict) {
        let failed = failed.map(Timestamp);
        assert_eq!(verdict(failed, is_stopping, Timestamp(60_000)), want);
    }

    #[test]
    fn only_some_time_after_a_failure_and_not_while_all_save() {
        check(Some(50_000), false, Verdict::IsKilled);
        check(None, false, Verdict::Waits);
        // SIGTERM came long before as a mere word to the program.
        check(Some(58_000), false, Verdict::Soon(3_000));
        // By the other node's clock.
        check(Some(70_000), false, Verdict::Soon(5_000));
        // All are to save before the limit, and have until then.
        check(Some(50_000), true, Verdict::IsLeft);
        check(None, true, Verdict::IsLeft);
    }
}
