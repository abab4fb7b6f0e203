//! The rank wrapper: stays the parent of one task of the ranks' step.
//!
//! It finds the task's command in the launch file, makes its environment, starts it, hands signals
//! on, and writes down how it ended.

mod container;
mod head;
mod image_on_node;
mod mount_points;
mod prelude;
mod private_copy;
mod program;
mod service;
mod step;
mod task_prolog;

pub use head::head;
pub use mount_points::{SHOW as SHOW_MOUNT_POINTS, show as show_mount_points};
pub use service::service;
pub use step::{in_container, script_in_container};
pub use task_prolog::after_prologs;

use crate::agent::RankProcess;
use crate::conductor;
use crate::deputy::{Deputy, Stopping};
use crate::exit_code;
use crate::local_folder;
use crate::python_stack;
use crate::shell::{ShellDataError, ShellFile};
use crate::visible_gpus;
use container::{ContainerError, Inside};
use folder::{Attempt, FolderError, LaunchFile, RankExit, RunFolder};
use model::Timestamp;
use prelude::PreludeError;
use private_copy::Copied;
use program::ProgramError;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use step::Held;
use sys::disk_errors::patiently;
use thiserror::Error;
use train::{EnvChange, RankCommand};

/// The program's environment.
type Variables = BTreeMap<OsString, OsString>;

/// How long a disk that takes nothing is waited for to write down how a rank ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why a rank could not be started.
#[derive(Debug, Error)]
pub enum RankError {
    /// The launch file can't be read.
    #[error(
        "the launch file that the conductor writes is not there; this is no command for people"
    )]
    Launch(#[from] FolderError),
    /// Started outside a step, or by another srun.
    #[error(
        "{variable} is {there:?}, the launch file has {ranks} ranks; this is no command for people"
    )]
    Task {
        /// The variable with a rank's number.
        variable: &'static str,
        /// What it holds.
        there: Option<String>,
        /// How many the file has.
        ranks: u32,
    },
    /// On another node than it was planned for, where it would take others' GPUs.
    #[error(
        "task {task} was started on node {there} of the job, and is planned for node {planned}; submit the run again, or use a number of GPUs that the nodes divide"
    )]
    Elsewhere {
        /// Its number.
        task: u32,
        /// `SLURM_NODEID`
        there: u32,
        /// The node's index in the launch file.
        planned: u32,
    },
    /// The environment can't be made.
    #[error(transparent)]
    Prelude(#[from] PreludeError),
    /// The program can't be started.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The container can't be started.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// A shell's data can't be staged.
    #[error(transparent)]
    Data(#[from] ShellDataError),
    /// The wrapper's own work failed.
    #[error("{what} failed")]
    System {
        /// What.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl RankError {
    /// The wrapper's exit code, as shells have it: 127 for a program that isn't there, 126 for one
    /// that can't be executed.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            RankError::Program(ProgramError::NotThere { .. }) => 127,
            RankError::Program(ProgramError::NotExecutable { .. }) => 126,
            RankError::Launch(_)
            | RankError::Task { .. }
            | RankError::Elsewhere { .. }
            | RankError::Prelude(_)
            | RankError::Container(_)
            | RankError::Data(_)
            | RankError::System { .. } => 1,
        }
    }
}

/// How much later than its program a wrapper may have a signal that goes to both.
const SIGNAL_ON_ITS_WAY: Duration = Duration::from_millis(50);
/// How long the agents may take to bring a run back.
const AGENTS_FIRST: Duration = Duration::from_secs(1);
/// How long a batch step that seems to live is asked after: its end is on its way to the cluster
/// where its processes and the agents were killed, and the step of the ranks waits for its wrappers
/// where they were not.
const LONGEST_DOUBT: Duration = Duration::from_secs(5);

/// What the wrapper finds out about its own task.
struct Place {
    task: u32,
    node_index: u32,
}

/// Whose number a task has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// srun's.
    BySlurm,
    /// mpirun's: all of its ranks have the Slurm variables of one task. Their output goes into the
    /// ranks' logs, past mpirun, which would mix it.
    ByMpi,
}

impl Numbered {
    /// The variables that have the number, the first that is set.
    fn variables(self) -> &'static [&'static str] {
        match self {
            Numbered::BySlurm => &["SLURM_PROCID"],
            Numbered::ByMpi => &["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"],
        }
    }
}

/// Runs the task whose number is in its variable; returns its exit code, and writes it down in the
/// run folder. `local` is the node-local folder, where the node's agent looks for processes to
/// signal.
///
/// # Errors
/// It could not be started.
pub fn run(
    numbered: Numbered,
    attempt: Attempt,
    folder: &RunFolder,
    local: &Path,
) -> Result<u8, RankError> {
    let variable = |name: &str| std::env::var(name).ok();
    let names = numbered.variables();
    let number = names.iter().find_map(|name| variable(name));
    let wanted = number.as_ref().and_then(|text| text.parse().ok());
    let launch = folder.read_launch(attempt, wanted.unwrap_or(0))?;
    let Some(rank) = launch.ranks.iter().find(|rank| Some(rank.task) == wanted) else {
        return Err(RankError::Task {
            variable: names[0],
            there: number,
            ranks: launch.count,
        });
    };
    let node_index = match numbered {
        Numbered::BySlurm => {
            let there = variable("SLURM_NODEID").and_then(|text| text.parse().ok());
            match there {
                Some(there) if there != rank.node => {
                    return Err(RankError::Elsewhere {
                        task: rank.task,
                        there,
                        planned: rank.node,
                    });
                }
                Some(_) | None => rank.node,
            }
        }
        Numbered::ByMpi => {
            let log = folder.rank_log(attempt, rank.task);
            sys::process::write_output_to(&log).map_err(|source| RankError::System {
                what: "opening the rank's log",
                source,
            })?;
            rank.node
        }
    };
    if rank.argv.is_empty() {
        // Its node's first task has its GPU and CPUs.
        write_exit(folder, &launch, &nothing_to_do(rank.task))?;
        return Ok(0);
    }
    let place = Place {
        task: rank.task,
        node_index,
    };
    let told_to_end = Arc::new(AtomicBool::new(false));
    let secrets = folder.read_secrets()?;
    let start = Start {
        launch: &launch,
        rank,
        is_head: false,
        secrets,
    };
    let status = start.and_wait(Some((&place, local)), &told_to_end);
    let ended_at = Timestamp(sys::now());
    if status.is_err() {
        // A rank that failed ends the others: each must come so far as to say why.
        let _ = signal_hook::flag::register(SIGTERM, Arc::clone(&told_to_end));
    }
    if status.as_ref().is_ok_and(ExitStatus::success) {
        // Slurm signals a program before its parent: one that ends well because it is told to is
        // not done.
        std::thread::sleep(SIGNAL_ON_ITS_WAY);
    }
    let (code, signal) = match &status {
        Ok(status) => (exit_code::of(*status), exit_code::signal(*status)),
        Err(error) => (i32::from(error.code()), None),
    };
    let exit = RankExit {
        rank: place.task,
        status: code,
        signal,
        at: ended_at,
        host: variable("SLURMD_NODENAME").unwrap_or_else(sys::host_name),
        told_to_end: told_to_end.load(Ordering::Relaxed),
    };
    if let Err(error) = write_exit(folder, &launch, &exit) {
        // A full disk must not make a failure of a training that ended well: srun tells its code.
        // Into the rank's own log, where the program's words stand.
        let _ = writeln!(io::stderr(), "note: {error}");
    }
    // The agent of this node outlives its ranks: where it is gone, the batch step may be, too.
    let has_agent = local_folder::has_agent(local);
    if exit.is_told() || !has_agent {
        let stopping = if has_agent {
            Stopping::IsSettled
        } else {
            Stopping::IsDoubt
        };
        bring_back(folder, attempt, place.task, stopping);
    }
    status.map(|_| u8::try_from(code).unwrap_or(1))
}

/// The end of a task without a program.
fn nothing_to_do(task: u32) -> RankExit {
    RankExit {
        rank: task,
        status: 0,
        signal: None,
        at: Timestamp(sys::now()),
        host: std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| sys::host_name()),
        told_to_end: false,
    }
}

/// SIGTERM comes when the job is ended, also where its batch step was killed. Where no agent is left
/// either, one of the wrappers brings the run back; also one whose training is done, since the next
/// start copies what is not copied yet.
fn bring_back(folder: &RunFolder, attempt: Attempt, task: u32, stopping: Stopping) {
    let failed = folder
        .read_exits(attempt)
        .is_ok_and(|exits| exits.iter().any(RankExit::has_failed));
    let deputy = Deputy {
        run: folder,
        attempt,
        events_before: 0,
        place: task,
        after: AGENTS_FIRST,
        doubt: LONGEST_DOUBT,
        stopping,
    };
    // A rank that failed takes the others along: then nothing was lost.
    if !failed && let Some(_held) = deputy.must_act() {
        let cause = "the batch step and the agents were killed".to_owned();
        let back = conductor::without_batch_step(folder.path(), attempt, cause, false);
        if let Err(error) = back {
            let _ = writeln!(io::stderr(), "the run could not be brought back: {error}");
        }
    }
}

fn write_exit(folder: &RunFolder, launch: &LaunchFile, exit: &RankExit) -> Result<(), RankError> {
    patiently(
        PATIENCE,
        || false,
        || folder.write_exit(launch.attempt, exit),
    )
    .map_err(|error| RankError::System {
        what: "writing down how the rank ended",
        source: error.into(),
    })
}

/// What a wrapper starts.
struct Start<'a> {
    launch: &'a LaunchFile,
    rank: &'a RankCommand,
    /// A head stays outside of the ranks' containers.
    is_head: bool,
    secrets: BTreeMap<String, String>,
}

impl Start<'_> {
    /// The program with its arguments and variables, once the environment is made.
    fn prepare(
        &self,
        of_rank: Option<(&Place, &Path)>,
    ) -> Result<(PathBuf, Vec<String>, Variables), RankError> {
        let (launch, rank) = (self.launch, self.rank);
        let mut variables: Variables = std::env::vars_os().collect();
        if let Some((place, local)) = of_rank {
            let note = local_folder::gpus_note(local, place.node_index);
            visible_gpus::name(&note, &mut variables);
        }
        for prelude in &launch.preludes {
            prelude::apply(prelude, &mut variables)?;
        }
        change(&mut variables, &rank.env);
        let secrets = self.secrets.iter();
        variables.extend(secrets.map(|(name, value)| (name.into(), value.into())));
        let container = launch.container.as_ref().filter(|_| !self.is_head);
        let (program, argv) = match container {
            Some(container) => {
                let inside = Inside {
                    container,
                    rank,
                    secrets: &self.secrets,
                };
                inside.start(&launch.cwd, &mut variables)?
            }
            None => {
                let program = program::find(&rank.argv, &launch.cwd, &variables)?;
                (program, rank.argv.clone())
            }
        };
        Ok((program, argv, variables))
    }

    fn and_wait(
        &self,
        of_rank: Option<(&Place, &Path)>,
        told_to_end: &Arc<AtomicBool>,
    ) -> Result<ExitStatus, RankError> {
        let (program, argv, mut variables) = self.prepare(of_rank)?;
        // Inside a container the folder need not be there.
        if let (Some((_, local)), None) = (of_rank, &self.launch.container) {
            python_stack::announce(local, &mut variables);
        }
        let catching = |source| RankError::System {
            what: "catching signals",
            source,
        };
        // Set by the handler itself: the thread below may run only after the program has ended of it.
        signal_hook::flag::register(SIGTERM, Arc::clone(told_to_end)).map_err(catching)?;
        // Before the program starts: a signal that comes in between must not end the wrapper.
        let mut signals =
            Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT]).map_err(catching)?;
        let mut child = spawn(&program, &argv, &self.launch.cwd, &variables)?;
        let pid = child.id();
        prefer_to_kill(pid);
        if let Some((place, local)) = of_rank {
            write_down(pid, place, local);
        }
        std::thread::spawn(move || {
            for signal in signals.forever() {
                // A program that has ended needs none.
                let _ = sys::process::signal(pid, signal);
            }
        });
        child.wait().map_err(|source| RankError::System {
            what: "waiting for the rank",
            source,
        })
    }
}

/// Becomes the shell of a file, which is removed.
///
/// # Errors
/// It could not be started.
pub fn shell(file: &Path) -> Result<u8, RankError> {
    let reading = |source| RankError::System {
        what: "reading what the shell is started with",
        source,
    };
    let ShellFile {
        mut launch,
        secrets,
        data,
    } = ShellFile::take(file).map_err(reading)?;
    let data = data.map(|data| data.bring()).transpose()?;
    let copied = match &mut launch.container {
        Some(container) => Copied::make(container)?,
        None => None,
    };
    let Some(rank) = launch.ranks.first() else {
        return Err(RankError::Task {
            variable: "SLURM_PROCID",
            there: None,
            ranks: 0,
        });
    };
    let start = Start {
        launch: &launch,
        rank,
        is_head: false,
        secrets,
    };
    let (program, argv, variables) = start.prepare(None)?;
    step::start(
        &program,
        &argv,
        &launch.cwd,
        &variables,
        Held { copied, data },
    )
}

fn spawn(
    program: &Path,
    argv: &[String],
    cwd: &Path,
    variables: &Variables,
) -> Result<Child, RankError> {
    // A group of its own, or a signal to the task's group would reach it twice: once from there and
    // once from the wrapper.
    let spawned = command(program, argv, cwd, variables)
        .process_group(0)
        .spawn();
    spawned.map_err(|source| {
        let program = program.display().to_string();
        ProgramError::of(source, program, cwd).into()
    })
}

fn command(program: &Path, argv: &[String], cwd: &Path, variables: &Variables) -> Command {
    let mut command = Command::new(program);
    command
        // As a shell has it: mpirun with a whole path puts its own folder before all of PATH.
        .arg0(&argv[0])
        .args(&argv[1..])
        .current_dir(cwd)
        .env_clear()
        .envs(variables);
    command
}

fn change(variables: &mut Variables, changes: &BTreeMap<String, EnvChange>) {
    for (name, change) in changes {
        let name = OsString::from(name);
        match change {
            EnvChange::Set(value) => {
                variables.insert(name, value.into());
            }
            EnvChange::Default(value) => {
                variables.entry(name).or_insert_with(|| value.into());
            }
            EnvChange::Remove => {
                variables.remove(&name);
            }
        }
    }
}

/// When memory runs out the kernel shall take the rank and leave those who can still save its
/// checkpoints. Raising needs no rights; a system without `/proc` keeps its default.
fn prefer_to_kill(pid: u32) {
    const RAISED: &str = "500";
    let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), RAISED);
}

/// Without it the agent can't tell the rank to stop, and the step is ended the hard way.
fn write_down(pid: u32, place: &Place, local: &Path) {
    if let Some(start_time) = sys::process::start_time(pid) {
        let process = RankProcess {
            node_index: place.node_index,
            wrapper: std::process::id(),
            child: pid,
            start_time,
        };
        let _ = process.write(local, place.task);
    }
}
