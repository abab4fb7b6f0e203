//! What the jobs of a trace need of the machine on which it is played.

use super::driver::{Needs, play};
use super::{Played, Rules, Trace, TraceJob};
use crate::planner::{NeedOfNodes, Nodes, OneNode};
use model::{GpuCount, MemoryRequest, NodeName, Request};
use resources::{Amounts, Cluster, Compiled, Demand, Free, Pick, SingleNode, place};
use std::collections::HashMap;

/// A machine that is a number of processors, wherever they are.
#[must_use]
pub fn flat_machine(processors: u32) -> Cluster {
    Cluster::single(&SingleNode {
        host: &NodeName::new("machine"),
        partition: "all",
        cpus: processors,
        mem_mib: None,
        gpus: Vec::new(),
    })
}

/// Plays a trace on a cluster, all of whose nodes are one partition. `progress` receives how many
/// jobs have started, from time to time.
#[must_use]
pub fn replay<'a>(
    trace: &'a Trace,
    cluster: &Cluster,
    rules: Rules,
    progress: &mut dyn FnMut(usize),
) -> Played<'a> {
    let is_one =
        cluster.node_count() == 1 && cluster.nodes().all(|node| cluster.class(node).splits);
    if is_one {
        let needs = each(trace, |job| {
            let (_, shares) = shares(cluster, job)?;
            let mut all = Amounts::default();
            shares.iter().for_each(|share| all.give(&share.amounts));
            Some(all)
        });
        let idle = cluster.nodes().map(|node| cluster.class(node).total).next();
        return play(
            trace,
            rules,
            OneNode(idle.unwrap_or_default()),
            &needs,
            progress,
        );
    }
    let needs = each(trace, |job| {
        let (compiled, shares) = shares(cluster, job)?;
        Some(NeedOfNodes::new(compiled, &shares))
    });
    play(trace, rules, Nodes::idle(cluster), &needs, progress)
}

/// What a job needs, and what it would get of an idle machine; `None`: it could never run.
fn shares(cluster: &Cluster, job: &TraceJob) -> Option<(Compiled, Vec<resources::Share>)> {
    let request = request(cluster, job);
    let demand = Demand::of(&request, cluster.defaults(None));
    let compiled = Compiled::new(cluster, None, demand);
    let free = Free::idle(cluster);
    let shares = place(cluster, &compiled, &free, Pick::default())?;
    Some((compiled, shares))
}

/// Jobs that ask the same share what is worked out.
fn each<N>(trace: &Trace, need: impl Fn(&TraceJob) -> Option<N>) -> Needs<N> {
    let mut known: HashMap<(u32, u32, Option<&str>, u64), u32> = HashMap::new();
    let mut needs = Vec::new();
    let kinds = trace.jobs.iter().map(|job| {
        let asked = (job.cpus, job.gpus, job.gpu_type.as_deref(), job.memory);
        *known.entry(asked).or_insert_with(|| {
            needs.push(need(job));
            (needs.len() - 1) as u32
        })
    });
    Needs {
        kinds: kinds.collect(),
        needs,
    }
}

/// What a job would ask for. With GPUs it is one task a node, on as few nodes as can have them.
fn request(cluster: &Cluster, job: &TraceJob) -> Request {
    let memory = (job.memory > 0).then_some(MemoryRequest::PerNode(job.memory));
    if job.gpus == 0 {
        return Request {
            tasks: Some(job.cpus),
            memory: memory.filter(|_| job.cpus == 1),
            ..Request::default()
        };
    }
    let most = cluster
        .classes()
        .iter()
        .map(|class| u32::from(class.total.lane(0)))
        .max();
    let each = most.unwrap_or(1).max(1);
    let nodes = job.gpus.div_ceil(each);
    let cpus = job.cpus.div_ceil(nodes);
    Request {
        min_nodes: Some(nodes),
        max_nodes: Some(nodes),
        tasks: Some(nodes),
        cpus_per_task: (cpus > 0).then_some(cpus),
        gpus_per_node: Some(GpuCount {
            kind: job.gpu_type.as_deref().map(str::to_owned),
            count: job.gpus.div_ceil(nodes),
        }),
        memory,
        ..Request::default()
    }
}
