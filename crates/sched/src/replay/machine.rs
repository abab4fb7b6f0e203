//! What the jobs of a trace need of the machine on which it is played.

use super::driver::{Needs, play};
use super::ranking::Ranking;
use super::{Played, Rules, Trace, TraceJob};
use crate::planner::{NeedOfNodes, Nodes, OneNode};
use model::{GpuCount, MemoryRequest, NodeName, Request};
use resources::{Amounts, Cluster, Compiled, Demand, Free, PartId, Pick, Share, SingleNode, place};
use std::collections::{BTreeSet, HashMap};

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

/// Plays a trace on a cluster. A job whose queue is called like a partition gets that partition's
/// nodes, another any; limits of partitions, QOS and accounts hold no job back. `progress` receives
/// how many jobs have started, from time to time.
#[must_use]
pub fn replay<'a>(
    trace: &'a Trace,
    cluster: &Cluster,
    rules: Rules,
    progress: &mut dyn FnMut(usize),
) -> Played<'a> {
    let kinds = Kinds::of(trace, cluster);
    let order = Ranking::of(trace, cluster, rules, &kinds);
    let is_one =
        cluster.node_count() == 1 && cluster.nodes().all(|node| cluster.class(node).splits);
    if is_one {
        let needs = kinds.needs(|_, shares| {
            let mut all = Amounts::default();
            shares.iter().for_each(|share| all.give(&share.amounts));
            all
        });
        let idle = cluster.nodes().map(|node| cluster.class(node).total).next();
        let idle = OneNode(idle.unwrap_or_default());
        return play(trace, rules, idle, &needs, order, progress);
    }
    let needs =
        kinds.needs(|asked, shares| NeedOfNodes::new(cluster, asked.compiled.clone(), shares));
    play(trace, rules, Nodes::idle(cluster), &needs, order, progress)
}

/// Jobs of a trace that ask the same share what is worked out.
pub(crate) struct Kinds {
    /// Of each job, by its place in the trace: which is its own.
    pub(crate) of: Vec<u32>,
    /// What they ask; none for jobs that could never run.
    all: Vec<Option<(TraceRequest, Vec<Share>)>>,
}

/// What jobs of a kind ask for.
pub(crate) struct TraceRequest {
    /// The partition that their queue is called like.
    pub(crate) partition: Option<PartId>,
    pub(crate) compiled: Compiled,
}

impl Kinds {
    fn of(trace: &Trace, cluster: &Cluster) -> Kinds {
        let idle = Free::idle(cluster);
        let mut known = HashMap::new();
        let mut all = Vec::new();
        let of = trace.jobs.iter().map(|job| {
            let partition = cluster.find_partition(&job.queue);
            let gpu_type = job.gpu_type.as_deref();
            let asked = (partition, job.cpus, job.gpus, gpu_type, job.memory);
            *known.entry(asked).or_insert_with(|| {
                let mut requests = requests(cluster, job).into_iter();
                all.push(requests.find_map(|request| {
                    let demand = Demand::of(&request, cluster.defaults(partition));
                    let compiled = Compiled::new(cluster, partition, demand);
                    // What it would get of an idle machine.
                    let shares = place(cluster, &compiled, &idle, Pick::default())?;
                    let asked = TraceRequest {
                        partition,
                        compiled,
                    };
                    Some((asked, shares))
                }));
                (all.len() - 1) as u32
            })
        });
        Kinds {
            of: of.collect(),
            all,
        }
    }

    /// What a job asks for; none where it could never run.
    pub(crate) fn asked(&self, slot: u32) -> Option<&TraceRequest> {
        let kind = self.all[self.of[slot as usize] as usize].as_ref();
        kind.map(|(asked, _)| asked)
    }

    fn needs<N>(&self, need: impl Fn(&TraceRequest, &[Share]) -> N) -> Needs<N> {
        let needs = self.all.iter().map(|kind| {
            let (asked, shares) = kind.as_ref()?;
            Some(need(asked, shares))
        });
        Needs {
            kinds: self.of.clone(),
            needs: needs.collect(),
        }
    }
}

/// What a job would ask for, the best first. With GPUs it is one task a node, on as few nodes as can
/// have them: which those are depends on its partition and its GPUs' type.
fn requests(cluster: &Cluster, job: &TraceJob) -> Vec<Request> {
    let has_memory = job.memory > 0;
    if job.gpus == 0 {
        // On whichever nodes its processors are.
        let each = job.memory.div_ceil(u64::from(job.cpus.max(1)));
        return vec![Request {
            tasks: Some(job.cpus),
            memory: has_memory.then_some(MemoryRequest::PerCpu(each)),
            ..Request::default()
        }];
    }
    let classes = cluster.classes().iter();
    let of_a_node: BTreeSet<u32> = classes
        .map(|class| u32::from(class.total.lane(0)).max(1))
        .collect();
    let counts: BTreeSet<u32> = of_a_node
        .iter()
        .map(|each| job.gpus.div_ceil(*each))
        .collect();
    counts
        .into_iter()
        .map(|nodes| on_nodes(job, nodes))
        .collect()
}

/// What a job with GPUs would ask for, on so many nodes.
fn on_nodes(job: &TraceJob, nodes: u32) -> Request {
    let gpus = |count| {
        Some(GpuCount {
            kind: job.gpu_type.as_deref().map(str::to_owned),
            count,
        })
    };
    let (of_node, of_job) = if job.gpus.is_multiple_of(nodes) {
        (gpus(job.gpus / nodes), None)
    } else {
        (None, gpus(job.gpus))
    };
    let cpus = job.cpus.div_ceil(nodes);
    Request {
        min_nodes: Some(nodes),
        max_nodes: Some(nodes),
        tasks: Some(nodes),
        cpus_per_task: (cpus > 0).then_some(cpus),
        gpus_per_node: of_node,
        gpus: of_job,
        memory: (job.memory > 0)
            .then(|| MemoryRequest::PerNode(job.memory.div_ceil(u64::from(nodes)))),
        ..Request::default()
    }
}
