//! A job that waits or runs asks for something else from now on.

use crate::accrual::accrues_since;
use crate::live_job::LiveJob;
use crate::rare_facts::{RareFacts, RareFactsBox};
use crate::{Finished, Job, State};
use model::{Dependency, JobId, JobState, NodeName, PendingReason, Request, Seconds, Timestamp};
use std::sync::Arc;

/// What becomes of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobUpdate {
    /// All that it asks for.
    pub request: Request,
    /// Its reservations, as [`Job::reservation`].
    pub reservation: Option<Box<str>>,
    /// Its priority, as [`Job::priority_set`].
    pub priority_set: Option<u32>,
    /// Another dependency, or none; `None` leaves it as it stands.
    pub dependency: Option<Option<Dependency>>,
    /// Another earliest start.
    pub begin: Option<Timestamp>,
    /// Another limit of a running job.
    pub limit: Option<Option<Seconds>>,
    /// By how much the end of a running job lies behind that of its limit, in milliseconds.
    pub end_moved_ms: Option<i64>,
    /// It is held.
    pub hold: bool,
    /// Nodes that a running job gives back; it keeps others.
    pub gives_back: Vec<NodeName>,
    /// So many elements of its array run at once from now on; 0 does not bound them.
    pub throttle: Option<u32>,
    /// Its age begins anew.
    pub resets_age: bool,
}

impl JobUpdate {
    /// One that changes nothing yet.
    #[must_use]
    pub fn of(record: &Job) -> JobUpdate {
        JobUpdate {
            request: (*record.request).clone(),
            reservation: record.rare.reservation.clone(),
            priority_set: record.rare.priority_set,
            dependency: None,
            begin: None,
            limit: None,
            end_moved_ms: None,
            hold: false,
            gives_back: Vec::new(),
            throttle: None,
            resets_age: false,
        }
    }

    /// It asks for other reservations, or for none.
    pub(crate) fn set_reservation(&mut self, name: Option<&str>) {
        self.request.rare.reservation = name.map(str::to_owned);
        self.reservation = name.map(Box::from);
    }

    /// It asks for a priority.
    pub(crate) fn set_priority(&mut self, priority: u32) {
        self.request.rare.priority = Some(priority);
        self.priority_set = Some(priority);
    }
}

impl State {
    pub(crate) fn update(
        &mut self,
        id: JobId,
        update: JobUpdate,
        history: Vec<Finished>,
        at: Timestamp,
    ) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let (uid, former) = (job.record.submitter.uid, Arc::clone(&job.record.request));
        self.names.remove(uid, &former.name, id);
        self.names.insert(uid, &update.request.name, id);
        let is_pending = self.jobs[&id].is_pending();
        if is_pending {
            self.unfile(id);
            if update.dependency.is_some() {
                self.forget_targets(id, None);
            }
        }
        if !is_pending {
            self.forget_expiry(id);
        }
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        self.in_queue.take(&self.cluster, &job.record);
        job.record.request = Arc::new(update.request);
        job.record.rare = RareFactsBox::from(RareFacts {
            reservation: update.reservation,
            priority_set: update.priority_set,
            ..RareFacts::clone(&job.record.rare)
        });
        self.in_queue.add(&self.cluster, &job.record);
        if let Some(most) = update.throttle {
            let throttle = Some(most).filter(|most| *most > 0);
            if let Some(place) = job.record.array.as_mut() {
                place.throttle = throttle;
                if let Some(array) = self.arrays.get_mut(&place.array_job) {
                    array.facts.throttle = throttle;
                }
            }
        }
        if let Some(limit) = update.limit
            && let JobState::Running { limit: former, .. } = &mut job.record.state
        {
            *former = limit;
        }
        if let Some(moved) = update.end_moved_ms
            && let JobState::Running { end_moved_ms, .. } = &mut job.record.state
        {
            *end_moved_ms = moved;
        }
        if !is_pending {
            job.choose_anew(&self.cluster, &mut self.kinds);
        }
        if is_pending {
            // Whether it may start is found out anew; its age goes on where nothing kept it back.
            if update.begin.is_some() || update.dependency.is_some() {
                job.record.is_no_more_eligible();
            }
            // One that a limit keeps from gaining by its age does not begin by that.
            if update.resets_age && accrues_since(&self.cluster, &job.record).is_some() {
                job.record.rare.accrues = Some(at);
            }
            if let Some(begin) = update.begin {
                job.record.rare.not_before = Some(begin);
            }
            if let Some(dependency) = update.dependency {
                job.record.dependency = dependency.map(Arc::new);
            }
            if !job.reason().is_some_and(PendingReason::is_hold) {
                job.record.state = JobState::Pending {
                    reason: PendingReason::None,
                };
            }
            job.on_cluster(&self.cluster, &mut self.kinds);
            let targets: Vec<JobId> = job
                .record
                .dependency
                .iter()
                .flat_map(|dependency| dependency.targets())
                .collect();
            for target in targets {
                self.dependents.entry(target).or_default().insert(id);
            }
            let just_ended = self.ended.iter().flat_map(Finished::of);
            for finished in history.into_iter().chain(just_ended) {
                if self.dependents.contains_key(&finished.target) {
                    let all = self.finished.entry(finished.target).or_default();
                    all.insert(finished);
                }
            }
        }
        // A suspended one counts under limits with all that it had.
        if let Some(shares) = job.counted_shares(&self.cluster) {
            self.ledger.started(&self.cluster, &job.record, &shares);
        }
        if !is_pending {
            self.expect_end(id);
        }
        self.touch(id);
        self.updated.insert(id);
        if is_pending {
            self.prioritise(id, at);
            self.refile(id, at);
        }
        if let Some(array) = self.jobs.get(&id).and_then(LiveJob::array_job) {
            self.unpark(array, at);
        }
        self.notify_singletons(uid, &former.name, at);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::{Event, Job};
    use cluster_file::ClusterFile;
    use model::{ComponentPlace, JobChange, Submitter};
    use resources::{Cluster, Trust};

    const NOW: Timestamp = Timestamp(1_000_000);

    /// Two nodes of four CPUs, of which a user may have six; the second one is fast.
    fn state() -> State {
        let text = "[nodes.n]\nnames = \"n1\"\ncpus = 4\n\
                    [nodes.f]\nnames = \"n2\"\ncpus = 4\nfeatures = [\"fast\"]\n\
                    [partition.all]\ndefault = true\nnodes = \"ALL\"\n\
                    [qos.normal]\nmax_tres_per_user = \"cpu=6\"\n[qos.any]\n";
        let file = ClusterFile::parse("lab", text).unwrap();
        State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]))
    }

    fn tasks(tasks: u32, qos: &str) -> Request {
        Request {
            tasks: Some(tasks),
            qos: Some(qos.to_owned()),
            ..Request::default()
        }
    }

    fn submit(state: &mut State, request: Request) -> JobId {
        let id = state.new_id();
        let record = Job::submitted(id, request, Arc::new(Submitter::default()), NOW);
        state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: NOW,
        });
        id
    }

    fn change(state: &mut State, job: JobId) {
        let mut update = JobUpdate::of(state.job(job).unwrap());
        update.request.nice = 1;
        state.apply(Event::Updated {
            job,
            update: Box::new(update),
            history: Vec::new(),
            at: NOW,
        });
    }

    #[track_caller]
    fn waits(state: &State, job: JobId, want: &PendingReason) {
        match &state.job(job).unwrap().state {
            JobState::Pending { reason } => assert_eq!(reason, want),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_suspended_job_that_is_changed_counts_under_limits_as_before() {
        let mut state = state();
        let suspended = submit(&mut state, tasks(4, "normal"));
        state.schedule(NOW);
        let (job, at) = (suspended, NOW);
        state.apply(Event::Suspended { job, at });
        change(&mut state, suspended);
        let other = submit(&mut state, tasks(4, "normal"));
        state.schedule(NOW);
        let limit = PendingReason::OverLimit("QOSMaxCpuPerUserLimit".to_owned());
        waits(&state, other, &limit);
    }

    #[test]
    fn a_component_that_is_changed_says_why_it_waits() {
        let mut state = state();
        submit(&mut state, tasks(8, "any"));
        submit(&mut state, tasks(8, "any"));
        let leader = JobId(state.next_id());
        for offset in 0..2 {
            let mut request = tasks(1, "any");
            request.rare.component = Some(ComponentPlace {
                leader,
                offset,
                size: 2,
                batch: true,
            });
            submit(&mut state, request);
        }
        state.schedule(NOW);
        let second = JobId(leader.0 + 1);
        waits(&state, second, &PendingReason::Priority);
        change(&mut state, second);
        state.schedule(NOW);
        waits(&state, second, &PendingReason::Priority);
    }

    /// On which node a waiting job starts after changes.
    #[track_caller]
    fn starts_on(changes: &[JobChange], want: &str) {
        let mut state = state();
        let job = submit(&mut state, tasks(1, "any"));
        let changed = state.changed(state.job(job).unwrap(), changes, true, None, NOW);
        state.apply(Event::Updated {
            job,
            update: Box::new(changed.unwrap()),
            history: Vec::new(),
            at: NOW,
        });
        state.schedule(NOW);
        let JobState::Running { allocation, .. } = &state.job(job).unwrap().state else {
            panic!("it starts");
        };
        let nodes = allocation.nodes.iter().map(|share| share.node.as_str());
        assert_eq!(nodes.collect::<Vec<_>>(), [want], "{changes:?}");
    }

    #[test]
    fn a_changed_preference_places_the_job() {
        let fast = JobChange::Prefer(Some("fast".to_owned()));
        starts_on(&[], "n1");
        starts_on(std::slice::from_ref(&fast), "n2");
        starts_on(&[fast, JobChange::Prefer(None)], "n1");
    }
}
