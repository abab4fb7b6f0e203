//! What is known of an array as a whole while any of its elements lives, and rows of its elements.

use crate::fault::{self, Fault};
use crate::{Job, State};
use model::{ArrayFacts, ArrayPlace, ArrayTask, JobId, Timestamp};
use std::collections::BTreeSet;

/// An array with live rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) facts: ArrayFacts,
    /// Live rows.
    pub(crate) rows: BTreeSet<JobId>,
    /// Of these, how many run.
    pub(crate) running: u32,
    /// Rows that wait for the throttle alone.
    pub(crate) parked: BTreeSet<JobId>,
}

impl Array {
    pub(crate) fn new(facts: ArrayFacts) -> Array {
        Array {
            facts,
            rows: BTreeSet::new(),
            running: 0,
            parked: BTreeSet::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.facts.throttle.is_some_and(|most| self.running >= most)
    }
}

impl State {
    /// Gives one of a row's waiting elements a row of its own, filed nowhere yet, and returns its
    /// id. The last one keeps the row, so that an array's id is never without a job.
    pub(crate) fn split_off(&mut self, row: JobId, task: u32) -> JobId {
        if self.jobs[&row].waiting().len() <= 1 {
            let job = self.jobs.get_mut(&row).expect("invariant: the row is live");
            if let Some(place) = &mut job.record.array {
                place.task = ArrayTask::One(task);
            }
            self.touch(row);
            return row;
        }
        let id = self.new_id();
        let job = self.jobs.get_mut(&row).expect("invariant: the row is live");
        self.in_queue.take_some(&self.cluster, &job.record, 1);
        if let Some(place) = &mut job.record.array
            && let ArrayTask::Waiting(spec) = &mut place.task
            && !fault::is(Fault::SplitKeepsIndex)
        {
            spec.indices.retain(|index| *index != task);
        }
        // What else waits is not even copied.
        let place = job.record.array.take();
        let record = Job {
            id,
            array: place.as_ref().map(|place| {
                Box::new(ArrayPlace {
                    array_job: place.array_job,
                    task: ArrayTask::One(task),
                    throttle: place.throttle,
                })
            }),
            ..job.record.clone()
        };
        job.record.array = place;
        // What waits of an array is what was submitted without those that have rows.
        self.show(row);
        self.accrual.note(&self.cluster, row);
        self.insert(record);
        let choices = self.jobs[&row].derived.choices.clone();
        if let Some(job) = self.jobs.get_mut(&id) {
            job.derived.choices = choices;
        }
        self.touch(id);
        id
    }

    /// The rows of some elements of an array: those that still wait together get rows of their own.
    pub fn rows_of_elements(
        &mut self,
        array_job: JobId,
        tasks: &[u32],
        now: Timestamp,
    ) -> Vec<JobId> {
        let rows = self.rows_of_array(array_job);
        let rows: Vec<JobId> = rows.map(|record| record.id).collect();
        let mut found = Vec::new();
        for row in rows {
            if let Some(task) = self.jobs[&row].task() {
                found.extend(tasks.contains(&task).then_some(row));
                continue;
            }
            let waiting = self.jobs[&row].waiting().to_vec();
            for task in waiting.into_iter().filter(|task| tasks.contains(task)) {
                // The last one keeps the row, filed as it is.
                let element = self.split_off(row, task);
                self.refile(element, now);
                found.push(element);
            }
        }
        found
    }
}
