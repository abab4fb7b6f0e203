//! Whether the training of a start is done, by what its ranks wrote down: the evidence that is left
//! when whoever would have said so was killed.

use folder::{Attempt, Event, EventTail, RankExit, RunFolder};

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
    let told = |event: &Event| matches!(event, Event::Stopping { .. } | Event::Terminated { .. });
    let told_to_end = events.iter().any(|line| told(&line.event));
    judge(&tasks, &exits, told_to_end)
}

/// A program that ends with 0 because it was signalled to end is not done.
fn judge(tasks: &[u32], exits: &[RankExit], told_to_end: bool) -> bool {
    let ended_well = |task: &u32| {
        exits
            .iter()
            .any(|exit| exit.rank == *task && exit.status == 0 && !exit.told_to_end)
    };
    !tasks.is_empty() && !told_to_end && tasks.iter().all(ended_well)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    /// Ranks that wrote down how they ended: status, and whether SIGTERM had come before.
    #[track_caller]
    fn check(exits: &[(i32, bool)], told: bool, want: bool) {
        let exits: Vec<RankExit> = (0..)
            .zip(exits)
            .map(|(rank, (status, told_to_end))| RankExit {
                rank,
                status: *status,
                signal: None,
                at: Timestamp(0),
                host: "n1".to_owned(),
                told_to_end: *told_to_end,
            })
            .collect();
        assert_eq!(judge(&[0, 1], &exits, told), want, "{exits:?} {told}");
    }

    #[test]
    fn done_is_what_all_ranks_ended_well_by_themselves() {
        check(&[(0, false), (0, false)], false, true);
        check(&[(0, false)], false, false);
        check(&[(0, false), (1, false)], false, false);
        check(&[(0, false), (0, true)], false, false);
        check(&[(0, false), (0, false)], true, false);
        check(&[], false, false);
    }
}
