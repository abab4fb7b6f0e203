//! What a job that waits takes of memory.

use cluster_file::ClusterFile;
use model::{GpuCount, MemoryRequest, Request, Seconds, Submitter, TimeLimitRequest, Timestamp};
use resources::{Cluster, Trust};
use std::sync::Arc;
use yard_sched::{Event, Job, State};

const TEXT: &str = "[nodes.n]\nnames = \"n[1-4]\"\ncpus = 64\ngpu = { type = \"h100\", count = 8 }\n\
    [partition.all]\ndefault = true\nnodes = [\"n\"]\n\
    [priority]\nage = 1000\nfair_share = 5000\n";

/// A job as `sbatch` submits one, with a name and a folder of its own.
fn submit(state: &mut State, submitter: &Arc<Submitter>, at: Timestamp) {
    let id = state.new_id();
    let request = Request {
        name: format!("train-{id}"),
        partition: Some("all".to_owned()),
        min_nodes: Some(4),
        max_nodes: Some(4),
        tasks_per_node: Some(8),
        memory: Some(MemoryRequest::PerNode(1024)),
        gpus_per_node: Some(GpuCount {
            kind: None,
            count: 8,
        }),
        time: Some(TimeLimitRequest::Limit(Seconds(3600))),
        output: Some("logs/%j.out".to_owned()),
        chdir: format!("/home/ann/runs/{id}").into(),
        ..Request::default()
    };
    state.apply(Event::Submitted {
        record: Box::new(Job::submitted(id, request, Arc::clone(submitter), at)),
        array: None,
        history: Vec::new(),
        at,
    });
}

/// KiB that this process has in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[test]
fn a_waiting_job_takes_less_than_a_kib() {
    let file = ClusterFile::parse("small", TEXT).unwrap_or_else(|it| panic!("{it:?}"));
    let cluster = Arc::new(Cluster::build(&file, Trust::All));
    let mut state = State::new(cluster, Arc::default());
    let submitter = Arc::new(Submitter::default());
    let mut fill = |count: usize| {
        while state.waiting_count() < count {
            submit(&mut state, &submitter, Timestamp(0));
        }
        state.schedule(Timestamp(0));
        state.take_changes();
        resident()
    };
    let before = fill(2_000);
    let grown = fill(22_000) - before;
    let each = 1024 * grown / 20_000;
    assert!(each < 1024, "{each} B");
}
