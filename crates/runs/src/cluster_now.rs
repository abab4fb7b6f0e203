//! A cluster's nodes and queue as they are now, for a page or another program.

use crate::reason_words::{hold_remedy, say_reason};
use backend::{Amount, ClusterView, NodeView, QueueState, QueuedJob};
use model::{NodeName, Timestamp};
use resources::{Defaults, Demand, LargestNode, recorded};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// More rows help no reader, and a large cluster has tens of thousands.
const MOST_NODES: usize = 1000;
const MOST_JOBS: usize = 500;
/// Labels of so many jobs stand beside a node.
const MOST_BESIDE: usize = 8;

/// A cluster as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterNow {
    /// Its name.
    pub name: String,
    /// Why there is nothing newer to show.
    pub problem: Option<String>,
    /// When it answered last; `None` before the first answer.
    pub at: Option<Timestamp>,
    /// How many nodes are in each state, the most frequent first.
    pub states: Vec<(String, usize)>,
    /// CPUs of all nodes: held, and all.
    pub cpus: [u64; 2],
    /// GPUs of all nodes.
    pub gpus: [u64; 2],
    /// Its nodes, at most a thousand.
    pub nodes: Vec<NodeRow>,
    /// How many nodes there are.
    pub node_count: usize,
    /// Jobs that wait, the next to start first, then those that run, the next to end first; at most
    /// five hundred.
    pub queue: Vec<QueueRow>,
    /// How many jobs wait.
    pub waiting: usize,
    /// How many jobs run.
    pub running: usize,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Slurm's word, such as `mixed`.
    pub state: String,
    /// Its partitions.
    pub partitions: Vec<String>,
    /// CPUs: held by jobs, and all.
    pub cpus: [u64; 2],
    /// MiB.
    pub memory: [u64; 2],
    /// GPUs.
    pub gpus: [u64; 2],
    /// Their types.
    pub gpu_types: Vec<String>,
    /// Jobs on it, as `squeue` numbers them, some of them where they are many.
    pub jobs: Vec<String>,
    /// Jobs on it that are not named.
    pub more_jobs: usize,
    /// Why it is down or drained.
    pub reason: Option<String>,
}

/// A job that runs or waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRow {
    /// Its number.
    pub job: u32,
    /// As `squeue` prints it.
    pub label: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// Nodes that it holds, or needs at least.
    pub nodes: u64,
    /// CPUs.
    pub cpus: u64,
    /// GPUs.
    pub gpus: u64,
    /// It runs.
    pub runs: bool,
    /// Why it waits, in words; what holds it where a person has to act; the nodes of one that runs.
    pub note: String,
    /// When it is expected to start; of one that runs, when its time limit ends it.
    pub at: Option<Timestamp>,
}

impl ClusterNow {
    /// One that did not answer yet.
    pub(crate) fn unasked(name: &str) -> ClusterNow {
        ClusterNow {
            at: None,
            ..ClusterNow::of(name, ClusterView::default())
        }
    }

    /// An engine that was never started.
    pub(crate) fn never_ran(name: &str) -> ClusterNow {
        let problem = "its engine was not started yet: the first job does it".to_owned();
        ClusterNow {
            problem: Some(problem),
            ..ClusterNow::unasked(name)
        }
    }

    /// The same, which did not answer again.
    pub(crate) fn not_answered(&self, why: String) -> ClusterNow {
        ClusterNow {
            problem: Some(why),
            ..self.clone()
        }
    }

    /// What a cluster answered.
    pub(crate) fn of(name: &str, view: ClusterView) -> ClusterNow {
        let ClusterView { nodes, mut queue } = view;
        let is_running = |job: &QueuedJob| matches!(job.state, QueueState::Runs { .. });
        let running = queue.iter().filter(|job| is_running(job)).count();
        let waiting = queue.len() - running;
        let on_nodes = jobs_by_node(&queue);
        // Those without a moment come last; the cluster's order stays among equals.
        queue.sort_by_key(|job| match &job.state {
            QueueState::Waits { start, .. } => (false, start.is_none(), *start),
            QueueState::Runs { until, .. } => (true, until.is_none(), *until),
        });
        let largest = LargestNode {
            cpus: largest(&nodes, |node| node.cpus.total),
            mem_mib: nodes
                .iter()
                .map(|node| node.memory.total)
                .max()
                .unwrap_or(1),
        };
        let sum = |of: fn(&NodeView) -> [u64; 2]| {
            let each = nodes.iter().map(of);
            each.fold([0, 0], |sum, each| [sum[0] + each[0], sum[1] + each[1]])
        };
        ClusterNow {
            name: name.to_owned(),
            problem: None,
            at: Some(Timestamp(sys::now())),
            states: states(&nodes),
            cpus: sum(|node| [node.cpus.used, node.cpus.total]),
            gpus: sum(|node| [node.gpus.used, node.gpus.total]),
            node_count: nodes.len(),
            nodes: nodes
                .iter()
                .take(MOST_NODES)
                .map(|node| node_row(node, on_nodes.get(&node.name).map_or(&[], Vec::as_slice)))
                .collect(),
            queue: queue
                .iter()
                .take(MOST_JOBS)
                .map(|job| queue_row(job, largest))
                .collect(),
            waiting,
            running,
        }
    }
}

fn largest(nodes: &[NodeView], of: fn(&NodeView) -> u64) -> u32 {
    let most = nodes.iter().map(of).max().unwrap_or(1);
    u32::try_from(most).unwrap_or(u32::MAX)
}

fn jobs_by_node(queue: &[QueuedJob]) -> HashMap<NodeName, Vec<String>> {
    let mut found: HashMap<NodeName, Vec<String>> = HashMap::new();
    for job in queue {
        if let QueueState::Runs { nodes, .. } = &job.state {
            for node in nodes {
                found
                    .entry(node.clone())
                    .or_default()
                    .push(job.label.clone());
            }
        }
    }
    found
}

fn states(nodes: &[NodeView]) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for node in nodes {
        match counts.iter_mut().find(|(state, _)| *state == node.state) {
            Some((_, count)) => *count += 1,
            None => counts.push((node.state.clone(), 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

fn node_row(node: &NodeView, jobs: &[String]) -> NodeRow {
    NodeRow {
        name: node.name.to_string(),
        state: node.state.clone(),
        partitions: node.partitions.clone(),
        cpus: [node.cpus.used, node.cpus.total],
        memory: [node.memory.used, node.memory.total],
        gpus: [node.gpus.used, node.gpus.total],
        gpu_types: node.gpu_types.clone(),
        jobs: jobs.iter().take(MOST_BESIDE).cloned().collect(),
        more_jobs: jobs.len().saturating_sub(MOST_BESIDE),
        reason: node.reason.clone(),
    }
}

fn queue_row(job: &QueuedJob, largest: LargestNode) -> QueueRow {
    let (nodes, cpus, gpus) = match &job.amount {
        Amount::Counted { nodes, cpus, gpus } => (*nodes, *cpus, *gpus),
        Amount::Requested(request) => {
            let demand = Demand::of(request, &Defaults::default());
            let recorded = recorded(&demand, largest, false);
            let gpus = recorded.gpu_count();
            (recorded.nodes.into(), recorded.cpus.into(), gpus)
        }
    };
    let (runs, note, at) = match &job.state {
        QueueState::Waits { reason, start } => {
            let remedy = hold_remedy(reason, job.id).map(|remedy| format!("held: {remedy}"));
            (false, remedy.unwrap_or_else(|| say_reason(reason)), *start)
        }
        QueueState::Runs { nodes, until } => (true, model::node_list::fold(nodes), *until),
    };
    QueueRow {
        job: job.id.0,
        label: job.label.clone(),
        name: job.name.clone(),
        user: job.user.clone(),
        nodes,
        cpus,
        gpus,
        runs,
        note,
        at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::JobId;

    fn job(id: u32, state: QueueState) -> QueuedJob {
        QueuedJob {
            id: JobId(id),
            label: id.to_string(),
            name: "job".to_owned(),
            user: "ann".to_owned(),
            amount: Amount::Counted {
                nodes: 1,
                cpus: 2,
                gpus: 0,
            },
            state,
        }
    }

    #[test]
    fn who_starts_next_is_first_and_nodes_name_their_jobs() {
        let waits = |start: Option<i64>| QueueState::Waits {
            reason: "Resources".to_owned(),
            start: start.map(Timestamp),
        };
        let runs = |until: Option<i64>| QueueState::Runs {
            nodes: vec![NodeName::new("n1"), NodeName::new("n2")],
            until: until.map(Timestamp),
        };
        let node = |name: &str, state: &str| NodeView {
            name: NodeName::new(name),
            state: state.to_owned(),
            ..NodeView::default()
        };
        let queue = vec![
            job(1, runs(None)),
            job(2, runs(Some(9))),
            job(3, waits(None)),
            job(4, waits(Some(8))),
            job(5, waits(Some(7))),
        ];
        let nodes = vec![node("n1", "mixed"), node("n2", "mixed"), node("n3", "idle")];
        let now = ClusterNow::of("lab", ClusterView { nodes, queue });
        let order: Vec<u32> = now.queue.iter().map(|row| row.job).collect();
        assert_eq!(order, [5, 4, 3, 2, 1]);
        assert_eq!((now.waiting, now.running), (3, 2));
        assert_eq!(now.nodes[1].jobs, ["1", "2"]);
        assert_eq!(
            now.states,
            [("mixed".to_owned(), 2), ("idle".to_owned(), 1)]
        );
        assert_eq!(now.queue[3].note, "n[1-2]");
        assert!(now.queue[0].note.ends_with("(Resources)"));
        let lost = now.not_answered("down".to_owned());
        assert_eq!((lost.nodes.len(), lost.problem.is_some()), (3, true));
    }
}
