//! The tasks of a step on its nodes: their ranks, and the CPUs to which they are bound.

use super::Owner;
use api::StepTask;
use model::{Distribution, NodeName, NodeShare, NodeTasks, StepRequest};

impl Owner {
    /// The tasks of one node, bound to its CPUs as was asked.
    pub(super) fn step_tasks(
        &self,
        share: &NodeShare,
        ranks: &[u32],
        request: &StepRequest,
    ) -> Vec<StepTask> {
        let bind = request.cpu_bind.clone().unwrap_or_default();
        let distribution = request.distribution.as_ref();
        let over_sockets = distribution.and_then(Distribution::over_sockets);
        let cluster = self.state.cluster();
        let class = cluster.node(&share.node).map(|node| cluster.class(node));
        let layout = self.cluster.layout_of(class, &share.cpus);
        let cpus = bind.cpus_of_tasks(&NodeTasks {
            tasks: share.tasks,
            cpus_per_task: request.cpus_per_task.unwrap_or(1).max(1),
            cpus: &share.cpus,
            layout: &layout,
            over_sockets: over_sockets.unwrap_or_else(|| self.cluster.default_over_sockets()),
        });
        let task = |((local, rank), cpus): ((u32, &u32), Vec<u32>)| StepTask {
            rank: *rank,
            local,
            cpus,
            pretended_cpus: Vec::new(),
            gpus: share.gpus.clone(),
        };
        (0..).zip(ranks).zip(cpus).map(task).collect()
    }
}

/// What each task is bound to, in CPUs of the step on the node.
pub(super) fn masks(share: &NodeShare, tasks: &[StepTask]) -> Vec<Vec<u32>> {
    let places = |task: &StepTask| {
        let numbered = (0..).zip(&share.cpus);
        let own = numbered.filter(|(_, cpu)| task.cpus.contains(cpu));
        own.map(|(place, _)| place).collect()
    };
    tasks.iter().map(places).collect()
}

/// The ranks of each node's tasks, those of other parts before them.
pub(super) fn ranks(nodes: &[NodeShare], before: u32, request: &StepRequest) -> Vec<Vec<u32>> {
    let mut ranks = if request.task_nodes.is_empty() {
        let counts: Vec<u32> = nodes.iter().map(|share| share.tasks).collect();
        let distribution = request.distribution.as_ref();
        Distribution::ranks(distribution.and_then(Distribution::at_once), &counts)
    } else {
        let on = |node: &NodeName| {
            let listed = (0..).zip(&request.task_nodes);
            let own = listed.filter(|(_, listed)| *listed == node);
            own.map(|(rank, _)| rank).collect()
        };
        nodes.iter().map(|share| on(&share.node)).collect()
    };
    ranks.iter_mut().flatten().for_each(|rank| *rank += before);
    ranks
}
