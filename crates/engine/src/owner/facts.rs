//! `facts`: what the engine is and has.

use super::Owner;
use super::launch::CLUSTER;
use crate::store::Loss;
use api::{EngineFacts, NodeFacts, VERSION};
use model::{JobState, NodeName, NodeShare};

impl Owner {
    pub(super) fn facts(&self) -> EngineFacts {
        let machine = self.state.machine();
        let kinds: Vec<String> = machine.gpus.iter().map(|gpu| gpu.name.clone()).collect();
        let names = (1..=machine.most_nodes()).map(|number| machine.virtual_node(number));
        let mut nodes: Vec<NodeFacts> = std::iter::once(machine.host.clone())
            .chain(names)
            .map(|name| self.node_facts(name))
            .collect();
        nodes[0].is_virtual = false;
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        EngineFacts {
            version: VERSION.to_owned(),
            pid: std::process::id(),
            since: self.since,
            state: self.folder.root().to_owned(),
            cluster: CLUSTER.to_owned(),
            nodes,
            cpus: machine.most_nodes(),
            memory: machine.memory,
            gpus: kinds,
            cpus_used: machine.most_nodes()
                - u32::try_from(self.state.cpus_free()).unwrap_or_default(),
            running: count(self.state.running_count()),
            pending: count(self.state.waiting_count()),
            limits: self.limits(),
            losses: self
                .losses()
                .into_iter()
                .map(|loss| report(&loss))
                .collect(),
        }
    }

    fn node_facts(&self, name: NodeName) -> NodeFacts {
        let machine = self.state.machine();
        let held = self
            .state
            .running()
            .filter_map(|record| match &record.state {
                JobState::Running { allocation, .. } => Some(&allocation.nodes),
                JobState::Pending { .. } | JobState::Ended { .. } => None,
            });
        let held: Vec<&NodeShare> = held.flatten().filter(|share| share.node == name).collect();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        NodeFacts {
            is_virtual: true,
            cpus: machine.most_nodes(),
            memory: machine.memory,
            gpus: machine.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
            cpus_used: count(held.iter().map(|share| share.cpus.len()).sum()),
            memory_used: held.iter().map(|share| share.memory).sum(),
            gpus_used: count(held.iter().map(|share| share.gpus.len()).sum()),
            name,
        }
    }

    /// What this machine can't do.
    fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if self.state.machine().gpus.is_empty() {
            limits.push(format!("no GPUs: {}", self.gpus.none()));
        }
        for gpu in self.gpus.barred() {
            limits.push(format!(
                "GPU {gpu} is in use by another engine of this machine: jobs wait for it"
            ));
        }
        limits.extend(self.gpus.passed_over().iter().cloned());
        limits.push(
            "memory is allocated to jobs, but a job that uses more than it requested is not stopped"
                .to_owned(),
        );
        limits.push("virtual nodes share this machine's disk and network".to_owned());
        limits
    }

    fn losses(&self) -> Vec<Loss> {
        self.store.losses().unwrap_or_else(|error| {
            tracing::warn!("{error}");
            Vec::new()
        })
    }

    /// What no client has shown its user yet of what was lost.
    pub(crate) fn notice(&self) -> Option<String> {
        let losses = self.losses().into_iter();
        let new: Vec<String> = losses
            .filter(|loss| !loss.shown)
            .map(|loss| loss.text)
            .collect();
        (!new.is_empty()).then(|| new.join("; "))
    }
}

fn report(loss: &Loss) -> String {
    format!(
        "{} (seen {})",
        loss.text,
        sys::local_time(loss.at.seconds())
    )
}
