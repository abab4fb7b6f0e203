//! When running jobs end at the latest, and what they give back then.

use crate::State;
use crate::held::HeldShares;
use crate::live_job::LiveJob;
use model::{JobId, JobState, KILL_WAIT, Seconds, Timestamp};

/// A job without a limit is taken to last a year, as Slurm has it.
pub(crate) const UNLIMITED: Seconds = Seconds(365 * 24 * 3600);

/// With more running jobs their ends are taken together in growing lengths of time, as Slurm does
/// (`_will_run_test` of `select/cons_tres`): an expected start may be put later than it has to be.
const EXACT_ENDS: usize = 64;

/// The first of those lengths.
const FIRST_LENGTH: i64 = 30_000;

/// Ends that lie close together become the last of them; the later, the less close.
fn take_together<H>(ends: &mut [(i64, H)]) {
    let (mut first, mut length) = (0, FIRST_LENGTH);
    while first < ends.len() {
        let until = ends[first].0.saturating_add(length);
        let count = ends[first..].partition_point(|(at, _)| *at <= until);
        let last = ends[first + count - 1].0;
        ends[first..first + count]
            .iter_mut()
            .for_each(|(at, _)| *at = last);
        first += count;
        length = length.saturating_mul(2);
    }
}

/// When a running job is over at the latest, which lies ahead: what is overdue is killed soon, and a
/// suspended one has all of its time left.
pub(crate) fn expected_end(state: &JobState, now: Timestamp) -> Option<Timestamp> {
    let JobState::Running {
        since,
        limit,
        end_moved_ms,
        ..
    } = state
    else {
        return None;
    };
    let end = *since + limit.unwrap_or(UNLIMITED);
    let moved = state.suspended_ms(now).saturating_add(*end_moved_ms);
    let end = Timestamp(end.0.saturating_add(moved));
    // One that loses its place is gone soon.
    let end = match (crate::preempt::grace_of(state), state.is_ending()) {
        (Some(until), _) => end.min(until.max(now) + KILL_WAIT),
        (None, true) => end.min(now + KILL_WAIT),
        (None, false) => end,
    };
    Some(if end > now { end } else { now + KILL_WAIT })
}

impl State {
    /// What running jobs give back and when, in milliseconds; many ends are taken together.
    pub(crate) fn gives_back(&self, now: Timestamp) -> Vec<(i64, (JobId, &HeldShares))> {
        let mut ends: Vec<(i64, (JobId, &HeldShares))> = Vec::new();
        for (end, job) in self.ends(now) {
            let holding = job.derived.holding.iter();
            ends.extend(holding.map(|holding| (end.0, (job.record.id, &**holding))));
        }
        if ends.len() > EXACT_ENDS {
            take_together(&mut ends);
        }
        ends
    }

    /// Running jobs by the moment at which they end at the latest, which lies ahead: what is overdue
    /// is killed soon.
    pub(crate) fn ends(&self, now: Timestamp) -> Vec<(Timestamp, &LiveJob)> {
        let running = self.running.iter().filter_map(|id| self.jobs.get(id));
        let ends = running.filter_map(|job| match &job.record.state {
            JobState::Running { .. } => {
                let end = expected_end(&job.record.state, now)?;
                let reserved = self.reserved_until(&job.record);
                let reserved = reserved.map(|until| until.max(now + KILL_WAIT));
                Some((reserved.map_or(end, |until| end.min(until)), job))
            }
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let mut ends: Vec<(Timestamp, &LiveJob)> = ends.collect();
        ends.sort_by_key(|(end, job)| (*end, job.record.id));
        ends
    }
}
