//! The holder of one step on one node: its own small process with one thread.
//!
//! ```text
//! spec ─► record ─► streams, tasks ─► wait, signal, relay ─► record ─► word to the fork server
//!   ▲                                                                        │
//!   └───────────────────────────── rest ◄────────────────────────────────────┘
//! ```
//! While its parent is the fork server, a word to it is all that the engine needs. Once the parent is
//! another (the engine is gone, or came back) it calls `StepEnded` instead, and starts an engine
//! where none answers.

mod address_space;
mod control;
mod cpu_bound;
mod cpu_locks;
mod ending;
mod gpu_binding;
mod idle;
mod job_memory;
mod job_namespace;
mod labelled_lines;
mod launch;
mod memory_limit;
mod outside_engine;
mod own_cpus;
mod processes;
mod relay;
mod run;
pub(crate) mod slurm_links;
mod step_groups;
mod submitted_environment;
mod task_environment;
mod task_epilogs;
mod task_files;
mod task_streams;
mod temporary_folder;
#[cfg(test)]
mod test_spec;

use crate::BootTime;
use crate::own_processes::OwnProcesses;
use crate::record::{Record, socket};
use crate::spec::{ExitFile, PidFile, StepSpec, Streams};
use api::{ConnectError, EngineFolder};
use control::Control;
use cpu_locks::CpuLocks;
pub(crate) use idle::hand_over;
use job_namespace::JobNamespace;
use memory_limit::MemoryLimit;
pub(crate) use memory_limit::{group_owner, is_left, is_of_job};
use own_cpus::OwnCpus;
use processes::StepProcesses;
use relay::Relay;
use run::Run;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use submitted_environment::SubmittedEnvironment;
use sys::disk_errors::may_pass;
use sys::gpus::GpuLock;
use sys::process;
use sys::signals::{SIGKILL, SignalFd};

/// Between two attempts to write down that a supervisor has a step, or how it ended.
const ROOM_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// This process as a supervisor, whichever step it holds.
struct Supervisor {
    this: PidFile,
    parent: u32,
    own: OwnProcesses,
    signals: SignalFd,
    cpus: OwnCpus,
    cpu_locks: CpuLocks,
    environment: SubmittedEnvironment,
    /// Of the last step.
    record: Option<Record>,
    /// Whether the fork server was gone when the last step's `srun` received its end.
    was_left_alone: Option<bool>,
}

/// Holds one step to its end. The process has one thread when this is called, and ends with what
/// it returns.
#[must_use]
pub fn main(spec: &StepSpec) -> ExitCode {
    let held = Supervisor::new(&spec.engine, sys::boot_id()).and_then(|mut supervisor| {
        supervisor.hold(spec)?;
        if supervisor.is_left_alone() {
            supervisor.tell_engine(spec);
        }
        Ok(())
    });
    match held {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::warn!(step = %spec.key(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// A supervisor's life under a fork server, from which it was just forked: the first step, and those
/// that it is handed over `fork_server` while it rests. Whether nothing went wrong.
pub(crate) fn live(
    mut fork_server: UnixStream,
    first: &[u8],
    boot_id: String,
    engine: &Path,
) -> bool {
    let mut supervisor = match Supervisor::new(engine, boot_id) {
        Ok(supervisor) => supervisor,
        Err(error) => {
            tracing::warn!("{error}");
            return false;
        }
    };
    // Of one step after the other, as long as they come.
    let _kept = sys::cpu_cgroup::keep_one();
    let mut bytes = first.to_vec();
    loop {
        let held = serde_json::from_slice::<StepSpec>(&bytes)
            .map_err(io::Error::from)
            .and_then(|spec| Ok((supervisor.hold(&spec)?, spec)));
        let (exit, spec) = match held {
            Ok(held) => held,
            // Another has it, or has ended it: of this one's processes none is left behind.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return true,
            Err(error) => {
                tracing::warn!("a step was not held: {error}");
                return false;
            }
        };
        if supervisor.is_left_alone() {
            supervisor.tell_engine(&spec);
            return true;
        }
        match supervisor.idle(&mut fork_server, &exit) {
            Some(next) => bytes = next,
            None => return true,
        }
    }
}

/// Whether someone wants something of a step that has no task yet: to end it, mostly.
fn is_called(signals: &SignalFd) -> bool {
    std::iter::from_fn(|| signals.next()).any(|signal| signal != run::SIGCHLD)
}

impl Supervisor {
    fn new(engine: &Path, boot_id: String) -> io::Result<Supervisor> {
        process::become_subreaper()?;
        Ok(Supervisor {
            this: PidFile::of_this_process(boot_id),
            parent: process::parent_of_this(),
            own: OwnProcesses::enter(&EngineFolder::new(engine)),
            signals: SignalFd::block(run::SIGNALS)?,
            cpus: OwnCpus::new(),
            cpu_locks: CpuLocks::default(),
            environment: SubmittedEnvironment::default(),
            record: None,
            was_left_alone: None,
        })
    }

    /// Holds a step from its first task to its last process, and writes down how it ended.
    fn hold(&mut self, spec: &StepSpec) -> io::Result<ExitFile> {
        process::set_name(&format!("yard:{}.{}", spec.job, spec.step));
        // The last step's was for the files of its tasks.
        process::set_umask(0o077);
        let path = spec.key().record(&EngineFolder::new(&spec.engine));
        let mut control = Control::new(socket(&path));
        // First of all: where another holds the step, nothing of it may be touched.
        let mut record = self.claim(spec, &path)?;
        let gpus = share_gpus(spec);
        self.cpus.follow(spec);
        self.cpu_locks.share(spec);
        let memory = MemoryLimit::of(spec);

        let mut tasks = Vec::new();
        let (mut relay, mut result) = match connect(spec) {
            Ok(relay) => (relay, Ok(None)),
            Err(message) => (None, Err(message)),
        };
        if let (Ok(_), Some(why)) = (&result, &spec.refused) {
            result = Err(why.clone());
        } else if let (Streams::Srun { waits: true, .. }, Some(relay)) =
            (&spec.streams, relay.as_mut())
            && !relay.wait_for_start(&|| is_called(&self.signals))
        {
            result = Err("the step was ended before its tasks were started".to_owned());
        }
        let mut namespace = None;
        if result.is_ok() {
            let is_over = || spec.deadline.is_some_and(|end| end <= BootTime::now());
            let mut stop = || is_called(&self.signals) || control.is_called() || is_over();
            match enter_namespace(spec, &mut stop) {
                Ok(entered) => namespace = entered,
                Err(error) => {
                    let why = task_files::words(&error);
                    result = Err(format!(
                        "could not make the processes of {}: {why}",
                        spec.node
                    ));
                }
            }
        }
        let keeper = namespace.as_ref().map(JobNamespace::keeper);
        if keeper.is_some() {
            // Commands of the job can't start an engine themselves.
            control.listen();
        }
        if result.is_ok() {
            let is_over = || spec.deadline.is_some_and(|end| end <= BootTime::now());
            let stop = || is_called(&self.signals) || control.is_called() || is_over();
            let inside = keeper.map(|keeper| launch::Inside {
                keeper,
                supervisor: control.path(),
            });
            result = self.environment.of(spec).and_then(|environment| {
                let relay = relay.as_mut();
                launch::launch(spec, environment, &memory, inside, relay, &mut tasks, &stop)
            });
        }
        let (started, launch_error) = match result {
            Ok(started) => (started, None),
            Err(message) => {
                tracing::error!(step = %spec.key(), node = %spec.node, "it was not launched: {message}");
                launch::say_in_files(spec, &message);
                (None, Some(message))
            }
        };
        let processes = match keeper {
            None => StepProcesses::below_this(&self.own),
            Some(keeper) => {
                let hosts = tasks.iter().filter_map(|task| task.host);
                StepProcesses::in_namespace(&self.own, keeper, hosts)
            }
        };
        let mut run = Run::new(spec, tasks, memory, relay, started, processes);
        if launch_error.is_some() {
            run.give_up();
        }
        run.live(&self.signals, &mut control);

        if namespace.as_ref().is_some_and(JobNamespace::is_lost) {
            // The step did not end by itself: it is lost, as with a supervisor that was killed.
            tracing::error!(step = %spec.key(), node = %spec.node, "the process that keeps the job's namespace was killed");
            process::signal(std::process::id(), SIGKILL)?;
        }
        if let Some(namespace) = namespace {
            namespace.leave();
        }
        // Before the engine hears of the end: the next job would find them taken.
        drop(gpus);
        self.cpu_locks.give_back();
        // Before `srun` hears of it: the next step may be asked for at once.
        let exit = run.exit_file(self.this.boot_id.clone(), launch_error.clone());
        // On a full disk it waits for room: ending without a word would have the job run again.
        while record.end(&exit).is_err() && record.is_there() {
            std::thread::sleep(ROOM_PAUSE);
        }
        let relay = run.into_relay();
        // What goes from here on is `srun`'s to see to: it may have stopped the engine.
        self.was_left_alone = relay.as_ref().map(|_| self.is_orphan());
        if let Some(relay) = relay {
            relay.finish(launch_error);
        }
        self.record = Some(record);
        Ok(exit)
    }

    /// Takes the step. On a full disk it waits for room: a supervisor that ends without a message is one that was lost.
    fn claim(&mut self, spec: &StepSpec, path: &Path) -> io::Result<Record> {
        let mut is_said = false;
        loop {
            let former = self.record.take();
            match Record::claim(path.to_owned(), spec.key(), &self.this, former) {
                Err(error) if may_pass(&error) && !is_called(&self.signals) => {
                    if !is_said {
                        tracing::warn!(step = %spec.key(), "it waits for room for its record: {error}");
                        is_said = true;
                    }
                    std::thread::sleep(ROOM_PAUSE);
                }
                claimed => return claimed,
            }
        }
    }

    /// Whether the fork server was gone when the step ended, so that no engine hears of it.
    fn is_left_alone(&self) -> bool {
        self.was_left_alone.unwrap_or_else(|| self.is_orphan())
    }

    fn is_orphan(&self) -> bool {
        process::parent_of_this() != self.parent
    }

    /// Tells the engine that came after the one that started this step, or starts it.
    fn tell_engine(&mut self, spec: &StepSpec) {
        self.cpus.unbind();
        if !EngineFolder::new(&spec.engine).store().exists() {
            tracing::warn!(step = %spec.key(), "it ended, and the engine's folder is gone");
            return;
        }
        // One that served after this step began is the one that knows the store.
        let newer = api::newer_program(&EngineFolder::new(&spec.engine));
        let program = newer.as_deref().unwrap_or(&spec.binary);
        let connected = match api::Client::connect_with(&spec.engine, program) {
            // It lives, so that it sees the end of this process, and then reads the record.
            Err(ConnectError::Newer { .. }) => return,
            Err(error) => Err(error.to_string()),
            Ok(mut client) => client
                .step_ended(spec.job, spec.restart, spec.step, spec.node_index)
                .map_err(|error| error.to_string()),
        };
        if let Err(error) = connected {
            tracing::warn!(step = %spec.key(), "it ended, and no engine heard of it: {error}");
        }
    }
}

/// Enters the namespace of the step's job. On a full disk it waits for room, as long as nothing stops the step: what is
/// given up here fails the job, of which nothing ran.
fn enter_namespace(
    spec: &StepSpec,
    stop: &mut dyn FnMut() -> bool,
) -> io::Result<Option<JobNamespace>> {
    let mut is_said = false;
    loop {
        match JobNamespace::enter(spec) {
            Err(error) if may_pass(&error) && !stop() => {
                if !is_said {
                    tracing::warn!(step = %spec.key(), "it waits for room for its job's processes: {error}");
                    is_said = true;
                }
                std::thread::sleep(ROOM_PAUSE);
            }
            entered => return entered,
        }
    }
}

/// Holds the locks of the step's GPUs beside the engine, which may end before the step.
fn share_gpus(spec: &StepSpec) -> Vec<GpuLock> {
    let share = |uuid: &String| match sys::gpus::share(uuid) {
        Ok(lock) => Some(lock),
        Err(error) => {
            tracing::warn!(step = %spec.key(), "GPU {uuid} can't be locked: {error}");
            None
        }
    };
    spec.gpu_locks.iter().filter_map(share).collect()
}

/// The connection with `srun`, for a step that has one.
fn connect(spec: &StepSpec) -> Result<Option<Relay>, String> {
    let Streams::Srun { listen, .. } = &spec.streams else {
        return Ok(None);
    };
    // The socket is where the job's owner said.
    sys::process::as_user(launch::user(spec).as_ref(), || sys::socket::connect(listen))
        .and_then(|connected| Relay::new(connected?, spec))
        .map(Some)
        .map_err(|error| format!("srun does not answer: {}", task_files::words(&error)))
}
