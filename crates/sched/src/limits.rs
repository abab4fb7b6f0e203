//! Whether a job may start now, whatever is free: here limits are asked.

use crate::State;
use crate::kinds::Choice;
use crate::ledger::{Chain, Ledger, Used, Wanted};
use crate::live_job::LiveJob;
use crate::member;
use cluster_file::PartitionState;
use model::{JobId, PendingReason, Request, Seconds, TimeLimitRequest, Timestamp};
use resources::{PartId, Share};

impl State {
    /// Whether a job may start now in one of its partitions; the reason that it waits for if not.
    /// It keeps no other up then.
    pub(crate) fn may_start(&self, job: &LiveJob, choice: &Choice) -> Result<(), PendingReason> {
        let partition = self.cluster.partition(choice.partition);
        let over = |limit: Seconds| match job.record.request.time {
            Some(TimeLimitRequest::Limit(asked)) => asked > limit,
            Some(TimeLimitRequest::Unlimited) => true,
            None => false,
        };
        let too_long = !partition.cuts_at_max_time && partition.max_time.is_some_and(over);
        let nodes = &choice.need.compiled.demand.nodes;
        let asked = nodes.most.unwrap_or(nodes.least);
        let too_many = partition.max_nodes.is_some_and(|most| asked > most);
        let too_few = nodes.most.is_some_and(|most| most < partition.min_nodes);
        match partition.state {
            PartitionState::Down => Err(PendingReason::PartitionDown),
            PartitionState::Inactive => Err(PendingReason::PartitionInactive),
            _ if too_many || too_few => Err(PendingReason::PartitionNodeLimit),
            _ if too_long => Err(PendingReason::PartitionTimeLimit),
            PartitionState::Up | PartitionState::Drain if partition.access.is_open() => Ok(()),
            PartitionState::Up | PartitionState::Drain => {
                let record = &job.record;
                let qos = member::qos_of(&self.cluster, record);
                let qos = qos.map_or("normal", |id| &self.cluster.qos()[usize::from(id.0)].name);
                let account = record.request.account.as_deref().unwrap_or("(null)");
                match partition.access.denial(&partition.name, account, qos) {
                    Some(why) => Err(PendingReason::OverLimit(why)),
                    None => Ok(()),
                }
            }
        }
    }

    /// Whether limits let a job have shares now, beside what a ledger counts: of one that starts, of
    /// several that start together, and of one for which others would lose their places.
    pub(crate) fn may_have(
        &self,
        ledger: &Ledger,
        job: JobId,
        (choice, limit): (&Choice, Option<Seconds>),
        shares: &[Share],
        now: Timestamp,
    ) -> Result<(), PendingReason> {
        if !Ledger::counts(&self.cluster) {
            return Ok(());
        }
        let record = &self.jobs[&job].record;
        let chain = Chain::of(&self.cluster, record, Some(choice.partition));
        self.may_spend(&chain, now)?;
        ledger.before(&chain, limit)?;
        let partition = Some(self.cluster.partition(choice.partition));
        let used = Used::of(&self.cluster, partition, &record.request, shares);
        let wanted = Wanted {
            used: &used,
            nodes: shares.len() as u64,
            limit,
            now,
        };
        self.may_use(ledger, &chain, wanted)?;
        ledger.after(&chain, wanted)
    }

    /// The time limit that a job has when it starts in a partition.
    pub(crate) fn limit_of(&self, job: &LiveJob, choice: &Choice) -> Option<Seconds> {
        self.limit_in(&job.record.request, choice.partition)
    }

    /// The time limit that a request leads to in a partition.
    pub(crate) fn limit_in(&self, request: &Request, partition: PartId) -> Option<Seconds> {
        let partition = self.cluster.partition(partition);
        let asked = match request.time {
            Some(TimeLimitRequest::Limit(limit)) => Some(limit),
            Some(TimeLimitRequest::Unlimited) => None,
            None => partition.default_time,
        };
        let most = partition.max_time.filter(|_| partition.cuts_at_max_time);
        match (asked, most) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }
}
