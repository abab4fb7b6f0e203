//! What runs after a task: `srun --task-epilog`, then the cluster's `TaskEpilog`. Until they ended, so
//! has the task not for its step.

use super::step_groups::StepGroups;
use super::task_files::words;
use crate::spec::StepSpec;
use model::WaitStatus;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use sys::process::{NodeView, Spawn, User};

/// How the step's epilogs are started: as its tasks were.
pub(super) struct TaskEpilogs {
    pub(super) user: Option<User>,
    pub(super) view: Option<NodeView>,
    /// Control groups of the step.
    pub(super) groups: StepGroups,
    pub(super) umask: u32,
    pub(super) oom_score_adj: i32,
}

/// The epilogs of one task that are still to run.
#[derive(Debug)]
pub(super) struct PendingEpilogs {
    /// The last one first.
    programs: Vec<Epilog>,
    environment: Vec<(String, String)>,
    /// The task's stderr.
    error: OwnedFd,
    /// The one that runs.
    running: Option<(u32, Epilog)>,
    /// How the task itself ended.
    status: WaitStatus,
}

#[derive(Clone, Debug)]
struct Epilog {
    path: String,
    /// What Slurm calls it, and what it says where it fails: those two stand crosswise there.
    name: &'static str,
    failed: &'static str,
}

/// What becomes of a task after a word about its epilogs.
pub(super) enum Next {
    /// One runs.
    Runs,
    /// None is left: the task ended so.
    Ended(WaitStatus),
}

impl PendingEpilogs {
    /// Those of a task with this environment; none where none is named.
    pub(super) fn of(
        spec: &StepSpec,
        environment: Vec<(String, String)>,
        pid: u32,
        error: OwnedFd,
    ) -> Option<PendingEpilogs> {
        const NAMES: [(&str, &str); 2] = [
            ("slurm task_epilog", "--task-epilog"),
            ("user task_epilog", "TaskEpilog"),
        ];
        let around = spec.around_tasks.iter().zip(NAMES);
        let named = around.filter_map(|(around, (name, failed))| {
            let path = around.epilog.clone()?;
            Some(Epilog { path, name, failed })
        });
        let programs: Vec<Epilog> = named.collect();
        if programs.is_empty() {
            return None;
        }
        let mut environment = environment;
        let own = [("SLURM_SCRIPT_CONTEXT", "epilog_task".to_owned())];
        let own = own.into_iter().chain([("SLURM_TASK_PID", pid.to_string())]);
        environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        Some(PendingEpilogs {
            programs,
            environment,
            error,
            running: None,
            status: WaitStatus::default(),
        })
    }

    /// Whether the task itself has ended.
    pub(super) fn begun(&self) -> bool {
        self.running.is_some()
    }

    /// Whether this is the process of the one that runs.
    pub(super) fn is(&self, pid: u32) -> bool {
        self.running.as_ref().is_some_and(|(own, _)| *own == pid)
    }

    /// The task ended.
    pub(super) fn task_ended(&mut self, status: WaitStatus, common: &TaskEpilogs) -> Next {
        self.status = status;
        self.next(common)
    }

    /// The one that runs ended.
    pub(super) fn ended(&mut self, status: WaitStatus, common: &TaskEpilogs) -> Next {
        if let Some((_, epilog)) = self.running.take()
            && !status.success()
        {
            self.say(&format!("{} failed status={}", epilog.failed, status.0));
        }
        self.next(common)
    }

    fn next(&mut self, common: &TaskEpilogs) -> Next {
        while let Some(epilog) = self.programs.pop() {
            match self.start(&epilog, common) {
                Ok(pid) => {
                    self.running = Some((pid, epilog));
                    return Next::Runs;
                }
                Err(why) => {
                    let Epilog { path, name, failed } = &epilog;
                    self.say(&format!("Could not run {name} [{path}]: {why}"));
                    self.say(&format!("{failed} failed status=-1"));
                }
            }
        }
        Next::Ended(self.status)
    }

    fn start(&self, epilog: &Epilog, common: &TaskEpilogs) -> Result<u32, String> {
        let path = Path::new(&epilog.path);
        let is_there = sys::process::as_user(common.user.as_ref(), || path.is_file());
        if !is_there.unwrap_or(false) {
            return Err("access denied".to_owned());
        }
        let started = || -> io::Result<u32> {
            let null = File::options().read(true).write(true).open("/dev/null")?;
            let program = OsString::from(&epilog.path);
            Spawn {
                program: &program,
                args: std::slice::from_ref(&program),
                environment: &self.environment,
                pid_variable: None,
                streams: [null.as_fd(), null.as_fd(), self.error.as_fd()],
                terminal: false,
                cpus: &[],
                umask: common.umask,
                oom_score_adj: common.oom_score_adj,
                cgroups: common.groups.entrances(),
                limits: &[],
                user: common.user.as_ref(),
                view: common.view.as_ref(),
            }
            .start()
        };
        started().map_err(|error| words(&error))
    }

    fn say(&self, text: &str) {
        let Ok(copy) = self.error.try_clone() else {
            return;
        };
        let line = format!("slurmstepd: error: {text}\n");
        // Where nobody reads any more, nobody is told.
        let _said = sys::poll::write_at_once(&File::from(copy), line.as_bytes());
    }
}
