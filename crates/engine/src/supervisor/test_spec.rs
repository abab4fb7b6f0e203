//! A spec for tests.

use crate::spec::{Environment, Program, StepSpec, Streams};
use api::StepTask;
use model::{JobId, NodeName, OpenMode, StepId};

/// A batch step of job 7 with one task, on node `n1`.
pub(super) fn spec() -> StepSpec {
    StepSpec {
        job: JobId(7),
        leader: None,
        restart: 0,
        step: StepId::Batch,
        node_index: 0,
        first_node: 0,
        tag: None,
        node: NodeName::new("n1"),
        nodes: None,
        own_processes: false,
        job_folder: None,
        engine: "/e".into(),
        binary: "/e/bin/1/yard".into(),
        uid: 0,
        gid: 0,
        user: "me".to_owned(),
        job_name: "job".to_owned(),
        array: None,
        program: Program::Command(vec!["true".to_owned()]),
        environment: Environment::Given(Vec::new()),
        variables: Vec::new(),
        removed: Vec::new(),
        chdir: "/".into(),
        umask: 0o22,
        tasks: vec![StepTask {
            rank: 0,
            local: 0,
            cpus: Vec::new(),
            pretended_cpus: Vec::new(),
            gpus: Vec::new(),
        }],
        step_tasks: 1,
        cpu_bind: None,
        gpu_bind: None,
        node_gpus: 0,
        streams: Streams::Files {
            output: "out".to_owned(),
            error: None,
            input: None,
            open_mode: OpenMode::Truncate,
        },
        gpu_locks: Vec::new(),
        gpu_devices: Vec::new(),
        cpus: Vec::new(),
        cpus_at_once: false,
        cpu_locks: Vec::new(),
        memory: None,
        job_memory: None,
        default_memory: false,
        deadline: None,
        own_deadline: None,
        warning: None,
        kill_wait_ms: 30_000,
        kill_on_bad_exit: false,
        no_kill: false,
        around_tasks: Default::default(),
        refused: None,
    }
}
