//! Processes of a step whose supervisor was killed, and its fork server with it: no other process
//! would end them.

use crate::SupervisorKey;
use crate::own_processes::OwnProcesses;
use crate::quick_forkers::kill_at_once;
use crate::supervisor::group_owner;
use model::{JobId, RestartCount, StepId};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use sys::control_group;
use sys::process;
use sys::signals::SIGKILL;

/// Between two looks: what forked meanwhile is found by the next.
const PAUSE: Duration = Duration::from_millis(5);
/// For so long processes that go on forking are looked for.
const LONGEST: Duration = Duration::from_secs(5);
/// One that was sent SIGKILL so long ago hangs in the kernel. It runs nothing of its own any more, and is not waited
/// for: its job could not end.
const LONGEST_DEATH: Duration = Duration::from_millis(250);

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
        let mut killed = Killed::new(Instant::now());
        // What has lost its parents comes to the first process, or to one above it that takes such over, as a user's
        // systemd: that of this one, or of what is found.
        let mut heirs = BTreeSet::from([1, process::parent_of_this()]);
        loop {
            let mut found = self.find();
            heirs.extend(found.iter().filter_map(|pid| process::parent(*pid)));
            found.extend(kill_at_once(|known| self.find_quickly(known, &heirs)));
            if found.is_empty() || killed.is_enough(&found, Instant::now()) {
                if !found.is_empty() {
                    tracing::warn!(
                        job = self.job.0,
                        "{} processes left behind were sent SIGKILL and have not ended",
                        found.len()
                    );
                }
                control_group::remove_left(|name| self.owns(name));
                return killed.all.len();
            }
            for pid in found {
                // Gone in between is as good.
                let _gone = process::signal(pid, SIGKILL);
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

    /// In a short look: what is in the groups of the lost supervisors, and what came to these processes.
    fn find_quickly(&self, known: &BTreeSet<u32>, heirs: &BTreeSet<u32>) -> Vec<u32> {
        let mut found = control_group::processes_in(|name| self.owns(name));
        let listed = |heir: &u32| process::listed_children(*heir).unwrap_or_default();
        let inherited = heirs.iter().flat_map(listed);
        found.extend(inherited.filter(|pid| self.is_named(*pid)));
        found.retain(|pid| !known.contains(pid) && !self.own.has(*pid));
        found
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

/// Processes that were sent SIGKILL.
#[derive(Debug)]
struct Killed {
    begun: Instant,
    all: BTreeSet<u32>,
    /// When the newest of them was found.
    newest: Instant,
}

impl Killed {
    fn new(now: Instant) -> Killed {
        Killed {
            begun: now,
            all: BTreeSet::new(),
            newest: now,
        }
    }

    /// Whether nothing more is to be done of what is found at this moment, all of which is sent the signal else.
    fn is_enough(&mut self, found: &[u32], now: Instant) -> bool {
        let known = self.all.len();
        self.all.extend(found);
        if self.all.len() > known {
            self.newest = now;
        }
        now.duration_since(self.newest) > LONGEST_DEATH || now.duration_since(self.begun) > LONGEST
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

#[cfg(test)]
mod tests {
    use super::*;
    use api::EngineFolder;
    use std::process::Command;

    #[test]
    fn what_came_to_another_process_than_the_first_is_found_quickly() {
        let folder = tempfile::tempdir().unwrap();
        let own = OwnProcesses::enter(&EngineFolder::new(folder.path()));
        let orphans = Orphans {
            engine: folder.path(),
            job: JobId(7),
            restart: 0,
            supervisors: Vec::new(),
            own: &own,
        };
        let mut child = Command::new("sleep")
            .arg("60")
            .env("SLURM_JOB_ID", "7")
            .env_remove("SLURM_RESTART_COUNT")
            .env(sys::env_vars::TRAINYARD_ENGINE, folder.path())
            .spawn()
            .unwrap();
        let pid = child.id();
        let look = |heirs: &[u32], known: &[u32]| {
            let [heirs, known] = [heirs, known].map(|pids| pids.iter().copied().collect());
            orphans.find_quickly(&known, &heirs)
        };
        let found = [
            look(&[1, std::process::id()], &[]),
            look(&[std::process::id()], &[pid]),
            look(&[1], &[]),
        ];
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, [vec![pid], vec![], vec![]]);
    }

    #[test]
    fn what_does_not_end_is_not_waited_for_and_what_is_new_is() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut killed = Killed::new(begun);
        assert!(!killed.is_enough(&[7], at(0)));
        assert!(!killed.is_enough(&[7], at(240)));
        // It had forked before it was sent the signal.
        assert!(!killed.is_enough(&[7, 8], at(245)));
        assert!(!killed.is_enough(&[8], at(490)));
        assert!(killed.is_enough(&[8], at(500)));
        assert_eq!(killed.all.len(), 2);
        // Those that fork for ever.
        let mut killed = Killed::new(begun);
        let looks = (0..).take_while(|look| !killed.is_enough(&[*look], at(u64::from(*look) * 5)));
        assert_eq!(looks.count(), 1001);
    }
}
