//! What a job's user sees of the programs that a cluster runs before it.

use crate::values::NodeName;
use serde::{Deserialize, Serialize};

/// How it stands with the programs before a job that has its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobProlog {
    /// The controller's (`PrologSlurmctld`) runs: the job is CONFIGURING.
    Controller,
    /// Those of its nodes run, which run at its start (`PrologFlags=Alloc`): its reason is `Prolog`.
    Nodes,
    /// The controller's failed.
    ControllerFailed,
    /// That of a node failed.
    NodeFailed(NodeName),
}

impl JobProlog {
    /// Whether the job waits for one.
    #[must_use]
    pub fn runs(&self) -> bool {
        matches!(self, JobProlog::Controller | JobProlog::Nodes)
    }

    /// What Slurm tells who waits for the job, where one failed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        match self {
            JobProlog::Controller | JobProlog::Nodes => None,
            JobProlog::ControllerFailed => Some("PrologSlurmctld failed, job killed".to_owned()),
            JobProlog::NodeFailed(node) => Some(format!("Prolog failure on node {node}")),
        }
    }
}
