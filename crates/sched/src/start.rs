//! A job starts: it leaves the queues and holds its shares, and what waits for it is looked at anew.

use crate::possible_start::{Attempt, PossibleStart};
use crate::{Action, State};
use model::{JobState, PendingReason, Timestamp};

impl State {
    /// Starts a job, or the first of the elements that wait in its row; by `is_backfill` while others wait that
    /// come before it.
    pub(crate) fn start(
        &mut self,
        start: &PossibleStart,
        is_backfill: bool,
        now: Timestamp,
    ) -> Option<Action> {
        let Attempt {
            job: row,
            user,
            ref choice,
            span,
            later: _,
        } = start.attempt;
        let job = &self.jobs[&row];
        let reason = job.reason().cloned().unwrap_or(PendingReason::None);
        let demand = &choice.need.compiled.demand;
        let id = match job.waiting() {
            [] => row,
            [first, ..] => {
                let first = *first;
                self.split_off(row, first)
            }
        };
        self.unfile(id);
        let (allocation, holding) = self.held.start(&self.cluster, demand, user, &start.shares);
        self.left_free.take(&self.cluster, start);
        let partition = &self.cluster.partition(choice.partition).name;
        let job = self.jobs.get_mut(&id)?;
        self.in_queue.take(&self.cluster, &job.record);
        job.record.partition = Some(partition.as_str().into());
        self.in_queue.add(&self.cluster, &job.record);
        job.record.priority = choice.priority;
        for other in &mut job.derived.choices {
            other.priority = choice.priority;
        }
        let holding = job.derived.holding.insert(Box::new(holding));
        job.record.state = JobState::Running {
            since: now,
            allocation,
            limit: span.limit,
            ending: None,
            suspension: None,
            held: None,
            end_moved_ms: 0,
        };
        self.ledger
            .started(&self.cluster, &job.record, &holding.shares);
        self.touch(id);
        self.refile(id, now);
        let target = self.jobs[&id].target();
        if let Some(array) = self.arrays.get(&target).filter(|array| array.is_full()) {
            for row in array.rows.clone() {
                if self.jobs[&row].is_ready() {
                    self.refile(row, now);
                }
            }
        }
        self.notify_by_name(id, target, now);
        let record = &self.jobs[&id].record;
        let nodes = start.shares.iter().map(|share| share.node);
        if let Some(name) = self.chosen(record, nodes).map(Box::from) {
            self.draw(id, name);
        }
        if self.jobs[&id].record.rare.reservation.is_some() {
            self.count_reserved_cores(now);
        }
        Some(Action::Start {
            job: id,
            reason,
            is_backfill,
        })
    }
}
