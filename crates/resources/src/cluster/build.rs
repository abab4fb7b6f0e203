//! A cluster as its cluster file says it is.

use super::qos::{account, grace_time, qos_of, value};
use super::{Cluster, Counted, GpuKind, Lane, Most, NodeClass, PartId, Partition, UNBOUNDED};
use crate::NodeSet;
use crate::amounts::LANE_MAX;
use crate::demand::{CpuCap, Defaults};
use cluster_file::{
    ClusterFile, Mib, Named, Nodes, NodesState, PartitionNodes, PartitionState, Sourced,
};
use model::{
    BillingWeights, GresList, LicenceCount, MemoryRequest, NodeName, Seconds, Sockets,
    TimeLimitRequest, node_list,
};
use std::collections::HashMap;

/// Which values of a file count. What it doesn't say is enough for anything in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// All, assumed ones too: what the file says most likely is.
    All,
    /// Those that a document states. What is assumed is enough for anything, and where no document
    /// counts the nodes there are [`UNCOUNTED`] more: what even this cluster refuses is refused
    /// for sure.
    Stated,
}

/// So many more nodes has a group of nodes that no document counts, under [`Trust::Stated`].
pub const UNCOUNTED: u32 = 1 << 12;

impl Cluster {
    /// The cluster of a file.
    #[must_use]
    pub fn build(file: &ClusterFile, trust: Trust) -> Cluster {
        let mut cluster = Cluster {
            name: file.name.clone(),
            defaults: defaults(file, None),
            ..Cluster::default()
        };
        let mut groups: Vec<NodeSet> = Vec::new();
        let mut listed: HashMap<String, NodeSet> = HashMap::new();
        for nodes in &file.nodes {
            let class = cluster.intern(class(file, nodes, trust));
            let names = file.names_of(nodes);
            let mut own: NodeSet = names
                .into_iter()
                .map(|name| cluster.add_node(name, class))
                .collect();
            let uncounted =
                nodes.count.is_none() && nodes.names.as_ref().is_none_or(Sourced::is_assumed);
            if uncounted && trust == Trust::Stated {
                own.add(&cluster.add_unnamed(&nodes.name, class, UNCOUNTED));
            }
            for feature in nodes.features.iter().flat_map(|features| features.iter()) {
                cluster
                    .features
                    .entry(feature.clone())
                    .or_default()
                    .add(&own);
            }
            match value(&nodes.state) {
                Some(NodesState::Future) => cluster.future.add(&own),
                Some(NodesState::Cloud) => cluster.cloud.add(&own),
                None => {}
            }
            groups.push(own);
        }
        if trust == Trust::Stated {
            cluster.believe_features(file, &groups);
        }
        cluster.take_accounts(file);
        let licences = file.licences.iter().map(|licence| LicenceCount {
            name: licence.name.clone(),
            count: value(&licence.count).unwrap_or(1),
        });
        cluster.licences = licences.collect();
        cluster.take_switches(file);
        cluster.priority = super::PriorityPolicy::of(file);
        cluster.preemption = super::PreemptPolicy::of(file);
        cluster.queue_rules = super::QueueRules::of(file);
        cluster.over_time = value(&file.scheduling.over_time_limit).unwrap_or(Seconds(0));
        cluster.requeue_delay = value(&file.scheduling.requeue_delay).unwrap_or(Seconds(0));
        let enforced = file.limits.enforce.as_ref();
        cluster.needs_accounts = enforced.is_none_or(|words| !words.value.is_empty());
        cluster.is_safe = enforced.is_some_and(|words| {
            let mut words = words.value.iter();
            words.any(|word| word == "safe" || word == "all")
        });
        // A type that is only assumed may be another one.
        cluster.one_gpu_type =
            trust == Trust::All && value(&file.limits.one_gpu_type).unwrap_or(false);
        cluster.most = Most {
            jobs: value(&file.limits.max_jobs),
            steps: value(&file.limits.max_steps),
            tasks_of_node: value(&file.limits.max_tasks_per_node),
        };
        cluster.of_users = Counted {
            jobs: value(&file.limits.max_jobs_per_user),
            submitted: value(&file.limits.max_submit_per_user),
            ..Counted::default()
        };
        for partition in &file.partitions {
            let mut nodes = match partition.nodes.as_ref().map(|nodes| &nodes.value) {
                None => NodeSet::default(),
                Some(PartitionNodes::All) => NodeSet::first(cluster.node_count()),
                Some(PartitionNodes::Groups(names)) => {
                    let mut all = NodeSet::default();
                    for name in names {
                        let group = file.nodes.iter().position(|nodes| nodes.name == *name);
                        group.into_iter().for_each(|group| all.add(&groups[group]));
                    }
                    all
                }
                Some(PartitionNodes::List(list)) => listed
                    .entry(list.clone())
                    .or_insert_with(|| cluster.listed(list))
                    .clone(),
            };
            if trust == Trust::Stated {
                cluster.add_spare(partition, &mut nodes, file, &groups);
            }
            let id = PartId(u16::try_from(cluster.partitions.len()).unwrap_or(u16::MAX));
            let partition = cluster.partition_of(file, partition, id, nodes);
            cluster.partitions.push(partition);
        }
        cluster.find_limits();
        cluster
    }

    /// The same nodes and partitions with the QOS, accounts and users of a file.
    #[must_use]
    pub fn with_accounts_of(&self, file: &ClusterFile) -> Cluster {
        let mut cluster = self.clone();
        cluster.take_accounts(file);
        cluster.find_limits();
        cluster
    }

    fn take_accounts(&mut self, file: &ClusterFile) {
        self.qos = file.qos.iter().map(|qos| qos_of(file, qos)).collect();
        super::preemption::without_cycles(&mut self.qos);
        self.accounts = file.accounts.iter().map(|one| account(file, one)).collect();
        (self.associations, self.of_user) = super::association::associations(file);
    }

    /// So many nodes of a class, which can't be asked for by name.
    pub(crate) fn add_kind(&mut self, class: NodeClass, count: u32) {
        let class = self.intern(class);
        self.add_unnamed("", class, count);
    }

    /// Nodes of a class that have no name of their own: none of them can be asked for by name.
    fn add_unnamed(&mut self, group: &str, class: super::ClassId, count: u32) -> NodeSet {
        let first = self.node_count();
        let name = NodeName::new(group);
        self.names.extend((0..count).map(|_| name.clone()));
        self.class_of.extend((0..count).map(|_| class));
        (first..first + count).map(super::NodeId).collect()
    }

    /// A partition that is said to have more nodes than its list names has as many more, of each
    /// of its classes.
    fn add_spare(
        &mut self,
        partition: &Named<cluster_file::Partition>,
        nodes: &mut NodeSet,
        file: &ClusterFile,
        groups: &[NodeSet],
    ) {
        let said = partition.total_nodes.as_ref();
        let said = said.and_then(|said| said.all().max()).copied().unwrap_or(0);
        let spare = said.saturating_sub(nodes.len()).min(UNCOUNTED);
        let open = |group: &NodeSet| {
            let mut own = group.clone();
            own.keep(nodes);
            !own.is_empty()
        };
        let of_it: Vec<usize> = (0..groups.len()).filter(|at| open(&groups[*at])).collect();
        for group in of_it.into_iter().filter(|_| spare > 0) {
            let of_group = &file.nodes[group];
            let Some(class) = groups[group].iter().next().map(|node| self.class_id(node)) else {
                continue;
            };
            let more = self.add_unnamed(&of_group.name, class, spare);
            for feature in of_group
                .features
                .iter()
                .flat_map(|features| features.iter())
            {
                self.features.entry(feature.clone()).or_default().add(&more);
            }
            nodes.add(&more);
        }
    }

    /// Nodes whose features are assumed may have every feature that there is.
    fn believe_features(&mut self, file: &ClusterFile, groups: &[NodeSet]) {
        for (nodes, own) in file.nodes.iter().zip(groups) {
            let is_assumed = nodes.features.as_ref().is_some_and(Sourced::is_assumed);
            if is_assumed {
                self.features.values_mut().for_each(|set| set.add(own));
            }
        }
    }

    /// Those nodes of a list that there are.
    pub(super) fn listed(&self, list: &str) -> NodeSet {
        let names = node_list::expand(list).unwrap_or_default();
        let known = names.iter().filter_map(|name| self.by_name.get(name));
        known.copied().collect()
    }

    fn partition_of(
        &self,
        file: &ClusterFile,
        partition: &Named<cluster_file::Partition>,
        id: PartId,
        nodes: NodeSet,
    ) -> Partition {
        let max_time = value(&partition.max_time).and_then(TimeLimitRequest::seconds);
        let most = value(&partition.max_cpus_per_node);
        let first_node = nodes.iter().next().map(|node| self.class(node).total);
        let first_node =
            first_node.filter(|total| total.cpus != UNBOUNDED && total.mem_mib != UNBOUNDED);
        let defaults = Defaults {
            cpu_cap: most.map(|most| CpuCap {
                partition: id,
                most,
            }),
            first_node: first_node.map(|total| (total.cpus, total.mem_mib)),
            ..defaults(file, Some(partition))
        };
        Partition {
            name: partition.name.clone(),
            is_default: value(&partition.default).unwrap_or(false),
            access: super::PartitionAccess::of(file, partition),
            alternate: partition.alternate.as_ref().map(|own| own.value.clone()),
            over_time: value(&partition.over_time_limit),
            nodes,
            state: value(&partition.state).unwrap_or(PartitionState::Up),
            max_time,
            cuts_at_max_time: value(&file.limits.cut_at_max_time).unwrap_or(false),
            default_time: value(&partition.default_time),
            least_loaded: value(&partition.least_loaded).unwrap_or(false),
            min_nodes: value(&partition.min_nodes).unwrap_or(0),
            max_nodes: value(&partition.max_nodes),
            tier: value(&partition.priority_tier).unwrap_or(1),
            factor: value(&partition.priority_factor).unwrap_or(1),
            defaults,
            qos: partition.qos.as_ref().and_then(|qos| self.find_qos(qos)),
            preempt_mode: value(&partition.preempt_mode),
            grace_time: grace_time(file, &partition.grace_time),
            billing: partition.billing_weights.as_ref().map_or_else(
                BillingWeights::default,
                |text| {
                    let takes_largest = super::PriorityPolicy::of(file).has_flag("MAX_TRES");
                    BillingWeights::parse(&text.value, takes_largest)
                },
            ),
        }
    }
}

/// CPUs that are given together: those of a core, where cores are what is given out.
fn core_cpus(file: &ClusterFile, sockets: Option<Sockets>, cpus: u32) -> u32 {
    let select = file.scheduling.select.as_ref();
    let gives_cores = select.is_some_and(|select| {
        let words = select.to_ascii_lowercase();
        words.contains("cr_core") || words.contains("cr_socket")
    });
    let threads = sockets.filter(|there| {
        // A node that counts its cores alone as CPUs gives those.
        gives_cores && there.sockets * there.cores * there.threads == cpus
    });
    threads.map_or(1, |there| there.threads.max(1))
}

fn class(file: &ClusterFile, nodes: &Nodes, trust: Trust) -> NodeClass {
    let cpus = stated(&nodes.cpus, trust).unwrap_or(UNBOUNDED);
    let reserved = value(&nodes.reserved_memory).map_or(0, |mib| mib.0);
    let memory = stated(&nodes.memory, trust).map(|mib| mib.0.saturating_sub(reserved));
    let memory = memory.and_then(|mib| u32::try_from(mib).ok());
    let sockets = sockets(nodes, trust);
    let mut class = NodeClass {
        sockets,
        core_cpus: core_cpus(file, sockets, cpus),
        tmp_mib: stated(&nodes.tmp_disk, trust).map(|mib| mib.0),
        weight: value(&nodes.weight).unwrap_or(1),
        ..NodeClass::plain(cpus, memory.unwrap_or(UNBOUNDED))
    };
    for gpu in &nodes.gpus {
        let count = match (&gpu.count, stated(&gpu.count, trust)) {
            (_, Some(count)) => u16::try_from(count).unwrap_or(LANE_MAX).min(LANE_MAX),
            (None, None) => 1,
            (Some(_), None) => LANE_MAX,
        };
        let kind = match (&gpu.kind, trust) {
            (Some(kind), Trust::Stated) if kind.is_assumed() => GpuKind::OneOf(Vec::new()),
            (Some(kind), _) => GpuKind::Type(kind.value.clone()),
            (None, Trust::All) => GpuKind::None,
            // A document that asks without a type need not mean that there is none.
            (None, Trust::Stated) => {
                let names = [&gpu.model, &gpu.feature].into_iter().flatten();
                let names: Vec<String> = names.map(|name| name.value.clone()).collect();
                if names.is_empty() {
                    GpuKind::None
                } else {
                    GpuKind::OneOf(names)
                }
            }
        };
        class.add_gpus(kind, count, None, value(&gpu.memory).map(|mib| mib.0));
        if let Some(sockets) = &gpu.sockets {
            class.put_gpus_at(&sockets.value.0);
        }
    }
    let others = nodes.gres.iter().flat_map(|gres| gres.iter());
    let lists = others.filter_map(|text| GresList::of_gres(text)?.items().ok());
    for item in lists.flatten().filter(|item| item.name != "gpu") {
        let count =
            if nodes.gres.as_ref().is_some_and(Sourced::is_assumed) && trust == Trust::Stated {
                u64::from(LANE_MAX)
            } else {
                item.count
            };
        class.add_lane(Lane::new(&item.name, item.kind.as_deref(), count), count);
    }
    class
}

/// An amount that counts; none is enough for anything.
fn stated<T: Copy>(value: &Option<Sourced<T>>, trust: Trust) -> Option<T> {
    let value = value.as_ref()?;
    (trust == Trust::All || !value.is_assumed()).then_some(value.value)
}

fn sockets(nodes: &Nodes, trust: Trust) -> Option<Sockets> {
    let sockets = stated(&nodes.sockets, trust)?;
    let cores = stated(&nodes.cores_per_socket, trust)?;
    Some(Sockets {
        sockets,
        cores,
        threads: stated(&nodes.threads_per_core, trust).unwrap_or(1),
    })
}

/// What jobs get that do not ask for it: of the partition, else of the cluster.
fn defaults(file: &ClusterFile, partition: Option<&Named<cluster_file::Partition>>) -> Defaults {
    // 0 is no limit, and no default.
    let mib = |value: &Option<Sourced<Mib>>| {
        let size = value.as_ref().map(|value| value.value.0);
        size.filter(|size| *size > 0)
    };
    let of = |own: fn(&cluster_file::Partition) -> Option<u64>| partition.and_then(|it| own(it));
    let per_cpu = |size: u64| MemoryRequest::PerCpu(size);
    let limits = &file.limits;
    let own = partition.and_then(|it| {
        let each = mib(&it.default_memory_per_cpu).map(per_cpu);
        each.or(mib(&it.default_memory_per_node).map(MemoryRequest::PerNode))
    });
    let whole = mib(&limits.default_memory_per_cpu).map(per_cpu);
    let whole = whole.or(mib(&limits.default_memory_per_node).map(MemoryRequest::PerNode));
    let flag = |own: fn(&cluster_file::Partition) -> &Option<Sourced<bool>>| {
        partition.is_some_and(|it| value(own(it)).unwrap_or(false))
    };
    let own_max = partition.map(|it| (mib(&it.max_memory_per_node), mib(&it.max_memory_per_cpu)));
    let all_max = (
        mib(&limits.max_memory_per_node),
        mib(&limits.max_memory_per_cpu),
    );
    let own_max = own_max.filter(|(node, cpu)| node.is_some() || cpu.is_some());
    // One of the two holds, and that of the partition before that of the cluster.
    let (max_memory_per_node, max_per_cpu) = own_max.unwrap_or(all_max);
    let max_memory_per_cpu = max_per_cpu.filter(|_| max_memory_per_node.is_none());
    let select = file.scheduling.select.as_ref();
    Defaults {
        memory: own.or(whole),
        memory_per_gpu: of(|it| it.default_memory_per_gpu.as_ref().map(|mib| mib.value.0)),
        cpus_per_gpu: partition.and_then(|it| value(&it.default_cpus_per_gpu)),
        max_memory_per_cpu,
        max_memory_per_node,
        first_node: None,
        cpu_cap: None,
        whole_nodes: flag(|it| &it.exclusive),
        one_user: flag(|it| &it.exclusive_user),
        layers: partition.and_then(|it| layers(it.oversubscribe.as_ref()?)),
        counts_memory: select.is_some_and(|select| select.to_ascii_lowercase().contains("memory")),
    }
}

/// `YES:4` and `FORCE:4`: so many jobs on a CPU, and whether those too that don't ask for it.
fn layers(text: &str) -> Option<crate::demand::Layers> {
    let (word, count) = text.split_once(':').unwrap_or((text, "4"));
    let is_forced = word.eq_ignore_ascii_case("FORCE");
    let is_known = is_forced || word.eq_ignore_ascii_case("YES");
    let is_enough = |jobs: &u32| *jobs > 1 || (is_forced && *jobs == 1);
    let jobs = count.parse().ok().filter(is_enough)?;
    is_known.then_some(crate::demand::Layers { jobs, is_forced })
}
