//! From a request to what it needs: all of Slurm's ways to ask for nodes, tasks, CPUs, memory and
//! GPUs.

use super::max_memory::over_memory;
use super::{Defaults, Demand, GresNeed, Need, NodeRange, Sharing, SocketNeed};
use model::{Constraint, GpuCount, GresList, MemoryRequest, NodeOptions, Request};

impl Demand {
    /// What a request needs in a partition with those defaults.
    #[must_use]
    pub fn of(request: &Request, defaults: &Defaults) -> Demand {
        let none = NodeOptions::default();
        let options = request.rare.node_options.as_deref().unwrap_or(&none);
        let gpus = Gpus::of(request);
        let mut demand = Demand {
            nodes: nodes(request, options, &gpus),
            tasks: tasks(request, &gpus),
            tasks_per_node: request
                .tasks_per_node
                .or(gpus.tasks_of_node)
                .map(|each| each.max(1)),
            node: Need {
                // Tasks that share CPUs share those of one.
                cpus: if options.overcommit {
                    options.min_cpus.max(request.cpus_per_task).unwrap_or(0)
                } else {
                    options.min_cpus.unwrap_or(0)
                },
                mem_mib: 0,
                gres: gpus.node,
            },
            task: Need {
                cpus: if options.overcommit {
                    0
                } else {
                    request.cpus_per_task.unwrap_or(1).max(1)
                },
                mem_mib: 0,
                gres: gpus.task,
            },
            task_cpus_follow: cpus_follow(request),
            gpu: Need {
                cpus: cpus_per_gpu(request, defaults),
                ..Need::default()
            },
            job: Need {
                gres: gpus.job,
                ..Need::default()
            },
            mem_per_cpu: 0,
            all_memory: false,
            is_over_memory: over_memory(request, request.memory.or(defaults.memory), defaults)
                .is_some(),
            cpu_cap: defaults.cpu_cap,
            sharing: sharing(request, options, defaults),
            constraint: request
                .rare
                .constraint
                .as_deref()
                .and_then(Constraint::parse),
            required: request.rare.nodelist.clone(),
            excluded: request.rare.exclude.clone(),
            prefer: options.prefer.as_deref().and_then(Constraint::parse),
            spread: options.spread,
            switches: options.switches,
            contiguous: options.contiguous,
            tmp_mib: options.tmp_mib.unwrap_or(0),
            sockets: sockets(options, &request.rare.asked.per_socket),
            enforce_binding: request.rare.asked.enforce_binding,
            overcommit: options.overcommit,
            tasks_by_gpus: false,
        };
        if let (Some(each), true) = (request.rare.asked.tasks_of_each, request.tasks.is_none()) {
            demand.tasks_of_gpus(each);
        }
        if request.rare.asked.tasks_of_each.is_some() {
            demand.even_gpus();
        }
        demand.memory(request, defaults);
        demand
    }

    /// With `--ntasks-per-gpu` a node has the tasks of its GPUs: where nodes and tasks are counted and come
    /// out even, each has as many.
    fn even_gpus(&mut self) {
        let nodes = self.nodes.least.max(1);
        let Some(tasks) = self.tasks.filter(|tasks| tasks.is_multiple_of(nodes)) else {
            return;
        };
        let is_even = |need: &GresNeed| need.count.is_multiple_of(u64::from(nodes));
        let has_gpus = self.job.gpus() > 0;
        if !has_gpus || self.nodes.most != Some(nodes) || !self.job.gres.iter().all(is_even) {
            return;
        }
        if self.tasks_per_node.is_none() {
            self.tasks_per_node = Some(tasks / nodes);
            self.tasks_by_gpus = true;
        }
        for mut need in self.job.gres.drain(..) {
            need.count /= u64::from(nodes);
            self.node.gres.push(need);
        }
    }

    /// `--ntasks-per-gpu` where no tasks are asked: as many as all GPUs have.
    fn tasks_of_gpus(&mut self, each: u32) {
        let of = |gpus: u64| u32::try_from(gpus).unwrap_or(u32::MAX).saturating_mul(each);
        match (self.job.gpus(), self.node.gpus()) {
            (0, 0) => {}
            (0, of_node) => self.tasks_per_node = Some(of(of_node).max(1)),
            (of_job, _) => self.tasks = Some(of(of_job).max(1)),
        }
    }

    fn memory(&mut self, request: &Request, defaults: &Defaults) {
        let by_default = || {
            let per_gpu = defaults.memory_per_gpu.filter(|_| self.gpus_on(1) > 0);
            per_gpu.map(MemoryRequest::PerGpu).or(defaults.memory)
        };
        let whole = MemoryRequest::PerNode(0);
        let asked = request.memory.or_else(by_default);
        let most = defaults.max_memory_per_cpu.filter(|most| *most > 0);
        match asked.or(defaults.counts_memory.then_some(whole)) {
            None => {}
            Some(MemoryRequest::PerNode(0) | MemoryRequest::PerCpu(0)) => {
                self.all_memory = true;
                // As in Slurm, as many CPUs as bring the memory of the first node.
                if let Some((most, (_, memory))) = most.zip(defaults.first_node) {
                    self.at_least_cpus(u64::from(memory).div_ceil(most));
                }
            }
            Some(MemoryRequest::PerNode(size)) => {
                self.node.mem_mib = size;
                if let Some(most) = most {
                    self.at_least_cpus(size.div_ceil(most));
                }
            }
            Some(MemoryRequest::PerCpu(size)) => {
                let times = most.map_or(1, |most| size.div_ceil(most));
                let more = u32::try_from(times).unwrap_or(u32::MAX);
                self.task.cpus = self.task.cpus.saturating_mul(more);
                self.mem_per_cpu = size.div_ceil(times);
            }
            // None for a GPU leaves it to the default for a CPU, as Slurm counts it.
            Some(MemoryRequest::PerGpu(0)) => {
                if let Some(MemoryRequest::PerCpu(size)) = defaults.memory {
                    self.mem_per_cpu = size;
                }
            }
            Some(MemoryRequest::PerGpu(size)) => self.gpu.mem_mib = size,
        }
    }

    fn at_least_cpus(&mut self, cpus: u64) {
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        self.node.cpus = self.node.cpus.max(cpus);
    }
}

/// What is asked of GPUs and other counted resources.
struct Gpus {
    job: Vec<GresNeed>,
    node: Vec<GresNeed>,
    task: Vec<GresNeed>,
    /// GPUs of the whole job where they are asked, also where they follow from those of its nodes
    /// or tasks.
    of_job: Option<u32>,
    /// Tasks of a node where GPUs are asked of both.
    tasks_of_node: Option<u32>,
}

impl Gpus {
    fn of(request: &Request) -> Gpus {
        let asked = &request.rare.asked;
        let mut node = gpus_of(&request.gpus_per_node, &asked.per_node);
        node.extend(others(&asked.per_node));
        // A node has as many as its sockets have; of which they are, `with_gpus` sees to.
        let sockets = request.rare.node_options.as_deref();
        let sockets = sockets.and_then(|options| options.sockets_per_node);
        let of_socket = asked.per_socket.items().unwrap_or_default().into_iter();
        node.extend(of_socket.map(|item| GresNeed {
            name: item.name,
            kind: item.kind,
            count: item.count.saturating_mul(sockets.unwrap_or(1).into()),
        }));
        let mut task = gpus_of(&request.rare.gpus_per_task, &asked.per_task);
        let job = gpus_of(&request.gpus, &asked.per_job);
        let is_asked = |needs: &[GresNeed]| needs.iter().any(GresNeed::is_gpus);
        let follows = is_asked(&node) || is_asked(&task);
        let mut tasks_of_node = None;
        if let (Some(of_node), Some(of_task)) =
            (&request.gpus_per_node, &request.rare.gpus_per_task)
            && is_asked(&node)
            && is_asked(&task)
        {
            tasks_of_node = of_node.count.checked_div(of_task.count);
            task.clear();
        }
        Gpus {
            of_job: request.gpus.as_ref().map(|gpus| gpus.count),
            job: if follows { Vec::new() } else { job },
            node,
            task,
            tasks_of_node,
        }
    }
}

/// GPUs by type where several are asked, else the count.
fn gpus_of(count: &Option<GpuCount>, asked: &GresList) -> Vec<GresNeed> {
    let Some(count) = count.as_ref().filter(|count| count.count > 0) else {
        return Vec::new();
    };
    let items = asked.items().unwrap_or_default();
    let mut kinds: Vec<GresNeed> = Vec::new();
    for item in items.into_iter().filter(|item| item.name == "gpu") {
        // Of a type that is given twice the later counts.
        match kinds.iter_mut().find(|known| known.kind == item.kind) {
            Some(known) => known.count = item.count,
            None => kinds.push(GresNeed {
                name: item.name,
                kind: item.kind,
                count: item.count,
            }),
        }
    }
    let sum = kinds
        .iter()
        .fold(0_u64, |sum, one| sum.saturating_add(one.count));
    if kinds.len() > 1 && sum == u64::from(count.count) {
        return kinds;
    }
    vec![GresNeed {
        name: "gpu".to_owned(),
        kind: count.kind.clone(),
        count: count.count.into(),
    }]
}

/// What is asked beside GPUs.
fn others(asked: &GresList) -> Vec<GresNeed> {
    let items = asked.items().unwrap_or_default();
    let others = items.into_iter().filter(|item| item.name != "gpu");
    let need = |item: model::GresItem| GresNeed {
        name: item.name,
        kind: item.kind,
        count: item.count,
    };
    others.map(need).collect()
}

fn nodes(request: &Request, options: &NodeOptions, gpus: &Gpus) -> NodeRange {
    let range = NodeRange {
        least: request.min_nodes.unwrap_or(1).max(1),
        most: request.max_nodes.map(|most| most.max(1)),
        fewest: options.fewest_nodes,
        follows: false,
    };
    // GPUs in all and of each node: as many nodes as they make.
    let of_node = gpus.node.iter().filter(|gres| gres.is_gpus());
    let of_node = of_node.fold(0_u64, |sum, gres| sum.saturating_add(gres.count));
    let Some(all) = gpus.of_job.map(u64::from).filter(|_| of_node > 0) else {
        return range;
    };
    let count = u32::try_from(all.div_ceil(of_node))
        .unwrap_or(u32::MAX)
        .max(1);
    match request.min_nodes.filter(|_| !options.nodes_follow) {
        Some(_) => range,
        None => NodeRange {
            least: count,
            most: Some(range.most.unwrap_or(count).max(count)),
            fewest: range.fewest,
            follows: true,
        },
    }
}

/// Whether sbatch made the CPUs of a task of those of its GPUs.
fn cpus_follow(request: &Request) -> bool {
    let of_task = request.rare.gpus_per_task.as_ref();
    let of_gpus = of_task.zip(request.rare.cpus_per_gpu);
    of_gpus
        .is_some_and(|(gpus, each)| request.cpus_per_task == Some(each.saturating_mul(gpus.count)))
}

/// Tasks in all: as many as have the CPUs in all that are asked for, whatever its own are.
fn tasks(request: &Request, gpus: &Gpus) -> Option<u32> {
    let options = request.rare.node_options.as_deref();
    let each = request.cpus_per_task.unwrap_or(1).max(1);
    let cpus = options.and_then(|options| options.cpus);
    let of_cpus = cpus.map(|cpus| cpus.least.div_ceil(each));
    of_cpus.or_else(|| own_tasks(request, gpus))
}

fn own_tasks(request: &Request, gpus: &Gpus) -> Option<u32> {
    if request.tasks.is_some() {
        return request.tasks.map(|tasks| tasks.max(1));
    }
    // As many as have their GPUs.
    let each = gpus.task.iter().filter(|gres| gres.is_gpus());
    let each = each.fold(0_u64, |sum, gres| sum.saturating_add(gres.count));
    let all = gpus.of_job.map(u64::from).filter(|_| each > 0)?;
    u32::try_from(all / each).ok().map(|tasks| tasks.max(1))
}

/// A default is there for those who ask for no CPUs at all.
fn cpus_per_gpu(request: &Request, defaults: &Defaults) -> u32 {
    let by_default = defaults
        .cpus_per_gpu
        .filter(|_| request.cpus_per_task.is_none());
    request.rare.cpus_per_gpu.or(by_default).unwrap_or(0)
}

fn sharing(request: &Request, options: &NodeOptions, defaults: &Defaults) -> Sharing {
    let over = |is_asked: bool| match defaults.layers {
        Some(layers) if layers.jobs <= 1 => Sharing::Forced,
        Some(layers) if layers.is_forced || is_asked => Sharing::Over(layers.jobs),
        Some(layers) => Sharing::Beside(layers.jobs),
        None => Sharing::Any,
    };
    match options.sharing {
        _ if defaults.whole_nodes => Sharing::Whole,
        Some(model::Sharing::User) => Sharing::User,
        _ if defaults.one_user => Sharing::User,
        Some(model::Sharing::Anybody) => over(true),
        Some(model::Sharing::Exclusive) => Sharing::Whole,
        _ if request.exclusive => Sharing::Whole,
        Some(model::Sharing::Mcs) | None => over(false),
    }
}

fn sockets(options: &NodeOptions, per_socket: &GresList) -> Option<Box<SocketNeed>> {
    let gpus = per_socket.items().unwrap_or_default().into_iter();
    let gpus = gpus.filter(|item| item.name == "gpu");
    let gpus = gpus.fold(0_u64, |sum, item| sum.saturating_add(item.count));
    let need = SocketNeed {
        sockets: options.sockets_per_node.unwrap_or(0),
        cores: options.cores_per_socket.unwrap_or(0),
        threads: options.threads_per_core.unwrap_or(0),
        tasks_per_socket: options.tasks_per_socket,
        tasks_per_core: options.tasks_per_core,
        gpus_per_socket: u32::try_from(gpus).unwrap_or(u32::MAX),
    };
    (need != SocketNeed::default()).then(|| Box::new(need))
}
