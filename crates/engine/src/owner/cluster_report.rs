//! `cluster`: nodes, partitions and their use.

use super::Owner;
use super::rights::is_operator;
use crate::message::Peer;
use api::{ClusterReport, LicenceReport, NodeReason, NodeReport, PartitionReport, SwitchReport};
use cluster_file::{PreemptMode, PreemptType};
use model::{
    Denial, GpuIndex, JobState, LicenceCount, MemoryRequest, NodeGpus, NodeGres, NodeMark,
    NodeName, NodeShare, NodeState, NodeUse, Reservation, ReservationFlag, Settings, Sockets,
    TimeLimitRequest, Timestamp,
};
use resources::{Cluster, Lane, NodeClass, NodeId, Partition, Switch, UNBOUNDED};
use std::collections::{BTreeSet, HashMap};

/// What jobs hold of a node.
#[derive(Clone, Debug, Default)]
struct Held {
    cpus: u32,
    memory: u64,
    gpus: BTreeSet<GpuIndex>,
    jobs: u32,
}

impl Owner {
    pub(super) fn cluster_report(&self) -> ClusterReport {
        let cluster = self.state.cluster();
        let held = self.held_by_node();
        let features = self.features_by_node();
        let features = |node| {
            features
                .get(cluster.node_name(node))
                .map_or(&[][..], |it| it)
        };
        let nodes = cluster.nodes().zip(&held);
        ClusterReport {
            name: self.cluster.name.clone(),
            nodes: nodes
                .map(|(node, held)| self.node_report(node, held, features(node)))
                .collect(),
            partitions: cluster
                .partitions()
                .iter()
                .map(|partition| self.partition_report(partition))
                .collect(),
            licences: self.licence_reports(),
            switches: self.switch_reports(),
            reservations: self.reservations_as_made(),
            since: self.since,
            is_pretended: self.cluster.is_pretended(),
        }
    }

    /// The same as it is shown to a user: some partitions are hidden from those who are no operators.
    pub(super) fn cluster_report_for(&self, peer: Peer) -> ClusterReport {
        let mut report = self.cluster_report();
        let hidden = self.hidden_partitions(peer);
        for (report, is_hidden) in report.partitions.iter_mut().zip(hidden) {
            report.is_hidden = is_hidden;
        }
        report
    }

    /// Of each partition whether it is hidden from a user.
    pub(super) fn hidden_partitions(&self, peer: Peer) -> Vec<bool> {
        let partitions = self.state.cluster().partitions().iter();
        if is_operator(peer.uid, sys::process::user()) {
            return partitions.map(|_| false).collect();
        }
        let (user, group) = (self.users.user(peer.uid), self.users.group(peer.gid));
        let is_hidden = |partition: &Partition| {
            let denial = partition.access.keeps_out(&user, &group, "", false);
            let file = self.cluster.file.as_ref();
            let own = file.and_then(|file| file.partition(&partition.name));
            let says_hidden = own.and_then(|own| own.hidden.as_ref());
            says_hidden.is_some_and(|hidden| hidden.value) || denial == Some(Denial::Group)
        };
        partitions.map(is_hidden).collect()
    }

    /// In the order in which they were made.
    fn reservations_as_made(&self) -> Vec<Reservation> {
        let now = Timestamp(sys::now());
        let mut all: Vec<Reservation> = self.state.reservations().cloned().collect();
        all.iter_mut().for_each(|one| one.float(now));
        all.sort_by_key(|one| one.number);
        all
    }

    fn licence_reports(&self) -> Vec<LicenceReport> {
        let all = self.state.cluster().licences().iter();
        let now = Timestamp(sys::now());
        let active = || self.state.reservations().filter(|one| one.is_active(now));
        let report = |licence: &LicenceCount| LicenceReport {
            name: licence.name.clone(),
            total: licence.count,
            used: self.state.licences_held(&licence.name),
            reserved: active().fold(0, |sum, one| {
                sum.saturating_add(one.licences(&licence.name))
            }),
        };
        all.map(report).collect()
    }

    fn switch_reports(&self) -> Vec<SwitchReport> {
        let cluster = self.state.cluster();
        let report = |switch: &Switch| SwitchReport {
            name: switch.name.clone(),
            level: switch.level,
            link_speed: switch.link_speed,
            nodes: switch
                .nodes
                .iter()
                .map(|node| cluster.node_name(node).clone())
                .collect(),
            below: switch.below.clone(),
        };
        cluster.switches().iter().map(report).collect()
    }

    /// What jobs hold of each node, by its number.
    fn held_by_node(&self) -> Vec<Held> {
        let cluster = self.state.cluster();
        let mut held = vec![Held::default(); cluster.node_count() as usize];
        for record in self.state.running() {
            let JobState::Running { allocation, .. } = &record.state else {
                continue;
            };
            let mut former = None;
            for share in &allocation.nodes {
                let Some(node) = cluster.node(&share.node) else {
                    continue;
                };
                let of_node = &mut held[node.0 as usize];
                let cpus = of_node.cpus;
                add(of_node, share);
                if record.state.is_suspended() {
                    of_node.cpus = cpus;
                }
                // Several virtual nodes are one.
                of_node.jobs += u32::from(former != Some(node));
                former = Some(node);
            }
        }
        held
    }

    /// Features of nodes in the order in which the cluster file names them.
    fn features_by_node(&self) -> HashMap<NodeName, Vec<String>> {
        let mut found: HashMap<NodeName, Vec<String>> = HashMap::new();
        let Some(file) = &self.cluster.file else {
            return found;
        };
        for nodes in &file.nodes {
            let Some(features) = &nodes.features else {
                continue;
            };
            for name in file.names_of(nodes) {
                found.insert(name, features.value.clone());
            }
        }
        found
    }

    fn partition_report(&self, partition: &Partition) -> PartitionReport {
        let mut report = partition_report(self.state.cluster(), partition);
        report.preempt_mode = self.preempt_mode(partition);
        // A default of the whole cluster is none of the partition's.
        let file = self.cluster.file.as_ref();
        if let Some(own) = file.and_then(|file| file.partition(&partition.name))
            && own
                .default_memory_per_cpu
                .as_ref()
                .is_none_or(|mib| mib.value.0 == 0)
            && own.default_memory_per_node.is_none()
        {
            report.default_memory_per_cpu = None;
            report.default_memory_per_node = None;
        }
        if let Some(own) = file.and_then(|file| file.partition(&partition.name)) {
            report.settings = own.settings();
        }
        report
    }

    /// The partition's own mode, else the cluster's where anything there preempts.
    fn preempt_mode(&self, partition: &Partition) -> String {
        let file = self.cluster.file.as_ref();
        let preemption = file.map(|file| &file.preemption);
        let kind = preemption
            .and_then(|it| it.kind.as_ref())
            .map(|kind| kind.value);
        if matches!(kind, None | Some(PreemptType::None)) {
            return PreemptMode::Off.word().to_owned();
        }
        let whole = preemption
            .and_then(|it| it.mode.as_ref())
            .map(|mode| mode.value);
        let mode = partition.preempt_mode.or(whole).unwrap_or(PreemptMode::Off);
        mode.word().to_owned()
    }

    fn node_report(&self, node: NodeId, held: &Held, features: &[String]) -> NodeReport {
        let cluster = self.state.cluster();
        let (class, name) = (cluster.class(node), cluster.node_name(node));
        let mark = self.state.mark(name);
        let now = Timestamp(sys::now());
        let mut reserved = self.state.reservations_of(name, now).peekable();
        let is_reserved = reserved.peek().is_some();
        let is_maintained = reserved.any(|one| one.is(ReservationFlag::Maint));
        let cpus = class.total.cpus;
        NodeReport {
            name: name.clone(),
            state: NodeState {
                usage: match held.cpus {
                    0 => NodeUse::Idle,
                    used if used >= cpus => NodeUse::Allocated,
                    _ => NodeUse::Mixed,
                },
                is_down: mark.is_some_and(|mark| mark.is_down),
                is_drained: mark.is_some_and(|mark| mark.is_drained),
                is_failing: mark.is_some_and(|mark| mark.is_failing),
                is_lost: mark.is_some_and(|mark| mark.is_lost),
                is_future: cluster.future_nodes().contains(node),
                is_cloud: cluster.cloud_nodes().contains(node),
                is_dynamic: self.cluster.changes.made.contains_key(name),
                is_reserved,
                is_maintained,
                is_planned: held.cpus == 0
                    && mark.is_none_or(NodeMark::takes_jobs)
                    && self.state.planned_nodes().contains(node),
            },
            reason: mark.map(|mark| NodeReason {
                text: mark.reason.clone(),
                user: mark.user.clone(),
                at: mark.at,
            }),
            cpus,
            cpus_used: held.cpus,
            memory: match class.total.mem_mib {
                UNBOUNDED => 1,
                there => there.into(),
            },
            memory_used: held.memory,
            sockets: self
                .sockets_of(class)
                .map(|there| [there.sockets, there.cores, there.threads]),
            tmp_disk: class.tmp_mib,
            weight: class.weight,
            features: match self.cluster.changes.nodes.get(name) {
                Some(changed) if changed.contains_key("features") => self.available_features(name),
                _ => features.to_vec(),
            },
            active_features: features.to_vec(),
            said: self
                .cluster
                .changes
                .nodes
                .get(name)
                .map_or_else(Settings::new, |changed| {
                    let said = [
                        "comment",
                        "extra",
                        "cpubind",
                        "nodeaddr",
                        "nodehostname",
                        "gres",
                    ]
                    .into_iter();
                    let said =
                        said.filter_map(|key| Some((key.to_owned(), changed.get(key)?.clone())));
                    said.filter(|(key, text)| key == "gres" || !text.is_empty())
                        .collect()
                }),
            gpus: gpus(class, held),
            gres: self.gres(node, class),
            jobs: held.jobs,
            last_busy: match held.jobs {
                0 => self.last_busy.get(name).copied().unwrap_or(self.since),
                _ => now,
            },
        }
    }

    /// Sockets, cores and threads as they are said of a pretended node, and as they are of this machine.
    fn sockets_of(&self, class: &NodeClass) -> Option<Sockets> {
        if self.cluster.is_pretended() {
            class.sockets
        } else {
            Some(self.cluster.layout_of(Some(class), &[]).sockets())
        }
    }

    fn gres(&self, node: NodeId, class: &NodeClass) -> Vec<NodeGres> {
        let free = self.state.free().amounts(node);
        let lanes = class.lanes.iter().enumerate();
        let lanes = lanes.filter_map(|(lane, what)| Some((lane, what.as_ref()?)));
        let others = lanes.filter(|(_, what): &(usize, &Lane)| what.name != "gpu");
        let gres = others.map(|(lane, what)| {
            let total = class.total.lane(lane);
            let used = total.saturating_sub(free.lane(lane));
            NodeGres {
                name: what.name.clone(),
                kind: what.kind.clone(),
                count: u64::from(total) << what.shift,
                used: u64::from(used) << what.shift,
            }
        });
        gres.collect()
    }
}

fn add(held: &mut Held, share: &NodeShare) {
    held.cpus += u32::try_from(share.cpus.len()).unwrap_or(u32::MAX);
    held.memory += share.memory;
    held.gpus.extend(share.gpus.iter().copied());
}

fn gpus(class: &NodeClass, held: &Held) -> Vec<NodeGpus> {
    let group = class.gpus.iter().map(|group| {
        let is_in = |gpu: &GpuIndex| *gpu < 64 && group.indices & (1 << gpu) != 0;
        NodeGpus {
            kind: group.kind.name().map(str::to_owned),
            count: group.count.into(),
            sockets: (0..)
                .zip(&group.at_sockets)
                .filter_map(|(socket, gpus)| (*gpus != 0).then_some(socket))
                .collect(),
            used: held.gpus.iter().copied().filter(is_in).collect(),
        }
    });
    group.collect()
}

fn partition_report(cluster: &Cluster, partition: &Partition) -> PartitionReport {
    let defaults = &partition.defaults;
    let nodes = partition.nodes.iter();
    let (per_cpu, per_node) = match defaults.memory {
        Some(MemoryRequest::PerCpu(mib)) => (Some(mib), None),
        Some(MemoryRequest::PerNode(mib)) => (None, Some(mib)),
        Some(MemoryRequest::PerGpu(_)) | None => (None, None),
    };
    PartitionReport {
        name: partition.name.clone(),
        is_default: partition.is_default,
        state: partition.state.word().to_owned(),
        nodes: nodes.map(|node| cluster.node_name(node).clone()).collect(),
        max_time: partition.max_time,
        default_time: partition.default_time.and_then(TimeLimitRequest::seconds),
        min_nodes: partition.min_nodes,
        max_nodes: partition.max_nodes,
        tier: partition.tier,
        factor: partition.factor,
        billing: partition.billing.clone(),
        max_cpus_per_node: defaults.cpu_cap.map(|cap| cap.most),
        default_memory_per_cpu: per_cpu,
        default_memory_per_node: per_node,
        max_memory_per_cpu: defaults.max_memory_per_cpu,
        whole_nodes: defaults.whole_nodes,
        one_user: defaults.one_user,
        layers: defaults
            .layers
            .map(|layers| (layers.jobs, layers.is_forced)),
        preempt_mode: String::new(),
        is_hidden: false,
        settings: Settings::new(),
        qos: partition
            .qos
            .map(|qos| cluster.qos()[usize::from(qos.0)].name.clone()),
        grace_time: partition.grace_time,
    }
}
