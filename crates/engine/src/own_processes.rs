//! Engines, fork servers and supervisors of one engine's folder, told from the processes of jobs.

use api::EngineFolder;
use sys::process;

/// This process's place among them.
#[derive(Debug)]
pub(crate) struct OwnProcesses {
    /// `None`: the file system keeps no locks, and no process can be told from a job's.
    entered: Option<process::OwnProcesses>,
}

impl OwnProcesses {
    /// Enters this process, to its end. Each process enters once.
    pub(crate) fn enter(engine: &EngineFolder) -> OwnProcesses {
        OwnProcesses::enter_as(engine, std::process::id())
    }

    /// The same for a process whose number is another one in the engine's PID namespace.
    pub(crate) fn enter_as(engine: &EngineFolder, pid: u32) -> OwnProcesses {
        let path = engine.processes();
        let entered = process::OwnProcesses::open(&path)
            .and_then(|own| own.join_as(pid).map(|()| own))
            .inspect_err(|error| tracing::warn!("{}: {error}", path.display()));
        OwnProcesses {
            entered: entered.ok(),
        }
    }

    /// Stays entered when this process executes another program.
    pub(crate) fn keep(&self) {
        if let Some(Err(error)) = self.entered.as_ref().map(process::OwnProcesses::keep) {
            tracing::warn!("{error}");
        }
    }

    /// Whether a process is one of them.
    pub(crate) fn has(&self, pid: u32) -> bool {
        pid == std::process::id() || self.entered.as_ref().is_some_and(|own| own.has(pid))
    }
}
