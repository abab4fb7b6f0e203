//! Each call, with all that can be in it.

use super::requests::{USER, array, nodes, request, step, submission, text};
use crate::{
    Call, CancelRequest, ClusterChange, EndedFilter, Handover, JobFilter, LossOfPlace, NamedJob,
    NodeChange, NodeUpdate, Selector,
};
use model::{
    Account, AccountAssociation, AccountUser, Accounting, JobChange, JobId, JobRecordChange,
    JobStateName, LengthChange, LicenceResource, LimitChange, NameSign, NamesChange, Qos,
    RequeueHold, ReservationFlag, ReservationRequest, ReservedNodes, Seconds, Settings, StepId,
    Timestamp, UsageOwner, WaitStatus, Wckey,
};

const JOB: JobId = JobId(1);
const NAMED: NamedJob = NamedJob {
    job: JOB,
    element: Some(2),
    component: Some(3),
};

fn filter() -> JobFilter {
    JobFilter {
        ids: Some(vec![JOB]),
        ended_since: Some(Timestamp(1)),
        comment: text("comment"),
        users: Some(vec!["ann".to_owned()]),
        components: true,
        ended: EndedFilter {
            submitted_until: Some(Timestamp(2)),
            names: Some(vec!["name".to_owned()]),
            accounts: Some(vec!["account".to_owned()]),
            partitions: Some(vec!["partition".to_owned()]),
            qos: Some(vec!["qos".to_owned()]),
            nodes: Some(nodes()),
            states: Some(vec![JobStateName::Completed]),
        },
    }
}

pub(super) fn settings() -> Settings {
    Settings::from([("key".to_owned(), "value".to_owned())])
}

fn cancel(selector: Selector) -> CancelRequest {
    CancelRequest {
        selector,
        signal: Some(9),
        batch: true,
        full: true,
    }
}

fn names() -> Option<NamesChange> {
    Some(NamesChange {
        names: vec![(Some(NameSign::More), "ann".to_owned())],
    })
}

fn reservation() -> ReservationRequest {
    ReservationRequest {
        name: text("name"),
        start: Some(Timestamp(1)),
        end: Some(Timestamp(2)),
        length: Some(LengthChange::To(Seconds(60))),
        nodes: Some(ReservedNodes::To(nodes())),
        node_counts: Some(vec![1]),
        core_counts: Some(vec![2]),
        features: text("feature"),
        partition: text("partition"),
        users: names(),
        groups: names(),
        accounts: names(),
        licences: text("licence"),
        flags: vec![(ReservationFlag::Maint, true)],
        purge_after: Some(Seconds(60)),
        max_start_delay: Some(Seconds(60)),
        skips: true,
    }
}

pub(super) fn accounting() -> Box<Accounting> {
    Box::new(Accounting {
        version: 1,
        cluster: "cluster".to_owned(),
        accounts: vec![Account {
            name: "account".to_owned(),
            description: "account".to_owned(),
            organization: "all".to_owned(),
            coordinators: vec!["ann".to_owned()],
        }],
        users: vec![AccountUser {
            name: "ann".to_owned(),
            default_account: "account".to_owned(),
            admin: "Operator".to_owned(),
            default_wckey: "key".to_owned(),
        }],
        associations: vec![AccountAssociation {
            account: "account".to_owned(),
            user: text("ann"),
            parent: text("root"),
            partition: text("partition"),
            qos: Some(vec!["qos".to_owned()]),
            settings: settings(),
            id: 1,
        }],
        qos: vec![Qos {
            name: "qos".to_owned(),
            description: "qos".to_owned(),
            settings: settings(),
            id: 1,
        }],
        wckeys: vec![Wckey {
            name: "key".to_owned(),
            user: "ann".to_owned(),
        }],
        resources: vec![LicenceResource {
            name: "licence".to_owned(),
            server: "server".to_owned(),
            description: "licence".to_owned(),
            server_type: "flexlm".to_owned(),
            count: 1,
            allowed: Some(50),
        }],
        federations: vec!["federation".to_owned()],
    })
}

pub(super) fn record_change() -> JobRecordChange {
    JobRecordChange {
        derived_exit_code: Some(1),
        comment: text("comment"),
        admin_comment: text("admin"),
        system_comment: text("system"),
    }
}

fn change_nodes() -> Call {
    Call::ChangeCluster(Box::new(ClusterChange::Nodes {
        nodes: nodes(),
        update: NodeUpdate {
            state: Some(NodeChange::Drain),
            reason: text("reason"),
            settings: settings(),
        },
    }))
}

pub(super) fn all() -> Vec<Call> {
    let matching = Selector::Matching {
        uid: Some(1),
        name: text("name"),
        state: text("PENDING"),
        partition: text("partition"),
        account: text("account"),
        qos: text("qos"),
    };
    let changes = vec![
        JobChange::TimeLimit(LimitChange::More(Seconds(60))),
        JobChange::Nodes(1, Some(2)),
    ];
    vec![
        Call::Handover(Handover {
            to: "0.2.0".to_owned(),
        }),
        Call::Submit(submission()),
        Call::Test {
            request: Box::new(request()),
            as_user: Some(USER),
        },
        Call::Why { job: JOB },
        Call::Jobs {
            filter: filter(),
            after: Some(JOB),
            whole: true,
        },
        Call::Watch {
            filter: JobFilter::default(),
            after: 1,
            wait_ms: 2,
        },
        Call::Script {
            job: JOB,
            environment: true,
        },
        Call::Steps { job: JOB },
        Call::Histories {
            filter: JobFilter::default(),
            after: JOB,
            most: 2,
            whole: true,
        },
        Call::Cancel(cancel(matching)),
        Call::CancelEach {
            requests: vec![
                cancel(Selector::Job(JOB)),
                cancel(Selector::Elements(JOB, array().indices)),
                cancel(Selector::Step(JOB, StepId::Number(1))),
            ],
        },
        Call::Requeue {
            job: NAMED,
            hold: RequeueHold::Held,
            restart: Some(1),
            only_running: true,
        },
        Call::Suspend {
            job: NAMED,
            suspend: true,
        },
        Call::Notify {
            job: JOB,
            text: "text".to_owned(),
        },
        Call::Preempt {
            job: NAMED,
            mode: Some(LossOfPlace::Requeue),
        },
        Call::Hold {
            job: NAMED,
            hold: true,
            user: true,
        },
        Call::Update {
            job: NAMED,
            changes,
        },
        Call::CreateStep {
            job: JOB,
            step: step(),
        },
        Call::SignalStep {
            job: JOB,
            step: StepId::Batch,
            signal: 15,
        },
        Call::Release {
            job: JOB,
            status: WaitStatus(0),
        },
        Call::StepEnded {
            job: JOB,
            restart: 1,
            step: StepId::Batch,
            node: 2,
        },
        change_nodes(),
        Call::Reserve {
            asked: Box::new(reservation()),
            is_new: true,
        },
        Call::Unreserve {
            name: "name".to_owned(),
        },
        Call::Reconfigure,
        Call::Facts,
        Call::Cluster,
        Call::Priorities,
        Call::Shares,
        Call::Accounting,
        Call::Events,
        Call::Transactions,
        Call::SetAccounting(accounting()),
        Call::ModifyRecords {
            jobs: vec![JOB],
            change: record_change(),
        },
        Call::ResetUsage {
            of: vec![
                UsageOwner::Qos {
                    name: "qos".to_owned(),
                },
                UsageOwner::Account {
                    account: "account".to_owned(),
                },
                UsageOwner::User {
                    account: "account".to_owned(),
                    user: "ann".to_owned(),
                    partition: Some("partition".to_owned()),
                },
            ],
        },
        Call::Holders { job: Some(JOB) },
        Call::Statistics,
        Call::ResetStatistics,
        Call::Stop,
    ]
}
