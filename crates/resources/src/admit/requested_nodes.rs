//! What a job asks of nodes, in words.

use crate::Demand;
use model::{Request, mebibytes_option};

/// What a job asks of nodes, and which of it was given rather than followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesRequested {
    /// What they need.
    pub demand: Demand,
    /// It says on how many nodes it is.
    pub names_nodes: bool,
    /// It says how much memory it has.
    pub names_memory: bool,
    /// The features, as they were written.
    pub constraint: Option<String>,
}

impl NodesRequested {
    /// What a request asks, which needs that much.
    pub(super) fn of(demand: Demand, request: &Request) -> NodesRequested {
        NodesRequested {
            demand,
            names_nodes: request.min_nodes.is_some(),
            names_memory: request.memory.is_some(),
            constraint: request.rare.constraint.clone(),
        }
    }

    /// In words. Where it leaves their number open it is what all need together.
    pub(super) fn words(&self) -> String {
        asked_text(self)
    }
}

fn asked_text(asked: &NodesRequested) -> String {
    let demand = &asked.demand;
    let count = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    let nodes = demand.nodes.least;
    let tasks = match (demand.tasks, asked.names_nodes) {
        (None, true) => demand.tasks_per_node.map(|_| demand.tasks_on(nodes)),
        (tasks, _) => tasks,
    };
    let is_open = !asked.names_nodes && (tasks.is_some() || demand.job.gpus() > 0);
    let of_node = OfNode::of(demand);
    let mut parts = Vec::new();
    if !is_open {
        parts.push(count(nodes.into(), "node"));
    }
    if let Some(tasks) = tasks.filter(|tasks| is_open || *tasks != nodes) {
        parts.push(count(tasks.into(), "task"));
    }
    parts.extend(gpus(demand, &of_node, is_open));
    parts.push(if is_open {
        let cpus = demand.cpus_for(demand.tasks_on(nodes), demand.gpus_on(nodes));
        format!("{} in all", count(cpus, "CPU"))
    } else {
        format!("{} a node", count(of_node.cpus, "CPU"))
    });
    parts.extend(memory(asked, &of_node, is_open));
    if let Some(constraint) = &asked.constraint {
        parts.push(format!("feature {constraint}"));
    }
    parts.join(", ")
}

/// What one node must give.
struct OfNode {
    cpus: u64,
    gpus: u64,
    memory: u64,
}

impl OfNode {
    fn of(demand: &Demand) -> OfNode {
        let is_one = demand.nodes.most == Some(1);
        let tasks = if is_one {
            demand.tasks_on(1)
        } else {
            demand.tasks_per_node.unwrap_or(1)
        };
        // Tasks of which a node need not have the most have their GPUs where they are.
        let with_gpus = match demand.tasks {
            Some(_) if !is_one && !is_full(demand) => 1,
            _ => tasks,
        };
        let of_job = if is_one { demand.job.gpus() } else { 0 };
        let of_tasks = demand.task.gpus().saturating_mul(with_gpus.into());
        let gpus = demand
            .node
            .gpus()
            .saturating_add(of_tasks)
            .saturating_add(of_job);
        let cpus = demand.cpus_for(tasks, gpus);
        OfNode {
            cpus,
            gpus,
            memory: demand.mem_for(cpus, gpus),
        }
    }
}

/// Whether every node has the most tasks that one may have.
fn is_full(demand: &Demand) -> bool {
    let nodes = demand
        .nodes
        .most
        .unwrap_or(u32::MAX)
        .max(demand.nodes.least);
    let all = demand.tasks_per_node.map(|each| each.saturating_mul(nodes));
    demand
        .tasks
        .zip(all)
        .is_some_and(|(tasks, all)| tasks >= all)
}

fn gpus(demand: &Demand, of_node: &OfNode, is_open: bool) -> Option<String> {
    let kinds = demand.node.gres.iter().filter(|gres| gres.is_gpus());
    let kinds: Vec<String> = kinds
        .filter_map(|gres| Some(format!("{} {}", gres.count, gres.kind.as_ref()?)))
        .collect();
    if kinds.len() > 1 {
        return Some(format!("{} on one node", kinds.join(" and ")));
    }
    let of_job = demand
        .job
        .gres
        .iter()
        .filter_map(|gres| Some((gres.count, gres.kind.as_ref()?)));
    let of_job: Vec<String> = of_job
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    if of_job.len() > 1 {
        return Some(format!("{} in all", of_job.join(" and ")));
    }
    let all = demand.gpus_on(demand.nodes.least);
    if all == 0 {
        return None;
    }
    let kind = demand.gpu_kind();
    let name = kind.unwrap_or("GPUs");
    let is_of_task = is_open && demand.task.gpus() > 0;
    Some(match of_node.gpus {
        0 => format!("{all} {name} in all"),
        1 if is_of_task && kind.is_none() => "1 GPU a task".to_owned(),
        each if is_of_task => format!("{each} {name} a task"),
        1 if kind.is_none() => "1 GPU a node".to_owned(),
        each => format!("{each} {name} a node"),
    })
}

fn memory(asked: &NodesRequested, of_node: &OfNode, is_open: bool) -> Option<String> {
    let demand = &asked.demand;
    if !asked.names_memory {
        return None;
    }
    if demand.mem_per_cpu > 0 && is_open {
        return Some(format!("{} a CPU", mebibytes_option(demand.mem_per_cpu)));
    }
    if demand.gpu.mem_mib > 0 && (is_open || of_node.gpus == 0) {
        return Some(format!("{} a GPU", mebibytes_option(demand.gpu.mem_mib)));
    }
    (of_node.memory > 0).then(|| format!("{} a node", mebibytes_option(of_node.memory)))
}
