//! A cluster as a person looks at it: its nodes, and the jobs of all users that hold or await them.

use model::{JobId, JobRecord, JobState, NodeName, Request, Timestamp, array_elements_text};
use std::sync::Arc;

/// A cluster as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterView {
    /// Its nodes, in its own order.
    pub nodes: Vec<NodeView>,
    /// Jobs that run or wait; those that wait in the order in which the cluster lists them.
    pub queue: Vec<QueuedJob>,
}

/// A node and its use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView {
    /// Its name.
    pub name: NodeName,
    /// Its state in Slurm's long form, such as `mixed`.
    pub state: String,
    /// The partitions that it is in.
    pub partitions: Vec<String>,
    /// CPUs.
    pub cpus: Used,
    /// Memory in MiB.
    pub memory: Used,
    /// GPUs of all types.
    pub gpus: Used,
    /// The types of its GPUs, where they have one.
    pub gpu_types: Vec<String>,
    /// Why it is down or drained.
    pub reason: Option<String>,
}

/// What there is of something, and what jobs hold of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Held by jobs.
    pub used: u64,
    /// All of it.
    pub total: u64,
}

/// A job that runs or waits.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedJob {
    /// Its id.
    pub id: JobId,
    /// Its id as `squeue` prints it: `12`, `12_3`, `12_[4-7]`.
    pub label: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// What it holds, or asks for.
    pub amount: Amount,
    /// Where it stands.
    pub state: QueueState,
}

/// What a job holds or asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// Counted by its cluster.
    Counted {
        /// Nodes.
        nodes: u64,
        /// CPUs in all.
        cpus: u64,
        /// GPUs in all.
        gpus: u64,
    },
    /// As it was requested.
    Requested(Arc<Request>),
}

/// Where a queued job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueState {
    /// It waits.
    Waits {
        /// Slurm's word for why.
        reason: String,
        /// When its cluster expects it to start, where it does.
        start: Option<Timestamp>,
    },
    /// It runs, or is being ended.
    Runs {
        /// On which nodes.
        nodes: Vec<NodeName>,
        /// When its time limit ends it; `None` where it has none.
        until: Option<Timestamp>,
    },
}

impl From<&api::NodeReport> for NodeView {
    fn from(node: &api::NodeReport) -> NodeView {
        let gpus = node.gpus.iter();
        NodeView {
            name: node.name.clone(),
            state: node.state.long().to_owned(),
            partitions: Vec::new(),
            cpus: Used {
                used: node.cpus_used.into(),
                total: node.cpus.into(),
            },
            memory: Used {
                used: node.memory_used,
                total: node.memory,
            },
            gpus: Used {
                used: gpus.clone().map(|gpu| gpu.used.len() as u64).sum(),
                total: gpus.clone().map(|gpu| u64::from(gpu.count)).sum(),
            },
            gpu_types: gpus.filter_map(|gpu| gpu.kind.clone()).collect(),
            reason: node.reason.as_ref().map(|reason| reason.text.clone()),
        }
    }
}

impl From<&api::ClusterReport> for ClusterView {
    /// Its nodes; the report says nothing of jobs.
    fn from(report: &api::ClusterReport) -> ClusterView {
        let mut nodes: Vec<NodeView> = report.nodes.iter().map(NodeView::from).collect();
        let place: std::collections::HashMap<NodeName, usize> = nodes
            .iter()
            .enumerate()
            .map(|(index, node)| (node.name.clone(), index))
            .collect();
        for partition in &report.partitions {
            for name in &partition.nodes {
                if let Some(node) = place.get(name).and_then(|index| nodes.get_mut(*index)) {
                    node.partitions.push(partition.name.clone());
                }
            }
        }
        ClusterView {
            nodes,
            queue: Vec::new(),
        }
    }
}

impl QueuedJob {
    /// A job of the embedded engine; `None` once it is over.
    #[must_use]
    pub fn of(job: &JobRecord) -> Option<QueuedJob> {
        let (amount, state) = match &job.state {
            JobState::Pending { .. } => (
                Amount::Requested(Arc::clone(&job.request)),
                QueueState::Waits {
                    reason: model::reason_text(&job.state).into_owned(),
                    start: job
                        .planned
                        .as_ref()
                        .map(|planned| planned.at)
                        .or(job.not_before),
                },
            ),
            JobState::Running { allocation, .. } => (
                Amount::Counted {
                    nodes: allocation.nodes.len() as u64,
                    cpus: allocation.cpus() as u64,
                    gpus: allocation.gpus() as u64,
                },
                QueueState::Runs {
                    nodes: allocation
                        .nodes
                        .iter()
                        .map(|share| share.node.clone())
                        .collect(),
                    until: job.state.shown_end(),
                },
            ),
            JobState::Ended { .. } => return None,
        };
        let label = match &job.array {
            None => job.id.to_string(),
            Some(array) => match &array.task {
                model::ArrayTask::One(task) => format!("{}_{task}", array.array_job),
                model::ArrayTask::Waiting(spec) => {
                    let elements = array_elements_text(&spec.indices, None, false);
                    format!("{}_[{elements}]", array.array_job)
                }
            },
        };
        Some(QueuedJob {
            id: job.id,
            label,
            name: job.request.name.clone(),
            user: job.submitter.user.clone(),
            amount,
            state,
        })
    }
}
