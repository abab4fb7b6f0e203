//! What is asked for, with all that can be asked.

use crate::{AsUser, NewStep, StepLaunch, StepPart, StepRequestName, Submission, TaskFiles};
use model::{
    ArraySpec, AskedSwitches, AskedTres, BindTo, ComponentPlace, CpuBind, CpuRange, Dealing,
    Distribution, GpuBind, GpuBindTo, GpuCount, GresList, JobId, Levels, MailEvent, MemoryRequest,
    NodeName, NodeOptions, OpenMode, RareOptions, Request, Seconds, Sharing, ShownOptions,
    SignalSpec, SignalTarget, StepRequest, TimeLimitRequest, Timestamp,
};
use std::path::PathBuf;
use std::sync::Arc;

pub(super) fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

pub(super) fn nodes() -> Vec<NodeName> {
    vec![NodeName::new("n1")]
}

fn gpus() -> Option<GpuCount> {
    Some(GpuCount {
        kind: text("a100"),
        count: 1,
    })
}

fn distribution() -> Option<Distribution> {
    Some(Distribution {
        levels: Levels::Dealt(vec![Dealing::Block]),
        pack: Some(true),
    })
}

pub(super) fn array() -> ArraySpec {
    ArraySpec {
        indices: vec![0, 2],
        step: 2,
        throttle: Some(1),
    }
}

pub(super) fn request() -> Request {
    Request {
        name: "name".to_owned(),
        account: text("account"),
        partition: text("partition"),
        qos: text("qos"),
        min_nodes: Some(1),
        max_nodes: Some(2),
        tasks: Some(3),
        tasks_per_node: Some(4),
        cpus_per_task: Some(5),
        memory: Some(MemoryRequest::PerNode(6)),
        gpus: gpus(),
        gpus_per_node: gpus(),
        exclusive: true,
        time: Some(TimeLimitRequest::Limit(Seconds(60))),
        hold: true,
        nice: 7,
        output: text("output"),
        chdir: PathBuf::from("/"),
        rare: rare().into(),
        shown: Some(Box::new(shown())),
    }
}

fn rare() -> RareOptions {
    RareOptions {
        gpus_per_task: gpus(),
        cpus_per_gpu: Some(1),
        asked: AskedTres {
            per_job: GresList::default(),
            per_node: GresList::default(),
            per_socket: GresList::default(),
            per_task: GresList::default(),
            bind: text("bind"),
            frequency: text("frequency"),
            tasks_of_each: Some(2),
            enforce_binding: true,
            is_by_gres: true,
        },
        begin: Some(Timestamp(1)),
        deadline: Some(Timestamp(2)),
        time_min: Some(TimeLimitRequest::Unlimited),
        priority: Some(3),
        dependency: text("afterok:1"),
        array: Some(array()),
        signal: Some(SignalSpec {
            signal: 10,
            before: Seconds(60),
            target: SignalTarget::Steps,
            borrows: true,
        }),
        requeue: Some(true),
        error: text("error"),
        input: text("input"),
        open_mode: Some(OpenMode::Append),
        distribution: distribution(),
        no_shell: true,
        no_kill: true,
        site_factor: 4,
        comment: text("comment"),
        constraint: text("constraint"),
        nodelist: Arc::new(nodes()),
        task_nodes: Arc::new(nodes()),
        exclude: Arc::new(nodes()),
        reservation: text("reservation"),
        licenses: text("licence"),
        mail_types: vec![MailEvent::Begin],
        mail_user: text("user"),
        container: text("container"),
        kill_on_invalid_dep: Some(true),
        array_throttle: Some(5),
        component: Some(ComponentPlace {
            leader: JobId(1),
            offset: 1,
            size: 2,
            batch: true,
        }),
        node_options: Some(Box::new(NodeOptions {
            min_cpus: Some(1),
            cpus: Some(CpuRange {
                least: 1,
                most: Some(2),
            }),
            tmp_mib: Some(3),
            sockets_per_node: Some(4),
            cores_per_socket: Some(5),
            threads_per_core: Some(6),
            tasks_per_socket: Some(7),
            tasks_per_core: Some(8),
            contiguous: true,
            overcommit: true,
            sharing: Some(Sharing::Exclusive),
            prefer: text("prefer"),
            spread: true,
            fewest_nodes: true,
            switches: Some(AskedSwitches {
                count: 1,
                wait: Some(2),
            }),
            nodes_follow: true,
        })),
    }
}

/// What it reads of former stores is not sent: its fields are the model's own, and so this is no full literal.
fn shown() -> ShownOptions {
    let mut shown = ShownOptions::default();
    shown.network = text("network");
    shown.cluster_features = text("features");
    shown.delay_boot = Some(Seconds(1));
    shown.mcs_label = text("label");
    shown.levels_power = true;
    shown.batch_features = text("v100");
    shown.disables_binding = true;
    shown.admin_comment = text("admin");
    shown.wckey = text("wckey");
    shown.kills_on_invalid_dependency = Some(true);
    shown.cpu_frequency = text("low");
    shown.submit_line = text("sbatch x");
    shown.session = 9;
    shown
}

fn files() -> TaskFiles {
    TaskFiles {
        chdir: PathBuf::from("/"),
        output: text("output"),
        error: text("error"),
        input: text("input"),
        label: true,
    }
}

fn step_request() -> StepRequest {
    StepRequest {
        name: "step".to_owned(),
        submit_line: text("srun x"),
        min_nodes: Some(1),
        max_nodes: Some(2),
        nodes_inherited: true,
        tasks: Some(3),
        tasks_per_node: Some(4),
        cpus_per_task: Some(5),
        memory: Some(6),
        gpus_per_node: gpus(),
        gpus_per_task: gpus(),
        tasks_per_gpu: Some(7),
        gpu_bind: Some(GpuBind {
            text: "single:1".to_owned(),
            verbose: true,
            to: GpuBindTo::Single(Some(1)),
        }),
        overcommit: true,
        overlap: true,
        exact: true,
        nodelist: nodes(),
        task_nodes: nodes(),
        exclude: nodes(),
        relative: Some(8),
        distribution: distribution(),
        cpu_bind: Some(CpuBind {
            verbose: Some(true),
            to: BindTo::Cores,
            one_thread: true,
        }),
        kill_on_bad_exit: true,
        no_kill: true,
        reserved_ports: 9,
        cpus_per_gpu: Some(3),
        threads_per_core: Some(1),
    }
}

pub(super) fn step() -> Box<NewStep> {
    Box::new(NewStep {
        name: StepRequestName {
            token: "token".to_owned(),
            again: true,
        },
        request: step_request(),
        launch: StepLaunch {
            command: vec!["true".to_owned()],
            programs: vec![vec!["true".to_owned()]],
            parts: vec![StepPart {
                component: 1,
                request: StepRequest::default(),
                files: Some(files()),
                environment: Some(vec![("A".to_owned(), "c".to_owned())]),
            }],
            environment: vec![("A".to_owned(), "b".to_owned())],
            preserve_env: true,
            files: files(),
            umask: 0o22,
            open_mode: Some(OpenMode::Truncate),
            listen: Some(PathBuf::from("/s")),
            pty: true,
            time: Some(1),
            task_prolog: text("prolog"),
            task_epilog: text("epilog"),
            waits: true,
        },
    })
}

pub(super) const USER: AsUser = AsUser { uid: 1, gid: 2 };

pub(super) fn submission() -> Box<Submission> {
    Box::new(Submission {
        token: "token".to_owned(),
        request: request(),
        later: vec![Request::default()],
        script: text("#!/bin/sh\n"),
        args: vec!["a".to_owned()],
        command: text("x"),
        environment: vec![("A".to_owned(), "b".to_owned())],
        umask: 0o22,
        submit_host: "here".to_owned(),
        as_user: Some(USER),
        step: Some(step()),
    })
}
