//! Which supervisor.

use crate::record_tag::RecordTag;
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
    /// Of which submission; `None`: one to a yard whose records told no submissions apart.
    #[serde(default)]
    pub tag: Option<RecordTag>,
}

impl SupervisorKey {
    /// Its record.
    pub(crate) fn record(self, engine: &EngineFolder) -> PathBuf {
        engine.steps().join(self.to_string())
    }

    /// The folder that it had in yard 0.1.0.
    pub(crate) fn former_folder(self, engine: &EngineFolder) -> PathBuf {
        let SupervisorKey {
            job,
            restart,
            step,
            node,
            tag: _,
        } = self;
        engine.job(job).join(format!("{restart}/{step}/{node}"))
    }
}

/// `<job>.<restart>.<step>.<node>`, and `.<tag>` where it has one.
impl fmt::Display for SupervisorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SupervisorKey {
            job,
            restart,
            step,
            node,
            tag,
        } = self;
        write!(f, "{job}.{restart}.{step}.{node}")?;
        tag.map_or(Ok(()), |tag| write!(f, ".{tag}"))
    }
}
