//! The limit that keeps a job from starting, with its numbers and with those who count under it.

use crate::State;
use crate::kinds::find;
use crate::ledger::{Chain, Over, Passed, Used, Wanted};
use model::{JobId, ReachedLimit, Timestamp};
use resources::Free;

impl State {
    /// The first limit that a job would pass in the first of its partitions, and the running jobs that count
    /// under it, those that end first at first.
    pub(super) fn over_limit(
        &self,
        id: JobId,
        now: Timestamp,
    ) -> Option<(ReachedLimit, Vec<JobId>)> {
        let job = self.jobs.get(&id)?;
        let choice = job.derived.choices.first()?;
        let chain = Chain::of(&self.cluster, &job.record, Some(choice.partition));
        let limit = self.limit_of(job, choice);
        let over = match self.before(&self.ledger, &chain, limit, now) {
            Err(Passed { over, .. }) => over?,
            Ok(()) => {
                // What it would hold, wherever it starts.
                let (idle, user) = (Free::idle(&self.cluster), job.record.submitter.uid);
                let need = &choice.need.compiled;
                let shares = find(&self.cluster, choice.partition, need, &idle, user, None)?;
                let partition = Some(self.cluster.partition(choice.partition));
                let request = &job.record.request;
                let used = Used::of(&self.cluster, partition, request, &shares);
                let wanted = Wanted {
                    used: &used,
                    shares: &shares,
                    limit: chain.counted_time(limit),
                    now,
                };
                self.ledger.after(&chain, wanted).err()?.over?
            }
        };
        let under = self.running_under(&over);
        Some((chain.named(&over), under))
    }

    fn running_under(&self, over: &Over) -> Vec<JobId> {
        let mut under: Vec<JobId> = self.ledger.under(over).collect();
        self.sort_by_end(&mut under);
        under
    }
}
