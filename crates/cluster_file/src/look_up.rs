//! Questions that are asked of a cluster file.

use super::{
    Association, ClusterFile, Gpu, Named, Nodes, Partition, PartitionNodes, Qos, Sourced, User,
};
use model::{NodeName, association_in, node_list};
use std::collections::HashSet;
use std::path::Path;

/// GPUs of one GRES type and model, wherever the cluster has them.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuKind<'a> {
    /// The group of nodes.
    pub nodes: &'a Named<Nodes>,
    /// Their GPUs.
    pub gpu: &'a Gpu,
}

/// A group of nodes, or the part of it that a partition has.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSet<'a> {
    /// The group.
    pub nodes: &'a Named<Nodes>,
    /// How many of them.
    pub count: u32,
    /// All of a group's nodes.
    pub whole: bool,
}

impl ClusterFile {
    /// A partition by name. Case tells names apart, as in Slurm.
    #[must_use]
    pub fn partition(&self, name: &str) -> Option<&Named<Partition>> {
        named(&self.partitions, name)
    }

    /// The partition of a job that names none.
    #[must_use]
    pub fn default_partition(&self) -> Option<&Named<Partition>> {
        let is_default =
            |partition: &&Named<Partition>| partition.default.as_ref().is_some_and(|d| d.value);
        self.partitions.iter().find(is_default)
    }

    /// The partition whose association a job has: the first that it names, else the default one. Whether there is
    /// one of that name is not asked.
    #[must_use]
    pub fn first_partition<'a>(&'a self, named: Option<&'a str>) -> Option<&'a str> {
        let first = named.and_then(|names| names.split(',').next());
        first.or_else(|| Some(self.default_partition()?.name.as_str()))
    }

    /// A QOS by name; Slurm takes any case.
    #[must_use]
    pub fn qos(&self, name: &str) -> Option<&Named<Qos>> {
        self.qos
            .iter()
            .find(|qos| qos.name.eq_ignore_ascii_case(name))
    }

    /// A user's table, or that of everyone.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&Named<User>> {
        named(&self.users, name).or_else(|| named(&self.users, "*"))
    }

    /// A group's node names: those that are given, or the group's own name with numbers.
    #[must_use]
    pub fn names_of(&self, nodes: &Named<Nodes>) -> Vec<NodeName> {
        let mut names = node_list::expand(&self.list_of(nodes)).unwrap_or_default();
        // One that stands twice is one node.
        node_list::drop_repeated(&mut names);
        names
    }

    /// A group's nodes as a list.
    pub(super) fn list_of(&self, nodes: &Named<Nodes>) -> String {
        match (&nodes.names, &nodes.count) {
            (Some(names), _) => names.value.clone(),
            (None, None) => nodes.name.clone(),
            (None, Some(count)) if count.value == 1 => nodes.name.clone(),
            (None, Some(count)) => {
                // A name that ends in a digit needs something before the number.
                let dash = if nodes.name.ends_with(|c: char| c.is_ascii_digit()) {
                    "-"
                } else {
                    ""
                };
                format!("{}{dash}[1-{}]", nodes.name, count.value)
            }
        }
    }

    /// How many nodes a group has.
    #[must_use]
    pub fn count_of(&self, nodes: &Named<Nodes>) -> u32 {
        match (&nodes.names, &nodes.count) {
            (None, Some(count)) => count.value,
            _ => u32::try_from(self.names_of(nodes).len()).unwrap_or(u32::MAX),
        }
    }

    /// The nodes of a partition; none for a partition that says none.
    #[must_use]
    pub fn nodes_of(&self, partition: &Partition) -> Vec<NodeSet<'_>> {
        let whole = |nodes| NodeSet {
            nodes,
            count: self.count_of(nodes),
            whole: true,
        };
        match partition.nodes.as_ref().map(|nodes| &nodes.value) {
            None => Vec::new(),
            Some(PartitionNodes::All) => self.nodes.iter().map(whole).collect(),
            Some(PartitionNodes::Groups(groups)) => groups
                .iter()
                .filter_map(|group| named(&self.nodes, group))
                .map(whole)
                .collect(),
            Some(PartitionNodes::List(list)) => {
                let mut listed = node_list::expand(list).unwrap_or_default();
                listed.sort();
                listed.dedup();
                let mut sets = Vec::new();
                for nodes in &self.nodes {
                    let names = self.names_of(nodes);
                    let found = names
                        .iter()
                        .filter(|name| listed.binary_search(name).is_ok());
                    let found = found.count();
                    if found > 0 {
                        sets.push(NodeSet {
                            nodes,
                            count: u32::try_from(found).unwrap_or(u32::MAX),
                            whole: found == names.len(),
                        });
                    }
                }
                sets
            }
        }
    }

    /// All kinds of GPUs, of one partition or of all.
    #[must_use]
    pub fn gpus(&self, partition: Option<&Partition>) -> Vec<GpuKind<'_>> {
        let groups: Vec<&Named<Nodes>> = match partition {
            Some(partition) => self
                .nodes_of(partition)
                .into_iter()
                .map(|set| set.nodes)
                .collect(),
            None => self.nodes.iter().collect(),
        };
        groups
            .into_iter()
            .flat_map(|nodes| nodes.gpus.iter().map(move |gpu| GpuKind { nodes, gpu }))
            .collect()
    }

    /// The kinds of GPUs that a person means by a name: a GRES type, a model or a feature.
    #[must_use]
    pub fn gpus_called(&self, name: &str) -> Vec<GpuKind<'_>> {
        let mut kinds = self.gpus(None);
        kinds.retain(|kind| kind.gpu.is_called(name));
        kinds
    }

    /// A QOS by which a user's job runs that names none, with where that stands; of several partitions by the
    /// first.
    #[must_use]
    pub fn default_qos(
        &self,
        user: &str,
        account: &str,
        partition: Option<&str>,
    ) -> Option<&Sourced<String>> {
        let user = self.user(user);
        let of_association = user
            .and_then(|user| user.association(account, partition))
            .and_then(|association| association.default_qos.as_ref());
        of_association
            .or_else(|| user.and_then(|user| user.default_qos.as_ref()))
            .or_else(|| self.account_value(account, |account| account.default_qos.as_ref()))
    }

    /// The folder of `paths.no_jobs` in which another one lies: a job can't start there, nor write.
    #[must_use]
    pub fn no_jobs_in(&self, folder: &Path, user: Option<&str>) -> Option<&str> {
        let user = user.unwrap_or("$USER");
        let inside = |one: &&String| folder.starts_with(Path::new(&one.replace("$USER", user)));
        let folders = self.paths.no_jobs.as_ref()?;
        folders.iter().find(inside).map(String::as_str)
    }

    /// A value of an account or of the nearest account above it that has one.
    pub fn account_value<'a, T>(
        &'a self,
        account: &str,
        value: impl Fn(&'a super::Account) -> Option<T>,
    ) -> Option<T> {
        self.accounts_up_from(account)
            .find_map(|account| value(&account.body))
    }

    /// An account and those above it, the nearest first.
    pub fn accounts_up_from<'a>(
        &'a self,
        account: &str,
    ) -> impl Iterator<Item = &'a super::Named<super::Account>> {
        let first = named(&self.accounts, account);
        let above = |account: &&'a super::Named<super::Account>| {
            named(&self.accounts, account.parent.as_ref()?)
        };
        // A circle of parents ends after as many steps as there are accounts.
        std::iter::successors(first, above).take(self.accounts.len())
    }
}

impl Gpu {
    /// The GRES type, else the model.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let name = self.kind.as_ref().or(self.model.as_ref())?;
        Some(name.as_str())
    }

    /// Whether the file gives them neither type, model nor feature.
    #[must_use]
    pub fn has_no_name(&self) -> bool {
        self.kind.is_none() && self.model.is_none() && self.feature.is_none()
    }

    /// Whether a person who writes `name` means these: by type, model or feature, in any case.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let is = |own: &Option<Sourced<String>>| {
            own.as_ref()
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        is(&self.kind) || is(&self.model) || is(&self.feature)
    }
}

impl User {
    /// The accounts that the user is in, each once: those that are listed, and those of which something of its own is
    /// said.
    #[must_use]
    pub fn account_names(&self) -> Vec<&str> {
        let listed = self.accounts.iter().flat_map(|accounts| accounts.iter());
        let with_own = self.associations.iter().map(|own| &own.name);
        let mut seen = HashSet::new();
        let all = listed.chain(with_own).map(String::as_str);
        all.filter(|name| seen.insert(*name)).collect()
    }

    /// What holds for the user's jobs of a partition in an account.
    #[must_use]
    pub fn association(
        &self,
        account: &str,
        partition: Option<&str>,
    ) -> Option<&Named<Association>> {
        let own = self.associations_in(account);
        association_in(own, partition, |own| {
            own.partition.as_ref().map(|name| name.value.as_str())
        })
    }

    /// What is said of the user in an account; Slurm takes any case.
    fn associations_in(&self, account: &str) -> impl Iterator<Item = &Named<Association>> {
        let own = self.associations.iter();
        own.filter(move |own| own.name.eq_ignore_ascii_case(account))
    }

    /// The partitions for which alone the user is in an account; none where it is for all.
    #[must_use]
    pub fn partitions_of(&self, account: &str) -> Option<Vec<&Sourced<String>>> {
        let own = self.associations_in(account);
        let names: Option<Vec<_>> = own.map(|own| own.partition.as_ref()).collect();
        names.filter(|names| !names.is_empty())
    }
}

/// The table of that name.
pub fn named<'a, T>(tables: &'a [Named<T>], name: &str) -> Option<&'a Named<T>> {
    tables.iter().find(|table| table.name == name)
}
