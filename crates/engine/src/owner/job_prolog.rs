//! What a job's user sees of the programs before it.

use super::Owner;
use super::job_programs::Stage;
use crate::job_program::Place;
use crate::job_record::record_of;
use model::{JobId, JobProlog, JobRecord, PlannedStart};
use sched::Job;
use std::collections::BTreeMap;

/// So many failures are kept for those who wait for their jobs: the newest.
const MOST: usize = 256;

/// Programs before jobs that failed, each for whoever waits for its job.
#[derive(Debug, Default)]
pub(crate) struct FailedPrologs(BTreeMap<JobId, JobProlog>);

impl FailedPrologs {
    /// The job starts again.
    pub(super) fn forget(&mut self, job: JobId) {
        self.0.remove(&job);
    }

    /// Whether one of a job failed.
    pub(super) fn has(&self, job: JobId) -> bool {
        self.0.contains_key(&job)
    }
}

impl Owner {
    /// A program before a job failed.
    pub(super) fn note_failed_prolog(&mut self, job: JobId, place: &Place) {
        let failed = match place {
            Place::Engine => JobProlog::ControllerFailed,
            Place::Node(node) => JobProlog::NodeFailed(node.clone()),
        };
        self.failed_prologs.0.insert(job, failed);
        if self.failed_prologs.0.len() > MOST {
            self.failed_prologs.0.pop_first();
        }
    }

    /// A job's record as its user sees it.
    pub(super) fn shown_record(&self, job: &Job, planned: Option<PlannedStart>) -> JobRecord {
        let mut record = record_of(job, planned);
        record.prolog = self.prolog_of(job.id);
        record.is_age_limited = self.state.is_age_limited(job);
        record.limit_by_rules = self.state.limit_by_rules(job);
        record
    }

    /// How it stands with the programs before a job.
    pub(super) fn prolog_of(&self, job: JobId) -> Option<JobProlog> {
        if let Some(failed) = self.failed_prologs.0.get(&job) {
            return Some(failed.clone());
        }
        self.programs()?;
        let programs = &self.running.get(&job)?.programs;
        let waits = |place: &Place| {
            let stage = programs.before.get(place);
            let comes = programs.begins && stage.is_none();
            self.program_path(place, false).is_some() && (comes || stage == Some(&Stage::Runs))
        };
        if waits(&Place::Engine) {
            return Some(JobProlog::Controller);
        }
        let nodes = if self.prolog_at_start() {
            self.nodes_of(job)
        } else {
            Vec::new()
        };
        let mut nodes = nodes.into_iter().map(Place::Node);
        nodes.any(|node| waits(&node)).then_some(JobProlog::Nodes)
    }
}
