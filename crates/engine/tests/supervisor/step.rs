//! A step under test: its folder, its spec, its supervisor.

use api::StepTask;
use engine::record::{self, Found};
use engine::spec::{
    Environment, ExitFile, LISTEN, Program, StepSpec, Streams, SupervisorAnswer, SupervisorCall,
};
use model::{JobId, NodeName, OpenMode, StepId};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// A step that can be started once.
pub struct Step {
    root: tempfile::TempDir,
    /// May be changed before the start.
    pub spec: StepSpec,
    supervisor: Option<Child>,
}

impl Step {
    /// The batch step of job 7, running a shell script; its output goes to `out` in its folder.
    pub fn script(text: &str) -> Step {
        let mut step = Step::command(&[], 1);
        let path = step.path("script");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        step.spec.step = StepId::Batch;
        let args = Vec::new();
        step.spec.program = Program::Script { path, args };
        step
    }

    /// Step 0 of job 7 with so many tasks of a command.
    pub fn command(words: &[&str], tasks: u32) -> Step {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("bin/1/slurm")).unwrap();
        let program = std::env::current_exe().unwrap();
        std::os::unix::fs::symlink(program, root.path().join("bin/1/yard")).unwrap();
        let environment = Environment::Given(vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("A".to_owned(), "b c".to_owned()),
        ]);
        let task = |rank| StepTask {
            rank,
            local: rank,
            cpus: Vec::new(),
            pretended_cpus: Vec::new(),
            gpus: Vec::new(),
        };
        let spec = StepSpec {
            job: JobId(7),
            leader: None,
            restart: 0,
            step: StepId::Number(0),
            node_index: 0,
            first_node: 0,
            node: NodeName::new("n1"),
            nodes: None,
            own_processes: false,
            job_folder: None,
            engine: root.path().to_owned(),
            binary: root.path().join("bin/1/yard"),
            uid: 0,
            gid: 0,
            user: "me".to_owned(),
            tag: None,
            job_name: "job".to_owned(),
            array: None,
            program: Program::Command(words.iter().map(|word| (*word).to_owned()).collect()),
            environment,
            variables: Vec::new(),
            removed: Vec::new(),
            chdir: root.path().to_owned(),
            umask: 0o22,
            tasks: (0..tasks).map(task).collect(),
            step_tasks: tasks,
            cpu_bind: None,
            gpu_bind: None,
            node_gpus: 0,
            streams: Streams::Files {
                output: "out".to_owned(),
                error: None,
                input: None,
                open_mode: OpenMode::Truncate,
            },
            memory: None,
            job_memory: None,
            default_memory: false,
            own_deadline: None,
            deadline: None,
            warning: None,
            kill_wait_ms: 60_000,
            gpu_locks: Vec::new(),
            gpu_devices: Vec::new(),
            cpus: Vec::new(),
            cpus_at_once: false,
            cpu_locks: Vec::new(),
            kill_on_bad_exit: false,
            no_kill: false,
            around_tasks: Default::default(),
            refused: None,
        };
        Step {
            root,
            spec,
            supervisor: None,
        }
    }

    /// A file of the step's.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The file that holds the spec.
    pub fn write_spec(&self) -> PathBuf {
        let path = self.path("spec");
        std::fs::write(&path, serde_json::to_vec(&self.spec).unwrap()).unwrap();
        path
    }

    /// Starts the supervisor.
    pub fn start(mut self) -> Step {
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.arg("supervise").arg(self.write_spec());
        self.supervisor = Some(command.spawn().unwrap());
        self
    }

    /// The supervisor's record, once it has begun.
    pub fn record(&self) -> Option<Found> {
        let engine = api::EngineFolder::new(self.root.path());
        record::read(&engine.steps().join(self.spec.key().to_string())).unwrap()
    }

    /// The supervisor's process, waiting for its beginning.
    pub fn supervisor(&self) -> u32 {
        until("the supervisor began", || self.record().is_some());
        self.record().unwrap().holder.pid
    }

    /// What a file holds now; nothing where it is missing.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Waits until a file holds a whole line, and returns its number.
    pub fn pid_in(&self, name: &str) -> u32 {
        until(name, || self.text(name).ends_with('\n'));
        self.text(name).trim().parse().unwrap()
    }

    /// Waits for the supervisor's end and reads what it left.
    pub fn exit(&mut self) -> ExitFile {
        if let Some(mut supervisor) = self.supervisor.take() {
            assert!(supervisor.wait().unwrap().success());
        }
        self.exit_file().unwrap()
    }

    /// How it ended, once that is written.
    pub fn exit_file(&self) -> Option<ExitFile> {
        self.record()?.exit
    }

    /// The wait statuses of the tasks.
    pub fn statuses(&mut self) -> Vec<i32> {
        let exit = self.exit();
        assert_eq!(exit.launch_error, None);
        exit.tasks.iter().map(|task| task.status.0).collect()
    }

    /// Calls the supervisor.
    pub fn call(&self, call: &SupervisorCall) -> SupervisorAnswer {
        let supervisor = self.supervisor();
        let socket = self.record().unwrap().socket;
        let mut stream = None;
        until("the supervisor listens", || {
            sys::process::signal(supervisor, LISTEN).unwrap();
            stream = sys::socket::connect(&socket).ok();
            stream.is_some()
        });
        let mut stream = stream.unwrap();
        let mut line = serde_json::to_vec(call).unwrap();
        line.push(b'\n');
        stream.write_all(&line).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(mut supervisor) = self.supervisor.take() {
            let _ = supervisor.kill();
            let _ = supervisor.wait();
        }
        // Of a test that failed: a fork server's supervisor would wait for ever.
        let holder = self.record().filter(|found| found.exit.is_none());
        let holder = holder.map(|found| found.holder);
        if let Some(holder) = holder
            && sys::process::is_same(holder.pid, holder.start_time)
        {
            let _ = sys::process::signal(holder.pid, 15);
        }
    }
}

/// Waits for a condition; gives up after a time that only a hang needs.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "waited for: {what}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process lives.
pub fn lives(pid: u32) -> bool {
    sys::process::start_time(pid).is_some()
}
