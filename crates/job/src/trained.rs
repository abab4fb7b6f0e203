//! Whether the training of a start is done, by what its ranks wrote down: the evidence that is left
//! when whoever would have said so was killed.

use folder::{Attempt, Event, EventTail, RankExit, RunFolder};
use model::Timestamp;

/// What a start notes that has nothing to train any more.
pub const DONE_BEFORE: &str = "the training was done when the start before this one was lost";

/// Whether all ranks of a start ended by themselves and with 0. What can't be read is no evidence.
#[must_use]
pub fn is_done(run: &RunFolder, attempt: Attempt) -> bool {
    let (Ok(launch), Ok(exits)) = (run.read_launch(attempt, 0), run.read_exits(attempt)) else {
        return false;
    };
    let Ok(events) = EventTail::new(run.events(attempt)).read() else {
        return false;
    };
    let tasks: Vec<u32> = (0..launch.count).collect();
    let ends = |event: &Event| matches!(event, Event::Stopping { .. } | Event::Terminated { .. });
    let end_decided = events.iter().find(|line| ends(&line.event));
    let end_decided = end_decided.map(|line| EndDecided {
        at: line.at,
        host: events.iter().find_map(|line| match &line.event {
            Event::Started { nodes, .. } => nodes.first().map(String::as_str),
            _ => None,
        }),
    });
    judge(&tasks, &exits, end_decided.as_ref())
}

/// When the ranks were about to be ended, by the clock of the conductor's node.
struct EndDecided<'a> {
    at: Timestamp,
    host: Option<&'a str>,
}

/// A program that ends with 0 because it was signalled to end is not done. One that had ended before
/// is, where the same clock says so.
fn judge(tasks: &[u32], exits: &[RankExit], end_decided: Option<&EndDecided<'_>>) -> bool {
    let was_before = |exit: &RankExit| {
        end_decided.is_none_or(|end_decided| {
            end_decided.host == Some(exit.host.as_str()) && exit.at < end_decided.at
        })
    };
    let ended_well = |task: &u32| {
        exits.iter().any(|exit| {
            exit.rank == *task && exit.status == 0 && !exit.told_to_end && was_before(exit)
        })
    };
    !tasks.is_empty() && tasks.iter().all(ended_well)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks that wrote down how they ended, at second 5: status, and whether SIGTERM had come
    /// before. `end_decided`: where and at which second the ranks were about to be ended.
    #[track_caller]
    fn check(exits: &[(i32, bool)], end_decided: Option<(&str, i64)>, want: bool) {
        let exits: Vec<RankExit> = (0..)
            .zip(exits)
            .map(|(rank, (status, told_to_end))| RankExit {
                rank,
                status: *status,
                signal: None,
                at: Timestamp(5),
                host: "n1".to_owned(),
                told_to_end: *told_to_end,
            })
            .collect();
        let as_decided = end_decided.map(|(host, at)| EndDecided {
            at: Timestamp(at),
            host: Some(host),
        });
        let done = judge(&[0, 1], &exits, as_decided.as_ref());
        assert_eq!(done, want, "{exits:?} {end_decided:?}");
    }

    #[test]
    fn done_is_what_all_ranks_ended_well_by_themselves() {
        check(&[(0, false), (0, false)], None, true);
        check(&[(0, false)], None, false);
        check(&[(0, false), (1, false)], None, false);
        check(&[(0, false), (0, true)], None, false);
        check(&[(0, false), (0, false)], Some(("n1", 4)), false);
        check(&[(0, false), (0, false)], Some(("n1", 6)), true);
        // Another node's clock may be wrong.
        check(&[(0, false), (0, false)], Some(("n2", 6)), false);
        check(&[], None, false);
    }
}
