//! Live jobs by user and name, for `singleton`.

use crate::State;
use crate::live_job::LiveJob;
use model::JobId;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// By a hash of both, which is small where each job has a name of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct JobNames(BTreeSet<(u64, JobId)>);

impl JobNames {
    pub(crate) fn insert(&mut self, uid: u32, name: &str, job: JobId) {
        self.0.insert((hash(uid, name), job));
    }

    pub(crate) fn remove(&mut self, uid: u32, name: &str, job: JobId) {
        self.0.remove(&(hash(uid, name), job));
    }
}

/// The same in each process: [`DefaultHasher::new`] has fixed keys.
fn hash(uid: u32, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (uid, name).hash(&mut hasher);
    hasher.finish()
}

impl State {
    /// The live job with the lowest id of a user's jobs of a name.
    pub(crate) fn first_of_name(&self, uid: u32, name: &str) -> Option<&LiveJob> {
        let hash = hash(uid, name);
        let alike = self
            .names
            .0
            .range((hash, JobId(0))..=(hash, JobId(u32::MAX)));
        let mut alike = alike.filter_map(|(_, id)| self.jobs.get(id));
        alike.find(|job| job.record.submitter.uid == uid && job.record.request.name == name)
    }
}
