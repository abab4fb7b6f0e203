//! Processes of a step whose supervisor was killed, and its fork server with it: no other process
//! would end them.

use crate::SupervisorKey;
use crate::own_processes::OwnProcesses;
use crate::supervisor::group_owner;
use model::{JobId, RestartCount, StepId};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use sys::control_group;
use sys::process;
use sys::signals::SIGKILL;

/// Between two looks: what forked meanwhile is found by the next.
const PAUSE: Duration = Duration::from_millis(5);
/// What can't be killed for so long hangs in the kernel.
const LONGEST: Duration = Duration::from_secs(5);

/// What tells the processes that were started for a job's start.
#[derive(Debug)]
pub(crate) struct Orphans<'a> {
    /// The engine's folder.
    pub(crate) engine: &'a Path,
    pub(crate) job: JobId,
    pub(crate) restart: RestartCount,
    /// The lost supervisors. Tasks stay in the sessions of those unless they begin their own, and in
    /// their memory control groups in any case.
    pub(crate) supervisors: Vec<u32>,
    /// An engine that a command of the job started is none of them.
    pub(crate) own: &'a OwnProcesses,
}

impl Orphans<'_> {
    /// Kills them until none is left. Returns how many there were.
    pub(crate) fn kill(&self) -> usize {
        let begun = Instant::now();
        let mut killed = std::collections::BTreeSet::new();
        loop {
            let found = self.find();
            if found.is_empty() || begun.elapsed() > LONGEST {
                control_group::remove_left(|name| self.owns(name));
                return killed.len();
            }
            for pid in found {
                // Gone in between is as good.
                let _gone = process::signal(pid, SIGKILL);
                killed.insert(pid);
            }
            thread::sleep(PAUSE);
        }
    }

    fn find(&self) -> Vec<u32> {
        let is_one =
            |pid: &u32| self.is_in_session(*pid) || self.is_named(*pid) || self.is_in_group(*pid);
        let all = process::all().filter(is_one);
        all.filter(|pid| !self.own.has(*pid)).collect()
    }

    fn is_in_session(&self, pid: u32) -> bool {
        let session = process::session(pid);
        session.is_some_and(|session| self.supervisors.contains(&session))
    }

    fn is_in_group(&self, pid: u32) -> bool {
        control_group::of_process(pid, |name| self.owns(name)).is_some()
    }

    /// Whether a group's name is that of a step of this job that a lost supervisor held.
    fn owns(&self, group: &str) -> bool {
        group_owner(group).is_some_and(|(supervisor, job)| {
            job == self.job && self.supervisors.contains(&supervisor)
        })
    }

    /// As its environment tells. A zombie has none.
    fn is_named(&self, pid: u32) -> bool {
        names(&environment_of(pid), self.engine, self.job, self.restart)
    }
}

/// Whether a process was started for this node's part of a step, as its environment tells.
pub(crate) fn is_of_step(pid: u32, engine: &Path, key: SupervisorKey) -> bool {
    let environment = environment_of(pid);
    let is = |name: &str, number: Option<u32>| {
        let number = number.map(|number| number.to_string());
        value(&environment, name) == number.as_deref().map(str::as_bytes)
    };
    // The batch step has no number.
    let step = match key.step {
        StepId::Batch => None,
        StepId::Number(step) => Some(step),
    };
    names(&environment, engine, key.job, key.restart)
        && is("SLURM_STEP_ID", step)
        && is("SLURM_NODEID", Some(key.node))
}

fn environment_of(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

fn value<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment.split(|byte| *byte == 0).find_map(|pair| {
        let rest = pair.strip_prefix(name.as_bytes())?;
        rest.strip_prefix(b"=")
    })
}

fn names(environment: &[u8], engine: &Path, job: JobId, restart: RestartCount) -> bool {
    let value = |name| value(environment, name);
    let restarts = value("SLURM_RESTART_COUNT").unwrap_or(b"0");
    value("SLURM_JOB_ID") == Some(job.to_string().as_bytes())
        && restarts == restart.to_string().as_bytes()
        && value(sys::env_vars::TRAINYARD_ENGINE) == Some(engine.as_os_str().as_bytes())
}
