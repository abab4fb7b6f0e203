//! The rank wrapper: stays the parent of one task of the ranks' step.
//!
//! It finds the task's command in the launch file, makes its environment, starts it, hands signals
//! on, and writes down how it ended.

mod attach;
mod container;
mod failed_peer;
mod head;
mod image_on_node;
mod image_variables;
mod mount_points;
mod prelude;
mod private_copy;
mod program;
mod rank_error;
mod service;
mod shell;
mod start;
mod step;
mod task_prolog;

pub use attach::attach;
pub use head::head;
pub use mount_points::{SHOW as SHOW_MOUNT_POINTS, show as show_mount_points};
pub use rank_error::RankError;
pub use service::service;
pub use shell::shell;
pub use step::{in_container, script_in_container};
pub use task_prolog::after_prologs;

use crate::conductor;
use crate::deputy::{Deputy, Stopping};
use crate::exit_code;
use crate::local_folder;
use folder::{Attempt, LaunchFile, RankExit, RunFolder};
use model::Timestamp;
use program::ProgramError;
use signal_hook::consts::SIGTERM;
use start::{Place, Start, change, command};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::disk_errors::patiently;

/// The program's environment.
type Variables = BTreeMap<OsString, OsString>;

/// How long a disk that takes nothing is waited for to write down how a rank ended.
const PATIENCE: Duration = Duration::from_secs(2);

/// How much later than its program a wrapper may have a signal that goes to both.
const SIGNAL_ON_ITS_WAY: Duration = Duration::from_millis(50);
/// How long the agents may take to bring a run back.
const AGENTS_FIRST: Duration = Duration::from_secs(1);
/// How long a batch step that seems to live is asked after: its end is on its way to the cluster
/// where its processes and the agents were killed, and the step of the ranks waits for its wrappers
/// where they were not.
const LONGEST_DOUBT: Duration = Duration::from_secs(5);

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
        run: folder,
        task: rank.task,
        node_index,
    };
    let told_to_end = Arc::new(AtomicBool::new(false));
    let secrets = secrets(folder, &launch)?;
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

/// The secret variables that the ranks of a start have, with their values.
fn secrets(folder: &RunFolder, launch: &LaunchFile) -> Result<BTreeMap<String, String>, RankError> {
    let secrets = folder.read_secrets()?;
    let mut names = launch.secrets.iter();
    match names.find(|name| !secrets.contains_key(*name)) {
        None => Ok(secrets),
        Some(name) => Err(RankError::Secret {
            name: name.clone(),
            run: folder.id().to_owned(),
        }),
    }
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
