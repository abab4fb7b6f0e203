//! Filing a live job where its row says it belongs.

use crate::State;
use crate::accrual::accrues_since;
use crate::fault::{self, Fault};
use crate::live_job::Place;
use crate::outlook::Outlook;
use model::{Dependency, JobId, PendingReason, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;

impl State {
    /// Files a job anew after something about it, or about what it waits for, changed.
    pub(crate) fn refile(&mut self, id: JobId, now: Timestamp) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if job.depends()
            && job
                .record
                .dependency
                .as_ref()
                .is_some_and(|it| it.by_element())
        {
            self.split_decided(id, now);
        }
        self.unfile(id);
        let place = self.place(id, now);
        if place != Place::Running && self.jobs[&id].asks_for_gpus() {
            self.want_gpus.insert(id);
        }
        match place {
            Place::Timed(at) | Place::Dependent(Some(at)) => {
                self.timed.insert((at, id));
            }
            Place::Parked => {
                let array = self.jobs[&id].array_job();
                if let Some(array) = array.and_then(|array| self.arrays.get_mut(&array)) {
                    array.parked.insert(id);
                }
            }
            Place::Running => {
                self.running.insert(id);
                let array = self.jobs[&id].array_job();
                if let Some(array) = array.and_then(|array| self.arrays.get_mut(&array)) {
                    array.running += 1;
                }
            }
            Place::Ready
            | Place::Nowhere
            | Place::Held
            | Place::Dependent(None)
            | Place::Impossible => {}
        }
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        job.derived.place = place;
        if place == Place::Ready
            && let Some(too_late) = self.too_late(&self.jobs[&id])
        {
            self.deadlines.insert(too_late, id);
        }
        if place == Place::Ready {
            self.show_priority(id);
        }
        let job = &self.jobs[&id];
        if job.component().is_some() {
            self.enqueue_together(id);
        } else if place == Place::Ready {
            if job.reason() == Some(&PendingReason::None) {
                self.unseen.insert(id);
            }
            self.enqueue(id);
        }
    }

    /// What is left to wait for.
    fn set_dependency(&mut self, id: JobId, left: Option<Dependency>) {
        self.forget_targets(id, left.as_ref());
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.dependency = left.map(Arc::new);
        }
        self.touch(id);
    }

    /// Where a job belongs; writes the reason that follows, and when it became eligible.
    fn place(&mut self, id: JobId, now: Timestamp) -> Place {
        let job = &self.jobs[&id];
        if !job.is_pending() {
            self.expect_end(id);
            return Place::Running;
        }
        if job.record.priority == 0 {
            if !job.reason().is_some_and(PendingReason::is_hold) {
                self.set_reason(id, PendingReason::JobHeldUser);
            }
            return Place::Held;
        }
        if job.record.eligible.is_none()
            && let Some(place) = self.place_before_eligible(id, now)
        {
            return place;
        }
        let array = self.jobs[&id].array_job();
        let array = array.and_then(|array| self.arrays.get(&array));
        if array.is_some_and(crate::array::Array::is_full) {
            self.set_reason(id, PendingReason::JobArrayTaskLimit);
            self.wait_for_array(id);
            return Place::Parked;
        }
        if let Some(job) = self.jobs.get_mut(&id)
            && job.record.eligible.is_none()
        {
            // One that waited for a moment is eligible since then, whenever that is noticed.
            let begin = job.record.rare.not_before;
            let has_begun = job.reason() == Some(&PendingReason::BeginTime);
            job.record.eligible = begin.filter(|_| has_begun).or(Some(now));
            self.touch(id);
        }
        let job = &self.jobs[&id];
        if job.derived.choices.is_empty() {
            self.set_reason(id, PendingReason::BadConstraints);
            return Place::Impossible;
        }
        // A reason of an earlier place is over; one that a pass gave stays until the next.
        let from_a_pass = [PendingReason::Resources, PendingReason::Priority];
        if !job
            .reason()
            .is_some_and(|reason| from_a_pass.contains(reason))
        {
            self.set_reason(id, PendingReason::None);
        }
        Place::Ready
    }

    /// As in Slurm (`job_array_start_test`), what waits for its array's limit is not eligible, while its age goes on
    /// (`accrue_time`).
    fn wait_for_array(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let since = accrues_since(&self.cluster, &job.record);
        if job.record.eligible.take().is_some() {
            if job.record.rare.accrues != since {
                job.record.rare.accrues = since;
            }
            self.touch(id);
        }
    }

    fn place_before_eligible(&mut self, id: JobId, now: Timestamp) -> Option<Place> {
        let job = &self.jobs[&id];
        if job.depends()
            && let Some(dependency) = &job.record.dependency
        {
            // Elements whose own conditions are decided have rows of their own by now.
            let (outlook, left) = if dependency.by_element() && !job.waiting().is_empty() {
                (Outlook::NotYet(None), None)
            } else {
                self.weigh(job, dependency, job.task(), now)
            };
            if let (Outlook::NotYet(_) | Outlook::Never, Some(left)) = (outlook, left) {
                self.set_dependency(id, Some(left));
            }
            match outlook {
                Outlook::Met => self.set_dependency(id, None),
                Outlook::NotYet(at) => {
                    self.set_reason(id, PendingReason::Dependency);
                    return Some(Place::Dependent(at));
                }
                Outlook::Never => {
                    self.set_reason(id, PendingReason::DependencyNeverSatisfied);
                    let ends = self.jobs[&id].record.request.rare.kill_on_invalid_dep;
                    if ends.unwrap_or(self.cluster.queue_rules().ends_never_met) {
                        self.doomed.insert(id);
                    }
                    return Some(Place::Dependent(None));
                }
            }
        }
        let not_before = self.jobs[&id].record.rare.not_before;
        if let Some(begin) = not_before.filter(|begin| *begin > now) {
            self.set_reason(id, PendingReason::BeginTime);
            return Some(Place::Timed(begin));
        }
        None
    }

    /// Gives each waiting element whose `aftercorr` is decided a row of its own.
    fn split_decided(&mut self, id: JobId, now: Timestamp) {
        let job = &self.jobs[&id];
        let Some(dependency) = &job.record.dependency else {
            return;
        };
        if job.record.priority == 0 {
            return;
        }
        let decided: Vec<u32> = job
            .waiting()
            .iter()
            .copied()
            .filter(|task| {
                let outlook = self.outlook(job, dependency, Some(*task), now);
                !matches!(outlook, Outlook::NotYet(_))
            })
            .collect();
        for task in decided {
            let element = self.split_off(id, task);
            if element != id {
                self.refile(element, now);
            }
        }
    }

    /// Files anew the jobs that wait for a job, which an array's id and its own may name.
    pub(crate) fn notify_by_name(&mut self, id: JobId, target: JobId, now: Timestamp) {
        self.notify(target, now);
        if id != target {
            self.notify(id, now);
        }
    }

    fn notify(&mut self, target: JobId, now: Timestamp) {
        let waiting = self.dependents.get(&target).cloned().unwrap_or_default();
        for id in waiting {
            self.refile(id, now);
        }
    }

    /// Ends a job's interest in what it waited for, but for what is left of it.
    pub(crate) fn forget_targets(&mut self, id: JobId, left: Option<&Dependency>) {
        let dependency = self.jobs.get(&id).map(|job| &job.record.dependency);
        let Some(Some(dependency)) = dependency else {
            return;
        };
        let left: BTreeSet<JobId> = left.iter().flat_map(|left| left.targets()).collect();
        let targets: BTreeSet<JobId> = dependency.targets().collect();
        for target in targets.difference(&left) {
            if let Some(waiting) = self.dependents.get_mut(target) {
                waiting.remove(&id);
                if waiting.is_empty() {
                    self.dependents.remove(target);
                    self.finished.remove(target);
                }
            }
        }
    }

    /// The jobs that `singleton` may let go once a job of this name ended.
    pub(crate) fn notify_singletons(&mut self, uid: u32, name: &str, now: Timestamp) {
        let Some(first) = self.first_of_name(uid, name) else {
            return;
        };
        let target = first.target();
        let mut ids = vec![first.record.id];
        ids.extend(self.rows_of_array(target).map(|record| record.id));
        for id in ids {
            if matches!(self.jobs.get(&id), Some(job) if job.depends()) {
                self.refile(id, now);
            }
        }
    }
}

impl State {
    /// Puts a job that could start into the queues of its partitions; of one that starts together with
    /// others, the first.
    pub(crate) fn enqueue(&mut self, id: JobId) {
        match self.jobs[&id].component() {
            Some(_) => self.enqueue_together(id),
            None => self.queue(id),
        }
    }

    pub(crate) fn queue(&mut self, id: JobId) {
        let job = &self.jobs[&id];
        for choice in &job.derived.choices {
            let key = self.key(&job.record, choice.priority);
            let queue = self.queue_of(&job.record, choice.partition);
            self.ready.entry(queue).or_default().insert(key);
            if let Some(until) = self.few_until(job, choice) {
                self.switch_waits.insert(until, id);
            }
        }
    }

    /// Takes a job out of them.
    pub(crate) fn unqueue(&mut self, id: JobId) {
        let job = &self.jobs[&id];
        for choice in &job.derived.choices {
            if let Some(until) = self.few_until(job, choice) {
                self.switch_waits.remove(until, id);
            }
            let id = self.queue_of(&job.record, choice.partition);
            let key = self.key(&job.record, choice.priority);
            if let Some(queue) = self.ready.get_mut(&id)
                && !fault::is(Fault::StaysQueued)
            {
                queue.remove(&key);
                if queue.is_empty() {
                    self.ready.remove(&id);
                }
            }
        }
    }

    /// Takes a job out of the index that holds it.
    pub(crate) fn unfile(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let place = std::mem::replace(&mut job.derived.place, Place::Nowhere);
        let array_job = job.array_job();
        self.want_gpus.remove(&id);
        match place {
            Place::Timed(at) | Place::Dependent(Some(at)) => {
                self.timed.remove(&(at, id));
            }
            Place::Ready => {
                if let Some(too_late) = self.too_late(&self.jobs[&id]) {
                    self.deadlines.remove(too_late, id);
                }
                self.unqueue(id);
                self.unseen.remove(&id);
            }
            Place::Parked => {
                if let Some(array) = array_job.and_then(|array| self.arrays.get_mut(&array)) {
                    array.parked.remove(&id);
                }
            }
            Place::Running => {
                self.running.remove(&id);
                if let Some(array) = array_job.and_then(|array| self.arrays.get_mut(&array)) {
                    array.running -= 1;
                }
            }
            Place::Nowhere | Place::Held | Place::Dependent(None) | Place::Impossible => {}
        }
    }
}
