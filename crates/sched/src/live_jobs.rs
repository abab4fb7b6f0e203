//! All live jobs by id.

use crate::live_job::LiveJob;
use model::JobId;
use std::collections::BTreeMap;
use std::ops::{Index, RangeInclusive};
use std::sync::Arc;

/// Live jobs by id. A copy of all, as a plan makes one, shares each job until it changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LiveJobs(BTreeMap<JobId, Arc<LiveJob>>);

impl LiveJobs {
    pub(crate) fn get(&self, id: &JobId) -> Option<&LiveJob> {
        self.0.get(id).map(|job| &**job)
    }

    pub(crate) fn get_mut(&mut self, id: &JobId) -> Option<&mut LiveJob> {
        self.0.get_mut(id).map(Arc::make_mut)
    }

    pub(crate) fn insert(&mut self, job: LiveJob) {
        self.0.insert(job.record.id, Arc::new(job));
    }

    pub(crate) fn remove(&mut self, id: &JobId) -> Option<LiveJob> {
        self.0.remove(id).map(Arc::unwrap_or_clone)
    }

    pub(crate) fn contains_key(&self, id: &JobId) -> bool {
        self.0.contains_key(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// In ascending id.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &JobId> {
        self.0.keys()
    }

    /// In ascending id.
    pub(crate) fn values(&self) -> impl Iterator<Item = &LiveJob> {
        self.0.values().map(|job| &**job)
    }

    /// Those of these ids, ascending.
    pub(crate) fn range(&self, ids: RangeInclusive<JobId>) -> impl Iterator<Item = &LiveJob> {
        self.0.range(ids).map(|(_, job)| &**job)
    }

    /// In ascending id.
    #[cfg(test)]
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut LiveJob> {
        self.0.values_mut().map(Arc::make_mut)
    }
}

impl Index<&JobId> for LiveJobs {
    type Output = LiveJob;

    fn index(&self, id: &JobId) -> &LiveJob {
        &self.0[id]
    }
}
