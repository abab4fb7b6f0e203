//! The memory that a step, and all of its job's together, may use on its node: kept by a control group where one can be made, else by
//! looking at what its processes hold.

use super::job_memory::JobMemory;
use super::processes::StepProcesses;
use crate::spec::StepSpec;
use model::JobId;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sys::memory_cgroup::MemoryCgroup;

/// How often processes are looked at that no control group bounds.
const LOOK: Duration = Duration::from_millis(500);
/// The same of those that one bounds, as long as they stay in it.
const LOOK_OUTSIDE: Duration = Duration::from_secs(2);

/// A step's bound.
pub(super) enum MemoryLimit {
    /// None was asked for.
    None,
    /// The kernel keeps it, and kills the process that would go beyond it. Processes that can leave their group, as those
    /// of root can, are looked at where one has.
    Kernel(MemoryCgroup, Option<Watched>),
    /// The processes are looked at.
    Watched(Watched),
}

/// What was seen of processes that are looked at.
pub(super) struct Watched {
    bytes: u64,
    peak: u64,
    /// The bound of the whole job, and what it held.
    job: Option<WatchedJob>,
    next: Instant,
    exceeded: Option<Bound>,
}

struct WatchedJob {
    memory: JobMemory,
    bytes: u64,
    peak: u64,
}

/// Whose bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The step's.
    Step,
    /// That of all steps of its job.
    Job,
}

/// That processes hold too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Excess {
    pub(super) bound: Bound,
    pub(super) held: u64,
    pub(super) allowed: u64,
}

/// The end of a task, as far as it tells of processes that the kernel killed.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskEnd {
    /// SIGKILL ended it.
    pub(super) was_killed: bool,
    /// It is a step's, and no other of its tasks lives here.
    pub(super) is_last_of_step: bool,
}

impl TaskEnd {
    /// How many of the kills are its own of which no task has told. As in Slurm a step ended for memory whose tasks only
    /// lost processes of theirs and went on, whatever they ended with.
    pub(super) fn kills_of_it(self, untold: u64) -> u64 {
        if self.is_last_of_step {
            untold
        } else {
            u64::from(self.was_killed).min(untold)
        }
    }
}

impl MemoryLimit {
    /// As the spec says; `can_be_kept` by the kernel where a group can be made.
    pub(super) fn of(spec: &StepSpec) -> MemoryLimit {
        // Nothing at all was asked for, in Slurm's words all of the node's.
        let bound = |mebibytes: Option<u64>| {
            let mebibytes = mebibytes.filter(|mebibytes| *mebibytes > 0)?;
            Some(mebibytes.saturating_mul(1 << 20))
        };
        let Some(bytes) = bound(spec.memory) else {
            return MemoryLimit::None;
        };
        let together = bound(spec.job_memory);
        let name = group_name(spec);
        let made = match job_group_name(spec).zip(together) {
            Some((job, together)) => MemoryCgroup::make_within((&job, together), &name, bytes),
            None => MemoryCgroup::make(&name, bytes),
        };
        match made {
            Ok(group) => {
                // Who made the group can move processes out of it.
                let can_leave = spec.uid == sys::process::user();
                MemoryLimit::Kernel(group, can_leave.then(|| Watched::new(bytes, None)))
            }
            Err(error) => {
                tracing::debug!(step = %spec.key(), "no memory control group: {error}");
                let job = together.map(|bytes| WatchedJob {
                    memory: JobMemory::of(spec),
                    bytes,
                    peak: 0,
                });
                MemoryLimit::Watched(Watched::new(bytes, job))
            }
        }
    }

    /// The file by which a task enters its group.
    pub(super) fn entrance(&self) -> Option<PathBuf> {
        match self {
            MemoryLimit::Kernel(group, _) => Some(group.entrance()),
            MemoryLimit::None | MemoryLimit::Watched(_) => None,
        }
    }

    fn watched(&self) -> Option<&Watched> {
        match self {
            MemoryLimit::Watched(watched) | MemoryLimit::Kernel(_, Some(watched)) => Some(watched),
            MemoryLimit::None | MemoryLimit::Kernel(_, None) => None,
        }
    }

    /// How long until the processes are to be looked at.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let watched = self.watched().filter(|it| it.exceeded.is_none())?;
        Some(watched.next.saturating_duration_since(Instant::now()))
    }

    /// Looks at the processes where it is time; that they hold too much, once.
    pub(super) fn exceeded(&mut self, processes: &StepProcesses<'_>) -> Option<Excess> {
        let (watched, group) = match self {
            MemoryLimit::Watched(watched) => (watched, None),
            MemoryLimit::Kernel(group, Some(watched)) => (watched, Some(group)),
            MemoryLimit::None | MemoryLimit::Kernel(_, None) => return None,
        };
        if watched.exceeded.is_some() || watched.next > Instant::now() {
            return None;
        }
        watched.next = Instant::now() + group.as_ref().map_or(LOOK, |_| LOOK_OUTSIDE);
        let all = processes.list();
        if group.is_some_and(|group| all.iter().all(|pid| group.bounds(*pid))) {
            return None;
        }
        watched.look(&all)
    }

    /// How many processes were killed by the kernel for it so far.
    pub(super) fn kills(&self) -> u64 {
        match self {
            MemoryLimit::Kernel(group, _) => group.kills(),
            MemoryLimit::None | MemoryLimit::Watched(_) => 0,
        }
    }

    /// For whose bound a process was ended.
    pub(super) fn met(&self) -> Option<Bound> {
        let seen = self.watched().and_then(|watched| watched.exceeded);
        seen.or_else(|| match self {
            MemoryLimit::Kernel(group, _) if group.kills() == 0 => None,
            MemoryLimit::Kernel(group, _) if group.was_met_around() => Some(Bound::Job),
            MemoryLimit::Kernel(..) => Some(Bound::Step),
            MemoryLimit::None | MemoryLimit::Watched(_) => None,
        })
    }

    /// Most bytes that all of the job's processes held on the node at once.
    pub(super) fn peak_of_job(&self) -> u64 {
        match self {
            MemoryLimit::None => 0,
            MemoryLimit::Kernel(group, _) => group.peak_around().unwrap_or(0),
            MemoryLimit::Watched(watched) => watched.job.as_ref().map_or(0, |job| job.peak),
        }
    }

    /// Most bytes that the processes held at once.
    pub(super) fn peak(&self) -> u64 {
        let seen = self.watched().map_or(0, |watched| watched.peak);
        match self {
            MemoryLimit::Kernel(group, _) => group.peak().unwrap_or(0).max(seen),
            MemoryLimit::None | MemoryLimit::Watched(_) => seen,
        }
    }
}

impl Watched {
    fn new(bytes: u64, job: Option<WatchedJob>) -> Watched {
        Watched {
            bytes,
            peak: 0,
            job,
            next: Instant::now(),
            exceeded: None,
        }
    }

    /// What these processes hold, and whether that is too much.
    fn look(&mut self, processes: &[u32]) -> Option<Excess> {
        let held = sys::process::memory_of(processes, self.bytes);
        self.peak = self.peak.max(held);
        let excess = |bound, held, allowed| {
            (held > allowed).then_some(Excess {
                bound,
                held,
                allowed,
            })
        };
        let of_job = self.job.as_mut().and_then(|job| {
            let together = held.saturating_add(job.memory.exchange(held));
            job.peak = job.peak.max(together);
            excess(Bound::Job, together, job.bytes)
        });
        let seen = excess(Bound::Step, held, self.bytes).or(of_job);
        self.exceeded = seen.map(|seen| seen.bound);
        seen
    }
}

/// No other step's, nor that of another engine.
pub(super) fn group_name(spec: &StepSpec) -> String {
    format!(
        "{GROUP}{}-{}.{}.{}",
        std::process::id(),
        spec.job,
        spec.step,
        spec.node_index
    )
}

/// That of the job on the node, in which those of its steps are; none where no other job's would have another name.
fn job_group_name(spec: &StepSpec) -> Option<String> {
    let StepSpec {
        job, restart, node, ..
    } = spec;
    let tag = spec.tag?;
    Some(format!("{JOB_GROUP}{tag}.{job}.{restart}.{node}"))
}

/// What the names of all groups begin with.
const GROUP: &str = "yard-";
/// What those of jobs begin with.
const JOB_GROUP: &str = "yard-job-";

/// Whether a group bounds a job or one of its steps.
pub(crate) fn is_of_job(name: &str) -> bool {
    name.starts_with(JOB_GROUP) || group_owner(name).is_some()
}

/// Whether no process will remove a group of this name once it is empty: its supervisor is gone, or it is around
/// those of several, each of which makes it anew where it is missing.
pub(crate) fn is_left(name: &str) -> bool {
    name.starts_with(JOB_GROUP)
        || group_owner(name).is_some_and(|(pid, _job)| sys::process::start_time(pid).is_none())
}

/// Of the name of a step's group its supervisor and its job.
pub(crate) fn group_owner(name: &str) -> Option<(u32, JobId)> {
    let (supervisor, step) = name.strip_prefix(GROUP)?.split_once('-')?;
    let (job, _step_and_node) = step.split_once('.')?;
    Some((supervisor.parse().ok()?, JobId(job.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_processes::OwnProcesses;
    use api::EngineFolder;
    use std::process::Command;

    #[test]
    fn a_group_s_name_says_whose_it_is() {
        assert_eq!(group_owner("yard-812-7.batch.0"), Some((812, JobId(7))));
        assert_eq!(group_owner("yard-812-7.3.1"), Some((812, JobId(7))));
        assert!(is_left("yard-job-0f.7.0.1") && is_left("yard-4194305-7.3.1"));
        assert!(!is_left(&format!("yard-{}-7.3.1", std::process::id())) && !is_left("user.slice"));
        for other in [
            "yard-probe-7",
            "yard-job-00000000000000aa.7.0.n1",
            "yard-812",
            "yard-x-7.batch.0",
            "user.slice",
            "",
        ] {
            assert_eq!(group_owner(other), None);
        }
    }

    /// It held as much as it liked.
    #[test]
    #[expect(clippy::print_stderr, reason = "a test that can't run here says so")]
    fn what_leaves_its_control_group_is_seen() {
        let name = format!("yard-test-{}", std::process::id());
        let group = match MemoryCgroup::make(&name, 1 << 20) {
            Ok(group) => group,
            Err(error) => return eprintln!("skipped: no control group of memory ({error})"),
        };
        let folder = tempfile::tempdir().unwrap();
        let own = OwnProcesses::enter(&EngineFolder::new(folder.path()));
        let processes = StepProcesses::below_this(&own);
        let entrance = group.entrance();
        let mut limit = MemoryLimit::Kernel(group, Some(Watched::new(1, None)));
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        std::fs::write(&entrance, child.id().to_string()).unwrap();
        let around = entrance.parent().and_then(|group| group.parent()).unwrap();
        let around = around.join(entrance.file_name().unwrap());
        std::fs::write(around, child.id().to_string()).unwrap();
        let seen = limit.exceeded(&processes);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen.is_some_and(|seen| seen.held > 1), "{seen:?}");
        assert_eq!(limit.met(), Some(Bound::Step));
    }

    #[test]
    fn a_step_whose_tasks_only_lost_processes_ends_for_memory_too() {
        let check = |was_killed, is_last_of_step, untold, want| {
            let end = TaskEnd {
                was_killed,
                is_last_of_step,
            };
            assert_eq!(end.kills_of_it(untold), want, "{end:?} {untold}");
        };
        check(false, false, 3, 0);
        check(true, false, 3, 1);
        check(true, false, 0, 0);
        check(false, true, 3, 3);
        check(true, true, 1, 1);
        check(false, true, 0, 0);
    }

    #[test]
    fn without_a_control_group_too_much_is_seen_once() {
        let folder = tempfile::tempdir().unwrap();
        let own = OwnProcesses::enter(&EngineFolder::new(folder.path()));
        let processes = StepProcesses::below_this(&own);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut limit = MemoryLimit::Watched(Watched::new(1, None));
        let seen = limit.exceeded(&processes);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            seen.is_some_and(|seen| seen.held > 1 && seen.allowed == 1),
            "{seen:?}"
        );
        assert!(limit.met() == Some(Bound::Step) && limit.peak() > 1);
        assert_eq!(
            (limit.exceeded(&processes), limit.next_look()),
            (None, None)
        );
    }
}
