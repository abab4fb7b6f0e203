//! In which states a job was in a time, as Slurm's accounting asks for them.

use super::SacctArgs;
use crate::records::JobStateName;
use crate::values::Timestamp;

/// The life of a start of a job, or of a job that has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lived {
    /// The last one, or how it ended.
    pub(super) state: JobStateName,
    /// Since when it could have started.
    pub(super) eligible: Option<Timestamp>,
    pub(super) started: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
}

impl Lived {
    /// Whether it was in a state within a time: from a moment on, and before another; for a state in which jobs
    /// end, whether it came to that then. In which seconds a job was suspended is not looked at: that is its last
    /// state.
    ///
    /// Source: `_state_time_string` of Slurm 22.05's `as_mysql_jobacct_process.c`.
    pub(super) fn was(&self, state: JobStateName, within: (Timestamp, Timestamp)) -> bool {
        let (first, last) = (within.0.seconds(), within.1.seconds());
        let [eligible, started, ended] =
            [self.eligible, self.started, self.ended].map(|it| it.map(Timestamp::seconds));
        match state {
            JobStateName::Pending => {
                let still = match (started, ended) {
                    (Some(at), _) | (None, Some(at)) => first < at,
                    (None, None) => self.state == state,
                };
                still && eligible.is_some_and(|eligible| last > eligible)
            }
            JobStateName::Running => {
                let still = ended.map_or(self.state == state, |ended| first < ended);
                still && started.is_some_and(|started| last > started)
            }
            state if is_end(state) => {
                self.state == state && ended.is_some_and(|ended| (first..=last).contains(&ended))
            }
            state => self.state == state,
        }
    }
}

impl SacctArgs {
    /// The states that are asked for, where a start that is wanted has to have ended in one of them.
    #[must_use]
    pub fn end_states(&self) -> Option<&[JobStateName]> {
        let states = self.states.as_deref()?;
        states.iter().copied().all(is_end).then_some(states)
    }

    /// Source: `slurmdb_job_cond_def_start_end` of Slurm 22.05.
    pub(super) fn states_within(&self, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        self.states.as_ref()?;
        let first = match (self.since, self.until, &self.jobs) {
            (Some(since), ..) => since,
            (None, Some(_), Some(_)) => Timestamp(0),
            (None, _, None) => now,
            (None, None, Some(_)) => return None,
        };
        let last = self.until.unwrap_or(first);
        let is_moment = [first, now]
            .map(Timestamp::seconds)
            .contains(&last.seconds());
        Some((first, Timestamp(last.0 + if is_moment { 1000 } else { 0 })))
    }
}

/// Whether accounting notes an end of a start with this state.
fn is_end(state: JobStateName) -> bool {
    use JobStateName as Name;
    matches!(
        state,
        Name::Completed
            | Name::Cancelled
            | Name::Failed
            | Name::Timeout
            | Name::NodeFail
            | Name::Preempted
            | Name::BootFail
            | Name::Deadline
            | Name::OutOfMemory
            | Name::Requeued
            | Name::Resizing
            | Name::Revoked
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use JobStateName::{Completed, Failed, Pending, Running, Suspended};

    /// Eligible at second 10, started at 20, ended at 30, where that is said.
    #[track_caller]
    fn check(last: JobStateName, moments: [bool; 3], within: (i64, i64), want: &[JobStateName]) {
        let [eligible, started, ended] = moments;
        let at = |seconds: i64| Timestamp(seconds * 1000);
        let lived = Lived {
            state: last,
            eligible: eligible.then(|| at(10)),
            started: started.then(|| at(20)),
            ended: ended.then(|| at(30)),
        };
        let all = [Pending, Running, Suspended, Completed, Failed];
        let was = all
            .into_iter()
            .filter(|state| lived.was(*state, (at(within.0), at(within.1))));
        assert_eq!(
            was.collect::<Vec<_>>(),
            want,
            "{last:?} {moments:?} {within:?}"
        );
    }

    #[test]
    fn one_that_ended_was_all_that_it_had_been() {
        let all = [true; 3];
        check(Completed, all, (0, 10), &[]);
        check(Completed, all, (0, 11), &[Pending]);
        check(Completed, all, (0, 21), &[Pending, Running]);
        check(Completed, all, (20, 21), &[Running]);
        check(Completed, all, (0, 40), &[Pending, Running, Completed]);
        check(Completed, all, (29, 30), &[Running, Completed]);
        check(Completed, all, (30, 31), &[Completed]);
        check(Completed, all, (31, 40), &[]);
    }

    #[test]
    fn one_that_did_not_end() {
        check(Running, [true, true, false], (40, 41), &[Running]);
        check(Running, [true, true, false], (15, 41), &[Pending, Running]);
        check(Suspended, [true, true, false], (40, 41), &[Suspended]);
        check(Pending, [true, false, false], (40, 41), &[Pending]);
        check(Pending, [false; 3], (40, 41), &[]);
    }

    #[test]
    fn one_that_never_started() {
        check(Failed, [true, false, true], (15, 16), &[Pending]);
        check(Failed, [true, false, true], (15, 35), &[Pending, Failed]);
        check(Failed, [true, false, true], (30, 35), &[Failed]);
    }
}
