//! When a job must stop training so that everything is saved before its limit. Pure.

use model::{Seconds, Timestamp};
use std::time::Duration;
use train::default_grace;

/// The moments of a job's end, each after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// The program is warned (where the run file wants that) and the last copying begins.
    pub warn: Timestamp,
    /// The ranks get SIGTERM, whatever is still being copied.
    pub stop: Timestamp,
    /// Ranks that are still there get SIGKILL.
    pub kill: Timestamp,
    /// Copying is given up, the job is requeued.
    pub leave: Timestamp,
    /// The cluster ends what is still there.
    pub end: Timestamp,
}

/// What a requeue takes on a machine that is busy: one that comes after the limit brings nothing back.
const REQUEUE: Duration = Duration::from_millis(500);
/// The least that a copy, a stop and a requeue need.
const LEAST: Duration = Duration::from_secs(2);

impl Deadlines {
    /// From the job's end.
    ///
    /// `asked` is the run file's grace. It is followed as far as it leaves half of the limit for
    /// work; without one it is [`default_grace`].
    #[must_use]
    pub fn before_limit(start: Timestamp, end: Timestamp, asked: Option<Duration>) -> Deadlines {
        let limit = Duration::from_millis(end.since(start).unsigned_abs());
        let grace = match asked {
            Some(asked) => asked.min(limit / 2),
            None => default_grace(limit),
        };
        Deadlines::within(end, grace.max(LEAST.min(limit / 2)))
    }

    /// What is left of the job at a moment, in whole seconds.
    #[must_use]
    pub fn left_at(&self, now: Timestamp) -> Seconds {
        Seconds((self.end.since(now).max(0).unsigned_abs() + 500) / 1000)
    }

    /// After SIGTERM came from outside: everything within `wait`, of which a sixth is left so that
    /// SIGKILL never comes first.
    #[must_use]
    pub fn after_signal(now: Timestamp, wait: Duration) -> Deadlines {
        let wait = wait - wait / 6;
        let mut deadlines = Deadlines::within(after(now, wait), wait);
        deadlines.warn = now;
        deadlines
    }

    /// Half of the grace belongs to the program's last checkpoint, a quarter to its going down, a
    /// quarter to copying what it left; a tenth at the very end to the requeue, which is no less than
    /// [`REQUEUE`] where that leaves time to copy.
    fn within(end: Timestamp, grace: Duration) -> Deadlines {
        let before = |time: Duration| {
            let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            Timestamp(end.0.saturating_sub(millis))
        };
        Deadlines {
            warn: before(grace),
            stop: before(grace / 2),
            kill: before(grace * 3 / 10),
            leave: before((grace / 10).max(REQUEUE.min(grace / 4))),
            end,
        }
    }
}

fn after(now: Timestamp, wait: Duration) -> Timestamp {
    Timestamp(
        now.0
            .saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds from the start at which each moment comes.
    #[track_caller]
    fn check(limit: i64, asked: Option<u64>, want: [f64; 4]) {
        let start = Timestamp(1_000_000);
        let end = Timestamp(start.0 + limit * 1000);
        let found = Deadlines::before_limit(start, end, asked.map(Duration::from_secs));
        let seconds = [found.warn, found.stop, found.kill, found.leave]
            .map(|at| f64::from(i32::try_from(at.0 - start.0).unwrap()) / 1000.0);
        assert_eq!(seconds, want);
    }

    #[test]
    fn short_and_long_limits() {
        check(25, Some(3), [22.0, 23.5, 24.1, 24.5]);
        check(25, None, [21.875, 23.438, 24.063, 24.5]);
        check(86_400, None, [86_280.0, 86_340.0, 86_364.0, 86_388.0]);
        check(86_400, Some(600), [85_800.0, 86_100.0, 86_220.0, 86_340.0]);
    }

    #[test]
    fn never_more_than_half_of_the_limit() {
        check(60, Some(120), [30.0, 45.0, 51.0, 57.0]);
        check(2, None, [1.0, 1.5, 1.7, 1.75]);
    }

    #[test]
    fn a_signal_from_outside() {
        let found = Deadlines::after_signal(Timestamp(0), Duration::from_secs(30));
        assert_eq!(found.warn, Timestamp(0));
        assert!(found.stop > found.warn && found.kill > found.stop && found.leave > found.kill);
        assert!(found.leave.0 < 25_000);
    }
}
