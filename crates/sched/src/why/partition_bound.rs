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
        // Of several partitions any may be the one that says it.
        let [choice] = self.choices_of(record) else {
            return None;
        };
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
                // No job has more than there are.
                most: Some(
                    partition
                        .nodes
                        .len()
                        .min(partition.max_nodes.unwrap_or(u32::MAX)),
                ),
            },
            // Else it is not for its user.
            PendingReason::PartitionConfig
                if choice.need.beyond == Some(PendingReason::PartitionConfig) =>
            {
                let demand = &choice.need.compiled.demand;
                let nodes = partition.nodes.iter();
                let largest = nodes.map(|node| self.cluster().class(node).total.cpus);
                let largest = u64::from(largest.max()?);
                let of_task = demand.cpus_for(1, demand.task.gpus());
                let on_one = of_task > largest;
                let (asked, there) = if on_one {
                    (of_task, largest)
                } else {
                    (
                        demand.least_cpus(),
                        self.cluster().cpus_of(choice.partition),
                    )
                };
                PartitionSays::Cpus {
                    asked,
                    on_one,
                    there,
                }
            }
            _ => return None,
        };
        Some(PartitionBound {
            partition: partition.name.clone(),
            says,
        })
    }
}
