//! Jobs and their past, with all that can be known of them.

use super::calls::record_change;
use super::requests::{array, nodes, request, text};
use model::{
    Allocation, ArrayPlace, ArrayTask, Ending, HeldBy, JobHistory, JobId, JobProlog, JobRecord,
    JobStanding, JobStart, JobState, JobStateName, NodeName, NodeShare, Outcome, PendingReason,
    PlannedStart, Ran, Request, RequeueHold, Seconds, SrunProcess, StartedBy, StepId, StepRecord,
    StepState, Submitter, Suspension, TaskAmount, TaskAmounts, TasksUsage, Timestamp, Usage,
    WaitStatus,
};
use std::sync::Arc;

fn shares() -> Vec<NodeShare> {
    vec![NodeShare {
        node: NodeName::new("n1"),
        cpus: vec![0],
        memory: 1,
        gpus: vec![0],
        tasks: 1,
    }]
}

fn allocation() -> Allocation {
    Allocation { nodes: shares() }
}

fn suspension() -> Suspension {
    Suspension {
        is_now: true,
        at: Timestamp(1),
        before_ms: 2,
        is_preempted: true,
        is_stopped: true,
    }
}

fn submitter() -> Submitter {
    Submitter {
        uid: 1,
        gid: 2,
        user: "ann".to_owned(),
        group: "staff".to_owned(),
        host: "here".to_owned(),
        command: text("/job.sh"),
    }
}

type Shared = (Arc<Submitter>, Arc<Request>);

fn record((submitter, request): &Shared, id: u32, task: ArrayTask, state: JobState) -> JobRecord {
    JobRecord {
        submitter: Arc::clone(submitter),
        request: Arc::clone(request),
        standing: JobStanding {
            id: JobId(id),
            array: Some(ArrayPlace {
                array_job: JobId(1),
                task,
                throttle: Some(1),
            }),
            partition: text("partition"),
            not_before: Some(Timestamp(1)),
            dependency: text("afterok:1"),
            state,
            submitted: Timestamp(2),
            eligible: Some(Timestamp(3)),
            accrues: Some(Timestamp(4)),
            is_age_limited: true,
            limit_by_rules: Some(Seconds(60)),
            resized: Some(Timestamp(5)),
            planned: Some(PlannedStart {
                at: Timestamp(6),
                nodes: nodes(),
            }),
            priority: 7,
            reservation: text("reservation"),
            restarts: 8,
            batch: true,
            prolog: Some(JobProlog::Nodes),
        },
    }
}

pub(super) fn records() -> Vec<JobRecord> {
    let waits = JobState::Pending {
        reason: PendingReason::OverLimit("QOSMaxJobsPerUserLimit".to_owned()),
    };
    let runs = |ending| JobState::Running {
        since: Timestamp(1),
        allocation: allocation(),
        limit: Some(Seconds(60)),
        ending: Some(ending),
        suspension: Some(Box::new(suspension())),
        held: Some(HeldBy::User),
        end_moved_ms: 3,
    };
    let requeue = Ending::Requeue {
        hold: RequeueHold::Held,
        node_failed: true,
    };
    let preempted = Ending::Preempted {
        requeue: true,
        grace: Some(Timestamp(1)),
        at: Timestamp(2),
    };
    let ended = JobState::Ended {
        outcome: Outcome::Cancelled {
            by: 1,
            status: WaitStatus(15),
            waited_for: Some(PendingReason::Priority),
        },
        at: Timestamp(3),
        ran: Some(Ran {
            since: Timestamp(1),
            allocation: allocation(),
            limit: Some(Seconds(60)),
            suspended_ms: 1,
        }),
    };
    let shared = (Arc::new(submitter()), Arc::new(request()));
    vec![
        record(&shared, 1, ArrayTask::Waiting(array()), waits),
        record(&shared, 2, ArrayTask::One(1), runs(requeue)),
        record(&shared, 3, ArrayTask::One(3), runs(preempted)),
        record(&shared, 4, ArrayTask::One(4), ended),
    ]
}

pub(super) fn step() -> StepRecord {
    let amounts = TaskAmounts {
        total: 1,
        most: TaskAmount {
            amount: 2,
            rank: 3,
            node: 4,
        },
        least: TaskAmount {
            amount: 5,
            rank: 6,
            node: 7,
        },
    };
    StepRecord {
        job: JobId(1),
        restart: 2,
        step: StepId::Number(3),
        name: "step".to_owned(),
        nodes: shares(),
        since: Timestamp(4),
        state: StepState::Ended {
            at: Timestamp(5),
            status: WaitStatus(0),
            timed_out: true,
        },
        usage: Some(usage()),
        tasks_usage: Some(Box::new(TasksUsage {
            tasks: 1,
            cpu_ms: amounts,
            memory: amounts,
            pages: amounts,
            read: amounts,
            written: amounts,
            virtual_memory: Some(amounts),
        })),
        cancelled_by: Some(1),
        submit_line: text("srun x"),
        srun: Some(SrunProcess {
            host: "here".to_owned(),
            pid: 1,
        }),
    }
}

fn usage() -> Usage {
    Usage {
        user: 1,
        system: 2,
        peak_memory: 3,
        addresses: Some(4),
    }
}

pub(super) fn history() -> JobHistory {
    JobHistory {
        job: records().remove(3),
        starts: vec![JobStart {
            restart: 1,
            state: JobStateName::Completed,
            partition: Some("partition".into()),
            qos: Some("qos".into()),
            name: Some("name".into()),
            submitted: Timestamp(1),
            eligible: Some(Timestamp(2)),
            since: Timestamp(3),
            ended: Some(Timestamp(4)),
            limit: Some(Seconds(60)),
            suspension: Some(suspension()),
            nodes: shares(),
            priority: Some(5),
            reason: text("Resources"),
            started_by: Some(StartedBy::Main),
            status: WaitStatus(0),
            usage: Some(usage()),
        }],
        steps: vec![step()],
        change: record_change(),
    }
}
