//! Of a job that can't be everywhere, only the nodes that it could have count.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use super::Why;
use super::tests::{limit_of, submit};
use crate::State;
use cluster_file::ClusterFile;
use model::{
    GpuCount, JobId, MemoryRequest, NodeName, PartitionBound, PartitionSays, PendingReason,
    Request, Seconds, Timestamp,
};
use resources::{Cluster, Trust};
use std::sync::Arc;

/// Two slow nodes with t4 and two fast ones with v100, of which one partition has the fast ones.
fn state() -> State {
    let text = "[nodes.s]\nnames = \"s[1-2]\"\ncpus = 4\nmemory = \"8G\"\nfeatures = [\"slow\"]\n\
                gpu = { type = \"t4\", count = 2 }\n\
                [nodes.f]\nnames = \"f[1-2]\"\ncpus = 8\nmemory = \"16G\"\n\
                gpu = { type = \"v100\", count = 2 }\n\
                [partition.all]\ndefault = true\nnodes = \"ALL\"\n\
                [partition.fast]\nnodes = [\"f\"]\nmax_time = \"1:00:00\"\n";
    let file = ClusterFile::parse("mixed", text).unwrap();
    State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]))
}

fn on(node: &str, cpus: u32, minutes: u64) -> Request {
    let request = Request {
        cpus_per_task: Some(cpus),
        time: Some(limit_of(minutes)),
        ..Request::default()
    };
    request.with_rare(|rare| rare.nodelist = Arc::new(vec![NodeName::new(node)]))
}

fn why(state: &mut State, request: Request) -> Why {
    let job = submit(state, request);
    state.why(job, Timestamp(1000)).unwrap()
}

fn holders(why: &Why) -> Vec<JobId> {
    why.holders.iter().map(|holder| holder.job).collect()
}

#[test]
fn memory_counts() {
    let mut state = state();
    for node in ["s1", "s2", "f1", "f2"] {
        let gib = if node.starts_with('s') { 6 } else { 12 };
        let memory = Some(MemoryRequest::PerNode(gib * 1024));
        submit(
            &mut state,
            Request {
                memory,
                ..on(node, 1, 60)
            },
        );
    }
    let memory = Some(MemoryRequest::PerNode(8 * 1024));
    let two = Request {
        memory,
        min_nodes: Some(2),
        max_nodes: Some(2),
        time: Some(limit_of(10)),
        ..Request::default()
    };
    let why = why(&mut state, two);
    assert_eq!(why.needs.unwrap().memory, 16 * 1024);
    assert_eq!((why.free.cpus, why.free.memory), (20, 12 * 1024));
    assert_eq!(why.nodes_needed.unwrap().with_room, Some(0));
}

#[test]
fn gpus_of_another_type_are_no_help() {
    let mut state = state();
    let typed = |kind: &str, count| Request {
        gpus_per_node: Some(GpuCount {
            kind: Some(kind.to_owned()),
            count,
        }),
        time: Some(limit_of(60)),
        ..Request::default()
    };
    let first = submit(&mut state, typed("v100", 2));
    let second = submit(&mut state, typed("v100", 2));
    let other = submit(
        &mut state,
        Request {
            time: Some(limit_of(10)),
            ..typed("t4", 1)
        },
    );
    let why = why(&mut state, typed("v100", 1));
    assert_eq!((why.free.gpus, why.there.gpus), (0, 4));
    assert!(!holders(&why).contains(&other));
    assert!(
        [first, second]
            .iter()
            .any(|job| holders(&why).contains(job))
    );
}

#[test]
fn nodes_without_the_feature_have_no_room() {
    let mut state = state();
    let on_slow = submit(&mut state, on("s1", 4, 60));
    let on_fast = submit(&mut state, on("f1", 8, 10));
    let slow = Request {
        min_nodes: Some(2),
        max_nodes: Some(2),
        time: Some(limit_of(10)),
        ..Request::default()
    };
    let slow = slow.with_rare(|rare| rare.constraint = Some("slow".to_owned()));
    let why = why(&mut state, slow);
    let nodes = why.nodes_needed.unwrap();
    assert_eq!((nodes.with_room, nodes.there), (Some(1), 2));
    assert_eq!(why.there.cpus, 8);
    assert_eq!(holders(&why), [on_slow]);
    assert!(on_fast > on_slow);
}

#[test]
fn a_node_that_is_named_is_the_one_that_counts() {
    let mut state = state();
    let there = submit(&mut state, on("f1", 8, 60));
    submit(&mut state, on("f2", 8, 10));
    let why = why(&mut state, on("f1", 1, 10));
    assert_eq!((why.free.cpus, why.there.cpus), (0, 8));
    assert_eq!(holders(&why), [there]);
}

#[test]
fn what_the_partition_says_is_told_and_what_it_would_take() {
    let mut state = state();
    let long = Request {
        time: Some(limit_of(120)),
        partition: Some("fast".to_owned()),
        ..Request::default()
    };
    let why = why(&mut state, long);
    assert_eq!(why.reason, PendingReason::PartitionTimeLimit);
    let bound = PartitionBound {
        partition: "fast".to_owned(),
        says: PartitionSays::Time {
            most: Seconds(3600),
        },
    };
    assert_eq!(why.partition_bound, Some(bound));
    assert_eq!(why.instead, ["--time=01:00:00"]);
}
