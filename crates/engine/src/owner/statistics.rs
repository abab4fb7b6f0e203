//! What the scheduler did, for `sdiag`. Counted in memory, from the engine's start or the last reset.

use super::Owner;
use model::{JobState, Outcome, Passes, SchedulerStatistics, Timestamp};
use sched::{Job, PassCounts};
use std::time::Duration;

/// The counts.
#[derive(Clone, Debug)]
pub(crate) struct Statistics {
    since: Timestamp,
    submitted: u64,
    started: u64,
    completed: u64,
    canceled: u64,
    failed: u64,
    passes: Passes,
    backfill: Passes,
    last_backfill: Option<Timestamp>,
    backfilled: u64,
    backfilled_in_all: u64,
}

/// One pass of the scheduler.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) at: Timestamp,
    pub(crate) length: Duration,
    pub(crate) looked: PassCounts,
    /// Jobs that wait after it.
    pub(crate) waiting: u64,
}

impl Statistics {
    /// Nothing was counted yet.
    pub(crate) fn since(since: Timestamp) -> Statistics {
        Statistics {
            since,
            submitted: 0,
            started: 0,
            completed: 0,
            canceled: 0,
            failed: 0,
            passes: Passes::default(),
            backfill: Passes::default(),
            last_backfill: None,
            backfilled: 0,
            backfilled_in_all: 0,
        }
    }

    pub(super) fn note_pass(&mut self, pass: &Pass) {
        add(&mut self.passes, pass, pass.looked.jobs);
        if pass.looked.behind + pass.looked.promised > 0 {
            add(&mut self.backfill, pass, pass.looked.behind);
            self.last_backfill = Some(pass.at);
        }
        self.backfilled += pass.looked.backfilled;
        self.backfilled_in_all += pass.looked.backfilled;
    }

    pub(super) fn note_jobs(&mut self, submitted: u64, started: u64, ended: &[Job]) {
        self.submitted += submitted;
        self.started += started;
        for record in ended {
            match &record.state {
                JobState::Ended { outcome, .. } => match outcome {
                    Outcome::Completed => self.completed += 1,
                    Outcome::Cancelled { .. } => self.canceled += 1,
                    _ => self.failed += 1,
                },
                JobState::Pending { .. } | JobState::Running { .. } => {}
            }
        }
    }
}

fn add(passes: &mut Passes, pass: &Pass, depth: u64) {
    let length = u64::try_from(pass.length.as_micros()).unwrap_or(u64::MAX);
    passes.count += 1;
    passes.last = length;
    passes.longest = passes.longest.max(length);
    passes.sum += length;
    passes.last_depth = depth;
    passes.depth += depth;
    passes.last_queue = pass.waiting;
    passes.queue += pass.waiting;
    passes.last_promised = pass.looked.promised;
    passes.promised += pass.looked.promised;
}

impl Owner {
    pub(super) fn statistics_report(&self, now: Timestamp) -> SchedulerStatistics {
        let counts = self.statistics.clone();
        let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
        SchedulerStatistics {
            at: now,
            since: counts.since,
            threads: threads.map_or(0, |threads| threads as u64),
            submitted: counts.submitted,
            started: counts.started,
            completed: counts.completed,
            canceled: counts.canceled,
            failed: counts.failed,
            pending: self.state.waiting_count() as u64,
            running: self.state.running_count() as u64,
            passes: counts.passes,
            backfill: counts.backfill,
            last_backfill: counts.last_backfill,
            backfilled_in_all: counts.backfilled_in_all,
            backfilled: counts.backfilled,
            by_kind: self.calls.by_kind(),
            by_user: self.calls.by_user(|uid| self.users.user(uid)),
        }
    }

    /// What was counted is forgotten, but for jobs that were let pass since the engine's start.
    pub(super) fn reset_statistics(&mut self, now: Timestamp) {
        self.statistics = Statistics {
            backfilled_in_all: self.statistics.backfilled_in_all,
            ..Statistics::since(now)
        };
        self.calls.reset();
    }
}
