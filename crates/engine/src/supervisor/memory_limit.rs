//! The memory that a step may use on its node: kept by a control group where one can be made, else by
//! looking at what its processes hold.

use super::processes::StepProcesses;
use crate::spec::StepSpec;
use model::JobId;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use sys::memory_cgroup::MemoryCgroup;

/// How often processes are looked at that no control group bounds.
const LOOK: Duration = Duration::from_millis(500);

/// A step's bound.
pub(super) enum MemoryLimit {
    /// None was asked for.
    None,
    /// The kernel keeps it, and kills the process that would go beyond it.
    Kernel(MemoryCgroup),
    /// The processes are looked at.
    Watched(Watched),
}

/// What was seen of processes that are looked at.
pub(super) struct Watched {
    bytes: u64,
    peak: u64,
    next: Instant,
    exceeded: bool,
}

impl MemoryLimit {
    /// As the spec says; `can_be_kept` by the kernel where a group can be made.
    pub(super) fn of(spec: &StepSpec) -> MemoryLimit {
        // Nothing at all was asked for, in Slurm's words all of the node's.
        let Some(mebibytes) = spec.memory.filter(|mebibytes| *mebibytes > 0) else {
            return MemoryLimit::None;
        };
        let bytes = mebibytes.saturating_mul(1 << 20);
        match MemoryCgroup::make(&group_name(spec), bytes) {
            Ok(group) => MemoryLimit::Kernel(group),
            Err(error) => {
                tracing::debug!(step = %spec.key(), "no memory control group: {error}");
                MemoryLimit::Watched(Watched {
                    bytes,
                    peak: 0,
                    next: Instant::now(),
                    exceeded: false,
                })
            }
        }
    }

    /// The file by which a task enters its group.
    pub(super) fn entrance(&self) -> Option<PathBuf> {
        match self {
            MemoryLimit::Kernel(group) => Some(group.entrance()),
            MemoryLimit::None | MemoryLimit::Watched(_) => None,
        }
    }

    /// How long until the processes are to be looked at.
    pub(super) fn next_look(&self) -> Option<Duration> {
        match self {
            MemoryLimit::Watched(watched) if !watched.exceeded => {
                Some(watched.next.saturating_duration_since(Instant::now()))
            }
            MemoryLimit::None | MemoryLimit::Kernel(_) | MemoryLimit::Watched(_) => None,
        }
    }

    /// Looks at the processes where it is time; what they hold and may hold where that is too much,
    /// once.
    pub(super) fn exceeded(&mut self, processes: &StepProcesses<'_>) -> Option<(u64, u64)> {
        let MemoryLimit::Watched(watched) = self else {
            return None;
        };
        if watched.exceeded || watched.next > Instant::now() {
            return None;
        }
        watched.next = Instant::now() + LOOK;
        let held = sys::process::memory_of(&processes.list());
        watched.peak = watched.peak.max(held);
        watched.exceeded = held > watched.bytes;
        watched.exceeded.then_some((held, watched.bytes))
    }

    /// How many processes were killed by the kernel for it so far.
    pub(super) fn kills(&self) -> u64 {
        match self {
            MemoryLimit::Kernel(group) => group.kills(),
            MemoryLimit::None | MemoryLimit::Watched(_) => 0,
        }
    }

    /// Whether a process was ended for it.
    pub(super) fn was_met(&self) -> bool {
        match self {
            MemoryLimit::None => false,
            MemoryLimit::Kernel(group) => group.kills() > 0,
            MemoryLimit::Watched(watched) => watched.exceeded,
        }
    }

    /// Most bytes that the processes held at once.
    pub(super) fn peak(&self) -> u64 {
        match self {
            MemoryLimit::None => 0,
            MemoryLimit::Kernel(group) => group.peak().unwrap_or(0),
            MemoryLimit::Watched(watched) => watched.peak,
        }
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

/// What the names of all groups begin with.
const GROUP: &str = "yard-";

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
        for other in [
            "yard-probe-7",
            "yard-812",
            "yard-x-7.batch.0",
            "user.slice",
            "",
        ] {
            assert_eq!(group_owner(other), None);
        }
    }

    #[test]
    fn without_a_control_group_too_much_is_seen_once() {
        let folder = tempfile::tempdir().unwrap();
        let own = OwnProcesses::enter(&EngineFolder::new(folder.path()));
        let processes = StepProcesses::below_this(&own);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut limit = MemoryLimit::Watched(Watched {
            bytes: 1,
            peak: 0,
            next: Instant::now(),
            exceeded: false,
        });
        let seen = limit.exceeded(&processes);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            seen.is_some_and(|(held, allowed)| held > 1 && allowed == 1),
            "{seen:?}"
        );
        assert!(limit.was_met() && limit.peak() > 1);
        assert_eq!(
            (limit.exceeded(&processes), limit.next_look()),
            (None, None)
        );
    }
}
