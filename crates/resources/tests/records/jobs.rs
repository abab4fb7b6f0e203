//! Jobs for the tests of what Slurm's commands print.

use model::{
    Allocation, GpuCount, JobId, JobRecord, JobStanding, JobState, MemoryRequest, NodeName,
    NodeShare, PartitionView, PendingReason, RareOptions, Request, Seconds, Submitter,
    TimeLimitRequest, Timestamp, ViewFacts,
};
use std::sync::Arc;

/// The moment of looking.
pub const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// The recorded cluster.
pub fn facts() -> ViewFacts {
    ViewFacts {
        now: NOW,
        moments: model::MomentStyle::standard(jiff::tz::TimeZone::UTC),
        cluster: "lab".into(),
        partition: "gpu".into(),
        qos: "normal".into(),
        node_count: 4,
        node_cpus: 8,
        node_memory: 16_000,
        partitions: ["cpu", "gpu", "test"].map(partition).into(),
        gpu_kinds: std::collections::BTreeMap::new(),
        numbers: model::AccountNumbers::default(),
        looked_at: None,
        recorded: yard_resources::recorded_of,
    }
}

/// A partition of the recorded cluster, whose `DefMemPerCPU` is 100.
fn partition(name: &str) -> (String, Arc<PartitionView>) {
    let view = PartitionView {
        memory: Some(MemoryRequest::PerCpu(100)),
        ..PartitionView::default()
    };
    (name.to_owned(), view.into())
}

/// The job of the recorded answers.
pub fn held_job(id: u32) -> JobRecord {
    let request = Request {
        name: "fmtjob".to_owned(),
        account: Some("proj1".to_owned()),
        min_nodes: Some(1),
        max_nodes: Some(1),
        tasks: Some(2),
        cpus_per_task: Some(2),
        gpus_per_node: Some(GpuCount {
            kind: None,
            count: 1,
        }),
        time: Some(TimeLimitRequest::Limit(Seconds(63 * 60))),
        hold: true,
        nice: 5,
        output: Some("/dev/null".to_owned()),
        chdir: "/home/dave/golden".into(),
        rare: RareOptions {
            comment: Some("cm".to_owned()),
            constraint: Some("v100".to_owned()),
            ..RareOptions::default()
        }
        .into(),
        ..Request::default()
    };
    let standing = JobStanding {
        state: JobState::Pending {
            reason: PendingReason::JobHeldUser,
        },
        prolog: None,
        id: JobId(id),
        array: None,
        partition: None,
        not_before: None,
        dependency: None,
        submitted: NOW,
        eligible: None,
        accrues: None,
        is_age_limited: false,
        limit_by_rules: None,
        resized: None,
        planned: None,
        priority: 0,
        reservation: None,
        restarts: 0,
        batch: true,
    };
    JobRecord {
        submitter: Arc::new(Submitter {
            uid: 1005,
            gid: 1005,
            user: "dave".to_owned(),
            group: "dave".to_owned(),
            host: "host".to_owned(),
            command: None,
        }),
        request: Arc::new(request),
        standing,
    }
}

/// Shares of as many nodes `node1`, `node2` …, alike.
pub fn allocation(nodes: u32, cpus: &[u32], gpus: &[u32]) -> Allocation {
    Allocation {
        nodes: (1..=nodes)
            .map(|node| NodeShare {
                node: NodeName::from(format!("node{node}")),
                cpus: cpus.to_vec(),
                memory: 200,
                gpus: gpus.to_vec(),
                tasks: 1,
            })
            .collect(),
    }
}
