//! Watchers: calls that are answered once something changes.

use super::Owner;
use crate::job_record::record_of;
use api::{Answer, JobFilter, JobReports, Watched};
use model::{JobProlog, JobRecord, Timestamp};
use sched::Job;
use std::sync::mpsc;

/// A watcher for whom nothing has changed yet.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) filter: JobFilter,
    pub(crate) until: Timestamp,
    pub(crate) reply: mpsc::Sender<Answer>,
}

/// Answers the watchers of rows that were just written.
pub(super) fn wake(waiters: &mut Vec<Waiter>, changed: &[(&Job, Option<JobProlog>)], version: u64) {
    waiters.retain(|waiter| {
        let jobs = changed.iter();
        let jobs = jobs.filter(|(row, _)| is_wanted(&waiter.filter, row));
        let record = |(job, prolog): &(&Job, Option<JobProlog>)| {
            let mut record = record_of(job, None);
            record.prolog.clone_from(prolog);
            record
        };
        let jobs: Vec<JobRecord> = jobs.map(record).collect();
        if jobs.is_empty() {
            return true;
        }
        let jobs = JobReports(jobs);
        let _gone = waiter
            .reply
            .send(Answer::Watched(Watched { jobs, version }));
        false
    });
}

impl Owner {
    /// Answers the watchers whose time is over.
    pub(super) fn expire_waiters(&mut self, now: Timestamp) {
        let version = self.state.version();
        self.waiters.retain(|waiter| {
            if waiter.until > now {
                return true;
            }
            let jobs = JobReports::default();
            let _gone = waiter
                .reply
                .send(Answer::Watched(Watched { jobs, version }));
            false
        });
    }

    pub(super) fn next_waiter(&self) -> Option<Timestamp> {
        self.waiters.iter().map(|waiter| waiter.until).min()
    }
}

/// Whether a changed row is one that the filter is about; that it ended is news in any case.
pub(super) fn is_wanted(filter: &JobFilter, record: &Job) -> bool {
    let array = record.array.as_ref().map(|place| place.array_job);
    let by_id = filter
        .ids
        .as_ref()
        .is_none_or(|ids| ids.iter().any(|id| *id == record.id || Some(*id) == array));
    by_id && filter.wants(&record.submitter, record.request.rare.comment.as_deref())
}
