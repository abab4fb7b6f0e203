//! The order in which waiting jobs are considered.

use crate::fault::{self, Fault};
use crate::preempt::rules;
use crate::{Job, State, member};
use cluster_file::PreemptType;
use model::{JobId, Timestamp};
use resources::{PartId, QosId};
use std::cmp::{Ordering, Reverse};

/// Priority of a job with `--nice=0`. Slurm without weights gives all jobs the same, and the
/// order of submission decides.
const ORDINARY: i64 = 2_147_483_646;

/// The priority of a job that isn't held, where no weights count: the one that was set, else by its
/// `--nice`; at least 1, since 0 is held.
#[must_use]
pub fn priority_of(set: Option<u32>, nice: i64) -> u32 {
    if let Some(priority) = set {
        return priority;
    }
    let priority = ORDINARY.saturating_sub(nice);
    u32::try_from(priority.clamp(1, i64::from(u32::MAX))).unwrap_or(1)
}

/// A place in the queue of a partition: jobs of reservations first, then high priority, then early
/// submission, or the last requeue, then the low id that it was submitted under; of an array, what did not
/// start yet goes last. Where no weights count, a job without a priority of its own keeps its place as it is
/// queued again: Slurm gives each job a lower priority than those before it.
/// Between partitions the tier goes before it ([`crate::State::schedule`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    is_unreserved: bool,
    keeps_place: bool,
    has_array_id: bool,
    priority: Reverse<u32>,
    submitted: Timestamp,
    submitted_as: JobId,
    pub(crate) job: JobId,
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        let line = |key: &Key| {
            // The moment goes before the id, or among elements of one array alone.
            let [before, behind] = if key.keeps_place {
                [Timestamp(0), key.submitted]
            } else {
                [key.submitted, Timestamp(0)]
            };
            let place = (before, key.submitted_as, behind, key.has_array_id);
            (key.is_unreserved, key.priority, place, key.job)
        };
        line(self).cmp(&line(other))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// Where a job with that priority stands.
    fn of(record: &Job, priority: u32, keeps_place: bool) -> Key {
        Key {
            is_unreserved: record.rare.reservation.is_none(),
            keeps_place,
            priority: Reverse(priority),
            submitted: record.submitted,
            submitted_as: if fault::is(Fault::LaterIdFirst) {
                JobId(u32::MAX - record.submitted_as().0)
            } else {
                record.submitted_as()
            },
            has_array_id: record.submitted_as() == record.id,
            job: record.id,
        }
    }
}

/// A queue: of a partition, and of a QOS where one may preempt another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueId {
    pub(crate) partition: PartId,
    pub(crate) qos: Option<QosId>,
}

impl State {
    /// Where a job with that priority stands in its queue.
    pub(crate) fn key(&self, record: &Job, priority: u32) -> Key {
        let has_own = record.rare.priority_set.is_some();
        let is_weighted = self.cluster.priority().is_multifactor;
        Key::of(record, priority, !has_own && !is_weighted)
    }

    /// The queue in which a job stands in a partition.
    pub(crate) fn queue_of(&self, record: &Job, partition: PartId) -> QueueId {
        let cluster = &self.cluster;
        let by_qos = cluster.preemption().by == PreemptType::Qos && rules::is_on(cluster);
        let qos = by_qos.then(|| member::qos_of(cluster, record)).flatten();
        QueueId { partition, qos }
    }

    /// Whether the jobs of one queue go before those of another because they may preempt them.
    pub(crate) fn goes_first(&self, one: QueueId, other: QueueId) -> bool {
        let (Some(one), Some(other)) = (one.qos, other.qos) else {
            return false;
        };
        let list = &self.cluster.qos()[usize::from(one.0)].preempt;
        list.contains(&other)
    }
}
