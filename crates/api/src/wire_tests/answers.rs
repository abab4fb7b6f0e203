//! Each answer, with all that can be in it.

use super::calls::{accounting, settings};
use super::jobs::{history, records, step};
use super::requests::{nodes, text};
use crate::{
    Answer, ArrayThrottle, AwaitedJob, ClusterReport, EngineFacts, HeldAmount, HistoryReports,
    JobHolds, JobReports, LicenceNeed, LicenceReport, LossOfPlace, LostPlace, NeverMet, NodeFacts,
    NodeReason, NodeReport, NodesNeeded, NotPlanned, OutOfUse, PartitionFacts, PartitionReport,
    PreemptedJob, Refusal, StepPrograms, SwitchReport, Unmet, Watched, WhyWaiting, WouldStart,
    WouldWait,
};
use model::{
    AccountingTransaction, BillingWeights, CallCount, Denial, JobId, JobPriorityInfo, JobRefusal,
    LimitScope, LimitedAmount, MemoryRequest, NodeEvent, NodeGpus, NodeGres, NodeName, NodeState,
    NodeUse, PartitionBound, PartitionSays, PartitionSharing, Passes, PriorityParts,
    PriorityReport, ReachedLimit, Reservation, ReservationFlag, ReservedFor, SchedulerStatistics,
    Seconds, ShareRow, StepHolders, StepId, Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

const JOB: JobId = JobId(1);
const AT: Timestamp = Timestamp(1);
const MINUTE: Seconds = Seconds(60);

fn limit() -> Option<ReachedLimit> {
    Some(ReachedLimit {
        scope: LimitScope::Qos("qos".to_owned()),
        on: LimitedAmount::Tres("cpu".to_owned()),
        with_it: 2,
        most: 1,
    })
}

fn out_of_use() -> Vec<OutOfUse> {
    vec![OutOfUse {
        nodes: nodes(),
        state: "DOWN".to_owned(),
        reason: "reason".to_owned(),
        by: "ann".to_owned(),
    }]
}

fn reserved_for() -> ReservedFor {
    ReservedFor {
        names: vec!["ann".to_owned()],
        are_excluded: true,
    }
}

fn reservation() -> Reservation {
    Reservation {
        name: "name".to_owned(),
        start: AT,
        end: AT,
        length: Some(MINUTE),
        nodes: nodes(),
        cores: vec![1],
        core_ids: vec![vec![0]],
        features: text("feature"),
        partition: text("partition"),
        users: reserved_for(),
        groups: reserved_for(),
        members: vec!["ann".to_owned()],
        accounts: reserved_for(),
        licences: text("licence"),
        flags: BTreeSet::from([ReservationFlag::Maint]),
        purge_after: Some(MINUTE),
        unused_since: Some(AT),
        floats_by: Some(MINUTE),
        max_start_delay: Some(MINUTE),
        number: 1,
    }
}

fn would_start() -> WouldStart {
    WouldStart {
        job: JOB,
        at: AT,
        cpus: 1,
        nodes: nodes(),
        partition: "partition".to_owned(),
        no_limit: Some(JOB),
        waits: Some(Box::new(WouldWait {
            reason: "Resources".to_owned(),
            start: Some(AT),
            limit: limit(),
        })),
    }
}

const AMOUNT: HeldAmount = HeldAmount {
    cpus: 1,
    gpus: 2,
    memory: 3,
};

fn why() -> WhyWaiting {
    WhyWaiting {
        job: JOB,
        reason: "Resources".to_owned(),
        needs: Some(AMOUNT),
        nodes_needed: Some(NodesNeeded {
            least: 1,
            with_room: Some(2),
            there: 3,
        }),
        out_of_use: out_of_use(),
        free: AMOUNT,
        free_on_one: AMOUNT,
        there: AMOUNT,
        ahead: vec![JOB],
        holders: vec![JobHolds {
            job: JOB,
            user: "ann".to_owned(),
            holds: AMOUNT,
            until: Some(AT),
            is_suspended: true,
            element: text("1_2"),
            preempted: Some(PreemptedJob {
                grace: Some(AT),
                comes_back: true,
            }),
        }],
        start: Some(AT),
        nodes: nodes(),
        no_limit: Some(JOB),
        unmet: vec![Unmet {
            condition: "afterok".to_owned(),
            met_at: Some(AT),
            jobs: vec![AwaitedJob {
                job: "1".to_owned(),
                waits: text("Resources"),
                until: Some(AT),
                is_suspended: true,
            }],
            more: 1,
        }],
        one_is_enough: true,
        never_met: vec![NeverMet {
            condition: "afterok".to_owned(),
            job: "1".to_owned(),
            state: text("FAILED"),
        }],
        cpus_held_elsewhere: vec![1],
        licences: vec![LicenceNeed {
            name: "licence".to_owned(),
            asked: 1,
            there: 2,
            reserved: 3,
            held: vec![(JOB, 4)],
        }],
        reservations: vec![reservation()],
        too_late: Some(AT),
        limit: limit(),
        partition_bound: Some(PartitionBound {
            partition: "partition".to_owned(),
            says: PartitionSays::Nodes {
                least: 1,
                most: Some(2),
            },
        }),
        throttle: Some(ArrayThrottle {
            array: JOB,
            most: 1,
            next: Some(2),
        }),
        not_planned: Some(NotPlanned {
            not_before: Some(AT),
            ahead: 1,
            tried: Some(2),
        }),
        instead: vec!["--time=1".to_owned()],
        smaller_untried: true,
    }
}

fn facts() -> EngineFacts {
    EngineFacts {
        version: "0.1.0".to_owned(),
        pid: 1,
        since: AT,
        state: PathBuf::from("/state"),
        cluster: "cluster".to_owned(),
        is_pretended: true,
        nodes_have_disks: true,
        partition: "partition".to_owned(),
        nodes: vec![NodeFacts {
            name: NodeName::new("n1"),
            is_virtual: true,
            cpus: 1,
            memory: 2,
            gpus: vec!["a100".to_owned()],
            cpus_used: 3,
            memory_used: 4,
            gpus_used: 5,
        }],
        cpus: 1,
        memory: 2,
        gpus: vec!["a100".to_owned()],
        cpus_used: 3,
        running: 4,
        pending: 5,
        limits: vec!["limit".to_owned()],
        out_of_use: out_of_use(),
        cpus_held_elsewhere: vec![1],
        last_pass: Some(AT),
        config: BTreeMap::from([("key".to_owned(), "value".to_owned())]),
        losses: vec!["loss".to_owned()],
        partitions: vec![PartitionFacts {
            name: "partition".to_owned(),
            memory: Some(MemoryRequest::PerCpu(1)),
            time: Some(MINUTE),
            preempted_after: Some(MINUTE),
            cpus_per_gpu: Some(2),
            memory_per_gpu: Some(3),
            max_memory_per_cpu: Some(4),
            billing: BillingWeights::parse("CPU=2", true),
            sharing: PartitionSharing::Cpus,
            is_hidden: true,
        }],
        srun_prolog: text("prolog"),
        srun_epilog: text("epilog"),
    }
}

fn cluster() -> ClusterReport {
    ClusterReport {
        name: "cluster".to_owned(),
        nodes: vec![node()],
        partitions: vec![partition()],
        licences: vec![LicenceReport {
            name: "licence".to_owned(),
            total: 1,
            used: 2,
            reserved: 3,
        }],
        switches: vec![SwitchReport {
            name: "switch".to_owned(),
            level: 1,
            link_speed: 2,
            nodes: nodes(),
            below: vec!["leaf".to_owned()],
        }],
        reservations: vec![reservation()],
        since: AT,
        is_pretended: true,
    }
}

fn node() -> NodeReport {
    NodeReport {
        name: NodeName::new("n1"),
        state: NodeState {
            usage: NodeUse::Mixed,
            is_down: true,
            is_drained: true,
            is_failing: true,
            is_reserved: true,
            is_maintained: true,
            is_planned: true,
            is_lost: true,
            is_future: true,
            is_cloud: true,
            is_dynamic: true,
        },
        reason: Some(NodeReason {
            text: "reason".to_owned(),
            user: "ann".to_owned(),
            at: AT,
        }),
        cpus: 1,
        cpus_used: 2,
        memory: 3,
        memory_used: 4,
        sockets: Some([1, 2, 3]),
        tmp_disk: Some(5),
        weight: 6,
        features: vec!["feature".to_owned()],
        active_features: vec!["feature".to_owned()],
        said: settings(),
        gpus: vec![NodeGpus {
            kind: text("a100"),
            count: 1,
            sockets: vec![0],
            used: vec![0],
        }],
        gres: vec![NodeGres {
            name: "gres".to_owned(),
            kind: text("kind"),
            count: 1,
            used: 2,
        }],
        jobs: 7,
        last_busy: AT,
    }
}

fn partition() -> PartitionReport {
    PartitionReport {
        name: "partition".to_owned(),
        is_default: true,
        state: "UP".to_owned(),
        nodes: nodes(),
        max_time: Some(MINUTE),
        default_time: Some(MINUTE),
        min_nodes: 1,
        max_nodes: Some(2),
        tier: 3,
        factor: 4,
        max_cpus_per_node: Some(5),
        default_memory_per_cpu: Some(6),
        default_memory_per_node: Some(7),
        max_memory_per_cpu: Some(8),
        whole_nodes: true,
        one_user: true,
        layers: Some((2, true)),
        qos: text("qos"),
        grace_time: MINUTE,
        settings: settings(),
        is_hidden: true,
        preempt_mode: "OFF".to_owned(),
        billing: BillingWeights::parse("CPU=2", true),
    }
}

fn parts() -> PriorityParts {
    PriorityParts {
        age: 1.0,
        association: 2.0,
        fair_share: 3.0,
        job_size: 4.0,
        partition: 5.0,
        qos: 6.0,
        tres: vec![("cpu".to_owned(), 7.0)],
    }
}

fn priorities() -> PriorityReport {
    PriorityReport {
        is_multifactor: true,
        weights: parts(),
        jobs: vec![JobPriorityInfo {
            job: JOB,
            user: "ann".to_owned(),
            uid: 1,
            account: "account".to_owned(),
            partition: "partition".to_owned(),
            priority: 2,
            nice: 3,
            site: 4,
            parts: parts(),
        }],
    }
}

fn share() -> ShareRow {
    ShareRow {
        account: "account".to_owned(),
        user: text("ann"),
        partition: Some("partition".to_owned()),
        depth: 1,
        shares: "1".to_owned(),
        norm_shares: 0.5,
        usage: 1.0,
        norm_usage: 0.5,
        effective_usage: 0.5,
        fair_share: Some(0.5),
        level: Some(0.5),
        id: 2,
        group_minutes: "cpu=1".to_owned(),
        run_minutes: vec![("cpu".to_owned(), 1)],
    }
}

fn statistics() -> SchedulerStatistics {
    let passes = Passes {
        count: 1,
        last: 2,
        longest: 3,
        sum: 4,
        last_depth: 5,
        depth: 6,
        last_queue: 7,
        queue: 8,
        last_promised: 9,
        promised: 10,
    };
    let calls = vec![CallCount {
        name: "submit".to_owned(),
        number: 1,
        count: 2,
        time: 3,
    }];
    SchedulerStatistics {
        at: AT,
        since: AT,
        threads: 1,
        submitted: 2,
        started: 3,
        completed: 4,
        canceled: 5,
        failed: 6,
        pending: 7,
        running: 8,
        passes,
        backfill: passes,
        last_backfill: Some(AT),
        backfilled_in_all: 9,
        backfilled: 10,
        by_kind: calls.clone(),
        by_user: calls,
    }
}

fn refusals() -> Vec<Option<Refusal>> {
    let (job, because) = (JOB, "because".to_owned());
    let never_fits = Refusal::NeverFits(Box::new(JobRefusal {
        denial: Denial::NodeConfig,
        asked: "asked".to_owned(),
        there: "there".to_owned(),
        todo: "do".to_owned(),
        limit: text("limit"),
        detail: text("detail"),
    }));
    let all = [
        Refusal::NoSuchJob { job },
        Refusal::AlreadyEnded { job },
        Refusal::NotRunning { job },
        Refusal::NotRequeueable { job, because },
        never_fits,
        Refusal::Busy,
        Refusal::OfElements {
            job,
            each: vec![(vec![1], "words".to_owned())],
        },
        Refusal::NotYours {
            job,
            owner: "ann".to_owned(),
        },
        Refusal::invalid("message"),
        Refusal::Store {
            message: "message".to_owned(),
        },
        Refusal::Stopping,
    ];
    all.into_iter().map(Some).chain([None]).collect()
}

pub(super) fn all() -> Vec<Answer> {
    vec![
        Answer::HandedOver,
        Answer::Submitted {
            job: JOB,
            now: Some(Box::new(records().remove(0))),
            programs: StepPrograms {
                srun_prolog: text("prolog"),
                srun_epilog: text("epilog"),
            },
            step: Some(Box::new(step())),
        },
        Answer::Reserved {
            name: "name".to_owned(),
        },
        Answer::WouldStart(would_start()),
        Answer::Why(Box::new(why())),
        Answer::Jobs {
            jobs: JobReports(records()),
            rest_after: Some(JOB),
        },
        Answer::Watched(Watched {
            jobs: JobReports::default(),
            version: 1,
        }),
        Answer::Steps {
            steps: vec![step()],
        },
        Answer::Script {
            text: "#!/bin/sh\n".to_owned(),
        },
        Answer::Histories {
            jobs: HistoryReports(vec![history()]),
            rest_after: Some(JOB),
        },
        Answer::Step(step()),
        Answer::Cancelled {
            refusals: refusals(),
        },
        Answer::Preempted {
            jobs: vec![LostPlace {
                job: JOB,
                mode: LossOfPlace::Suspend,
                until: Some(AT),
            }],
        },
        Answer::Facts(Box::new(facts())),
        Answer::Cluster(Box::new(cluster())),
        Answer::Priorities(Box::new(priorities())),
        Answer::Shares {
            rows: vec![share()],
        },
        Answer::Accounting(accounting()),
        Answer::Events {
            events: vec![NodeEvent {
                node: "n1".to_owned(),
                begin: AT,
                end: Some(AT),
                state: 1,
                reason: "reason".to_owned(),
                user: "ann".to_owned(),
            }],
        },
        Answer::Transactions {
            changes: vec![AccountingTransaction {
                at: AT,
                actor: "ann".to_owned(),
                action: "Add Users".to_owned(),
                object: "ann".to_owned(),
                info: "info".to_owned(),
            }],
        },
        Answer::Holders {
            steps: vec![StepHolders {
                job: JOB,
                step: StepId::Number(1),
                tasks: 2,
                nodes: vec![(NodeName::new("n1"), Some(3))],
            }],
        },
        Answer::Statistics(Box::new(statistics())),
        Answer::Done,
        Answer::Refused(Refusal::Busy),
    ]
}
