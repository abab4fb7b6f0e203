//! When a step is warned and ended: pure, so that its clock is the test's.
//!
//! ```text
//!              warning          deadline              kill_wait
//!  Running ───────────► Running ─────────► Terminating ─────────► Killing
//!            (signal)             (CONT, TERM)            (KILL, until none is left)
//! ```
//! While the step is suspended its clock stands still; a stop takes that back.

use crate::BootTime;
use crate::spec::{Because, StepSpec};
use model::SignalSpec;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Send the warning signal.
    Warn(i32),
    /// SIGCONT and SIGTERM to all.
    Terminate(Because),
    /// SIGKILL to all.
    Kill,
}

/// Where the end of a step stands.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    deadline: Option<BootTime>,
    /// The step's own limit: it ends no later, whatever its job's limit becomes.
    own: Option<BootTime>,
    because: Because,
    warning: Option<SignalSpec>,
    kill_wait_ms: u64,
    phase: Phase,
    /// Since when its processes are stopped.
    suspended: Option<BootTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Terminating { until: BootTime },
    Killing { next: BootTime, pause_ms: i64 },
}

/// First and longest pause between two rounds of SIGKILL: a process that forks may outrun one.
const FIRST_PAUSE_MS: i64 = 10;
const LONGEST_PAUSE_MS: i64 = 1000;

impl Ending {
    /// As the spec says.
    pub(super) fn of(spec: &StepSpec) -> Ending {
        Ending {
            deadline: spec.deadline,
            own: spec.own_deadline,
            because: Because::Limit,
            warning: spec.warning,
            kill_wait_ms: spec.kill_wait_ms,
            phase: Phase::Running,
            suspended: None,
        }
    }

    /// From now on the clock stands still; false where it does already, or the end has begun.
    pub(super) fn suspend(&mut self, now: BootTime) -> bool {
        let may = self.phase == Phase::Running && self.because == Because::Limit;
        if !may || self.suspended.is_some() {
            return false;
        }
        self.suspended = Some(now);
        true
    }

    /// The clock goes on; false where it did not stand still.
    pub(super) fn resume(&mut self, now: BootTime) -> bool {
        let Some(since) = self.suspended.take() else {
            return false;
        };
        let stopped_ms = now.since(since);
        for moment in [&mut self.deadline, &mut self.own].into_iter().flatten() {
            *moment = moment.plus(stopped_ms);
        }
        true
    }

    /// The deadline as it stands.
    pub(super) fn deadline(&self) -> Option<BootTime> {
        self.deadline
    }

    /// Sets it anew; an end that has begun is not taken back.
    pub(super) fn set(&mut self, deadline: Option<BootTime>, because: Because) {
        if self.phase == Phase::Running {
            let own = self.own.filter(|_| because == Because::Limit);
            self.deadline = deadline.into_iter().chain(own).min();
            self.because = because;
            if because == Because::Stop {
                self.suspended = None;
            }
        }
    }

    /// Nothing of the step may live on from now: SIGKILL at once.
    pub(super) fn kill(&mut self, now: BootTime) {
        if !matches!(self.phase, Phase::Killing { .. }) {
            self.phase = Phase::Killing {
                next: now,
                pause_ms: FIRST_PAUSE_MS,
            };
        }
    }

    /// When to look again; `None` is never.
    pub(super) fn next(&self) -> Option<BootTime> {
        match self.phase {
            Phase::Running if self.suspended.is_some() => None,
            Phase::Running => [self.warning_at(), self.deadline]
                .into_iter()
                .flatten()
                .min(),
            Phase::Terminating { until } => Some(until),
            Phase::Killing { next, .. } => Some(next),
        }
    }

    /// What is due at `now`, once; ask until there is nothing.
    pub(super) fn due(&mut self, now: BootTime) -> Option<Due> {
        match self.phase {
            Phase::Running if self.suspended.is_some() => None,
            Phase::Running => {
                if self.deadline.is_some_and(|deadline| deadline <= now) {
                    let until = now.plus(i64::try_from(self.kill_wait_ms).unwrap_or(i64::MAX));
                    self.phase = Phase::Terminating { until };
                    return Some(Due::Terminate(self.because));
                }
                if self.warning_at().is_some_and(|at| at <= now) {
                    let warning = self.warning.take()?;
                    return Some(Due::Warn(warning.signal));
                }
                None
            }
            Phase::Terminating { until } if until <= now => {
                self.kill(now);
                self.due(now)
            }
            Phase::Killing { next, pause_ms } if next <= now => {
                self.phase = Phase::Killing {
                    next: now.plus(pause_ms),
                    pause_ms: (pause_ms * 2).min(LONGEST_PAUSE_MS),
                };
                Some(Due::Kill)
            }
            Phase::Terminating { .. } | Phase::Killing { .. } => None,
        }
    }

    /// A stop that someone asks for is no limit: no process is warned of it.
    fn warning_at(&self) -> Option<BootTime> {
        match (self.warning, self.because) {
            (Some(warning), Because::Limit) => Some(self.deadline?.minus(warning.before)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Seconds, SignalTarget};

    fn ending(deadline: Option<i64>, warning_before: Option<u64>) -> Ending {
        Ending {
            deadline: deadline.map(BootTime),
            own: None,
            because: Because::Limit,
            warning: warning_before.map(|before| SignalSpec {
                signal: 10,
                before: Seconds(before),
                target: SignalTarget::Steps,
                borrows: false,
            }),
            kill_wait_ms: 500,
            phase: Phase::Running,
            suspended: None,
        }
    }

    /// Lives through it and tells what happened when, as far as `until`.
    #[track_caller]
    fn check(mut ending: Ending, until: i64, want: &[(i64, Due)]) {
        let mut seen = Vec::new();
        let mut now = BootTime(0);
        while now.0 <= until {
            while let Some(due) = ending.due(now) {
                seen.push((now.0, due));
            }
            match ending.next() {
                Some(next) => now = next.max(now),
                None => break,
            }
        }
        assert_eq!(seen, want);
    }

    #[test]
    fn warned_then_terminated_then_killed_until_none_is_left() {
        let want = [
            (8_000, Due::Warn(10)),
            (10_000, Due::Terminate(Because::Limit)),
            (10_500, Due::Kill),
            (10_510, Due::Kill),
            (10_530, Due::Kill),
        ];
        check(ending(Some(10_000), Some(2)), 10_550, &want);
    }

    #[test]
    fn warned_at_once_where_the_limit_is_nearer() {
        let want = [(0, Due::Warn(10)), (1_000, Due::Terminate(Because::Limit))];
        check(ending(Some(1_000), Some(60)), 1_000, &want);
    }

    #[test]
    fn no_limit_no_end() {
        check(ending(None, Some(60)), 1_000_000, &[]);
    }

    #[test]
    fn a_suspended_step_loses_none_of_its_time() {
        let mut suspended = ending(Some(10_000), Some(2));
        assert!(suspended.suspend(BootTime(5_000)));
        assert!(!suspended.suspend(BootTime(5_500)), "it is already");
        assert_eq!(suspended.next(), None);
        assert_eq!(suspended.due(BootTime(60_000)), None);
        let mut resumed = suspended.clone();
        assert!(resumed.resume(BootTime(65_000)));
        assert!(!resumed.resume(BootTime(65_000)));
        let want = [
            (68_000, Due::Warn(10)),
            (70_000, Due::Terminate(Because::Limit)),
        ];
        check(resumed, 70_000, &want);
        suspended.set(Some(BootTime(6_000)), Because::Stop);
        check(suspended, 6_000, &[(6_000, Due::Terminate(Because::Stop))]);
    }

    #[test]
    fn a_shorter_limit_of_the_step_s_own_stays_when_its_job_s_changes() {
        let own = || Ending {
            own: Some(BootTime(10_000)),
            ..ending(Some(10_000), None)
        };
        for (limit, end) in [(Some(60_000), 10_000), (None, 10_000), (Some(5_000), 5_000)] {
            let mut of_job = own();
            of_job.set(limit.map(BootTime), Because::Limit);
            check(of_job, end, &[(end, Due::Terminate(Because::Limit))]);
        }
        let mut stopped = own();
        stopped.set(Some(BootTime(0)), Because::Stop);
        check(stopped, 0, &[(0, Due::Terminate(Because::Stop))]);
        let mut suspended = own();
        assert!(suspended.suspend(BootTime(4_000)));
        assert!(suspended.resume(BootTime(9_000)));
        suspended.set(Some(BootTime(60_000)), Because::Limit);
        check(
            suspended,
            15_000,
            &[(15_000, Due::Terminate(Because::Limit))],
        );
    }

    #[test]
    fn a_stop_warns_no_process_and_is_not_taken_back() {
        let mut stopped = ending(Some(100_000), Some(60));
        stopped.set(Some(BootTime(0)), Because::Stop);
        check(stopped.clone(), 0, &[(0, Due::Terminate(Because::Stop))]);
        assert_eq!(
            stopped.due(BootTime(0)),
            Some(Due::Terminate(Because::Stop))
        );
        stopped.set(None, Because::Limit);
        assert_eq!(stopped.next(), Some(BootTime(500)));
        assert_eq!(stopped.due(BootTime(500)), Some(Due::Kill));
    }
}
