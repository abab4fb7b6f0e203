//! A cluster that is known by its kinds of nodes alone, idle: which of them could ever serve a job.
//!
//! This is what planning knows of a place before it knows partitions and limits: what a discovery
//! reports, or this machine.

use crate::cluster::{Cluster, GpuKind, NodeClass};
use crate::demand::Defaults;
use crate::place::greatest;
use crate::{Compiled, Demand, Free, LANE_MAX, Pick, place};
use model::{ClusterFacts, GpuGroup, NodeGroup, Request};

/// Kinds of nodes of which no job holds any. A machine whose virtual nodes share it is one node.
#[derive(Clone, Debug)]
pub struct NodeKinds {
    splits: bool,
    kinds: Vec<Kind>,
}

/// What one kind has.
#[derive(Clone, Copy, Debug)]
struct Kind {
    count: u32,
    cpus: u32,
    memory_mib: u64,
    gpus: u32,
}

impl NodeKinds {
    /// The nodes of a place with those of their GPUs that count, which are asked for without a type.
    #[must_use]
    pub fn of(facts: &ClusterFacts, counts: impl Fn(&GpuGroup) -> bool) -> NodeKinds {
        let kind = |group: &NodeGroup| Kind {
            count: group.count,
            cpus: group.cpus,
            memory_mib: group.memory_mib,
            gpus: group
                .gpus
                .iter()
                .filter(|gpus| counts(gpus))
                .map(|gpus| gpus.count)
                .fold(0, u32::saturating_add),
        };
        NodeKinds {
            splits: facts.embedded,
            kinds: facts.nodes.iter().map(kind).collect(),
        }
    }

    /// The same nodes with a CPU for each GPU: what their GPUs alone would serve.
    #[must_use]
    pub fn by_gpus(&self) -> NodeKinds {
        let with_cpus = |kind: &Kind| Kind {
            cpus: kind.cpus.max(kind.gpus),
            ..*kind
        };
        NodeKinds {
            splits: self.splits,
            kinds: self.kinds.iter().map(with_cpus).collect(),
        }
    }

    /// The kinds of which a node could be one of a job's: of a machine that is shared by virtual
    /// nodes, all of them.
    #[must_use]
    pub fn serving(&self, request: &Request) -> Vec<usize> {
        let one = Request {
            min_nodes: Some(1),
            max_nodes: Some(1),
            ..request.clone()
        };
        let of_kind = if self.splits { request } else { &one };
        let serves = |kind: &usize| place_on(&self.kinds[*kind..=*kind], self.splits, of_kind);
        (0..self.kinds.len()).filter(serves).collect()
    }

    /// Whether the nodes of some kinds together could serve a job.
    #[must_use]
    pub fn serve(&self, of: &[usize], request: &Request) -> bool {
        let kinds: Vec<Kind> = of
            .iter()
            .filter_map(|kind| self.kinds.get(*kind).copied())
            .collect();
        place_on(&kinds, self.splits, request)
    }

    /// The greatest value up to `most` with which a job could be served; none where 1 is too much.
    #[must_use]
    pub fn greatest(&self, most: u64, with: impl Fn(u64) -> Request) -> Option<u64> {
        greatest(most, |value| {
            place_on(&self.kinds, self.splits, &with(value))
        })
    }
}

/// Whether a job has a place on idle nodes.
fn place_on(kinds: &[Kind], splits: bool, request: &Request) -> bool {
    let mut cluster = Cluster::default();
    // More than a job asks for it doesn't get.
    let most = request.min_nodes.unwrap_or(1).max(1);
    for kind in kinds {
        let mib = u32::try_from(kind.memory_mib).unwrap_or(u32::MAX);
        let mut class = NodeClass {
            splits,
            ..NodeClass::plain(kind.cpus, mib)
        };
        if kind.gpus > 0 {
            let count = u16::try_from(kind.gpus).unwrap_or(LANE_MAX).min(LANE_MAX);
            class.add_gpus(GpuKind::None, count, None, None);
        }
        cluster.add_kind(class, kind.count.min(most));
    }
    let demand = Demand::of(request, &Defaults::default());
    let compiled = Compiled::new(&cluster, None, demand);
    place(&cluster, &compiled, &Free::idle(&cluster), Pick::default()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{GpuCount, Seconds};

    fn facts(embedded: bool, nodes: &[(u32, u32, u64, u32)]) -> ClusterFacts {
        let group = |(count, cpus, memory_mib, gpus): &(u32, u32, u64, u32)| NodeGroup {
            count: *count,
            cpus: *cpus,
            memory_mib: *memory_mib,
            gpus: vec![GpuGroup {
                kind: Some("v100".to_owned()),
                count: *gpus,
                memory_mib: None,
            }],
        };
        ClusterFacts {
            name: "here".to_owned(),
            embedded,
            nodes: nodes.iter().map(group).collect(),
            node_local: "/tmp".into(),
            nodes_share_disk: false,
            internet: model::Internet::None,
            default_time: None,
            time_granularity: Seconds(60),
            comeback: model::Comeback::default(),
            containers: model::ContainerFacts::default(),
        }
    }

    fn asked(nodes: u32, tasks: u32, cpus: u32, gpus: u32) -> Request {
        Request {
            min_nodes: Some(nodes),
            max_nodes: Some(nodes),
            tasks_per_node: Some(tasks),
            cpus_per_task: Some(cpus),
            gpus_per_node: (gpus > 0).then_some(GpuCount {
                kind: None,
                count: gpus,
            }),
            ..Request::default()
        }
    }

    #[test]
    fn kinds_serve_by_a_node_and_together() {
        let check = |embedded, nodes: &[_], request: Request, serving: &[usize], all: bool| {
            let kinds = NodeKinds::of(&facts(embedded, nodes), |_| true);
            let found = kinds.serving(&request);
            assert_eq!(found, serving, "{request:?}");
            assert_eq!(kinds.serve(&found, &request), all, "{request:?}");
        };
        let two = [(4, 8, 1000, 2), (1, 64, 1000, 8)];
        check(false, &two, asked(1, 1, 1, 0), &[0, 1], true);
        check(false, &two, asked(5, 2, 4, 2), &[0, 1], true);
        check(false, &two, asked(6, 1, 1, 0), &[0, 1], false);
        check(false, &two, asked(1, 1, 9, 0), &[1], true);
        check(false, &two, asked(2, 1, 1, 3), &[1], false);
        check(false, &two, asked(u32::MAX, 1, 1, 0), &[0, 1], false);
        // Virtual nodes share the machine.
        let one = [(1, 4, 1000, 2)];
        check(true, &one, asked(2, 1, 2, 1), &[0], true);
        check(true, &one, asked(2, 1, 2, 2), &[], false);
        check(true, &one, asked(3, 1, 2, 0), &[], false);
        check(true, &one, asked(u32::MAX, 1, 1, 1), &[], false);
    }

    #[test]
    fn without_their_cpus_gpus_count_alone() {
        let kinds = NodeKinds::of(&facts(true, &[(1, 1, 1000, 4)]), |_| true);
        let request = asked(4, 1, 1, 1);
        assert!(kinds.serving(&request).is_empty());
        assert_eq!(kinds.by_gpus().serving(&request), [0]);
        let none = NodeKinds::of(&facts(true, &[(1, 1, 1000, 4)]), |_| false);
        assert!(none.by_gpus().serving(&request).is_empty());
    }

    #[test]
    fn the_greatest_value_leaves_room_for_the_rest() {
        let kinds = NodeKinds::of(&facts(false, &[(2, 8, 1000, 2)]), |_| true);
        let cpus = |cpus: u64| asked(2, 3, cpus as u32, 0);
        assert_eq!(kinds.greatest(100, cpus), Some(2));
        assert_eq!(
            kinds.greatest(100, |cpus| asked(3, 1, cpus as u32, 0)),
            None
        );
    }
}
