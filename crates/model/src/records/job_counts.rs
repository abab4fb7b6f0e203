//! Nodes, CPUs, tasks, memory and GPUs of a job, as Slurm's controller counts them, and its `TRES`.

use crate::records::{JobRecord, JobState, ViewFacts};
use crate::requests::Request;
use crate::values::{Allocation, GpuCount, mebibytes_text};
use std::collections::BTreeMap;

/// What `TRES` counts, kept as numbers: few commands print it, of few jobs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TresCounts {
    pub(super) cpus: u32,
    memory: u64,
    pub(super) nodes: u32,
    pub(super) gpus: u64,
    /// Its GPUs by type.
    kinds: Vec<(String, u64)>,
    /// What it is billed a second.
    billing: u64,
}

impl TresCounts {
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        let own = [
            ("cpu", self.cpus.into()),
            ("mem", self.memory),
            ("node", self.nodes.into()),
            ("billing", self.billing),
            ("gres/gpu", self.gpus),
        ];
        let own = own.map(|(name, count)| (name.to_owned(), count));
        let kinds = self.kinds.iter();
        let kinds = kinds.map(|(kind, count)| (format!("gres/gpu:{kind}"), *count));
        own.into_iter().chain(kinds).collect()
    }

    /// Billed as its partition bills it.
    fn billed(mut self, record: &JobRecord, facts: &ViewFacts) -> TresCounts {
        // Without weights it is the CPUs, which stand there.
        let view = facts.view_of(record);
        if let Some(view) = view.filter(|view| !view.billing.is_empty()) {
            let counts = self.counts();
            let of = |name: &str| counts.get(name).map_or(0.0, |count| *count as f64);
            self.billing = view.billing.billed(&of) as u64;
        }
        self
    }

    pub(super) fn text(&self) -> String {
        let memory = match self.memory {
            0 => String::new(),
            memory => format!(",mem={}", mebibytes_text(memory)),
        };
        let mut text = format!(
            "cpu={cpus}{memory},node={nodes},billing={billing}",
            cpus = self.cpus,
            nodes = self.nodes,
            billing = self.billing,
        );
        if self.gpus > 0 {
            text.push_str(&format!(",gres/gpu={}", self.gpus));
        }
        for (kind, count) in &self.kinds {
            text.push_str(&format!(",gres/gpu:{kind}={count}"));
        }
        text
    }
}

/// Nodes, CPUs and tasks: held by a job that runs, counted by the controller of one that waits.
pub(super) struct Counts {
    pub(super) allocation: Option<Allocation>,
    pub(super) nodes: u32,
    /// Nodes in `TRES`.
    tres_nodes: u32,
    pub(super) max_nodes: u32,
    pub(super) cpus: u32,
    pub(super) tasks: u32,
    pub(super) min_cpus_per_node: u32,
    pub(super) memory: u64,
    gpus: u64,
    /// CPUs that were asked, with those that memory brings.
    pub(super) asked_cpus: u32,
    pub(super) asked: TresCounts,
}

impl Counts {
    pub(super) fn of(record: &JobRecord, facts: &ViewFacts) -> Counts {
        let recorded = (facts.recorded)(record, facts);
        let asked = TresCounts {
            cpus: recorded.tres_cpus,
            memory: recorded.mem_mib,
            nodes: recorded.least_nodes,
            gpus: recorded.gpu_count(),
            kinds: asked_kinds(&record.request, recorded.gpu_count()),
            billing: recorded.tres_cpus.into(),
        };
        let asked = asked.billed(record, facts);
        let Some(allocation) = allocation(&record.state) else {
            return Counts {
                allocation: None,
                nodes: recorded.nodes,
                tres_nodes: recorded.least_nodes,
                // One that ran before is shown with the nodes that it had.
                max_nodes: recorded
                    .most_nodes
                    .filter(|_| record.restarts == 0)
                    .unwrap_or(0),
                cpus: recorded.cpus,
                tasks: recorded.tasks,
                min_cpus_per_node: recorded.min_cpus_per_node,
                memory: recorded.mem_mib,
                gpus: recorded.gpu_count(),
                asked_cpus: recorded.cpus,
                asked,
            };
        };
        let nodes = count(allocation.nodes.len());
        // A former start may have been resized.
        let resized = record.resized.filter(|resized| {
            let since = match &record.state {
                JobState::Running { since, .. } => Some(since),
                JobState::Ended { ran, .. } => ran.as_ref().map(|ran| &ran.since),
                JobState::Pending { .. } => None,
            };
            since.is_none_or(|since| resized >= since)
        });
        Counts {
            nodes,
            tres_nodes: nodes,
            max_nodes: 0,
            cpus: count(allocation.cpus()),
            tasks: match resized {
                // Nodes that were given settle it (`build_node_details` of node_scheduler.c).
                _ if record.request.tasks_per_node.is_some() => {
                    let each = record.request.tasks_per_node.unwrap_or(1);
                    nodes.saturating_mul(each)
                }
                // Without a number of tasks it has one on each node.
                Some(_) if asks_no_tasks(&record.request) => nodes,
                Some(_) => recorded.tasks,
                None if asks_cpus(&record.request) => recorded.tasks,
                None => recorded.tasks.max(allocation.tasks()),
            },
            min_cpus_per_node: recorded.min_cpus_per_node,
            memory: allocation.nodes.iter().map(|share| share.memory).sum(),
            gpus: allocation.gpus() as u64,
            allocation: Some(allocation.clone()),
            asked_cpus: recorded.cpus,
            asked,
        }
    }

    /// What `TRES` says.
    pub(super) fn tres(&self, record: &JobRecord, facts: &ViewFacts) -> TresCounts {
        let mut kinds: Vec<(String, u64)> = Vec::new();
        if self.gpus > 0 {
            kinds.extend(self.held_kinds(facts));
            if kinds.is_empty() {
                kinds = asked_kinds(&record.request, self.gpus);
            }
        }
        let cpus = match self.allocation {
            Some(_) => self.cpus,
            None => self.asked.cpus,
        };
        let counts = TresCounts {
            cpus,
            memory: self.memory,
            nodes: self.tres_nodes,
            gpus: self.gpus,
            kinds,
            billing: cpus.into(),
        };
        counts.billed(record, facts)
    }

    /// The type of the GPUs that it holds, where they are all of one.
    pub(super) fn one_kind(&self, facts: &ViewFacts) -> Option<String> {
        let mut kinds = self.held_kinds(facts).into_keys();
        kinds.next().filter(|_| kinds.next().is_none())
    }

    /// How many GPUs of each type it holds, where its nodes tell types apart.
    fn held_kinds(&self, facts: &ViewFacts) -> BTreeMap<String, u64> {
        let mut held = BTreeMap::new();
        let shares = self.allocation.iter().flat_map(|it| &it.nodes);
        for share in shares {
            let kinds = facts.gpu_kinds.get(&share.node);
            for gpu in &share.gpus {
                let kind = kinds.and_then(|kinds| kinds.get(*gpu as usize));
                if let Some(kind) = kind {
                    *held.entry(kind.clone()).or_default() += 1;
                }
            }
        }
        held
    }
}

/// So many GPUs of the type that it asked for.
fn asked_kinds(request: &Request, gpus: u64) -> Vec<(String, u64)> {
    let kind = asked_gpus(request).and_then(|count| count.kind.clone());
    let kind = kind.filter(|_| gpus > 0);
    kind.map(|kind| (kind, gpus)).into_iter().collect()
}

/// Whether its CPUs were asked for beside its tasks.
fn asks_cpus(request: &Request) -> bool {
    let options = request.rare.node_options.as_deref();
    options.is_some_and(|options| options.cpus.is_some())
}

fn asks_no_tasks(request: &Request) -> bool {
    request.tasks.is_none() && request.tasks_per_node.is_none()
}

fn allocation(state: &JobState) -> Option<&Allocation> {
    match state {
        JobState::Pending { .. } => None,
        JobState::Running { allocation, .. } => Some(allocation),
        JobState::Ended { ran, .. } => ran.as_ref().map(|ran| &ran.allocation),
    }
}

/// `--gpus`, `--gpus-per-node` or `--gpus-per-task`, whichever was asked.
pub(super) fn asked_gpus(request: &Request) -> Option<&GpuCount> {
    request
        .gpus
        .as_ref()
        .or(request.gpus_per_node.as_ref())
        .or(request.rare.gpus_per_task.as_ref())
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
