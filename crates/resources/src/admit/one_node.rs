//! Why a machine that is a cluster of its own could never run a job.

use super::{Denial, Finding};
use crate::{Cluster, Demand, NodeClass, NodeId};
use model::{NodeName, Request};

/// Why a cluster of one node that splits could never run a job; none where it could.
#[must_use]
pub fn never_on_one(cluster: &Cluster, node: NodeId, request: &Request) -> Option<Box<Finding>> {
    let machine = Machine {
        cluster,
        class: cluster.class(node),
        host: cluster.node_name(node),
        partition: cluster
            .partitions()
            .first()
            .map_or("", |partition| partition.name.as_str()),
    };
    let partition = cluster.default_partition();
    let demand = Demand::of(request, cluster.defaults(partition));
    machine.judge(request, &demand).err()
}

struct Machine<'a> {
    cluster: &'a Cluster,
    class: &'a NodeClass,
    host: &'a NodeName,
    partition: &'a str,
}

type Judgement<T = ()> = Result<T, Box<Finding>>;

/// A refusal of an engine's own, of what no node has.
fn never<T>(
    asked: impl Into<String>,
    there: impl Into<String>,
    todo: impl Into<String>,
) -> Judgement<T> {
    refused(Denial::NodeConfig, asked, there, todo)
}

/// A refusal of an engine's own.
fn refused<T>(
    denial: Denial,
    asked: impl Into<String>,
    there: impl Into<String>,
    todo: impl Into<String>,
) -> Judgement<T> {
    Err(Box::new(Finding::by_engine(denial, asked, there, todo)))
}

impl Machine<'_> {
    fn judge(&self, request: &Request, demand: &Demand) -> Judgement {
        self.what_is_not_here(request)?;
        let nodes = self.nodes(request, demand)?;
        too_few_gpus(demand, nodes)?;
        self.too_much(request, demand, nodes)
    }

    /// Options that name something which a single machine does not have.
    fn what_is_not_here(&self, request: &Request) -> Judgement {
        let own = self.partition;
        if let Some(partition) = &request.partition
            && !partition.split(',').any(|name| name == own)
        {
            let found = Finding::by_engine(
                Denial::Partition,
                format!("--partition={partition}"),
                format!("this machine has one partition, {own}"),
                "leave --partition out, or run it where that partition is",
            );
            return Err(Box::new(found.no_partition(partition)));
        }
        if let Some(constraint) = &request.rare.constraint {
            return refused(
                Denial::Feature,
                format!("--constraint={constraint}"),
                "this machine's nodes have no features",
                "leave --constraint out here",
            );
        }
        Ok(())
    }

    /// On how many virtual nodes it would be.
    fn nodes(&self, request: &Request, demand: &Demand) -> Judgement<u32> {
        let wanted = demand.fewest_nodes();
        let (host, most) = (self.host, self.class.total.cpus);
        if wanted > most {
            return never(
                format!("{wanted} nodes"),
                format!("this machine can be {most} virtual nodes: one a CPU"),
                format!("--nodes={most} or fewer"),
            );
        }
        let there = format!("the nodes here are {host} and {host}-v[1-{most}]");
        for node in request.rare.nodelist.iter().chain(&*request.rare.exclude) {
            if self.cluster.node(node).is_none() {
                return refused(
                    Denial::NodeName,
                    format!("node {node}"),
                    there,
                    "leave --nodelist and --exclude out, or name these",
                );
            }
        }
        let splits = self.cluster.node(host).filter(|_| self.class.splits);
        let names = splits.map(|node| self.cluster.split_names(node, demand, wanted));
        match names {
            Some(Some(names)) => Ok(u32::try_from(names.len()).unwrap_or(u32::MAX)),
            Some(None) | None => never(
                format!("{wanted} nodes without those of --exclude"),
                there,
                "exclude fewer nodes",
            ),
        }
    }

    fn too_much(&self, request: &Request, demand: &Demand, nodes: u32) -> Judgement {
        let class = self.class;
        let on_nodes = if nodes == 1 {
            String::new()
        } else {
            format!(" on {nodes} virtual nodes, which share this machine")
        };
        let needs = demand.on_virtual_nodes(nodes, class.total.cpus, class.total.mem_mib.into());
        let sum = |of: fn(&crate::VirtualNeed) -> u64| {
            let each = needs.iter().map(of);
            each.fold(0, u64::saturating_add)
        };
        let gpus = sum(|need| need.gpus);
        let kind = demand.gpu_kind();
        let there = class.gpus_called(kind).map(|group| u64::from(group.count));
        if gpus > there.sum() {
            let kind = kind.map_or(String::new(), |kind| format!("{kind} "));
            let unit = if gpus == 1 { "GPU" } else { "GPUs" };
            return never(
                format!("{gpus} {kind}{unit}{on_nodes}"),
                self.gpus(),
                "ask for what there is, or run it where such GPUs are",
            );
        }
        let cpus = sum(|need| need.cpus);
        if cpus > class.total.cpus.into() {
            let tasks = sum(|need| need.tasks.into());
            let each = request.cpus_per_task.unwrap_or(1);
            return never(
                format!("{cpus} CPUs ({tasks} tasks × {each}){on_nodes}"),
                format!("this machine has {} CPUs", class.total.cpus),
                "fewer tasks or CPUs a task",
            );
        }
        let memory = sum(|need| need.mem_mib);
        if memory > class.total.mem_mib.into() {
            return never(
                format!("{memory} MiB of memory{on_nodes}"),
                format!("this machine has {} MiB", class.total.mem_mib),
                "ask for less with --mem, --mem-per-cpu or --mem-per-gpu",
            );
        }
        Ok(())
    }

    fn gpus(&self) -> String {
        let names = self.class.gpus.iter().flat_map(|group| {
            let name = group.kind.name().unwrap_or("GPU");
            std::iter::repeat_n(name, group.count.into())
        });
        let names: Vec<&str> = names.collect();
        if names.is_empty() {
            return "this machine has no GPU (no NVIDIA driver answers)".to_owned();
        }
        format!("this machine has {}", model::counted_gpus(&names))
    }
}

/// Each node of a job that asks for GPUs in all gets one.
fn too_few_gpus(demand: &Demand, nodes: u32) -> Judgement {
    let all = demand.job.gpus();
    if all == 0 || all >= u64::from(nodes) {
        return Ok(());
    }
    never(
        format!("--gpus={all} on {nodes} nodes"),
        "each node gets at least one GPU",
        format!("--nodes={all} or --gpus={nodes}"),
    )
}
