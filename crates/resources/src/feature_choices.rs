//! Sets of nodes that have the features that a job asks for: each of the alternatives of its constraint.

use crate::NodeSet;
use crate::cluster::Cluster;
use model::Constraint;

/// Nodes among which all of a job's are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub nodes: NodeSet,
    /// At least so many of each of these (`[a*2&b*4]`).
    pub groups: Vec<(NodeSet, u32)>,
    /// At least so many in all (`a*2`): numbers of nodes with features raise those of the job
    /// (`_get_req_features` of 22.05.8's node_scheduler.c).
    pub least: u32,
}

impl Choice {
    fn among(nodes: NodeSet) -> Choice {
        Choice {
            nodes,
            groups: Vec::new(),
            least: 0,
        }
    }

    /// So many nodes that all have the same.
    fn counted(nodes: NodeSet, least: u32) -> Choice {
        Choice {
            least,
            ..Choice::among(nodes)
        }
    }
}

/// The sets of nodes that a constraint leaves.
pub(crate) fn choices(
    cluster: &Cluster,
    nodes: &NodeSet,
    constraint: Option<&Constraint>,
) -> Vec<Choice> {
    match constraint {
        None => vec![Choice::among(nodes.clone())],
        Some(constraint) => expand(cluster, nodes, constraint),
    }
}

/// No expression has more alternatives that are looked at.
const MOST_CHOICES: usize = 256;

/// Alternatives of `|` stay one set outside of `[…]`, where all of a job's nodes have the same.
pub(crate) fn expand(cluster: &Cluster, nodes: &NodeSet, constraint: &Constraint) -> Vec<Choice> {
    match constraint {
        Constraint::Feature {
            name,
            nodes: Some(count),
        } => {
            let mut group = having(cluster, name);
            group.keep(nodes);
            vec![Choice::counted(group, *count)]
        }
        Constraint::Feature { .. } | Constraint::Any(_) => {
            let mut set = holding(cluster, constraint);
            set.keep(nodes);
            vec![Choice::among(set)]
        }
        Constraint::All(parts) => {
            let mut found = vec![Choice::among(nodes.clone())];
            for part in parts {
                let each = expand(cluster, nodes, part);
                let pairs = found
                    .iter()
                    .flat_map(|one| each.iter().map(|other| both(one, other)));
                found = pairs.take(MOST_CHOICES).collect();
            }
            found
        }
        Constraint::Inside {
            square: true,
            inner,
            nodes: None,
        } => match &**inner {
            Constraint::Any(parts) => {
                let each = parts.iter();
                each.flat_map(|part| expand(cluster, nodes, part)).collect()
            }
            // Each of the nodes has a part of it.
            Constraint::All(parts) if parts.iter().any(is_counted_part) => {
                let mut choice = Choice::among(NodeSet::default());
                for part in parts {
                    let mut set = holding(cluster, part);
                    set.keep(nodes);
                    choice.nodes.add(&set);
                    choice.least = choice.least.saturating_add(count_of(part));
                    choice.groups.push((set, count_of(part)));
                }
                vec![choice]
            }
            inner => expand(cluster, nodes, inner),
        },
        Constraint::Inside {
            inner,
            nodes: Some(count),
            ..
        } => {
            let mut group = holding(cluster, inner);
            group.keep(nodes);
            vec![Choice::counted(group, *count)]
        }
        Constraint::Inside { inner, .. } => expand(cluster, nodes, inner),
    }
}

fn both(one: &Choice, other: &Choice) -> Choice {
    let mut nodes = one.nodes.clone();
    nodes.keep(&other.nodes);
    let groups = one.groups.iter().chain(&other.groups).cloned();
    Choice {
        nodes,
        groups: groups.collect(),
        least: one.least.max(other.least),
    }
}

fn is_counted_part(part: &Constraint) -> bool {
    match part {
        Constraint::Feature { nodes, .. } | Constraint::Inside { nodes, .. } => nodes.is_some(),
        Constraint::All(_) | Constraint::Any(_) => false,
    }
}

fn count_of(part: &Constraint) -> u32 {
    match part {
        Constraint::Feature { nodes, .. } | Constraint::Inside { nodes, .. } => nodes.unwrap_or(0),
        Constraint::All(_) | Constraint::Any(_) => 0,
    }
}

fn having(cluster: &Cluster, feature: &str) -> NodeSet {
    cluster.with_feature(feature).cloned().unwrap_or_default()
}

/// The nodes that an expression holds for, whatever numbers stand in it.
fn holding(cluster: &Cluster, constraint: &Constraint) -> NodeSet {
    match constraint {
        Constraint::Feature { name, .. } => having(cluster, name),
        Constraint::Inside { inner, .. } => holding(cluster, inner),
        Constraint::Any(parts) => {
            let mut any = NodeSet::default();
            parts
                .iter()
                .for_each(|part| any.add(&holding(cluster, part)));
            any
        }
        Constraint::All(parts) => {
            let mut all = NodeSet::first(cluster.node_count());
            parts
                .iter()
                .for_each(|part| all.keep(&holding(cluster, part)));
            all
        }
    }
}
