//! All nodes of a cluster file by name: each list is expanded once, however many partitions ask.

use super::look_up::NodeSet;
use super::{ClusterFile, Partition, PartitionNodes};
use model::{NodeName, node_list};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A cluster file's nodes by name.
#[derive(Debug)]
pub struct NodeIndex<'a> {
    file: &'a ClusterFile,
    /// Groups by name, the first of each.
    groups: HashMap<&'a str, usize>,
    /// How many nodes each group has.
    counts: Vec<u32>,
    /// Groups that have the same list.
    alike: Vec<Vec<usize>>,
    /// Which of those lists have a node.
    nodes: HashMap<NodeName, Vec<usize>>,
    /// What lists of partitions came to.
    asked: RefCell<HashMap<&'a str, Rc<Resolved>>>,
}

/// What of a list is there.
#[derive(Debug, Default)]
struct Resolved {
    /// Groups and how many of their nodes, in the groups' order.
    groups: Vec<(usize, u32)>,
    unknown: Vec<NodeName>,
}

impl ClusterFile {
    /// An index of its nodes, for who asks for the nodes of many partitions.
    #[must_use]
    pub fn node_index(&self) -> NodeIndex<'_> {
        let mut index = NodeIndex {
            file: self,
            groups: HashMap::new(),
            counts: Vec::new(),
            alike: Vec::new(),
            nodes: HashMap::new(),
            asked: RefCell::default(),
        };
        let mut lists: HashMap<String, (usize, u32)> = HashMap::new();
        for (group, nodes) in self.nodes.iter().enumerate() {
            index.groups.entry(&nodes.name).or_insert(group);
            let list = self.list_of(nodes);
            let (alike, count) = match lists.get(&list) {
                Some(known) => *known,
                None => {
                    let names = self.names_of(nodes);
                    let known = (
                        index.alike.len(),
                        u32::try_from(names.len()).unwrap_or(u32::MAX),
                    );
                    for name in names {
                        index.nodes.entry(name).or_default().push(known.0);
                    }
                    index.alike.push(Vec::new());
                    lists.insert(list, known);
                    known
                }
            };
            index.alike[alike].push(group);
            index.counts.push(match (&nodes.names, &nodes.count) {
                (None, Some(count)) => count.value,
                _ => count,
            });
        }
        index
    }
}

impl<'a> NodeIndex<'a> {
    /// The nodes of a partition, as [`ClusterFile::nodes_of`] has them.
    #[must_use]
    pub fn nodes_of(&self, partition: &'a Partition) -> Vec<NodeSet<'a>> {
        let set = |group: usize, count: u32| NodeSet {
            nodes: &self.file.nodes[group],
            count,
            whole: count == self.counts[group],
        };
        let whole = |group: usize| set(group, self.counts[group]);
        match partition.nodes.as_ref().map(|nodes| &nodes.value) {
            None => Vec::new(),
            Some(PartitionNodes::All) => (0..self.file.nodes.len()).map(whole).collect(),
            Some(PartitionNodes::Groups(groups)) => {
                let groups = groups.iter();
                groups
                    .filter_map(|group| self.groups.get(group.as_str()))
                    .map(|group| whole(*group))
                    .collect()
            }
            Some(PartitionNodes::List(list)) => {
                let asked = self.asked(list);
                let groups = asked.groups.iter();
                groups.map(|(group, count)| set(*group, *count)).collect()
            }
        }
    }

    /// Those of a list that no group has.
    pub(super) fn unknown(&self, list: &'a str) -> Vec<NodeName> {
        self.asked(list).unknown.clone()
    }

    fn asked(&self, list: &'a str) -> Rc<Resolved> {
        if let Some(known) = self.asked.borrow().get(list) {
            return Rc::clone(known);
        }
        let mut names = node_list::expand(list).unwrap_or_default();
        node_list::drop_repeated(&mut names);
        let mut counts: HashMap<usize, u32> = HashMap::new();
        let mut unknown = Vec::new();
        for name in names {
            match self.nodes.get(&name) {
                None => unknown.push(name),
                Some(lists) => {
                    for alike in lists {
                        *counts.entry(*alike).or_default() += 1;
                    }
                }
            }
        }
        let of_list = |(alike, count): (usize, u32)| {
            let groups = self.alike[alike].iter();
            groups.map(move |group| (*group, count))
        };
        let mut groups: Vec<(usize, u32)> = counts.into_iter().flat_map(of_list).collect();
        groups.sort_unstable();
        let asked = Rc::new(Resolved { groups, unknown });
        self.asked.borrow_mut().insert(list, Rc::clone(&asked));
        asked
    }
}
