//! What the tasks of a running step use.

use crate::values::{JobId, NodeName, StepId};
use serde::{Deserialize, Serialize};

/// A step that runs, and the processes that hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepHolders {
    /// Its job.
    pub job: JobId,
    /// Which.
    pub step: StepId,
    /// Tasks of all its nodes.
    pub tasks: u32,
    /// Its nodes, each with the process whose children are the step's tasks there; none where it
    /// has not begun or has ended.
    pub nodes: Vec<(NodeName, Option<u32>)>,
}

/// A running step with what was measured of its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct StepUse {
    /// Its job.
    pub job: JobId,
    /// Which.
    pub step: StepId,
    /// Tasks of all its nodes, also those that could not be measured.
    pub tasks: u32,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
    /// By rank.
    pub measured: Vec<TaskUse>,
}

/// What a task, a process with all below it, uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskUse {
    /// Its rank in the step.
    pub rank: u32,
    /// Its number on its node.
    pub local: u32,
    /// Index of its node in the step.
    pub node: usize,
    /// Its first process.
    pub pid: u32,
    /// Its processes.
    pub processes: Vec<u32>,
    /// CPU time so far, in milliseconds.
    pub cpu_ms: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of addresses.
    pub virtual_memory: u64,
    /// Pages brought from a disk.
    pub pages: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
}
