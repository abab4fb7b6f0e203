//! Calls that change nothing.

use super::watch::Waiter;
use super::{Owner, batch_step};
use crate::message::Peer;
use crate::store::StoreError;
use api::{Answer, Call, HistoryReports, JobFilter, JobReports, Refusal, Watched};
use model::{
    ComponentPlace, JobHistory, JobId, JobRecord, JobStart, JobState, SrunProcess, StepId,
    StepRecord, Timestamp,
};
use sched::Job;
use std::borrow::Cow;
use std::sync::mpsc;

/// Longest that a watcher waits.
const LONGEST_WATCH_MS: u64 = 60_000;

impl Owner {
    /// Answers a call that changes nothing, or keeps a watcher until something changes.
    pub(super) fn read(
        &mut self,
        call: Call,
        peer: Peer,
        reply: mpsc::Sender<Answer>,
        now: Timestamp,
    ) {
        let answer = match call {
            Call::Jobs(filter) => self.jobs(&filter).map(|jobs| Answer::Jobs {
                jobs: self.reports(&jobs),
            }),
            Call::Steps { job } => self.steps(job),
            Call::Histories(filter) => self.histories(&filter).map(|jobs| Answer::Histories {
                jobs: HistoryReports(jobs),
            }),
            Call::Why { job } => Ok(self.why(job, now)),
            Call::Test { request, .. } => {
                let told = self.would_start(&request, peer, now);
                Ok(told.unwrap_or_else(Answer::Refused))
            }
            Call::Facts => Ok(Answer::Facts(Box::new(self.facts(now, peer)))),
            Call::Cluster => Ok(Answer::Cluster(Box::new(self.cluster_report_for(peer)))),
            Call::Priorities => Ok(Answer::Priorities(Box::new(self.priorities()))),
            Call::Shares => Ok(Answer::Shares {
                rows: self.shares(now),
            }),
            Call::Holders { job } => Ok(Answer::Holders {
                steps: self.holders(job),
            }),
            Call::Statistics => Ok(Answer::Statistics(Box::new(self.statistics_report(now)))),
            Call::Accounting => self
                .accounting()
                .map(|accounting| Answer::Accounting(Box::new(accounting))),
            Call::Events => self
                .store
                .node_events(false)
                .map(|events| Answer::Events { events }),
            Call::Transactions => self
                .store
                .transactions()
                .map(|changes| Answer::Transactions { changes }),
            Call::Watch {
                filter,
                after,
                wait_ms,
            } => match self.changed(&filter, after) {
                Ok(jobs) if jobs.is_empty() && wait_ms > 0 => {
                    let wait = i64::try_from(wait_ms.min(LONGEST_WATCH_MS)).unwrap_or(0);
                    let until = Timestamp(now.0 + wait);
                    let ids = filter.ids.as_deref().map(<[JobId]>::to_vec);
                    self.waiters.push(Waiter {
                        filter: JobFilter { ids, ..filter },
                        until,
                        reply,
                    });
                    return;
                }
                Ok(jobs) => Ok(Answer::Watched(Watched {
                    jobs: self.reports(&jobs),
                    version: self.state.version(),
                })),
                Err(error) => Err(error),
            },
            // Only these come here.
            _ => return,
        };
        let answer = answer.unwrap_or_else(|error| {
            Answer::Refused(Refusal::Store {
                message: error.to_string(),
            })
        });
        let _gone = reply.send(answer);
    }

    fn record(&self, job: &Job) -> JobRecord {
        self.shown_record(job, self.state.planned_on(job.id))
    }

    fn reports(&self, jobs: &[Cow<'_, Job>]) -> JobReports {
        JobReports(jobs.iter().map(|job| self.record(job)).collect())
    }

    fn jobs(&self, filter: &JobFilter) -> Result<Vec<Cow<'_, Job>>, StoreError> {
        let is_of =
            |record: &Job| filter.wants(&record.submitter, record.request.rare.comment.as_deref());
        let mut found: Vec<Cow<'_, Job>> = Vec::new();
        match &filter.ids {
            Some(ids) => {
                for id in &self.with_components(ids, filter)? {
                    let rows = self.state.rows_of_array(*id).chain(self.state.job(*id));
                    found.extend(rows.map(Cow::Borrowed));
                    if filter.ended_since.is_some() {
                        found.extend(owned(self.store.ended_by_id(*id)?));
                    }
                }
            }
            None => {
                let live = self.state.live().filter(|job| is_of(job));
                found.extend(live.map(Cow::Borrowed));
                match (filter.ended_since, &filter.comment) {
                    (Some(_), Some(comment)) => {
                        found.extend(owned(self.store.ended_by_comment(comment)?));
                    }
                    (Some(since), None) => found.extend(owned(self.store.ended_since(since)?)),
                    (None, _) => {}
                }
            }
        }
        let wanted = |record: &Job| match &record.state {
            JobState::Ended { at, .. } => filter.ended_since.is_some_and(|since| *at >= since),
            JobState::Pending { .. } | JobState::Running { .. } => true,
        };
        found.retain(|record| wanted(record) && is_of(record));
        found.sort_by_key(|record| record.id);
        // An array's own row goes by two names, and a job may be asked for twice.
        found.dedup_by_key(|record| record.id);
        Ok(found)
    }

    /// The ids that a filter names, where it asks for that with those of all components.
    fn with_components(&self, ids: &[JobId], filter: &JobFilter) -> Result<Vec<JobId>, StoreError> {
        let mut all = ids.to_vec();
        for id in ids.iter().filter(|_| filter.components) {
            let place = match self.state.job(*id) {
                Some(record) => record.request.rare.component,
                None => {
                    let ended = self.store.ended_by_id(*id)?;
                    ended.first().and_then(|it| it.request.rare.component)
                }
            };
            let place = place.filter(|place| place.leader == *id);
            all.extend(place.into_iter().flat_map(ComponentPlace::ids));
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Rows of a watcher's filter that are newer than `after`. From 0 a watcher of named jobs sees
    /// how they ended too.
    fn changed(&self, filter: &JobFilter, after: u64) -> Result<Vec<Cow<'_, Job>>, StoreError> {
        if after == 0 || after > self.state.version() {
            let named = filter.ids.is_some() || filter.comment.is_some();
            let ended_since = match filter.ended_since {
                None if named => Some(Timestamp(i64::MIN)),
                since => since,
            };
            return self.jobs(&JobFilter {
                ended_since,
                ..filter.clone()
            });
        }
        if after == self.state.version() {
            return Ok(Vec::new());
        }
        let live = self.state.newer(after).map(Cow::Borrowed);
        let ended = owned(self.store.ended_newer(after)?);
        let mut newer: Vec<Cow<'_, Job>> = live.chain(ended).collect();
        newer.retain(|record| super::watch::is_wanted(filter, record));
        newer.sort_unstable_by_key(|record| record.id);
        Ok(newer)
    }

    fn histories(&self, filter: &JobFilter) -> Result<Vec<JobHistory>, StoreError> {
        let jobs = self.jobs(filter)?;
        let has_begun = |job: &&Cow<'_, Job>| {
            let never = matches!(
                job.state,
                JobState::Pending { .. } | JobState::Ended { ran: None, .. }
            );
            job.restarts > 0 || !never
        };
        let begun: Vec<JobId> = jobs.iter().filter(has_begun).map(|job| job.id).collect();
        let mut starts = self.store.starts(&begun)?.into_iter().peekable();
        let mut rows = self
            .store
            .steps_of_all_starts(&begun)?
            .into_iter()
            .peekable();
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
        let mut changes = self.store.record_changes(&ids)?;
        // Jobs, starts and steps all come in ascending id.
        let history = |job: &Cow<'_, Job>| {
            let own = std::iter::from_fn(|| starts.next_if(|(id, _)| *id == job.id));
            let starts: Vec<JobStart> = own.map(|(_, start)| start).collect();
            let own = std::iter::from_fn(|| rows.next_if(|row| row.record.job == job.id));
            let mut steps: Vec<StepRecord> = own.map(|row| row.record).collect();
            let whole = batch_step::whole_starts(&starts);
            let batch = whole.iter().filter(|_| job.batch);
            let batch: Vec<StepRecord> = batch
                .filter_map(|start| batch_step::of_start(job.id, start, &steps))
                .collect();
            steps.extend(batch);
            steps.sort_by_key(|step| (step.restart, step.step));
            JobHistory {
                job: self.record(job),
                starts,
                steps,
                change: changes.remove(&job.id).unwrap_or_default(),
            }
        };
        Ok(jobs.iter().map(history).collect())
    }

    fn steps(&self, job: JobId) -> Result<Answer, StoreError> {
        let ended;
        let record = match self.state.job(job) {
            Some(record) => record,
            None => {
                ended = self.store.ended_by_id(job)?;
                match ended.iter().find(|record| record.id == job) {
                    Some(record) => record,
                    // An array's id, or none at all.
                    None if ended.is_empty() && self.state.rows_of_array(job).next().is_none() => {
                        return Ok(Answer::Refused(Refusal::NoSuchJob { job }));
                    }
                    None => return Ok(Answer::Steps { steps: Vec::new() }),
                }
            }
        };
        let rows = self.store.steps(job, record.restarts)?;
        let has_batch = rows.iter().any(|row| row.record.step == StepId::Batch);
        let batch = batch_step::of(record).filter(|_row| !has_batch);
        let steps = batch.into_iter().chain(rows).map(|row| StepRecord {
            srun: SrunProcess::of_token(&row.token),
            ..row.record
        });
        Ok(Answer::Steps {
            steps: steps.collect(),
        })
    }
}

fn owned<'a>(jobs: Vec<Job>) -> impl Iterator<Item = Cow<'a, Job>> {
    jobs.into_iter().map(Cow::Owned)
}
