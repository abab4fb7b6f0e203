//! What can no longer happen that a job waits for.

use crate::outlook::Outlook;
use crate::{Job, State};
use model::{Condition, DependedJob, DependencyKind, Timestamp};

/// A condition of a job's dependency that can no longer be met, as `--dependency` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverMet {
    /// `afterok:7`
    pub condition: String,
    /// How that has to end.
    pub kind: DependencyKind,
    /// The job, array or element that it names.
    pub depended: DependedJob,
}

impl State {
    /// The conditions of a job's dependency that can no longer be met.
    pub(super) fn never_met(&self, record: &Job, now: Timestamp) -> Vec<NeverMet> {
        let task = self.jobs.get(&record.id).and_then(|job| job.task());
        let conditions = record.dependency.iter();
        let conditions = conditions.flat_map(|dependency| &dependency.conditions);
        let each = conditions.flat_map(|condition| match condition {
            Condition::Singleton => Vec::new(),
            Condition::Jobs { kind, jobs } => jobs.iter().map(|job| (*kind, *job)).collect(),
        });
        let never = each.filter(|(kind, job)| {
            job.failed || self.depended(*kind, job, task, now) == Outlook::Never
        });
        let never = never.map(|(kind, job)| {
            let depended = DependedJob {
                failed: false,
                ..job
            };
            NeverMet {
                kind,
                depended,
                condition: Condition::Jobs {
                    kind,
                    jobs: vec![depended],
                }
                .to_string(),
            }
        });
        never.collect()
    }
}
