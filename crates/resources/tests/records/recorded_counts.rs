//! What a controller counts of a job where a partition has weights for bills (`TRESBillingWeights`), or where memory
//! brings CPUs (`MaxMemPerCPU`): as recorded of 22.05.8.

use crate::jobs::{allocation, facts, held_job};
use model::{
    BillingWeights, GpuCount, JobInfo, JobRecord, JobState, MemoryRequest, PartitionView, Request,
    ShowStyle, show_job,
};
use std::sync::Arc;

/// A held job of a partition that lies so.
fn job_in(view: PartitionView, request: Request) -> (JobRecord, model::ViewFacts) {
    let mut facts = facts();
    facts.partitions.insert("gpu".to_owned(), view.into());
    let mut job = held_job(7);
    let own = Arc::make_mut(&mut job.request);
    *own = Request {
        hold: true,
        ..request
    };
    (job, facts)
}

#[track_caller]
fn check(job: &JobRecord, facts: &model::ViewFacts, want: &[&str]) {
    let job = JobInfo::of(job, facts);
    let mut text = String::new();
    show_job(&mut text, &job, ShowStyle::default());
    for want in want {
        assert!(text.contains(want), "{want}: {text}");
    }
}

fn weights(text: &str) -> PartitionView {
    PartitionView {
        memory: Some(MemoryRequest::PerCpu(100)),
        billing: BillingWeights::parse(text, false),
        ..PartitionView::default()
    }
}

#[test]
fn a_partition_bills_by_its_weights() {
    let gpu = |count| {
        Some(GpuCount {
            kind: Some("v100".to_owned()),
            count,
        })
    };
    let (mut job, facts) = job_in(
        weights("CPU=2,Mem=0.5G,GRES/gpu=3.5"),
        Request {
            tasks: Some(3),
            memory: Some(MemoryRequest::PerCpu(300)),
            gpus_per_node: gpu(1),
            ..Request::default()
        },
    );
    let waits = "TRES=cpu=3,mem=900M,node=1,billing=9,gres/gpu=1,gres/gpu:v100=1";
    check(&job, &facts, &[waits]);
    let info = JobInfo::of(&job, &facts);
    assert_eq!(info.asked_tres(), waits.trim_start_matches("TRES="));
    job.state = JobState::Running {
        since: facts.now,
        allocation: allocation(1, &[0, 1], &[0, 1]),
        limit: None,
        ending: None,
        suspension: None,
        held: None,
        end_moved_ms: 0,
    };
    let runs = "TRES=cpu=2,mem=200M,node=1,billing=11,gres/gpu=2,gres/gpu:v100=2";
    check(&job, &facts, &[runs]);
}

#[test]
fn more_memory_than_a_cpu_may_bring_counts_as_more_cpus() {
    let view = || PartitionView {
        max_memory_per_cpu: Some(500),
        ..PartitionView::default()
    };
    let (job, facts) = job_in(
        view(),
        Request {
            tasks: Some(2),
            cpus_per_task: Some(2),
            memory: Some(MemoryRequest::PerCpu(1200)),
            ..Request::default()
        },
    );
    check(
        &job,
        &facts,
        &[
            "NumNodes=2 NumCPUs=12 NumTasks=2 CPUs/Task=6 ",
            "TRES=cpu=4,mem=4800M,node=1,billing=4\n",
            "MinCPUsNode=2 MinMemoryCPU=400M ",
        ],
    );
    assert_eq!(JobInfo::of(&job, &facts).asked_cpus(), 12);
    let (job, facts) = job_in(
        view(),
        Request {
            min_nodes: Some(2),
            max_nodes: Some(2),
            tasks_per_node: Some(2),
            memory: Some(MemoryRequest::PerCpu(1200)),
            ..Request::default()
        },
    );
    check(
        &job,
        &facts,
        &[
            "NumNodes=2-2 NumCPUs=12 NumTasks=4 CPUs/Task=3 ",
            "TRES=cpu=4,mem=4800M,node=2,billing=4\n",
            "MinCPUsNode=2 MinMemoryCPU=400M ",
        ],
    );
    // As much as it may bring is no more.
    let (job, facts) = job_in(
        view(),
        Request {
            tasks: Some(2),
            memory: Some(MemoryRequest::PerCpu(500)),
            ..Request::default()
        },
    );
    check(
        &job,
        &facts,
        &[
            "NumCPUs=2 NumTasks=2 CPUs/Task=1 ",
            "TRES=cpu=2,mem=1000M,node=1,billing=2\n",
            "MinMemoryCPU=500M ",
        ],
    );
}
