//! Which partitions could be meant.

use crate::{Resolved, say_limit};
use cluster_file::{ClusterFile, Named, NodeSet, Partition, PartitionState};

/// A partition that could be meant.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    /// None where the file knows none, or not the named one.
    pub partition: Option<&'a Named<Partition>>,
    /// Why it is taken; none where it was asked for.
    pub why: Option<String>,
}

/// The named one alone; else all that anybody can use, the default first, but last where it is down.
pub(super) fn candidates<'a>(
    file: &'a ClusterFile,
    asked: Option<&Resolved<String>>,
) -> Vec<Candidate<'a>> {
    if let Some(asked) = asked {
        // Of several it starts where it can; the first is as good as any for planning.
        let first = asked.value.split(',').next().unwrap_or_default();
        return vec![Candidate {
            partition: file.partition(first),
            why: None,
        }];
    }
    let default = file.default_partition();
    let is_other = |partition: &&Named<Partition>| {
        default.is_none_or(|default| default.name != partition.name) && is_open(partition)
    };
    let of_default = default.map(|partition| Candidate {
        partition: Some(partition),
        why: Some(format!("{}'s default: not named in the script", file.name)),
    });
    let others = file.partitions.iter().filter(is_other).map(|partition| {
        let limit = partition.max_time.as_ref();
        let limit = limit.map(|limit| format!(", up to {}", say_limit(limit.value)));
        let first = match default {
            Some(default) if is_down(default) => {
                format!("is up and takes the job, and {} is down", default.name)
            }
            Some(default) => format!("takes the job, which {} would not", default.name),
            None => format!("{} has no default; takes the job", file.name),
        };
        Candidate {
            partition: Some(partition),
            why: Some(format!("{first}{}", limit.unwrap_or_default())),
        }
    });
    let mut all: Vec<Candidate<'a>> = of_default.into_iter().chain(others).collect();
    if default.is_some_and(|default| is_down(default)) {
        all.rotate_left(1);
    }
    all
}

/// Whether no job of it starts until it is brought up again.
fn is_down(partition: &Partition) -> bool {
    let state = partition.state.as_ref();
    state.is_some_and(|state| state.value == PartitionState::Down)
}

/// Whether ordinary jobs can go there.
fn is_open(partition: &Partition) -> bool {
    let is_set =
        |flag: &Option<cluster_file::Sourced<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    let up = partition
        .state
        .as_ref()
        .is_none_or(|state| state.value == PartitionState::Up);
    up && !is_set(&partition.hidden)
        && !is_set(&partition.root_only)
        && !is_set(&partition.needs_reservation)
}

pub(super) fn is_default(partition: &Partition) -> bool {
    partition.default.as_ref().is_some_and(|flag| flag.value)
}

/// Its nodes in the order of [`ClusterFile::facts`]; all nodes where there is none.
pub(super) fn nodes<'a>(
    file: &'a ClusterFile,
    partition: Option<&'a Named<Partition>>,
) -> Vec<NodeSet<'a>> {
    let mut sets = match partition {
        Some(partition) => file.nodes_of(partition),
        None => file
            .nodes
            .iter()
            .map(|nodes| NodeSet {
                nodes,
                count: file.count_of(nodes),
                whole: true,
            })
            .collect(),
    };
    sets.sort_by_key(|set| std::cmp::Reverse(set.count));
    sets
}

/// What is assumed of it.
pub(super) fn assumed(assumed: &mut Vec<(String, String)>, partition: Option<&Named<Partition>>) {
    let Some(partition) = partition else { return };
    let name = &partition.name;
    let nodes = partition.nodes.as_ref();
    super::note(assumed, format!("partition.{name}.nodes"), nodes);
    let time = partition.max_time.as_ref();
    super::note(assumed, format!("partition.{name}.max_time"), time);
}
