//! `holders`: which processes hold running steps.

use super::Owner;
use super::active_job::ActiveJob;
use crate::messenger::lives;
use crate::record;
use model::{JobId, StepHolders, StepId};

impl Owner {
    /// Those of a job, or of all.
    pub(super) fn holders(&self, job: Option<JobId>) -> Vec<StepHolders> {
        let jobs = self.running.values();
        let jobs = jobs.filter(|active| job.is_none_or(|job| active.job == job));
        let steps = jobs.flat_map(|active| active.steps.keys().map(move |step| (active, *step)));
        let mut all: Vec<StepHolders> = steps
            .filter_map(|(active, step)| self.holders_of(active, step))
            .collect();
        let place = |step: StepId| match step {
            StepId::Batch => None,
            StepId::Number(number) => Some(number),
        };
        all.sort_by_key(|one| (one.job, place(one.step)));
        all
    }

    fn holders_of(&self, active: &ActiveJob, step: StepId) -> Option<StepHolders> {
        let live = active.steps.get(&step)?;
        let shares = &live.row.record.nodes;
        let pid = |node: u32, has_ended: bool| {
            let found = (!has_ended).then(|| record::look(&self.folder, active.key(step, node)));
            let found = found?.ok()?.filter(|found| found.exit.is_none())?;
            let has_gone = matches!(lives(&found.holder), Ok(false));
            (!has_gone).then_some(found.holder.pid)
        };
        let nodes = (0..).zip(shares.iter().zip(&live.ends));
        Some(StepHolders {
            job: active.job,
            step,
            tasks: shares.iter().map(|share| share.tasks).sum(),
            nodes: nodes
                .map(|(index, (share, end))| (share.node.clone(), pid(index, end.is_some())))
                .collect(),
        })
    }
}
