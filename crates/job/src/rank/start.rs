//! Starts a rank's program, with its environment, and waits for it.

use super::container::{Inside, OverImage};
use super::program::ProgramError;
use super::{RankError, Variables, failed_peer, prelude, program};
use crate::agent::{LooseContainer, RankProcess, forget_container};
use crate::local_folder;
use crate::near_gpus::{self, NearGpus};
use crate::python_stack;
use crate::visible_gpus;
use folder::{LaunchFile, RunFolder};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use sys::env_vars::TRAINYARD_ENGINE;
use train::{ContainerStart, EnvChange, RankCommand};

/// What the wrapper finds out about its own task.
pub(super) struct Place<'a> {
    pub run: &'a RunFolder,
    pub task: u32,
    pub node_index: u32,
}

/// What a wrapper starts.
pub(super) struct Start<'a> {
    pub launch: &'a LaunchFile,
    pub rank: &'a RankCommand,
    /// A head stays outside of the ranks' containers.
    pub is_head: bool,
    pub secrets: BTreeMap<String, String>,
}

impl Start<'_> {
    /// The program with its arguments and variables, once the environment is made.
    pub(super) fn prepare(
        &self,
        of_rank: Option<(&Place<'_>, &Path)>,
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
                    name: of_rank.map(|(place, _)| self.container_name(place)),
                    over_image: OverImage::All,
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

    /// What the container of a rank is called: names are those of all of the user's jobs.
    fn container_name(&self, place: &Place<'_>) -> String {
        let (run, attempt) = (place.run.id(), self.launch.attempt);
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '-'
            }
        };
        let name = format!("trainyard-{run}.{attempt}.{}", place.task);
        name.chars().map(plain).collect()
    }

    /// How the container of a rank is ended where it outlives `program`, which starts it.
    fn loose_container(&self, place: &Place<'_>, program: &Path) -> Option<LooseContainer> {
        let container = self.launch.container.as_ref().filter(|_| !self.is_head)?;
        let container = ContainerStart {
            name: Some(self.container_name(place)),
            ..container.clone()
        };
        let mut ends = container.end_commands();
        let own = container.runtime.program();
        for words in &mut ends {
            // A module may have brought it, which is not loaded where it is ended.
            if let Some(first) = words.first_mut().filter(|first| own == Some(first)) {
                *first = program.display().to_string();
            }
        }
        (!ends.is_empty()).then_some(LooseContainer {
            node_index: place.node_index,
            ends,
        })
    }

    pub(super) fn and_wait(
        &self,
        of_rank: Option<(&Place<'_>, &Path)>,
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
        if let Some((place, local)) = of_rank {
            failed_peer::end_after(self.launch.attempt, place, local).map_err(catching)?;
        }
        let near = of_rank.and_then(|(place, local)| {
            let note = local_folder::near_gpus_note(local, place.node_index);
            NearGpus::of_task(self.rank.binding, &note)
        });
        if let Some(Err(error)) = near.as_ref().map(NearGpus::bind_own) {
            near_gpus::note_unbound(&error);
        }
        let loose = of_rank.and_then(|(place, local)| {
            let loose = self.loose_container(place, &program)?;
            // Without it nobody ends the container of a wrapper that is killed.
            let _ = loose.write(local, place.task);
            Some((loose, local, place.task))
        });
        let mut child = spawn(&program, &argv, &self.launch.cwd, &variables)?;
        let pid = child.id();
        if let Some(near) = near {
            let starts_horovod = train::starts_horovodrun(&self.rank.argv);
            std::thread::spawn(move || near.bind_ranks_of(pid, starts_horovod));
        }
        prefer_to_kill(pid);
        if let Some((place, local)) = of_rank {
            write_down(pid, place, local);
        }
        // A program that has ended needs none.
        let hand_on = move |signal| drop(sys::process::signal(pid, signal));
        // What came before the program was there reached this process alone.
        signals.pending().for_each(hand_on);
        let reaches_all = cluster_signals_all(std::env::var_os(TRAINYARD_ENGINE).as_deref());
        std::thread::spawn(move || {
            for signal in signals.forever().filter(|_| !reaches_all) {
                hand_on(signal);
            }
        });
        let ended = child.wait().map_err(|source| RankError::System {
            what: "waiting for the rank",
            source,
        });
        if let Some((loose, local, task)) = loose {
            // One that ended by itself has waited for its container.
            let is_over = match &ended {
                Ok(status) if status.signal().is_some() => loose.end(),
                _ => true,
            };
            // The node's agent tries it again.
            if is_over {
                forget_container(local, task);
            }
        }
        ended
    }
}

/// Whether a step's signals come to every process of it, as the embedded engine sends them; Slurm with its control
/// groups signals a step's tasks alone. `engine`: its folder, which it names in its jobs; an engine's name there is set
/// by a user's own hand.
fn cluster_signals_all(engine: Option<&OsStr>) -> bool {
    engine.is_some_and(|folder| Path::new(folder).is_absolute())
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

pub(super) fn command(
    program: &Path,
    argv: &[String],
    cwd: &Path,
    variables: &Variables,
) -> Command {
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

pub(super) fn change(variables: &mut Variables, changes: &BTreeMap<String, EnvChange>) {
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
fn write_down(pid: u32, place: &Place<'_>, local: &Path) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_signals_every_process_and_slurm_the_tasks() {
        let check = |engine: Option<&str>, want| {
            assert_eq!(cluster_signals_all(engine.map(OsStr::new)), want);
        };
        check(Some("/home/me/state/vm/rig"), true);
        check(Some("rig"), false);
        check(None, false);
    }
}
