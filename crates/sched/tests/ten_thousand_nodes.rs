//! A cluster file of 10,000 nodes: all of them are given, and none is lost.

use cluster_file::ClusterFile;
use model::{JobId, JobState, Outcome, Request, Timestamp};
use resources::{Cluster, Trust};
use std::sync::Arc;
use yard_sched::{Event, Job, State};

const FILE: &str = r#"
[nodes.all]
names = "n[1-10000]"
cpus = 64
sockets = 2
cores_per_socket = 32
memory = "256G"
gpu = { type = "a100", count = 4 }

[partition.all]
default = true
nodes = "ALL"
"#;

fn on_nodes(nodes: u32) -> Request {
    Request {
        min_nodes: Some(nodes),
        max_nodes: Some(nodes),
        exclusive: true,
        ..Request::default()
    }
}

fn submit(state: &mut State, nodes: u32) -> JobId {
    let id = state.new_id();
    let record = Job::submitted(id, on_nodes(nodes), Arc::default(), Timestamp(0));
    state.apply(Event::Submitted {
        record: Box::new(record),
        array: None,
        history: Vec::new(),
        at: Timestamp(0),
    });
    state.schedule(Timestamp(0));
    id
}

fn nodes(state: &State, job: JobId) -> usize {
    match state.job(job).map(|job| &job.state) {
        Some(JobState::Running { allocation, .. }) => allocation.nodes.len(),
        _ => 0,
    }
}

#[test]
fn all_nodes_are_given_and_come_back() {
    let file = ClusterFile::parse("test", FILE).unwrap_or_else(|it| panic!("{it:?}"));
    let cluster = Arc::new(Cluster::build(&file, Trust::All));
    let mut state = State::new(cluster, Arc::from([]));
    assert!(state.admit(&on_nodes(10_000)).is_ok());
    let small = submit(&mut state, 1);
    let all = submit(&mut state, 10_000);
    let most = submit(&mut state, 9_999);
    let given = |state: &State| [small, all, most].map(|job| nodes(state, job));
    assert_eq!(
        given(&state),
        [1, 0, 0],
        "the first that waits is not passed"
    );
    for (job, then) in [(small, [0, 10_000, 0]), (all, [0, 0, 9_999])] {
        state.apply(Event::Gone {
            job,
            outcome: Outcome::Completed,
            at: Timestamp(1),
        });
        state.schedule(Timestamp(1));
        assert_eq!(given(&state), then);
    }
}
