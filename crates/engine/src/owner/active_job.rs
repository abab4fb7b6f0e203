//! What a running job has: its steps and their supervisors.

use super::job_programs::JobPrograms;
use super::lost_supervisors::LostSupervisors;
use crate::outcome::NodeEnd;
use crate::store::StepRow;
use crate::{RecordTag, SupervisorKey};
use model::{JobId, Outcome, RestartCount, StepId, StepState, Timestamp, Usage, WaitStatus};
use sched::Job;
use std::collections::BTreeMap;

/// What a running job has.
#[derive(Debug)]
pub(crate) struct ActiveJob {
    pub(crate) job: JobId,
    /// Of which start.
    pub(crate) restart: RestartCount,
    /// Of which submission.
    pub(crate) tag: Option<RecordTag>,
    /// Steps that have not ended.
    pub(crate) steps: BTreeMap<StepId, LiveStep>,
    /// Number of the next step.
    pub(crate) next_step: u32,
    /// How its batch script ended, or its allocation was released.
    pub(crate) over: Option<Over>,
    /// When the last of its steps ended that has.
    pub(crate) last_end: Option<Timestamp>,
    /// How its last step ended, if its time limit ended it.
    pub(crate) timed_out: Option<WaitStatus>,
    /// One of its steps was ended because all of them held too much memory together.
    pub(crate) met_memory: bool,
    /// What its ended steps used, as far as that was counted.
    pub(crate) usage: Option<Usage>,
    /// Supervisors that were lost.
    pub(crate) lost: LostSupervisors,
    /// Programs of the cluster before and after it.
    pub(crate) programs: JobPrograms,
}

/// The end of a batch script or allocation.
#[derive(Clone, Debug)]
pub(crate) struct Over {
    /// How the job ends if nothing else was decided.
    pub(crate) outcome: Outcome,
    /// The script's status.
    pub(crate) status: WaitStatus,
    /// When.
    pub(crate) at: Timestamp,
}

/// A step that has not ended.
#[derive(Debug)]
pub(crate) struct LiveStep {
    pub(crate) row: StepRow,
    /// Its nodes; `None` while the supervisor lives or is being started.
    pub(crate) ends: Vec<Option<NodeEnd>>,
}

impl ActiveJob {
    pub(crate) fn new(record: &Job, tag: Option<RecordTag>) -> ActiveJob {
        ActiveJob {
            job: record.id,
            restart: record.restarts,
            tag,
            steps: BTreeMap::new(),
            next_step: 0,
            over: None,
            last_end: None,
            timed_out: None,
            met_memory: false,
            usage: None,
            lost: LostSupervisors::default(),
            programs: JobPrograms::default(),
        }
    }
}

impl ActiveJob {
    /// The supervisor of a step on one of its nodes.
    pub(crate) fn key(&self, step: StepId, node: u32) -> SupervisorKey {
        SupervisorKey {
            job: self.job,
            restart: self.restart,
            step,
            node,
            tag: self.tag,
        }
    }

    /// What a step used counts for its job.
    pub(crate) fn note_usage(&mut self, usage: Option<Usage>) {
        let both = self
            .usage
            .zip(usage)
            .map(|(former, usage)| former.and(usage));
        self.usage = both.or(self.usage).or(usage);
    }

    /// A numbered step ended.
    pub(crate) fn note_end(&mut self, state: &StepState) {
        if let StepState::Ended { at, .. } = state {
            self.last_end = self.last_end.max(Some(*at));
        }
        self.timed_out = match state {
            StepState::Ended {
                status,
                timed_out: true,
                ..
            } => Some(*status),
            StepState::Ended { .. } | StepState::Running => None,
        };
    }

    /// The supervisors of a step that have not ended.
    pub(crate) fn live_keys(&self, step: StepId) -> impl Iterator<Item = SupervisorKey> + '_ {
        let live = self.steps.get(&step).into_iter();
        live.flat_map(move |live| live.live_nodes().map(move |node| self.key(step, node)))
    }
}

impl LiveStep {
    pub(crate) fn new(row: StepRow) -> LiveStep {
        let ends = vec![None; row.record.nodes.len()];
        LiveStep { row, ends }
    }

    /// Indices of the nodes whose supervisor has not ended.
    pub(crate) fn live_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = (0..).zip(&self.ends);
        nodes.filter_map(|(node, end)| end.is_none().then_some(node))
    }
}
