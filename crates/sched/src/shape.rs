//! From a request to what each of its nodes must give.

use crate::{Machine, NeverFits};
use model::{NodeName, Request};
use resources::Demand;

/// What a job needs, node by node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// One need a node; never empty.
    pub nodes: Vec<NodeNeed>,
    /// Nothing else may run beside it.
    pub exclusive: bool,
}

/// What a job needs of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeNeed {
    /// Which node.
    pub node: NodeName,
    /// How many of the job's tasks belong there.
    pub tasks: u32,
    /// How many CPUs.
    pub cpus: u32,
    /// MiB.
    pub memory: u64,
    /// How many GPUs.
    pub gpus: u32,
    /// Of which type.
    pub gpu_kind: Option<String>,
}

/// Works out what a request needs on this machine, with Slurm's defaults for what was left out.
///
/// # Errors
/// It could never start here.
pub fn shape(request: &Request, machine: &Machine) -> Result<Shape, NeverFits> {
    refuse_what_is_not_here(request)?;
    let demand = Demand::of(request, &machine.defaults());
    let names = node_names(request, &demand, machine)?;
    let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    refuse_too_few_gpus(&demand, count)?;
    let narrow = |amount: u64| u32::try_from(amount).unwrap_or(u32::MAX);
    let needs = demand.on_virtual_nodes(count, machine.most_nodes(), machine.memory);
    let nodes = names.into_iter().zip(needs).map(|(node, need)| NodeNeed {
        node,
        tasks: need.tasks,
        cpus: narrow(need.cpus),
        memory: need.mem_mib,
        gpus: narrow(need.gpus),
        gpu_kind: demand.gpu_kind().map(str::to_owned),
    });
    let shape = Shape {
        nodes: nodes.collect(),
        exclusive: request.exclusive,
    };
    refuse_too_much(request, machine, &shape)?;
    Ok(shape)
}

/// Options that name something which a single machine does not have.
fn refuse_what_is_not_here(request: &Request) -> Result<(), NeverFits> {
    if let Some(partition) = &request.partition
        && !partition.split(',').any(|name| name == "local")
    {
        return Err(NeverFits::new(
            format!("--partition={partition}"),
            "this machine has one partition, local",
            "leave --partition out, or run it where that partition is",
        ));
    }
    if let Some(constraint) = &request.constraint {
        return Err(NeverFits::new(
            format!("--constraint={constraint}"),
            "this machine's nodes have no features",
            "leave --constraint out here",
        ));
    }
    if let Some(reservation) = &request.reservation {
        return Err(NeverFits::new(
            format!("--reservation={reservation}"),
            "this machine has no reservations",
            "leave --reservation out here",
        ));
    }
    Ok(())
}

fn node_names(
    request: &Request,
    demand: &Demand,
    machine: &Machine,
) -> Result<Vec<NodeName>, NeverFits> {
    let wanted = demand.fewest_nodes();
    let most = machine.most_nodes();
    if wanted > most {
        return Err(NeverFits::new(
            format!("{wanted} nodes"),
            format!("this machine can be {most} virtual nodes: one a CPU"),
            format!("--nodes={most} or fewer"),
        ));
    }
    for node in request.nodelist.iter().chain(&*request.exclude) {
        if machine.node_number(node).is_none() {
            return Err(NeverFits::new(
                format!("node {node}"),
                format!("the nodes here are {0} and {0}-v[1-{most}]", machine.host),
                "leave --nodelist and --exclude out, or name these",
            ));
        }
    }
    let mut names = request.nodelist.to_vec();
    names.dedup();
    let wanted = wanted.max(u32::try_from(names.len()).unwrap_or(u32::MAX));
    // One node is the machine itself; several are virtual ones.
    let more: Vec<NodeName> = if wanted == 1 {
        vec![machine.host.clone()]
    } else {
        (1..=most)
            .map(|number| machine.virtual_node(number))
            .collect()
    };
    for name in more {
        if names.len() < wanted as usize
            && !names.contains(&name)
            && !request.exclude.contains(&name)
        {
            names.push(name);
        }
    }
    let excluded = names.iter().any(|name| request.exclude.contains(name));
    if names.len() < wanted as usize || excluded {
        return Err(NeverFits::new(
            format!("{wanted} nodes without those of --exclude"),
            format!("the nodes here are {0} and {0}-v[1-{most}]", machine.host),
            "exclude fewer nodes",
        ));
    }
    Ok(names)
}

/// Each node of a job that asks for GPUs in all gets one.
fn refuse_too_few_gpus(demand: &Demand, nodes: u32) -> Result<(), NeverFits> {
    let all = demand.job.gpus();
    if all == 0 || all >= u64::from(nodes) {
        return Ok(());
    }
    Err(NeverFits::new(
        format!("--gpus={all} on {nodes} nodes"),
        "each node gets at least one GPU",
        format!("--nodes={all} or --gpus={nodes}"),
    ))
}

fn refuse_too_much(request: &Request, machine: &Machine, shape: &Shape) -> Result<(), NeverFits> {
    let nodes = shape.nodes.len();
    let on_nodes = if nodes == 1 {
        String::new()
    } else {
        format!(" on {nodes} virtual nodes, which share this machine")
    };
    let gpus: u64 = shape.nodes.iter().map(|need| u64::from(need.gpus)).sum();
    if gpus > 0 {
        let kind = shape.nodes.iter().find_map(|need| need.gpu_kind.as_deref());
        let have = |gpu: &&crate::Gpu| kind.is_none_or(|kind| gpu.is_kind(kind));
        let there = machine.gpus.iter().filter(have).count();
        if gpus > there as u64 {
            let kind = kind.map_or(String::new(), |kind| format!("{kind} "));
            let unit = if gpus == 1 { "GPU" } else { "GPUs" };
            return Err(NeverFits::new(
                format!("{gpus} {kind}{unit}{on_nodes}"),
                describe_gpus(machine),
                "ask for what there is, or run it where such GPUs are",
            ));
        }
    }
    let cpus: u64 = shape.nodes.iter().map(|need| u64::from(need.cpus)).sum();
    if cpus > machine.cpus.len() as u64 {
        let tasks: u64 = shape.nodes.iter().map(|need| u64::from(need.tasks)).sum();
        let each = request.cpus_per_task.unwrap_or(1);
        return Err(NeverFits::new(
            format!("{cpus} CPUs ({tasks} tasks × {each}){on_nodes}"),
            format!("this machine has {} CPUs", machine.cpus.len()),
            "fewer tasks or CPUs a task",
        ));
    }
    let memory = shape.nodes.iter().map(|need| need.memory);
    let memory = memory.fold(0, u64::saturating_add);
    if memory > machine.memory {
        return Err(NeverFits::new(
            format!("{memory} MiB of memory{on_nodes}"),
            format!("this machine has {} MiB", machine.memory),
            "ask for less with --mem, --mem-per-cpu or --mem-per-gpu",
        ));
    }
    Ok(())
}

fn describe_gpus(machine: &Machine) -> String {
    if machine.gpus.is_empty() {
        return "this machine has no GPU (no NVIDIA driver answers)".to_owned();
    }
    let names: Vec<&str> = machine.gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    format!("this machine has {}", model::counted_gpus(&names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gpu;
    use expect_test::{Expect, expect};
    use model::{GpuCount, MemoryRequest};
    use std::sync::Arc;

    fn machine() -> Machine {
        Machine {
            host: NodeName::new("box"),
            cpus: (0..4).collect(),
            memory: 8000,
            gpus: (0..2)
                .map(|index| Gpu {
                    index,
                    name: "NVIDIA Tesla V100-SXM2".to_owned(),
                })
                .collect(),
        }
    }

    #[track_caller]
    fn check(request: Request, want: Expect) {
        let text = match shape(&request, &machine()) {
            Ok(shape) => {
                let each = shape.nodes.iter().map(|need| {
                    format!(
                        "{}: {} tasks {} cpus {} MiB {} gpus",
                        need.node, need.tasks, need.cpus, need.memory, need.gpus
                    )
                });
                each.collect::<Vec<_>>().join("; ")
            }
            Err(refusal) => format!("{refusal}; {}", refusal.todo),
        };
        want.assert_eq(&text);
    }

    fn gpus(count: u32) -> Option<GpuCount> {
        Some(GpuCount { kind: None, count })
    }

    #[test]
    fn nothing_asked_is_one_task_on_the_machine_itself() {
        check(
            Request::default(),
            expect!["box: 1 tasks 1 cpus 2000 MiB 0 gpus"],
        );
    }

    #[test]
    fn several_nodes_are_virtual_and_share_the_machine() {
        let request = Request {
            min_nodes: Some(2),
            tasks: Some(3),
            ..Request::default()
        };
        check(
            request,
            expect![
                "box-v1: 2 tasks 2 cpus 4000 MiB 0 gpus; box-v2: 1 tasks 1 cpus 2000 MiB 0 gpus"
            ],
        );
        let request = Request {
            tasks: Some(4),
            tasks_per_node: Some(2),
            memory: Some(MemoryRequest::PerNode(0)),
            ..Request::default()
        };
        check(
            request,
            expect![
                "box-v1: 2 tasks 2 cpus 4000 MiB 0 gpus; box-v2: 2 tasks 2 cpus 4000 MiB 0 gpus"
            ],
        );
        let request = Request {
            min_nodes: Some(5),
            ..Request::default()
        };
        check(
            request,
            expect!["5 nodes: this machine can be 4 virtual nodes: one a CPU; --nodes=4 or fewer"],
        );
    }

    #[test]
    fn gpus_bring_their_cpus_and_memory() {
        let request = Request {
            gpus: gpus(2),
            cpus_per_gpu: Some(2),
            memory: Some(MemoryRequest::PerGpu(1000)),
            ..Request::default()
        };
        check(request, expect!["box: 1 tasks 4 cpus 2000 MiB 2 gpus"]);
        let request = Request {
            gpus_per_node: Some(GpuCount {
                kind: Some("v100".to_owned()),
                count: 1,
            }),
            ..Request::default()
        };
        check(request, expect!["box: 1 tasks 1 cpus 2000 MiB 1 gpus"]);
        let request = Request {
            gpus: Some(GpuCount {
                kind: Some("a100".to_owned()),
                count: 1,
            }),
            ..Request::default()
        };
        check(
            request,
            expect![
                "1 a100 GPU: this machine has 2 × NVIDIA Tesla V100-SXM2; ask for what there is, or run it where such GPUs are"
            ],
        );
    }

    #[test]
    fn more_than_there_is_is_refused_in_three_parts() {
        let request = Request {
            tasks: Some(3),
            cpus_per_task: Some(2),
            ..Request::default()
        };
        check(
            request,
            expect!["6 CPUs (3 tasks × 2): this machine has 4 CPUs; fewer tasks or CPUs a task"],
        );
        let request = Request {
            memory: Some(MemoryRequest::PerNode(9000)),
            ..Request::default()
        };
        check(
            request,
            expect![
                "9000 MiB of memory: this machine has 8000 MiB; ask for less with --mem, --mem-per-cpu or --mem-per-gpu"
            ],
        );
        let request = Request {
            partition: Some("gpu".to_owned()),
            ..Request::default()
        };
        check(
            request,
            expect![
                "--partition=gpu: this machine has one partition, local; leave --partition out, or run it where that partition is"
            ],
        );
        let request = Request {
            nodelist: Arc::new(vec![NodeName::new("node7")]),
            ..Request::default()
        };
        check(
            request,
            expect![
                "node node7: the nodes here are box and box-v[1-4]; leave --nodelist and --exclude out, or name these"
            ],
        );
    }
}
