//! What the partition of a job that waits says against it.

use crate::{Job, State};
use model::{PartitionBound, PartitionSays, PendingReason};

impl State {
    /// What a job's partition says against it, where that is the reason that it waits.
    pub(super) fn partition_bound(
        &self,
        record: &Job,
        reason: &PendingReason,
    ) -> Option<PartitionBound> {
        let choice = self.choices_of(record).first()?;
        let partition = self.cluster().partition(choice.partition);
        let says = match reason {
            PendingReason::PartitionDown | PendingReason::PartitionInactive => {
                PartitionSays::Closed
            }
            PendingReason::PartitionTimeLimit => PartitionSays::Time {
                most: partition.max_time?,
            },
            PendingReason::PartitionNodeLimit => PartitionSays::Nodes {
                least: partition.min_nodes,
                most: partition.max_nodes,
            },
            _ => return None,
        };
        Some(PartitionBound {
            partition: partition.name.clone(),
            says,
        })
    }
}
