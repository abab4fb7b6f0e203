//! When a job would start if it were submitted now (`sbatch --test-only`).
//!
//! As Slurm's test does it: the jobs that run end at their limits, one after the other, and those
//! that wait are not counted.

use crate::{NeverFits, State, shape};
use model::{Allocation, JobState, Request, Seconds, Timestamp};
use std::collections::BTreeSet;

/// A job without a limit is taken to last a year, as Slurm has it.
const UNLIMITED: Seconds = Seconds(365 * 24 * 3600);

/// When a job would start, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The moment; never before the one that was asked about.
    pub at: Timestamp,
    /// What it would hold.
    pub allocation: Allocation,
}

impl State {
    /// When a request would start, and where, if all jobs that run last until their limits.
    ///
    /// # Errors
    /// It could never start here.
    pub fn estimate(&self, request: &Request, now: Timestamp) -> Result<Estimate, NeverFits> {
        let shape = shape(request, &self.machine)?;
        let begin = request.begin.map_or(now, |begin| begin.max(now));
        let mut ends: Vec<(Timestamp, &Allocation, bool)> = Vec::new();
        for job in self.jobs.values() {
            if let JobState::Running {
                since,
                allocation,
                limit,
                ..
            } = &job.record.state
            {
                let end = *since + limit.unwrap_or(UNLIMITED);
                ends.push((end.max(now), allocation, job.record.request.exclusive));
            }
        }
        ends.sort_by_key(|(end, ..)| *end);
        let mut pool = self.pool.clone();
        let mut at = begin;
        let mut ends = ends.into_iter().peekable();
        let allocation = loop {
            while let Some((_, held, exclusive)) = ends.next_if(|(end, ..)| *end <= at) {
                pool.give(held, exclusive, &self.machine);
            }
            if let Some(allocation) = pool.take(&shape, &self.machine, &self.barred) {
                break Some(allocation);
            }
            match ends.peek() {
                Some((end, ..)) => at = *end,
                // When others give back the GPUs that they hold is not known.
                None => break pool.take(&shape, &self.machine, &BTreeSet::new()),
            }
        };
        let allocation = allocation.ok_or_else(|| {
            NeverFits::new(
                "what the job needs",
                "this machine has less than when its jobs started",
                "ask again when they have ended",
            )
        })?;
        Ok(Estimate { at, allocation })
    }
}
