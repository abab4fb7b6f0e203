//! What there is: the nodes of a cluster in classes, and the rules by which they are given.

mod access;
mod association;
mod build;
mod changed;
mod merge;
mod node;
mod partition;
mod preemption;
mod priority;
mod qos;
mod queue_rules;
mod single;
mod topology;

pub use access::{NotPermitted, PartitionAccess};
pub use association::{Association, Shares};
pub use build::Trust;
pub use changed::changed;
pub use merge::{Difference, Merged, merge};
pub use node::{ClassId, GpuGroup, GpuKind, Lane, NodeClass, NodeId, UNBOUNDED};
pub use partition::{Account, AccountId, Counted, Limits, PartId, Partition, Qos, QosId};
pub use preemption::PreemptPolicy;
pub use priority::PriorityPolicy;
pub use queue_rules::QueueRules;
pub use single::SingleNode;
pub use topology::Switch;

use crate::NodeSet;
use crate::demand::{Defaults, Demand};
use cluster_file::PartitionState;
use model::{LicenceCount, NodeName, Seconds};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A cluster. It never changes: a change is a new one.
///
/// Nodes have dense numbers in the order in which they are named, so that what is known of each is
/// an array, and sets of them are bits.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    classes: Vec<NodeClass>,
    class_of: Vec<ClassId>,
    names: Vec<NodeName>,
    by_name: HashMap<NodeName, NodeId>,
    features: BTreeMap<String, NodeSet>,
    future: NodeSet,
    cloud: NodeSet,
    partitions: Vec<Partition>,
    qos: Vec<Qos>,
    accounts: Vec<Account>,
    associations: Vec<Association>,
    /// Where in them those of a user are.
    of_user: HashMap<String, Range<usize>>,
    licences: Vec<LicenceCount>,
    switches: Vec<Switch>,
    priority: PriorityPolicy,
    preemption: PreemptPolicy,
    queue_rules: QueueRules,
    /// How long a job that is queued again waits at least.
    requeue_delay: Seconds,
    /// How much longer than its limit a job may run where its partition doesn't say it.
    over_time: Seconds,
    /// Limits on each user.
    of_users: Counted,
    has_limits: bool,
    limited_tres: Vec<String>,
    budgeted_tres: Vec<String>,
    has_budgeted_time: bool,
    limits_accrual: bool,
    limits_shared_nodes: bool,
    is_safe: bool,
    needs_accounts: bool,
    /// All GPUs of a job have one type.
    one_gpu_type: bool,
    most: Most,
    /// What jobs get outside of partitions that do not ask for it.
    defaults: Defaults,
}

/// The most of what its engine takes; none is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// Jobs that wait and run are fewer, each element of an array counted (`MaxJobCount`).
    pub jobs: Option<u32>,
    /// Steps of a job, ended ones counted (`MaxStepCount`).
    pub steps: Option<u32>,
    /// Tasks of a step for each of its nodes (`MaxTasksPerNode`).
    pub tasks_of_node: Option<u32>,
}

impl Cluster {
    /// The most of what its engine takes.
    #[must_use]
    pub fn most(&self) -> Most {
        self.most
    }

    /// Whether all GPUs of a job have one type, though it names none.
    #[must_use]
    pub fn has_one_gpu_type(&self) -> bool {
        self.one_gpu_type
    }

    /// How many CPUs the nodes of a partition have together.
    #[must_use]
    pub fn cpus_of(&self, partition: PartId) -> u64 {
        let nodes = self.partition(partition).nodes.iter();
        nodes
            .map(|node| u64::from(self.class(node).total.cpus))
            .sum()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> u32 {
        u32::try_from(self.class_of.len()).unwrap_or(u32::MAX)
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.node_count()).map(NodeId)
    }

    /// What a node has.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn class(&self, node: NodeId) -> &NodeClass {
        &self.classes[self.class_id(node).0 as usize]
    }

    /// A node's class.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn class_id(&self, node: NodeId) -> ClassId {
        self.class_of[node.0 as usize]
    }

    /// Whether it is known of any node at which sockets its GPUs are.
    #[must_use]
    pub fn knows_gpu_sockets(&self) -> bool {
        self.classes.iter().any(NodeClass::knows_gpu_sockets)
    }

    /// All classes, by their ids.
    #[must_use]
    pub fn classes(&self) -> &[NodeClass] {
        &self.classes
    }

    /// A node's name.
    ///
    /// # Panics
    /// The node is another cluster's.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> &NodeName {
        &self.names[node.0 as usize]
    }

    /// Nodes that are not there yet: no job starts on them.
    #[must_use]
    pub fn future_nodes(&self) -> &NodeSet {
        &self.future
    }

    /// Nodes of a cloud: they are powered up when a job starts on them.
    #[must_use]
    pub fn cloud_nodes(&self) -> &NodeSet {
        &self.cloud
    }

    /// The node of that name. On a node that splits, its virtual ones are it.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<NodeId> {
        let found = self.by_name.get(name).copied();
        found.or_else(|| self.virtual_node(name).map(|(node, _)| node))
    }

    /// The name of a share of a job: the node's, or that of a virtual node where a node that splits
    /// carries several (`host-v1`, `host-v2`, …). `number` counts them from 1.
    #[must_use]
    pub fn virtual_name(&self, node: NodeId, number: u32) -> NodeName {
        NodeName::from(format!("{}-v{number}", self.node_name(node)))
    }

    /// The node that splits and the number of its virtual node that a name stands for: at most one
    /// a CPU.
    #[must_use]
    pub fn virtual_node(&self, name: &NodeName) -> Option<(NodeId, u32)> {
        let (host, number) = name.as_str().rsplit_once("-v")?;
        let node = *self.by_name.get(&NodeName::new(host))?;
        let class = self.class(node);
        let number: u32 = number.parse().ok()?;
        let is_one = class.splits && (1..=class.total.cpus).contains(&number);
        is_one.then_some((node, number))
    }

    /// The names of a job's shares on a node that splits: those that it asks for, then, of one share
    /// the node's own, of several those of its virtual nodes in order, but for excluded ones. None
    /// where fewer are left than `count`, or one is both asked for and excluded.
    #[must_use]
    pub fn split_names(&self, node: NodeId, demand: &Demand, count: u32) -> Option<Vec<NodeName>> {
        let mut names: Vec<NodeName> = Vec::new();
        for name in demand.required.iter() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let count = names.len().max(count as usize);
        // One node is the machine itself; several are virtual ones.
        let alone = (count == 1).then(|| self.node_name(node).clone());
        let most = if count == 1 {
            0
        } else {
            self.class(node).total.cpus
        };
        let virtual_ones = (1..=most).map(|number| self.virtual_name(node, number));
        for name in alone.into_iter().chain(virtual_ones) {
            if names.len() >= count {
                break;
            }
            if !names.contains(&name) && !demand.excluded.contains(&name) {
                names.push(name);
            }
        }
        let is_excluded = names.iter().any(|name| demand.excluded.contains(name));
        (names.len() == count && !is_excluded).then_some(names)
    }

    /// The nodes that have a feature; none where no node has it.
    #[must_use]
    pub fn with_feature(&self, feature: &str) -> Option<&NodeSet> {
        self.features.get(feature)
    }

    /// All features, in the order of their names.
    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.features.keys().map(String::as_str)
    }

    /// All partitions, by their ids.
    #[must_use]
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// A partition.
    ///
    /// # Panics
    /// The partition is another cluster's.
    #[must_use]
    pub fn partition(&self, partition: PartId) -> &Partition {
        &self.partitions[usize::from(partition.0)]
    }

    /// The partition of that name, letter by letter.
    #[must_use]
    pub fn find_partition(&self, name: &str) -> Option<PartId> {
        let found = self.partitions.iter().position(|one| one.name == name)?;
        u16::try_from(found).ok().map(PartId)
    }

    /// The partition of a job that names none.
    #[must_use]
    pub fn default_partition(&self) -> Option<PartId> {
        let found = self.partitions.iter().position(|one| one.is_default)?;
        u16::try_from(found).ok().map(PartId)
    }

    /// All QOS, by their ids.
    #[must_use]
    pub fn qos(&self) -> &[Qos] {
        &self.qos
    }

    /// The QOS of that name, in any case.
    #[must_use]
    pub fn find_qos(&self, name: &str) -> Option<QosId> {
        let is_it = |one: &Qos| one.name.eq_ignore_ascii_case(name);
        let found = self.qos.iter().position(is_it)?;
        u16::try_from(found).ok().map(QosId)
    }

    /// All accounts, by their ids.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The account of that name, in any case.
    #[must_use]
    pub fn find_account(&self, name: &str) -> Option<AccountId> {
        let is_it = |one: &Account| one.name.eq_ignore_ascii_case(name);
        let found = self.accounts.iter().position(is_it)?;
        u16::try_from(found).ok().map(AccountId)
    }

    /// Users in accounts, as the cluster file names them.
    #[must_use]
    pub fn associations(&self) -> &[Association] {
        &self.associations
    }

    /// Licences, as the cluster file names them.
    #[must_use]
    pub fn licences(&self) -> &[LicenceCount] {
        &self.licences
    }

    /// How many licences of a name there are; none where the cluster has no such name.
    #[must_use]
    pub fn licence(&self, name: &str) -> Option<u32> {
        let found = self.licences.iter().find(|licence| licence.name == name);
        found.map(|licence| licence.count)
    }

    /// What a job's priority is made of.
    #[must_use]
    pub fn priority(&self) -> &PriorityPolicy {
        &self.priority
    }

    /// Who may take another job's place.
    #[must_use]
    pub fn preemption(&self) -> &PreemptPolicy {
        &self.preemption
    }

    /// Rules for jobs that wait.
    #[must_use]
    pub fn queue_rules(&self) -> QueueRules {
        self.queue_rules
    }

    /// How long a job that is queued again waits at least.
    #[must_use]
    pub fn requeue_delay(&self) -> Seconds {
        self.requeue_delay
    }

    /// How much longer than its limit a job of a partition may run.
    #[must_use]
    pub fn over_time(&self, partition: Option<PartId>) -> Seconds {
        let own = partition.and_then(|partition| self.partition(partition).over_time);
        own.unwrap_or(self.over_time)
    }

    /// Partitions of a request, where some of them take no jobs and others take theirs (`Alternate`);
    /// none where nothing changes.
    #[must_use]
    pub fn alternates(&self, names: Option<&str>) -> Option<String> {
        let default = || Some(self.partition(self.default_partition()?).name.as_str());
        let names: Vec<&str> = names.or_else(default)?.split(',').collect();
        let taken = names
            .iter()
            .map(|name| self.alternate(name).unwrap_or(name));
        let taken: Vec<&str> = taken.collect();
        (taken != names).then(|| taken.join(","))
    }

    /// The partition that takes jobs in place of one; none where none does.
    fn alternate(&self, name: &str) -> Option<&str> {
        let mut at = self.partition(self.find_partition(name)?);
        // A chain that leads back to where it began ends.
        for _ in 0..=self.partitions.len() {
            if !matches!(at.state, PartitionState::Drain | PartitionState::Inactive) {
                return Some(at.name.as_str());
            }
            at = self.partition(self.find_partition(at.alternate.as_deref()?)?);
        }
        None
    }

    /// Takes the members of groups as the system knows them, for those users of whom its file says no
    /// groups.
    pub fn know_members(&mut self, members: impl Fn(&str) -> Vec<String>) {
        for partition in &mut self.partitions {
            partition.access.know_members(&members);
        }
    }

    /// What jobs of a partition get that do not ask for it; of the cluster where there is none.
    #[must_use]
    pub fn defaults(&self, partition: Option<PartId>) -> &Defaults {
        match partition {
            Some(partition) => &self.partition(partition).defaults,
            None => &self.defaults,
        }
    }

    /// The nodes of a partition, or all.
    #[must_use]
    pub fn nodes_of(&self, partition: Option<PartId>) -> NodeSet {
        match partition {
            Some(partition) => self.partition(partition).nodes.clone(),
            None => NodeSet::first(self.node_count()),
        }
    }

    /// Adds a node; one of a name that is there already is that one.
    fn add_node(&mut self, name: NodeName, class: ClassId) -> NodeId {
        let next = NodeId(self.node_count());
        let node = *self.by_name.entry(name.clone()).or_insert(next);
        if node == next {
            self.names.push(name);
            self.class_of.push(class);
        }
        node
    }

    /// The class of that content.
    fn intern(&mut self, class: NodeClass) -> ClassId {
        let known = self.classes.iter().position(|known| *known == class);
        let index = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        ClassId(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster_file::ClusterFile;

    #[test]
    fn another_partition_takes_the_jobs_of_one_that_takes_none() {
        let text = "[nodes.n]\ncpus = 1\n\
                    [partition.up]\nnodes = \"ALL\"\nalternate = \"down\"\n\
                    [partition.drained]\nnodes = \"ALL\"\nstate = \"drain\"\nalternate = \"off\"\ndefault = true\n\
                    [partition.off]\nnodes = \"ALL\"\nstate = \"inactive\"\nalternate = \"down\"\n\
                    [partition.down]\nnodes = \"ALL\"\nstate = \"down\"\nalternate = \"up\"\n\
                    [partition.one]\nnodes = \"ALL\"\nstate = \"drain\"\nalternate = \"other\"\n\
                    [partition.other]\nnodes = \"ALL\"\nstate = \"drain\"\nalternate = \"one\"\n";
        let file = ClusterFile::parse("lab", text).expect("it can be read");
        let cluster = Cluster::build(&file, Trust::All);
        let check = |names: Option<&str>, want: Option<&str>| {
            assert_eq!(cluster.alternates(names).as_deref(), want, "{names:?}");
        };
        check(Some("up"), None);
        check(Some("down"), None);
        check(Some("drained"), Some("down"));
        check(None, Some("down"));
        check(Some("up,off"), Some("up,down"));
        check(Some("one"), None);
        check(Some("nosuch"), None);
    }
}
