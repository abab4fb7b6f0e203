//! Which supervisor.

use api::EngineFolder;
use model::{JobId, RestartCount, StepId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One supervisor: of a step's start on one of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SupervisorKey {
    /// Whose step.
    pub job: JobId,
    /// Of which start.
    pub restart: RestartCount,
    /// Which step.
    pub step: StepId,
    /// Index of the node in the step, counted from 0.
    pub node: u32,
}

impl SupervisorKey {
    /// Its record.
    pub(crate) fn record(self, engine: &EngineFolder) -> PathBuf {
        engine.record(self.job, self.restart, self.step, self.node)
    }

    /// The folder that it had in yard 0.1.0.
    pub(crate) fn former_folder(self, engine: &EngineFolder) -> PathBuf {
        let SupervisorKey {
            job,
            restart,
            step,
            node,
        } = self;
        engine.job(job).join(format!("{restart}/{step}/{node}"))
    }
}

/// `<job>.<restart>.<step>.<node>`
impl fmt::Display for SupervisorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SupervisorKey {
            job,
            restart,
            step,
            node,
        } = self;
        write!(f, "{job}.{restart}.{step}.{node}")
    }
}
