//! What a job asks for, counted up.

use model::{GpuCount, MemoryRequest, Request, mebibytes_option};

/// What a job asks for, counted up. Where it leaves the number of nodes open it is the least.
pub(super) struct Asked {
    pub nodes: u64,
    /// The most nodes that it can be spread over.
    pub most_nodes: u64,
    pub cpus: u64,
    /// CPUs that must be on one node.
    pub cpus_of_node: u64,
    pub gpus: u64,
    pub gpus_of_node: u64,
    pub kind: Option<String>,
    /// GPUs of several types that each node must have.
    pub kinds_of_node: Vec<(String, u64)>,
    /// MiB on each node; none where it was not asked, or asked as all.
    pub memory_of_node: Option<u64>,
    /// Tasks in all, where they or what they follow from were asked.
    pub tasks: Option<u64>,
    pub cpus_of_task: u64,
    pub gpus_of_task: u64,
    /// The most tasks on a node.
    pub tasks_of_node: u64,
    /// MiB of each CPU, and of each GPU.
    pub memory_of_cpu: u64,
    pub memory_of_gpu: u64,
    pub cpus_of_gpu: u64,
}

impl Asked {
    pub fn of(request: &Request) -> Asked {
        let nodes = u64::from(request.min_nodes.unwrap_or(1).max(1));
        let number = |count: &Option<GpuCount>| count.as_ref().map(|gpus| u64::from(gpus.count));
        let per_node = number(&request.gpus_per_node);
        let per_task = number(&request.gpus_per_task).filter(|each| *each > 0);
        let asked_tasks = match (request.tasks, request.tasks_per_node) {
            (Some(tasks), _) => Some(u64::from(tasks)),
            (None, Some(each)) if request.min_nodes.is_some() => {
                Some(u64::from(each).saturating_mul(nodes))
            }
            // As many as have their GPUs.
            (None, _) => number(&request.gpus)
                .zip(per_task)
                .map(|(all, each)| all / each),
        };
        let each = u64::from(request.tasks_per_node.unwrap_or(1));
        let tasks = asked_tasks.unwrap_or(each.saturating_mul(nodes));
        let gpus = number(&request.gpus)
            .or(per_node.map(|each| each.saturating_mul(nodes)))
            .or(per_task.map(|each| each.saturating_mul(tasks)))
            .unwrap_or(0);
        let of_task = u64::from(request.cpus_per_task.unwrap_or(1).max(1));
        let of_gpus = u64::from(request.cpus_per_gpu.unwrap_or(0));
        let tasks_of_node = u64::from(request.tasks_per_node.unwrap_or(1).max(1));
        let most_nodes = request.max_nodes.map_or(u64::MAX, u64::from);
        // A job of one node has all its CPUs there.
        let one_node = most_nodes == 1;
        let cpus = tasks
            .saturating_mul(of_task)
            .max(gpus.saturating_mul(of_gpus));
        let is_full = request.tasks_per_node.is_some()
            && tasks >= tasks_of_node.saturating_mul(nodes.max(most_nodes));
        let gpus_of_node = match (per_node, one_node) {
            (Some(each), _) => each,
            (None, true) => gpus,
            // Without --ntasks each node has its --ntasks-per-node; with it where only so all have a
            // place.
            (None, false) if request.tasks.is_none() || is_full => {
                per_task.map_or(0, |each| each.saturating_mul(tasks_of_node).min(gpus))
            }
            (None, false) => per_task.unwrap_or(0),
        };
        let cpus_of_node = match one_node {
            true => cpus,
            false => tasks_of_node
                .saturating_mul(of_task)
                .max(gpus_of_node.saturating_mul(of_gpus)),
        };
        let memory_of_node = match request.memory {
            Some(MemoryRequest::PerNode(size)) if size > 0 => Some(size),
            Some(MemoryRequest::PerCpu(size)) => Some(size.saturating_mul(cpus_of_node)),
            Some(MemoryRequest::PerGpu(size)) => Some(size.saturating_mul(gpus_of_node)),
            _ => None,
        };
        let kind = [
            &request.gpus,
            &request.gpus_per_node,
            &request.gpus_per_task,
        ]
        .into_iter()
        .find_map(|gpus| gpus.as_ref()?.kind.clone());
        let (memory_of_cpu, memory_of_gpu) = match request.memory {
            Some(MemoryRequest::PerCpu(size)) => (size, 0),
            Some(MemoryRequest::PerGpu(size)) => (0, size),
            _ => (0, 0),
        };
        Asked {
            nodes,
            most_nodes,
            cpus,
            cpus_of_node,
            gpus,
            gpus_of_node,
            kind,
            kinds_of_node: kinds_of_node(request),
            memory_of_node,
            tasks: asked_tasks,
            cpus_of_task: of_task,
            gpus_of_task: per_task.unwrap_or(0),
            tasks_of_node: request
                .tasks_per_node
                .map_or(u64::MAX, |each| u64::from(each.max(1))),
            memory_of_cpu,
            memory_of_gpu,
            cpus_of_gpu: of_gpus,
        }
    }

    /// GPUs that are asked for in all of the job's nodes together.
    pub fn in_all(&self) -> u64 {
        match self.gpus_of_node {
            0 => self.gpus,
            _ => 0,
        }
    }

    /// The amount of a resource by Slurm's name; none where it isn't known.
    pub fn tres(&self, name: &str) -> Option<u64> {
        match name {
            "cpu" => Some(self.cpus),
            "node" => Some(self.nodes),
            "mem" => self
                .memory_of_node
                .map(|size| size.saturating_mul(self.nodes)),
            "gres/gpu" => Some(self.gpus),
            name => {
                let kind = name.strip_prefix("gres/gpu:")?;
                (self.kind.as_deref() == Some(kind)).then_some(self.gpus)
            }
        }
    }

    /// In words.
    pub fn text(&self, request: &Request) -> String {
        let count = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            count => format!("{count} {noun}s"),
        };
        let is_open = request.min_nodes.is_none() && (self.tasks.is_some() || self.in_all() > 0);
        let mut parts = Vec::new();
        if !is_open {
            parts.push(count(self.nodes, "node"));
        }
        if let Some(tasks) = self.tasks.filter(|tasks| is_open || *tasks != self.nodes) {
            parts.push(count(tasks, "task"));
        }
        if !self.kinds_of_node.is_empty() {
            let kinds = self.kinds_of_node.iter();
            let kinds: Vec<String> = kinds
                .map(|(kind, count)| format!("{count} {kind}"))
                .collect();
            parts.push(format!("{} on one node", kinds.join(" and ")));
        } else if self.gpus > 0 {
            let kind = self.kind.as_deref().unwrap_or("GPUs");
            match (self.gpus_of_node, self.gpus_of_task) {
                (0, _) => parts.push(format!("{} {kind} in all", self.gpus)),
                (1, of_task) if is_open && of_task > 0 && self.kind.is_none() => {
                    parts.push("1 GPU a task".to_owned());
                }
                (each, of_task) if is_open && of_task > 0 => {
                    parts.push(format!("{each} {kind} a task"));
                }
                (1, _) if self.kind.is_none() => parts.push("1 GPU a node".to_owned()),
                (each, _) => parts.push(format!("{each} {kind} a node")),
            }
        }
        match is_open {
            true => parts.push(format!("{} in all", count(self.cpus, "CPU"))),
            false => parts.push(format!("{} a node", count(self.cpus_of_node, "CPU"))),
        }
        match (self.memory_of_cpu, self.memory_of_gpu, self.memory_of_node) {
            (size, _, _) if size > 0 && is_open => {
                parts.push(format!("{} a CPU", mebibytes_option(size)));
            }
            (_, size, _) if size > 0 && (is_open || self.in_all() > 0) => {
                parts.push(format!("{} a GPU", mebibytes_option(size)));
            }
            (_, _, Some(memory)) if memory > 0 => {
                parts.push(format!("{} a node", mebibytes_option(memory)))
            }
            _ => {}
        }
        if let Some(constraint) = request.constraint.as_ref().map(ToString::to_string) {
            parts.push(format!("feature {constraint}"));
        }
        parts.join(", ")
    }
}

/// GPUs by type where several types are asked on each node.
fn kinds_of_node(request: &Request) -> Vec<(String, u64)> {
    let Ok(items) = request.asked.per_node.items() else {
        return Vec::new();
    };
    let mut kinds: Vec<(String, u64)> = Vec::new();
    for item in items.into_iter().filter(|item| item.name == "gpu") {
        // Of a type that is given twice the later counts.
        let Some(kind) = item.kind else { continue };
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some(known) => known.1 = item.count,
            None => kinds.push((kind, item.count)),
        }
    }
    if kinds.len() < 2 {
        kinds.clear();
    }
    kinds
}
