//! What to ask for instead: the values at which the nodes would serve.

use super::change::{Change, GpuTypeChange};
use super::describe::describe;
use super::nodes::Place;
use super::sent::is_sent;
use crate::Demand;
use model::option_table::Key;
use model::{GpuCount, MemoryRequest, Request, mebibytes_option};

/// So many values are shown, of those that each make it fit.
const TOLD: usize = 2;

/// So many values below the greatest that fits are tried on sbatch's own checks.
const TRIED: u64 = 64;

/// One number of a request.
struct Value {
    now: u64,
    with: fn(&Request, u64) -> Request,
    /// What asks for so much.
    change: fn(&Request, u64) -> Change,
}

impl Place<'_> {
    /// What would be served instead: another type of GPUs, the greatest value that fits, more
    /// nodes; else what the largest node has.
    pub fn advice(&self, request: &Request, demand: &Demand) -> Vec<Change> {
        if let Some(types) = self.other_type(demand) {
            return vec![types];
        }
        let has_gpus = demand.gpus_on(demand.nodes.least) > 0;
        if has_gpus && self.sets.iter().all(|set| set.nodes.gpus.is_empty()) {
            return vec![Change::WithGpus];
        }
        let mut told: Vec<Change> = Vec::new();
        let of_node = demand.node.gres.iter().filter(|gres| gres.is_gpus());
        let kinds: Vec<_> = of_node
            .filter_map(|gres| Some((gres.kind.as_ref()?, gres.count)))
            .collect();
        if let [(kind, count), _, ..] = kinds[..] {
            let one = with_gpus_of_node(request, Some(kind), count);
            if self.takes(request, &one) {
                told.push(Change::OneTypeOfNode(kind.clone(), count));
            }
        }
        told.extend(self.more_nodes(request));
        told.extend(
            values(request)
                .iter()
                .filter_map(|value| self.greatest(request, value)),
        );
        told.truncate(TOLD);
        if told.is_empty() {
            told.push(Change::NoMoreThan(self.sets.iter().map(describe).collect()));
        }
        told
    }

    /// Whether nodes serve what is to be asked instead, and sbatch itself lets it through as it does
    /// what was asked.
    fn takes(&self, request: &Request, instead: &Request) -> bool {
        self.serves(instead) && (is_sent(instead) || !is_sent(request))
    }

    /// The types that there are, where none of them is the one that is asked for.
    fn other_type(&self, demand: &Demand) -> Option<Change> {
        let kind = demand.gpu_kind()?;
        let gpus = || self.sets.iter().flat_map(|set| &set.nodes.gpus);
        let mut types: Vec<&str> = gpus()
            .filter_map(|gpu| Some(gpu.kind.as_ref()?.as_str()))
            .collect();
        types.dedup();
        if types.contains(&kind) {
            return None;
        }
        let mut models: Vec<&str> = gpus()
            .filter_map(|gpu| Some(gpu.model.as_ref()?.as_str()))
            .collect();
        models.dedup();
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let asked = || kind.to_owned();
        Some(Change::GpuType(
            match (gpus().find(|gpu| gpu.is_called(kind)), &types[..]) {
                (Some(gpu), []) => GpuTypeChange::OwnHaveNone(
                    gpu.model
                        .as_ref()
                        .map_or_else(String::new, |model| model.value.clone()),
                ),
                (None, []) if gpus().next().is_none() => return Some(Change::WithGpus),
                (None, []) => GpuTypeChange::Without {
                    asked: asked(),
                    models: named(&models),
                },
                (Some(gpu), types) => match &gpu.kind {
                    Some(own) => GpuTypeChange::CalledHere {
                        asked: asked(),
                        own: own.value.clone(),
                    },
                    None => GpuTypeChange::OneOf(named(types)),
                },
                (None, types) => GpuTypeChange::OneOf(named(types)),
            },
        ))
    }

    /// More nodes, where fewer are asked for than hold it.
    fn more_nodes(&self, request: &Request) -> Option<Change> {
        let most = request.max_nodes.filter(|most| *most > 1)?;
        // With them there are more tasks, and more of what each asks.
        if request.tasks_per_node.is_some() && request.tasks.is_some() {
            return None;
        }
        let count = self.fewest(request)?;
        let wider = Request {
            min_nodes: Some(count),
            max_nodes: Some(count),
            ..request.clone()
        };
        let helps = count > most && self.takes(request, &wider);
        helps.then(|| Change::Set(Key::Nodes, count.to_string()))
    }

    /// The greatest smaller value at which all the rest can stay.
    fn greatest(&self, request: &Request, value: &Value) -> Option<Change> {
        let fits = |amount: u64| self.serves(&(value.with)(request, amount));
        let (mut fitting, mut over) = (0, value.now);
        while over - fitting > 1 {
            let middle = fitting + (over - fitting) / 2;
            if fits(middle) {
                fitting = middle
            } else {
                over = middle
            }
        }
        // What sbatch refuses of the greatest that fits it may take of a smaller one.
        let sent = |amount: &u64| self.takes(request, &(value.with)(request, *amount));
        let least = fitting.saturating_sub(TRIED);
        let taken = (least + 1..=fitting).rev().find(sent)?;
        Some((value.change)(request, taken))
    }
}

/// The numbers of a request, in the order in which they are shown.
fn values(request: &Request) -> Vec<Value> {
    let mut all = Vec::new();
    let mut add = |now: Option<u64>, with, change| {
        all.extend(now.map(|now| Value { now, with, change }));
    };
    let count = |gpus: &Option<GpuCount>| gpus.as_ref().map(|gpus| u64::from(gpus.count));
    add(
        count(&request.gpus_per_node),
        |request, count| with_gpus_of_node(request, None, count),
        |request, count| {
            let gpus = request.gpus_per_node.as_ref();
            Change::GpusOfNode(count, gpus.and_then(|gpus| gpus.kind.clone()))
        },
    );
    add(
        count(&request.gpus),
        |request, count| Request {
            gpus: changed(&request.gpus, count),
            ..request.clone()
        },
        |request, count| {
            let value = format!("{}{count}", kind_of(&request.gpus));
            Change::Set(Key::Gpus, value)
        },
    );
    add(
        count(&request.rare.gpus_per_task),
        |request, count| {
            request.with_rare(|rare| rare.gpus_per_task = changed(&rare.gpus_per_task, count))
        },
        |request, count| {
            let value = format!("{}{count}", kind_of(&request.rare.gpus_per_task));
            Change::Set(Key::GpusPerTask, value)
        },
    );
    // Those of a task follow from those of its GPUs.
    let of_task = request
        .cpus_per_task
        .filter(|_| request.rare.cpus_per_gpu.is_none());
    add(
        of_task.map(u64::from),
        |request, cpus| Request {
            cpus_per_task: narrow(cpus),
            ..request.clone()
        },
        |_, cpus| Change::Set(Key::CpusPerTask, cpus.to_string()),
    );
    add(
        request.rare.cpus_per_gpu.map(u64::from),
        |request, cpus| Request {
            cpus_per_task: request.cpus_per_task.and_then(|_| {
                let gpus = request
                    .rare
                    .gpus_per_task
                    .as_ref()
                    .map_or(1, |gpus| gpus.count);
                narrow(cpus.saturating_mul(gpus.into()))
            }),
            ..request.with_rare(|rare| rare.cpus_per_gpu = narrow(cpus))
        },
        |_, cpus| Change::Set(Key::CpusPerGpu, cpus.to_string()),
    );
    let memory = request.memory.map(|memory| match memory {
        MemoryRequest::PerNode(size)
        | MemoryRequest::PerCpu(size)
        | MemoryRequest::PerGpu(size) => size,
    });
    add(
        memory,
        |request, size| Request {
            memory: request.memory.map(|memory| match memory {
                MemoryRequest::PerNode(_) => MemoryRequest::PerNode(size),
                MemoryRequest::PerCpu(_) => MemoryRequest::PerCpu(size),
                MemoryRequest::PerGpu(_) => MemoryRequest::PerGpu(size),
            }),
            ..request.clone()
        },
        |request, size| {
            let key = match request.memory {
                Some(MemoryRequest::PerCpu(_)) => Key::MemPerCpu,
                Some(MemoryRequest::PerGpu(_)) => Key::MemPerGpu,
                _ => Key::Mem,
            };
            Change::Set(key, mebibytes_option(size))
        },
    );
    add(
        request.tasks_per_node.map(u64::from),
        with_tasks_of_node,
        |_, tasks| Change::Set(Key::TasksPerNode, tasks.to_string()),
    );
    let in_all = request.tasks.filter(|_| request.tasks_per_node.is_none());
    add(
        in_all.map(u64::from),
        |request, tasks| Request {
            tasks: narrow(tasks),
            ..request.clone()
        },
        |_, tasks| Change::Set(Key::Tasks, tasks.to_string()),
    );
    add(
        request.min_nodes.map(u64::from),
        |request, nodes| Request {
            min_nodes: narrow(nodes),
            max_nodes: narrow(nodes),
            // Tasks that follow from those of a node are fewer with it.
            tasks: request.tasks_per_node.map_or(request.tasks, |each| {
                Some(each.saturating_mul(narrow(nodes)?))
            }),
            ..request.clone()
        },
        |_, nodes| Change::Set(Key::Nodes, nodes.to_string()),
    );
    all
}

fn narrow(number: u64) -> Option<u32> {
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

fn changed(gpus: &Option<GpuCount>, count: u64) -> Option<GpuCount> {
    gpus.as_ref().map(|gpus| GpuCount {
        kind: gpus.kind.clone(),
        count: u32::try_from(count).unwrap_or(u32::MAX),
    })
}

fn kind_of(gpus: &Option<GpuCount>) -> String {
    let kind = gpus.as_ref().and_then(|gpus| gpus.kind.as_ref());
    kind.map_or_else(String::new, |kind| format!("{kind}:"))
}

/// So many GPUs a node, of that type or of the one that is asked for; the words in which they were
/// asked for are those of the greater number.
fn with_gpus_of_node(request: &Request, kind: Option<&String>, count: u64) -> Request {
    let mut fewer = request.clone();
    fewer.rare.asked.per_node = Default::default();
    let own = request
        .gpus_per_node
        .as_ref()
        .and_then(|gpus| gpus.kind.clone());
    fewer.gpus_per_node = Some(GpuCount {
        kind: kind.cloned().or(own),
        count: u32::try_from(count).unwrap_or(u32::MAX),
    });
    fewer
}

fn with_tasks_of_node(request: &Request, each: u64) -> Request {
    let nodes = u64::from(request.min_nodes.unwrap_or(1));
    let now = u64::from(request.tasks_per_node.unwrap_or(1));
    let follows = |tasks: &u32| u64::from(*tasks) == now.saturating_mul(nodes);
    Request {
        tasks_per_node: narrow(each),
        tasks: match request.tasks.filter(|tasks| follows(tasks)) {
            Some(_) => narrow(each.saturating_mul(nodes)),
            None => request.tasks,
        },
        ..request.clone()
    }
}
