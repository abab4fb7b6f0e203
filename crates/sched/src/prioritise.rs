//! Priorities of waiting jobs: they are a function of rows, usage and the moment of the last
//! period, and are in no row themselves.

use crate::Job;
use crate::State;
use crate::live_job::LiveJob;
use crate::member::Member;
use crate::priority::{Factors, ShareTree, Standing};
use crate::queue::priority_of;
use model::{JobId, Timestamp};

/// What a waiting job's priority is made of in one of its partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPriority {
    /// Which.
    pub job: JobId,
    /// The partition.
    pub partition: String,
    /// Its account, as it is counted.
    pub account: String,
    /// What it comes to.
    pub priority: u32,
    /// None where it was set by hand.
    pub factors: Option<Factors>,
}

impl State {
    /// Works out priorities anew where a period is over and some job waits for its turn.
    pub(crate) fn renew_priorities(&mut self, now: Timestamp) {
        if self.next_priorities().is_some_and(|due| due <= now) {
            self.work_out_priorities(now);
        }
    }

    /// When priorities change though nothing happens.
    pub(crate) fn next_priorities(&self) -> Option<Timestamp> {
        let is_needed = self.cluster.priority().is_multifactor && !self.ready.is_empty();
        is_needed.then(|| self.priorities.next(&self.cluster))?
    }

    /// Works out shares and the priorities of all that wait.
    pub(crate) fn work_out_priorities(&mut self, now: Timestamp) {
        if self.cluster.priority().is_multifactor {
            let records = self.jobs.values().map(|job| &job.record);
            self.priorities.work_out(&self.cluster, records, now);
        }
        let waiting = self.jobs.values().filter(|job| job.is_pending());
        let waiting: Vec<JobId> = waiting.map(|job| job.record.id).collect();
        for id in waiting {
            self.prioritise(id, now);
        }
    }

    /// Gives a waiting job that isn't held the priority that it has now. Its place in its queues
    /// follows.
    pub(crate) fn prioritise(&mut self, id: JobId, now: Timestamp) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if !job.is_pending() {
            return;
        }
        if job.record.priority == 0 {
            return self.set_priorities(id, &[]);
        }
        let is_multifactor = self.cluster.priority().is_multifactor;
        if is_multifactor && !self.priorities.knows(&self.cluster, &job.record) {
            // Another user changes the shares of all.
            return self.work_out_priorities(now);
        }
        let job = &self.jobs[&id];
        let all: Vec<u32> = job
            .derived
            .choices
            .iter()
            .map(|choice| {
                self.factors_of(job, choice)
                    .map_or_else(|| priority_of(&job.record.request), |it| it.priority())
            })
            .collect();
        let own = all.first().copied();
        let own = own.unwrap_or_else(|| priority_of(&job.record.request));
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.priority = own;
        }
        self.set_priorities(id, &all);
    }

    /// Sets a job's priority in each of its partitions; 0 where there is none.
    fn set_priorities(&mut self, id: JobId, all: &[u32]) {
        let is_ready = self.jobs[&id].is_ready();
        if is_ready {
            self.unqueue(id);
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            let all = all.iter().copied().chain(std::iter::repeat(0));
            for (choice, priority) in job.derived.choices.iter_mut().zip(all) {
                choice.priority = priority;
            }
        }
        if is_ready {
            self.enqueue(id);
        }
    }

    /// What a job's priority is made of; none where it was set by hand or nothing has a weight.
    fn factors_of(&self, job: &LiveJob, choice: &crate::kinds::Choice) -> Option<Factors> {
        let by_hand = job
            .record
            .request
            .rare
            .priority
            .is_some_and(|priority| priority > 0);
        if by_hand || !self.cluster.priority().is_multifactor {
            return None;
        }
        let demand = &choice.need.compiled.demand;
        self.priorities
            .factors(&self.cluster, job, choice.partition, demand)
    }

    /// What the priorities of the jobs that wait for their turn are made of, by id; of those in
    /// several partitions, each.
    #[must_use]
    pub fn priorities(&self) -> Vec<JobPriority> {
        let waiting = self.jobs.values().filter(|job| {
            let record = &job.record;
            job.is_pending() && record.priority > 0 && record.eligible.is_some()
        });
        let each = waiting.flat_map(|job| {
            job.derived.choices.iter().map(|choice| JobPriority {
                job: job.record.id,
                partition: self.cluster.partition(choice.partition).name.clone(),
                account: Member::of(&self.cluster, &job.record).account,
                priority: choice.priority,
                factors: self.factors_of(job, choice),
            })
        });
        each.collect()
    }

    /// Whose usage a job counts as.
    #[must_use]
    pub fn member(&self, record: &Job) -> Member {
        Member::of(&self.cluster, record)
    }

    /// Accounts and users with what they are due and what they used by now.
    #[must_use]
    pub fn shares(&self, now: Timestamp) -> (ShareTree, Vec<Standing>) {
        let mut priorities = self.priorities.clone();
        let records = self.jobs.values().map(|job| &job.record);
        priorities.work_out(&self.cluster, records, now);
        let (tree, standings) = priorities.shares();
        (tree.clone(), standings.to_vec())
    }
}
