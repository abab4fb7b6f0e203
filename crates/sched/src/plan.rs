//! What the last pass planned: when jobs that wait are expected to start, and which nodes are kept for them.

use crate::held::names;
use crate::planner::Planning;
use crate::possible_start::PossibleStart;
use crate::{Amount, State};
use model::{JobId, Timestamp};
use resources::{NodeId, NodeSet};
use std::collections::BTreeMap;

/// When jobs that wait are expected to start, by the last pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) starts: BTreeMap<JobId, ExpectedStart>,
    /// The nodes that are kept for them.
    pub(crate) nodes: NodeSet,
    /// When each of these is kept; a job has places in several partitions.
    pub(crate) kept: Vec<KeptNodes>,
}

/// Nodes that are kept for a job from a moment until another, in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeptNodes {
    pub(crate) job: JobId,
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) nodes: Box<[NodeId]>,
}

impl Plan {
    pub(crate) fn start_of(&self, job: JobId) -> Option<Timestamp> {
        self.starts.get(&job).map(|expected| expected.at)
    }

    pub(crate) fn kept(&self) -> &[KeptNodes] {
        &self.kept
    }
}

/// A start that is expected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExpectedStart {
    pub(crate) at: Timestamp,
    /// What the job holds then.
    pub(crate) needs: Amount,
    /// The nodes that are kept for it, none of what lies too far ahead; one that splits stands once for
    /// each share.
    pub(crate) nodes: Box<[NodeId]>,
}

impl KeptNodes {
    /// What is kept for a job that starts so.
    pub(crate) fn of(planning: &Planning, start: &PossibleStart, now: Timestamp) -> KeptNodes {
        KeptNodes {
            job: start.attempt.job,
            from: planning.begin(start.at.0, now.0),
            until: planning.end(start.at.0, start.attempt.span.length),
            nodes: start.shares.iter().map(|share| share.node).collect(),
        }
    }
}

impl State {
    /// When a job that waits is expected to start, by the last pass.
    #[must_use]
    pub fn planned(&self, job: JobId) -> Option<Timestamp> {
        self.plan.start_of(job)
    }

    /// Nodes that the last pass kept for jobs that wait.
    #[must_use]
    pub fn planned_nodes(&self) -> &NodeSet {
        &self.plan.nodes
    }

    pub(crate) fn expected_start(&self, job: JobId) -> Option<&ExpectedStart> {
        self.plan.starts.get(&job)
    }

    /// The same with its nodes.
    #[must_use]
    pub fn planned_on(&self, job: JobId) -> Option<model::PlannedStart> {
        let planned = self.expected_start(job)?;
        let choice = self.jobs.get(&job)?.derived.choices.first()?;
        Some(model::PlannedStart {
            at: planned.at,
            nodes: names(
                &self.cluster,
                &choice.need.compiled.demand,
                planned.nodes.iter().copied(),
            ),
        })
    }
}
