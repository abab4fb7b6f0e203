//! `facts`: what the engine is and has.

use super::Owner;
use super::missing_groups::MissingGroups;
use super::why::out_of_use;
use crate::message::Peer;
use crate::store::Loss;
use api::{
    ClusterReport, EngineFacts, NodeFacts, NodeReport, PartitionFacts, UNTYPED_GPU, VERSION,
};
use cluster_file::{PreemptMode, PreemptType};
use model::{JobState, NodeName, NodeShare, Timestamp};
use std::collections::BTreeMap;

impl Owner {
    /// As they are shown to a user: some partitions are hidden from those who are no operators.
    pub(super) fn facts(&mut self, now: Timestamp, peer: Peer) -> EngineFacts {
        let missing = self.groups.missing(now);
        let report = self.cluster_report();
        let gpus = report.nodes.iter().flat_map(gpu_names).collect();
        let sum = |of: fn(&NodeReport) -> u32| {
            let each = report.nodes.iter().map(of);
            each.fold(0, u32::saturating_add)
        };
        let partition = report.partitions.iter().find(|one| one.is_default);
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        EngineFacts {
            version: VERSION.to_owned(),
            pid: std::process::id(),
            since: self.since,
            state: self.folder.root().to_owned(),
            cluster: self.cluster.name.clone(),
            is_pretended: report.is_pretended,
            nodes_have_disks: self.isolation.nodes_of(peer.uid).is_some(),
            partition: partition.map_or_else(String::new, |one| one.name.clone()),
            cpus: sum(|node| node.cpus),
            memory: report.nodes.iter().map(|node| node.memory).sum(),
            gpus,
            cpus_used: sum(|node| node.cpus_used),
            nodes: self.node_facts(&report),
            running: count(self.state.running_count()),
            pending: count(self.state.waiting_count()),
            limits: self.limits(&missing),
            out_of_use: self
                .state
                .nodes_out_of_use()
                .into_iter()
                .map(out_of_use)
                .collect(),
            cpus_held_elsewhere: self.cpus.held_elsewhere(),
            last_pass: Some(self.state.last_pass()).filter(|at| at.0 > 0),
            config: self.config(&missing),
            partitions: self.partition_facts(peer),
            srun_prolog: self.own_path(|it| &it.srun_prolog),
            srun_epilog: self.own_path(|it| &it.srun_epilog),
            losses: self
                .losses()
                .into_iter()
                .map(|loss| report_loss(&loss))
                .collect(),
        }
    }

    fn partition_facts(&self, peer: Peer) -> Vec<PartitionFacts> {
        let cluster = self.state.cluster();
        let policy = cluster.preemption();
        let preempts = policy.by != PreemptType::None && policy.mode != PreemptMode::Off;
        let hidden = self.hidden_partitions(peer).into_iter();
        let partitions = cluster.partitions().iter().zip(hidden);
        let facts = partitions.map(|(partition, is_hidden)| PartitionFacts {
            name: partition.name.clone(),
            memory: partition.defaults.memory,
            time: partition.limit_if_none(),
            preempted_after: (preempts && partition.preempt_mode != Some(PreemptMode::Off))
                .then_some(policy.exempt_time),
            cpus_per_gpu: partition.defaults.cpus_per_gpu,
            memory_per_gpu: partition.defaults.memory_per_gpu,
            max_memory_per_cpu: partition.defaults.max_memory_per_cpu,
            billing: partition.billing.clone(),
            sharing: partition.defaults.partition_sharing(),
            is_hidden,
        });
        facts.collect()
    }

    /// Its nodes; this machine's virtual ones too.
    fn node_facts(&self, report: &ClusterReport) -> Vec<NodeFacts> {
        let of_node = |node: &NodeReport| NodeFacts {
            name: node.name.clone(),
            is_virtual: false,
            cpus: node.cpus,
            memory: node.memory,
            gpus: gpu_names(node),
            cpus_used: node.cpus_used,
            memory_used: node.memory_used,
            gpus_used: node
                .gpus
                .iter()
                .map(|gpus| u32::try_from(gpus.used.len()).unwrap_or(u32::MAX))
                .sum(),
        };
        let nodes: Vec<NodeFacts> = report.nodes.iter().map(of_node).collect();
        let (false, [machine]) = (self.cluster.is_pretended(), nodes.as_slice()) else {
            return nodes;
        };
        let mut by_name: BTreeMap<&NodeName, Vec<&NodeShare>> = BTreeMap::new();
        for record in self.state.running() {
            if let JobState::Running { allocation, .. } = &record.state {
                for share in &allocation.nodes {
                    by_name.entry(&share.node).or_default().push(share);
                }
            }
        }
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let virtual_names = (1..=machine.cpus).map(|number| format!("{}-v{number}", machine.name));
        let names = std::iter::once(machine.name.clone()).chain(virtual_names.map(NodeName::from));
        let facts = names.map(|name| {
            let held = by_name.get(&name).map_or(&[][..], Vec::as_slice);
            NodeFacts {
                is_virtual: name != machine.name,
                cpus_used: count(held.iter().map(|share| share.cpus.len()).sum()),
                memory_used: held.iter().map(|share| share.memory).sum(),
                gpus_used: count(held.iter().map(|share| share.gpus.len()).sum()),
                name,
                ..machine.clone()
            }
        });
        facts.collect()
    }

    /// What this machine can't do.
    fn limits(&self, missing: &MissingGroups) -> Vec<String> {
        let mut limits = Vec::new();
        if self.cluster.is_pretended() {
            limits.push(
                "its nodes are pretended: their jobs share this machine's CPUs and memory and are \
                 not bound to CPUs, and their GPUs are numbers without a device"
                    .to_owned(),
            );
        } else if !self.cluster.has_gpus() {
            limits.push(format!("no GPUs: {}", self.gpus.none()));
        }
        for gpu in self.gpus.barred.all() {
            limits.push(format!(
                "GPU {gpu} is in use by another engine of this machine: jobs wait for it"
            ));
        }
        limits.extend(self.cpus.limits());
        if self.cluster.has_gpus() && !self.cluster.is_pretended() {
            let devices_known = !self.gpus.devices().is_empty();
            if let Some(version) = missing.device_version.filter(|_| devices_known) {
                limits.push(format!(
                    "GPUs that a job did not request are barred from it by control groups of {version}"
                ));
            }
            let why = match &missing.devices {
                None if !devices_known => {
                    Some("the driver does not tell which devices they are".to_owned())
                }
                None => None,
                Some(error) => Some(format!("no control group of devices can be made ({error})")),
            };
            limits.extend(why.map(|why| {
                format!(
                    "GPUs that a job did not request are hidden from it by CUDA_VISIBLE_DEVICES, not barred: {why}"
                )
            }));
        }
        let limited = if self.cluster.is_pretended() {
            "the memory of a job is limited where it requests some with --mem, or its cluster's file has a default"
        } else {
            "the memory of a job is limited where it requests some with --mem"
        };
        limits.push(match &missing.memory {
            None => limited.to_owned(),
            Some(error) => format!(
                "{limited}, by a look at its processes twice a second: no control group can be made ({error})"
            ),
        });
        if !self.cluster.is_pretended()
            && let Some(error) = &missing.cpus
        {
            limits.push(format!(
                "the processes of a job are bound to its CPUs by affinity alone, which they can change: no control group of CPUs can be made ({error})"
            ));
        }
        if let Some(error) = &missing.processes {
            limits.push(format!(
                "the number of a job's processes is limited by ulimit alone, which counts all processes of a user: no control group of processes can be made ({error})"
            ));
        }
        let shared = || "virtual nodes share this machine's disk and network".to_owned();
        limits.push(self.isolation.limit().unwrap_or_else(shared));
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

/// The type of each GPU of a node.
fn gpu_names(node: &NodeReport) -> Vec<String> {
    let names = node.gpus.iter().flat_map(|gpus| {
        let kind = gpus.kind.clone().unwrap_or_else(|| UNTYPED_GPU.to_owned());
        std::iter::repeat_n(kind, gpus.count as usize)
    });
    names.collect()
}

fn report_loss(loss: &Loss) -> String {
    format!(
        "{} (seen {})",
        loss.text,
        sys::local_time(loss.at.seconds())
    )
}
