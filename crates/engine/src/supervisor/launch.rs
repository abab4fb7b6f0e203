//! Starts the tasks of a step.

use super::memory_limit::MemoryLimit;
use super::relay::Relay;
use super::step_groups::StepGroups;
use super::task_epilogs::{PendingEpilogs, TaskEpilogs};
use super::task_files::words;
use super::temporary_folder::TemporaryFolder;
use super::{gpu_binding, slurm_links, task_environment, task_streams};
use crate::spec::{Program, StepSpec, Streams};
use model::{Bound, PassedLimit, StepId, TaskUsage, WaitStatus, broadcast_name};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use sys::SoftLimit;
use sys::env_vars::{TMPDIR, TRAINYARD_SUPERVISOR};
use sys::process::{Spawn, Spawned, User};

/// Tasks are killed for memory before their supervisor is.
const OOM_SCORE_ABOVE_OURS: i32 = 300;

/// A started task.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) rank: u32,
    pub(super) pid: u32,
    /// The namespace of its host name, where it has one of its own.
    pub(super) host: Option<u64>,
    /// What `wait` said, once it ended and its epilogs did.
    pub(super) status: Option<WaitStatus>,
    /// What it used, once it ended.
    pub(super) used: Option<TaskUsage>,
    /// Most bytes of addresses that it and all below it had when they were looked at.
    pub(super) addresses: Option<u64>,
    /// What runs after it.
    pub(super) epilogs: Option<PendingEpilogs>,
    /// Where its errors go, if that is a file. It is not held open: a step may have many tasks.
    pub(super) errors: Option<PathBuf>,
}

impl Task {
    /// Whether its own process lives.
    pub(super) fn lives(&self) -> bool {
        let epilogs = self.epilogs.as_ref();
        self.status.is_none() && !epilogs.is_some_and(PendingEpilogs::begun)
    }

    /// Whether this process's end is about it.
    pub(super) fn awaits(&self, pid: u32) -> bool {
        let epilogs = self.epilogs.as_ref();
        self.lives() && self.pid == pid || epilogs.is_some_and(|epilogs| epilogs.is(pid))
    }
}

/// The PID namespace that tasks are started in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<'a> {
    /// The process that keeps it.
    pub(super) keeper: u32,
    /// Where the supervisor answers.
    pub(super) supervisor: &'a Path,
}

/// What the tasks of a step have in common once they are started.
pub(super) struct Started {
    /// Where the supervisor writes for the user when that is not `srun`: the first task's stderr.
    pub(super) messages: Option<File>,
    /// How their epilogs are started.
    pub(super) epilogs: TaskEpilogs,
}

/// Opens the streams and starts every task of a step that begins with this environment. When it fails, tasks may
/// have been started; the message is for the user. `stop` ends the wait for a disk.
pub(super) fn launch(
    spec: &StepSpec,
    environment: Vec<(String, String)>,
    memory: &MemoryLimit,
    inside: Option<Inside<'_>>,
    mut relay: Option<&mut Relay>,
    tasks: &mut Vec<Task>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Started>, String> {
    let is_path = |(name, _): &(String, String)| name == "PATH";
    let has_path = environment.iter().any(is_path);
    let mut environment = task_environment::of_step(environment, spec);
    // Without a path of its own a step finds Slurm's commands, and its program by a name with a slash alone, as
    // with Slurm.
    let path = environment.iter().find(|pair| has_path && is_path(pair));
    let path = path.map_or_else(String::new, |(_, path)| path.clone());
    let passed = PassedLimit::take(&mut environment);
    environment.retain(|(name, _)| name != TRAINYARD_SUPERVISOR);
    let user = user(spec);
    // A supervisor starts an engine for its own user alone.
    if let Some(Inside { supervisor, .. }) = inside.filter(|_| user.is_none()) {
        let socket = supervisor.to_string_lossy().into_owned();
        environment.push((TRAINYARD_SUPERVISOR.to_owned(), socket));
    }
    let groups = StepGroups::of(spec, memory, &passed);
    let (limits, refused) = limits(passed);
    if let Err(error) = slurm_links::prepare(&spec.binary) {
        tracing::warn!("links beside {}: {error}", spec.binary.display());
    }
    sys::process::set_umask(spec.umask);
    let elsewhere = sys::process::as_user(user.as_ref(), || enter(&spec.chdir))
        .map_err(|error| format!("could not become {}: {}", spec.user, words(&error)))?;
    let temporary = sys::process::as_user(user.as_ref(), || TemporaryFolder::prepare(&environment))
        .map_err(|error| format!("could not become {}: {}", spec.user, words(&error)))?;
    let own = crate::node_disks::make_job_folder(spec, user.as_ref());
    let own = own.map_err(|error| {
        let named = spec.job_folder.as_ref().map_or("", |own| &own.variable);
        format!(
            "could not make the job's {named} on {}: {}",
            spec.node,
            words(&error)
        )
    })?;
    if let Some((variable, path)) = &own {
        task_environment::set(&mut environment, variable, path);
    }
    let keeper = inside.map(|inside| inside.keeper);
    let mut view = crate::isolation::of_step(spec, &environment, keeper, user.as_ref())
        .map_err(|error| format!("could not make node {}: {}", spec.node, words(&error)))?;
    let streams = task_streams::open(spec, user.as_ref(), relay.as_deref_mut(), stop);
    // What the supervisor writes from now on is its own.
    sys::process::set_umask(0o077);
    let streams = streams?;
    let messages = match (&spec.streams, streams.first()) {
        // Of labelled lines this process reads what it would write.
        (Streams::Srun { error: None, .. } | Streams::Srun { label: true, .. }, _) | (_, None) => {
            None
        }
        (_, Some(first)) => first.error.try_clone().ok().map(File::from),
    };
    let default_temporary = temporary.value();
    let complaints = elsewhere.into_iter().chain(refused);
    for text in complaints.chain(temporary.complaint()) {
        say(&text, relay.as_deref_mut(), messages.as_ref());
    }
    let oom_score_adj = (sys::process::oom_score_adj() + OOM_SCORE_ABOVE_OURS).min(1000);
    if let Some(view) = view.as_mut().filter(|_| spec.tasks.len() > 1) {
        view.share_namespaces();
    }
    for (place, (task, streams)) in spec.tasks.iter().zip(streams).enumerate() {
        let program = program(spec, place, &path).after_prologs(spec);
        let told = gpu_binding::of_task(spec, task, &groups);
        for error in &told.errors {
            say(error, relay.as_deref_mut(), messages.as_ref());
        }
        if let Some(line) = &told.report {
            tell_task(line, &streams.error);
        }
        let mut environment = task_environment::of_task(&environment, task, &told.gpus);
        if let Some(folder) = default_temporary.filter(|_| task.local == 0) {
            task_environment::set(&mut environment, TMPDIR, folder);
        }
        let spawn = Spawn {
            program: &program.file,
            args: &program.args,
            environment: &environment,
            pid_variable: Some("SLURM_TASK_PID"),
            streams: [
                streams.input.as_fd(),
                streams.output.as_fd(),
                streams.error.as_fd(),
            ],
            terminal: streams.terminal,
            cpus: &task.cpus,
            umask: spec.umask,
            oom_score_adj,
            cgroups: groups.entrances(),
            limits: &limits,
            user: user.as_ref(),
            view: view.as_ref(),
        };
        let Spawned { pid, host } = spawn
            .spawn()
            .map_err(|error| format!("could not start task {}: {}", task.rank, words(&error)))?;
        if let Some(view) = &mut view {
            view.take_namespaces();
        }
        if let Some(bind) = spec
            .cpu_bind
            .as_ref()
            .filter(|bind| bind.verbose == Some(true))
        {
            let (cpus, bound) = if !task.pretended_cpus.is_empty() {
                (&task.pretended_cpus, Bound::Pretended)
            } else if are_here(&task.cpus) {
                (&task.cpus, Bound::Set)
            } else {
                (&task.cpus, Bound::Failed)
            };
            let ids = (task.rank, task.local);
            let line = bind.report(spec.node.as_str(), ids, pid, cpus, bound);
            tell_task(&line, &streams.error);
        }
        tasks.push(Task {
            rank: task.rank,
            pid,
            host,
            status: None,
            used: None,
            addresses: None,
            errors: path_of(&streams.error),
            epilogs: PendingEpilogs::of(spec, environment, pid, streams.error),
        });
    }
    Ok(Some(Started {
        messages,
        epilogs: TaskEpilogs {
            user,
            view,
            groups,
            umask: spec.umask,
            oom_score_adj,
        },
    }))
}

/// Whether these are CPUs of this machine that may be used, and some.
fn are_here(cpus: &[u32]) -> bool {
    let machine = sys::cpu::available();
    !cpus.is_empty() && cpus.iter().all(|cpu| machine.contains(cpu))
}

/// Writes a line where a task's errors go, as `slurmstepd` does that becomes the task: it bears the task's label.
fn tell_task(line: &str, errors: &OwnedFd) {
    if let Ok(errors) = errors.try_clone() {
        let _told = sys::poll::write_at_once(&File::from(errors), format!("{line}\n").as_bytes());
    }
}

/// The path of what is open, where it has one.
fn path_of(file: &impl AsRawFd) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    path.is_absolute().then_some(path)
}

/// Limits that tasks have and this process has not, and what there is to say of those that were requested and can't be set.
fn limits(passed: Vec<PassedLimit>) -> (Vec<SoftLimit>, Vec<String>) {
    let (mut limits, mut refused) = (Vec::new(), Vec::new());
    for PassedLimit { name, soft, asked } in passed {
        match SoftLimit::new(&name, soft) {
            Ok(limit) if limit.is_own() => {}
            Ok(limit) => limits.push(limit),
            Err(error) if asked => refused.push(format!(
                "Can't propagate RLIMIT_{name} of {soft} from submit host: {}",
                words(&error)
            )),
            Err(_) => {}
        }
    }
    (limits, refused)
}

/// The user to become for what the step does and names, where it is another than this process's.
pub(super) fn user(spec: &StepSpec) -> Option<User> {
    (sys::process::user() == 0 && spec.uid != 0)
        .then(|| User::look_up(&spec.user, spec.uid, spec.gid))
}

/// Writes a line for the user, as `slurmstepd` does: through `srun`, or where the step's errors go.
pub(super) fn say(text: &str, relay: Option<&mut Relay>, messages: Option<&File>) {
    let line = format!("slurmstepd: error: {text}");
    match (messages, relay) {
        // What is to end the step goes before what is said of it.
        (Some(file), _) => {
            let _said = sys::poll::write_at_once(file, format!("{line}\n").as_bytes());
        }
        (None, Some(relay)) => {
            relay.send(&api::step_io::FromSupervisor::Say(line));
        }
        (None, None) => tracing::warn!("{line}"),
    }
}

/// Says why a step was not launched where its errors go to a file; where that can't be opened, it is what was to
/// be said.
pub(super) fn say_in_files(spec: &StepSpec, text: &str) {
    if !matches!(spec.streams, Streams::Files { .. }) {
        return;
    }
    let user = user(spec);
    // Where the tasks were to start, from which files are named.
    let _there = sys::process::as_user(user.as_ref(), || enter(&spec.chdir));
    sys::process::set_umask(spec.umask);
    let errors = task_streams::errors(spec, user.as_ref());
    sys::process::set_umask(0o077);
    if let Some(errors) = errors {
        let text = format!("could not launch the batch script: {text}");
        say(&text, None, Some(&errors));
    }
}

/// The step's name in messages: `JOB 7` for a batch script, `STEP 7.0` for a step.
pub(super) fn step_name(spec: &StepSpec) -> String {
    match spec.step {
        StepId::Batch => format!("JOB {}", spec.job),
        StepId::Number(step) => format!("STEP {}.{step}", spec.job),
    }
}

/// Changes to the working directory, or to `/tmp` with a message, as Slurm does.
fn enter(folder: &Path) -> Option<String> {
    let error = std::env::set_current_dir(folder).err()?;
    let _ = std::env::set_current_dir("/tmp").or_else(|_| std::env::set_current_dir("/"));
    Some(format!(
        "couldn't chdir to `{}': {}: going to /tmp instead",
        folder.display(),
        words(&error)
    ))
}

fn bytes(text: &str) -> OsString {
    sys::odd_text::bytes(text).into_owned()
}

/// The path that a program is started by, which is its own name too, as with Slurm. Executing what is not found
/// says what is wrong.
fn full_name(name: &OsStr, path: &str) -> OsString {
    if name.as_encoded_bytes().starts_with(b".") {
        let folder = std::env::current_dir().unwrap_or_default();
        return folder.join(name).into();
    }
    if path.is_empty() {
        return name.to_owned();
    }
    sys::process::find_program(name, path).map_or_else(|| name.to_owned(), OsString::from)
}

struct Executable {
    file: OsString,
    args: Vec<OsString>,
}

impl Executable {
    /// The same behind the prologs that run in its process, where there are any.
    fn after_prologs(self, spec: &StepSpec) -> Executable {
        let prologs = spec
            .around_tasks
            .each_ref()
            .map(|one| one.prolog.as_deref());
        if prologs.iter().all(Option::is_none) {
            return self;
        }
        let words = ["yard", "job", "after-prologs"].map(OsString::from);
        let prologs = prologs.map(|prolog| bytes(prolog.unwrap_or_default()));
        Executable {
            file: spec.binary.clone().into(),
            args: words
                .into_iter()
                .chain(prologs)
                .chain([self.file])
                .chain(self.args)
                .collect(),
        }
    }
}

/// What the task at a place among the node's runs, looked for in the folders of `path`.
fn program(spec: &StepSpec, place: usize, path: &str) -> Executable {
    let words: &[String] = match &spec.program {
        Program::Script { path, args } => {
            return Executable {
                file: path.clone().into(),
                args: std::iter::once(path.clone().into())
                    .chain(args.iter().map(|arg| bytes(arg)))
                    .collect(),
            };
        }
        Program::Command(words) => words,
        Program::Each(all) => all.get(place).map_or(&[], Vec::as_slice),
    };
    let mut words: Vec<OsString> = words.iter().map(|word| bytes(word)).collect();
    // A folder is where `srun --bcast` has put the program.
    if let Some(name) = words.first_mut()
        && name.as_encoded_bytes().ends_with(b"/")
    {
        name.push(broadcast_name(spec.job, spec.step, &spec.node));
    }
    if let Some(name) = words.first_mut() {
        *name = full_name(name, path);
    }
    Executable {
        file: words.first().cloned().unwrap_or_default(),
        args: words,
    }
}
