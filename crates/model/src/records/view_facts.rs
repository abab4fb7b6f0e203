//! What the reader of job records knows of the time and of the cluster.

use crate::records::{AccountNumbers, JobRecord, Recorded};
use crate::values::{BillingWeights, MemoryRequest, MomentStyle, NodeName, Seconds, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the reader of job records knows of the time and of the cluster.
#[derive(Clone, Debug)]
pub struct ViewFacts {
    /// The moment of looking.
    pub now: Timestamp,
    /// How moments are printed.
    pub moments: MomentStyle,
    /// The cluster's name.
    pub cluster: Arc<str>,
    /// Partition of jobs that name none.
    pub partition: Arc<str>,
    /// QOS of jobs that name none.
    pub qos: Arc<str>,
    /// How many nodes there are.
    pub node_count: u32,
    /// CPUs of the largest node.
    pub node_cpus: u32,
    /// MiB of the largest node.
    pub node_memory: u64,
    /// What is known of partitions, by name.
    pub partitions: BTreeMap<String, Arc<PartitionView>>,
    /// The type of each GPU of the nodes that tell types apart, by its index.
    pub gpu_kinds: BTreeMap<NodeName, Vec<String>>,
    /// The numbers of associations and QOS, where they are asked for.
    pub numbers: AccountNumbers,
    /// When the scheduler last went through the jobs that wait.
    pub looked_at: Option<Timestamp>,
    /// What a controller with these facts counts of a job that waits: `resources::recorded_of`.
    pub recorded: fn(&JobRecord, &ViewFacts) -> Recorded,
}

/// What the reader of a job's record knows of its partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionView {
    /// Memory of jobs that ask for none.
    pub memory: Option<MemoryRequest>,
    /// The limit of jobs that ask for none.
    pub time: Option<Seconds>,
    /// After how long a job can lose its place to another; `None` where none can.
    pub preempted_after: Option<Seconds>,
    /// CPUs beside each GPU of jobs that ask for GPUs and no CPUs.
    pub cpus_per_gpu: Option<u32>,
    /// MiB beside each GPU of jobs that ask for GPUs.
    pub memory_per_gpu: Option<u64>,
    /// MiB beside each CPU at the most (`MaxMemPerCPU`): who asks for more has more CPUs.
    pub max_memory_per_cpu: Option<u64>,
    /// What jobs are billed for what they have.
    pub billing: BillingWeights,
    /// With whom jobs share their nodes that do not ask.
    pub sharing: PartitionSharing,
    /// Jobs in it are listed for who asks only where that is asked.
    pub is_hidden: bool,
}

/// With whom the jobs of a partition share their nodes that do not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionSharing {
    /// With others, on CPUs of their own.
    #[default]
    Nodes,
    /// With others on the same CPUs (`FORCE:2`).
    Cpus,
    /// With jobs of their user (`ExclusiveUser`).
    User,
    /// With none (`EXCLUSIVE`).
    None,
}

impl ViewFacts {
    /// The partition that a job is in, or would be in.
    #[must_use]
    pub fn partition_of<'a>(&'a self, record: &'a JobRecord) -> &'a str {
        record.partitions().unwrap_or(&self.partition)
    }

    /// What is known of the partition that a job is in; of several, of the first.
    #[must_use]
    pub fn view_of(&self, record: &JobRecord) -> Option<&Arc<PartitionView>> {
        let first = self.partition_of(record).split(',').next()?;
        self.partitions.get(first)
    }

    /// How many CPUs stand for each that a job asks for, since it asks for more memory a CPU than its partition
    /// gives.
    #[must_use]
    pub fn cpus_for_memory(&self, record: &JobRecord) -> u32 {
        let most = self
            .view_of(record)
            .and_then(|view| view.max_memory_per_cpu);
        match (record.request.memory, most.filter(|most| *most > 0)) {
            (Some(MemoryRequest::PerCpu(size)), Some(most)) if size > most => {
                u32::try_from(size.div_ceil(most)).unwrap_or(u32::MAX)
            }
            _ => 1,
        }
    }

    /// Memory of a job that asks for none: its partition's default, else none, as on a real Slurm without
    /// `DefMemPerCPU` and `DefMemPerNode`.
    #[must_use]
    pub fn memory_of(&self, record: &JobRecord) -> MemoryRequest {
        let own = self.view_of(record).and_then(|view| view.memory);
        own.unwrap_or(MemoryRequest::PerNode(0))
    }
}
