//! Priorities of waiting jobs: they are a function of rows, usage and the moment of the last
//! period, and are in no row themselves.

use crate::Job;
use crate::State;
use crate::live_job::LiveJob;
use crate::member::Member;
use crate::priority::{Factors, ShareTree, Standing};
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

    /// Works out shares and the priorities of all that wait, and of those that run where that is asked
    /// (`CALCULATE_RUNNING`).
    pub(crate) fn work_out_priorities(&mut self, now: Timestamp) {
        let rises_only = self.cluster.priority().has_flag("INCR_ONLY");
        self.give_priorities(now, rises_only);
    }

    /// As [`State::work_out_priorities`], where waiting jobs have no calculated priority that could be kept.
    pub(crate) fn work_out_first_priorities(&mut self, now: Timestamp) {
        self.give_priorities(now, false);
    }

    /// `keeps_higher`: a waiting job keeps a priority that is higher than the one it has now.
    fn give_priorities(&mut self, now: Timestamp, keeps_higher: bool) {
        self.work_out_shares(now);
        let rises_only = self.cluster.priority().has_flag("INCR_ONLY");
        let with_running = self.cluster.priority().has_flag("CALCULATE_RUNNING");
        let all = self.jobs.values();
        let all = all.filter(|job| job.is_pending() || with_running);
        let all: Vec<JobId> = all.map(|job| job.record.id).collect();
        for id in all {
            if self.jobs[&id].is_pending() {
                self.give_priority(id, keeps_higher);
            } else {
                self.renew_priority_of_running(id, rises_only);
            }
        }
    }

    fn work_out_shares(&mut self, now: Timestamp) {
        if self.cluster.priority().is_multifactor {
            let records = self.jobs.values().map(|job| &job.record);
            self.priorities.work_out(&self.cluster, records, now);
        }
    }

    /// It is shown, and no row is written for it.
    fn renew_priority_of_running(&mut self, id: JobId, rises_only: bool) {
        let job = &self.jobs[&id];
        let partition = job.record.partitions();
        let partition = partition.and_then(|name| self.cluster.find_partition(name));
        let choice = partition.and_then(|partition| job.choice(partition));
        let factors = choice.and_then(|choice| self.factors_of(job, choice));
        let (Some(factors), former) = (factors, job.record.priority) else {
            return;
        };
        let priority = factors.priority();
        if former == 0 || former == priority || (rises_only && priority < former) {
            return;
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.priority = priority;
        }
        self.show(id);
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
            self.work_out_shares(now);
            self.give_priority(id, false);
            return self.work_out_priorities(now);
        }
        self.give_priority(id, false);
    }

    /// Gives a waiting job that isn't held the priority that it has by the shares as they were worked out, or
    /// keeps a higher one (`INCR_ONLY`).
    fn give_priority(&mut self, id: JobId, rises_only: bool) {
        let job = &self.jobs[&id];
        if job.record.priority == 0 {
            return self.set_priorities(id, &[]);
        }
        let choices = job.derived.choices.iter();
        let all = choices.map(|choice| {
            let factors = self.factors_of(job, choice);
            let Some(factors) = factors else {
                return job.record.unweighted_priority();
            };
            let former = if rises_only { choice.priority } else { 0 };
            factors.priority().max(former)
        });
        let all: Vec<u32> = all.collect();
        let unweighted = job.record.unweighted_priority();
        self.set_priorities(id, &all);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.priority = all.first().copied().unwrap_or(unweighted);
        }
        self.show_priority(id);
    }

    /// Of a job that waits for its turn in several partitions the priority is that in the one that is tried last, of
    /// the lowest tier and with the lowest priority in it, as in Slurm; until it may start, that in the first.
    pub(crate) fn show_priority(&mut self, id: JobId) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if !job.is_ready() || job.record.priority == 0 {
            return;
        }
        let place = |choice: &&crate::kinds::Choice| {
            let tier = self.cluster.partition(choice.partition).tier;
            (tier, choice.priority)
        };
        if let Some(last) = job.derived.choices.iter().min_by_key(place) {
            job.record.priority = last.priority;
        }
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
        let is_set = job.record.rare.priority_set.is_some();
        if is_set || !self.cluster.priority().is_multifactor {
            return None;
        }
        let demand = &choice.need.compiled.demand;
        self.priorities
            .factors(&self.cluster, job, choice.partition, demand)
    }

    /// What the priorities of the jobs that wait for their turn are made of, by id, and of those that run
    /// where they are worked out too; of those that wait in several partitions, each.
    #[must_use]
    pub fn priorities(&self) -> Vec<JobPriority> {
        let with_running = self.cluster.priority().has_flag("CALCULATE_RUNNING");
        let shown = self.jobs.values().filter(|job| {
            let record = &job.record;
            let is_shown = job.is_pending() || with_running;
            is_shown && record.priority > 0 && record.eligible.is_some()
        });
        let each = shown.flat_map(|job| {
            let runs_in = job
                .record
                .partition
                .as_deref()
                .filter(|_| !job.is_pending());
            let choices = job.derived.choices.iter().filter(move |choice| {
                let name = &self.cluster.partition(choice.partition).name;
                runs_in.is_none_or(|own| own == name)
            });
            choices.map(|choice| JobPriority {
                job: job.record.id,
                partition: self.cluster.partition(choice.partition).name.clone(),
                account: Member::of(&self.cluster, &job.record).account,
                priority: if job.is_pending() {
                    choice.priority
                } else {
                    job.record.priority
                },
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
