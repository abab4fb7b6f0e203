//! Calls that change nothing.

use super::watch::Waiter;
use super::{Owner, batch_step};
use crate::message::Peer;
use crate::store::{EndedQuery, StoreError};
use api::{Answer, Call, HistoryReports, JobFilter, JobReports, Refusal, Watched};
use model::{
    ComponentPlace, JobHistory, JobId, JobRecord, JobStart, JobState, SrunProcess, StepId,
    StepRecord, Timestamp,
};
use sched::Job;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::mpsc;

/// Longest that a watcher waits.
const LONGEST_WATCH_MS: u64 = 60_000;
/// Most jobs of one answer with ended ones among them: what else is called waits for no more, and no more are in memory.
const MOST_ENDED: usize = 2000;
/// Most ids that are looked at for one answer, however few of them are jobs that it has.
const MOST_IDS_LOOKED_AT: u32 = 20_000;

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
            Call::Jobs { filter, after, .. } => {
                let portion = match after {
                    Some(after) => self.portion(&filter, after, MOST_ENDED),
                    None => self.jobs(&filter).map(|jobs| (jobs, None)),
                };
                portion.map(|(jobs, rest_after)| Answer::Jobs {
                    jobs: self.reports(&jobs),
                    rest_after,
                })
            }
            Call::Steps { job } => self.steps(job),
            Call::Histories {
                filter,
                after,
                most,
                ..
            } => {
                let most = usize::try_from(most).unwrap_or(MOST_ENDED);
                let most = most.clamp(1, MOST_ENDED);
                let portion = self.histories(&filter, after, most);
                portion.map(|(jobs, rest_after)| Answer::Histories {
                    jobs: HistoryReports(jobs),
                    rest_after,
                })
            }
            Call::Why { job } => Ok(self.why(job, now)),
            Call::Test { request, as_user } => {
                let told = self.would_start(&request, peer, as_user.is_some(), now);
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
        self.jobs_in(filter, JobId(0)..=JobId(u32::MAX), None)
    }

    /// A portion of the jobs of a filter, those after an id; and after which the next one begins, where there may
    /// be others.
    fn portion(
        &self,
        filter: &JobFilter,
        after: JobId,
        most: usize,
    ) -> Result<(Vec<Cow<'_, Job>>, Option<JobId>), StoreError> {
        let last = self.state.next_id().saturating_sub(1);
        let mut first = after.0.saturating_add(1);
        let is_named = filter.ids.is_some() || filter.comment.is_some();
        let end = if is_named {
            last
        } else {
            // Most questions are about the newest jobs.
            if after == JobId(0) {
                first = self
                    .first_after(filter, after)?
                    .unwrap_or(last.saturating_add(1));
            }
            last.min(first.saturating_add(MOST_IDS_LOOKED_AT - 1))
        };
        if first > end {
            return Ok((Vec::new(), None));
        }
        let mut found = self.jobs_in(filter, JobId(first)..=JobId(end), Some(most))?;
        let is_full = found.len() >= most;
        found.truncate(most);
        let through = if found.is_empty() && !is_named {
            // An old job that lives is no reason to look at all ids behind it.
            let next = self.first_after(filter, JobId(end))?;
            next.map_or(last, |next| next - 1)
        } else {
            found.last().filter(|_| is_full).map_or(end, |job| job.id.0)
        };
        Ok((found, (through < last).then_some(JobId(through))))
    }

    /// The lowest id above one of jobs that live, or that ended late enough for a filter.
    fn first_after(&self, filter: &JobFilter, after: JobId) -> Result<Option<u32>, StoreError> {
        let since = filter.ended_since;
        let ended = since.map(|since| self.store.first_ended(after, since));
        let ended = ended.transpose()?.flatten();
        let above = JobId(after.0.saturating_add(1))..=JobId(u32::MAX);
        let live = self.state.live_in(above).next().map(|job| job.id);
        Ok(ended.into_iter().chain(live).min().map(|id| id.0))
    }

    /// Jobs of a filter in a range of ids, ascending. Where a number is given, and there are at least as many, so
    /// many of the lowest ids are among them.
    fn jobs_in(
        &self,
        filter: &JobFilter,
        range: RangeInclusive<JobId>,
        most: Option<usize>,
    ) -> Result<Vec<Cow<'_, Job>>, StoreError> {
        let is_of =
            |record: &Job| filter.wants(&record.submitter, record.request.rare.comment.as_deref());
        let ids = filter.ids.as_ref();
        let ids = ids.map(|ids| self.with_components(ids, filter));
        let ids = ids.transpose()?;
        let query = EndedQuery {
            filter,
            ids: ids.as_deref(),
            range: range.start().0..=range.end().0,
            most: most.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        };
        let mut found: Vec<Cow<'_, Job>> = owned(self.store.ended(&query)?).collect();
        match &ids {
            Some(ids) => {
                let rows = ids
                    .iter()
                    .flat_map(|id| self.state.rows_of_array(*id).chain(self.state.job(*id)));
                let rows = rows.filter(|job| range.contains(&job.id) && is_of(job));
                found.extend(rows.map(Cow::Borrowed));
            }
            None => {
                let live = self.state.live_in(range).filter(|job| is_of(job));
                found.extend(live.map(Cow::Borrowed));
            }
        }
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
                    let ended = self.store.ended_job(*id)?;
                    ended.and_then(|it| it.request.rare.component)
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

    /// A portion of histories, and after which id the next one begins.
    fn histories(
        &self,
        filter: &JobFilter,
        after: JobId,
        most: usize,
    ) -> Result<(Vec<JobHistory>, Option<JobId>), StoreError> {
        let (jobs, rest_after) = self.portion(filter, after, most)?;
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
        Ok((jobs.iter().map(history).collect(), rest_after))
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
