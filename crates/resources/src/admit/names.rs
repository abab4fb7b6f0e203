//! The names that a job gives: of nodes, partitions and features.

use super::nodes::Place;
use super::partition::is_for_all;
use super::{Change, Denial, Detail, Finding, Judge, Requested, Subject, There, finding};
use cluster_file::{List, Named, Partition, Sourced};
use model::option_table::Key;
use model::{Constraint, NodeName};

/// The partitions that a job is for.
pub(super) struct PartitionChoice<'a> {
    /// Those of them that the file knows.
    pub(super) known: Vec<&'a Named<Partition>>,
    pub(super) reach: Reach,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// To those that are known.
    There,
    /// To one that the file need not know, or has none of.
    Somewhere,
    /// Slurm stops at what it names.
    Nowhere,
}

/// What is known of the features that a job asks for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Features {
    /// Some node has each, or none is asked.
    Known,
    /// The file doesn't have one of them, and doesn't know them all.
    Doubted,
    /// No node has one of them.
    Unknown,
}

impl<'a> Judge<'a, '_> {
    pub(super) fn node_names(&mut self, names: &[NodeName], key: Key) {
        if names.is_empty() || self.file.nodes.is_empty() {
            return;
        }
        let mut known: Vec<NodeName> = self
            .file
            .nodes
            .iter()
            .flat_map(|nodes| self.file.names_of(nodes))
            .collect();
        known.sort();
        let Some(odd) = names.iter().find(|name| known.binary_search(name).is_err()) else {
            return;
        };
        let groups = self.file.nodes.iter();
        let there: Vec<String> = groups
            .clone()
            .map(|nodes| {
                nodes
                    .names
                    .as_ref()
                    .map_or(&nodes.name, |names| &names.value)
                    .clone()
            })
            .collect();
        let assumed = !self.file.knows_all(List::Nodes)
            || self
                .file
                .nodes
                .iter()
                .any(|nodes| nodes.names.as_ref().is_none_or(Sourced::is_assumed));
        self.found.push(Finding {
            assumed,
            ..finding(
                Denial::NodeName,
                Requested::Option(key, odd.as_str().to_owned()),
                There::NodeNames(self.file.name.clone(), there),
                vec![Change::LeaveOut(key), Change::NodeThatIsThere],
            )
            .about(Subject::Option(key))
        });
    }

    /// The partitions that the job is for.
    pub(super) fn partitions(&mut self) -> PartitionChoice<'a> {
        let file = self.file;
        let mut choice = PartitionChoice {
            known: Vec::new(),
            reach: Reach::There,
        };
        if file.partitions.is_empty() {
            choice.reach = Reach::Somewhere;
            return choice;
        }
        let names: Vec<&str> = file.partitions.iter().map(|p| p.name.as_str()).collect();
        let there = file.list_words(List::Partitions, &names);
        let Some(asked) = &self.request.partition else {
            if let Some(default) = file.default_partition() {
                choice.known.push(default);
                return choice;
            }
            // A document that marks none as the default need not mean that there is none.
            let silent = file
                .partitions
                .iter()
                .all(|partition| partition.default.is_none());
            self.found.push(Finding {
                assumed: silent,
                ..finding(
                    Denial::NoPartition,
                    Requested::NoPartition,
                    There::NoDefault(there),
                    vec![self.serving()],
                )
            });
            choice.reach = if silent {
                Reach::Somewhere
            } else {
                Reach::Nowhere
            };
            return choice;
        };
        for name in asked.split(',').filter(|name| !name.is_empty()) {
            if let Some(partition) = file.partition(name) {
                choice.known.push(partition);
                continue;
            }
            // The first that there isn't is told.
            if choice.reach != Reach::There {
                continue;
            }
            let near = model::nearest(name, names.iter().copied());
            let assumed = !file.knows_all(List::Partitions);
            self.found.push(Finding {
                assumed,
                detail: Some(Detail::NoPartition(name.to_owned())),
                ..finding(
                    Denial::Partition,
                    Requested::Option(Key::Partition, name.to_owned()),
                    There::Names(there.clone()),
                    vec![match near {
                        Some(near) => Change::DidYouMean(Key::Partition, near.to_owned()),
                        None => self.serving(),
                    }],
                )
            });
            choice.reach = if assumed {
                Reach::Somewhere
            } else {
                Reach::Nowhere
            };
        }
        choice
    }

    /// The first partition for everyone whose nodes can serve.
    fn serving(&self) -> Change {
        let least = self.request.min_nodes.unwrap_or(1);
        let serves = |partition: &&Named<Partition>| {
            let most = partition.max_nodes.as_ref();
            is_for_all(partition)
                && most.is_none_or(|most| most.value >= least)
                && Place::of(self.idle, Some(partition)).serves(self.request)
        };
        let mut all = self.file.partitions.iter();
        match all.find(serves) {
            Some(found) => Change::partition(&found.name),
            None => Change::NoneServes,
        }
    }

    /// A feature that no node has: where that is sure, looking at nodes says nothing more.
    pub(super) fn features(&mut self) -> Features {
        let Some(constraint) = self
            .request
            .rare
            .constraint
            .as_deref()
            .and_then(Constraint::parse)
        else {
            return Features::Known;
        };
        let stated = self
            .file
            .nodes
            .iter()
            .filter_map(|nodes| nodes.features.as_ref());
        let mut known: Vec<&str> = stated
            .flat_map(|features| features.iter())
            .map(String::as_str)
            .collect();
        known.sort_unstable();
        known.dedup();
        let names = constraint.names();
        let unknown: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| !known.contains(name))
            .collect();
        let Some(odd) = unknown.first() else {
            return Features::Known;
        };
        let near = model::nearest(odd, known.iter().copied());
        let assumed = !self.file.knows_all(List::Features);
        let names_of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        self.found.push(Finding {
            assumed,
            ..finding(
                Denial::Feature,
                Requested::Option(Key::Constraint, constraint.to_string()),
                There::Names(self.file.list_words(List::Features, &known)),
                vec![match near {
                    Some(near) => Change::DidYouMean(Key::Constraint, near.to_owned()),
                    None if unknown.len() == names.len() => Change::LeaveOut(Key::Constraint),
                    None => Change::WithoutFeatures(names_of(&unknown)),
                }],
            )
        });
        if assumed {
            Features::Doubted
        } else {
            Features::Unknown
        }
    }
}
