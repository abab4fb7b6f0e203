//! When a pass is a cycle of backfill.
//!
//! A short one is made whenever something happened. Where many jobs wait for many nodes it takes long,
//! and is made each `bf_interval`, as in Slurm; between two of them passes go in order, start what comes
//! and delays no promise ([`crate::between_cycles`]), and leave what the last one said of those that wait
//! as it is.

use crate::State;
use model::Timestamp;
use std::cmp::Reverse;

/// A short pass: so many looks of one waiting job at one node, some milliseconds.
const SHORT: u64 = 50_000;

/// A look at no node.
pub(crate) const LOOK: u64 = 20;

/// What is free of so many nodes is copied in the time of a look at one.
const COPIED: u64 = 8;

/// When there was one. It is no part of what two states are compared by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cycles {
    /// Passes of so much work are short.
    pub(crate) short: u64,
    last: Option<Timestamp>,
    /// When one is made that was put off.
    pub(crate) due: Option<Timestamp>,
}

impl Default for Cycles {
    fn default() -> Cycles {
        Cycles {
            short: SHORT,
            last: None,
            due: None,
        }
    }
}

impl PartialEq for Cycles {
    fn eq(&self, _other: &Cycles) -> bool {
        true
    }
}

impl State {
    /// Whether the pass of this moment tries what is behind a blocked job too; another is due later.
    pub(crate) fn begins_cycle(&mut self, now: Timestamp) -> bool {
        let Some(parameters) = &self.backfill else {
            return false;
        };
        let interval = parameters.interval;
        let due = self.cycles.last.map(|last| Timestamp(last.0 + interval));
        let put_off = due.filter(|due| *due > now && !self.is_pass_short());
        self.cycles.due = put_off;
        if put_off.is_none() {
            self.cycles.last = Some(now);
        }
        put_off.is_none()
    }

    /// Whether a pass of this moment is no cycle: the last cycle was less than an interval ago.
    pub(crate) fn is_between_cycles(&self, now: Timestamp) -> bool {
        let interval = self.backfill.map_or(0, |backfill| backfill.interval);
        let last = self.cycles.last;
        !self.is_pass_short() && last.is_some_and(|last| now.0 < last.0 + interval)
    }

    /// Whether a pass with backfill takes little work.
    pub(crate) fn is_pass_short(&self) -> bool {
        self.pass_cost() <= self.cycles.short
    }

    /// What one costs at the most, a look at each job that lives included: a job looks at the nodes of its
    /// partition, and its promise copies what is free on all.
    pub(crate) fn pass_cost(&self) -> u64 {
        let copy = u64::from(self.cluster().node_count()) / COPIED;
        let queues = self.ready.iter();
        let mut queues: Vec<(u32, usize)> = queues
            .map(|(id, queue)| {
                (
                    self.cluster.partition(id.partition).nodes.len(),
                    queue.len(),
                )
            })
            .collect();
        // The dearest come first.
        queues.sort_unstable_by_key(|queue| Reverse(*queue));
        let mut left = self.backfill.map_or(1, |backfill| backfill.tests);
        let looks = queues.into_iter().map(|(nodes, waiting)| {
            let tried = waiting.min(left);
            left -= tried;
            tried as u64 * (u64::from(nodes) + LOOK + copy)
        });
        looks.sum::<u64>() + self.jobs.len() as u64
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use crate::{Action, BackfillParameters, Event, Job, State};
    use cluster_file::ClusterFile;
    use model::{JobId, PendingReason, Request, Seconds, Submitter, TimeLimitRequest, Timestamp};
    use resources::{Cluster, Trust};
    use std::sync::Arc;

    const HOUR: u64 = 3600;

    fn state(nodes: u32) -> State {
        let text = format!(
            "[nodes.n]\nnames = \"n[1-{nodes}]\"\ncpus = 1\n[nodes.q]\nnames = \"q1\"\ncpus = 1\n\
             [partition.all]\ndefault = true\nnodes = [\"n\"]\n[partition.quick]\nnodes = [\"q\"]\n\
             [qos.normal]\n[qos.one]\nmax_jobs_per_user = 1\n"
        );
        let file = ClusterFile::parse("many", &text).unwrap();
        let cluster = Arc::new(Cluster::build(&file, Trust::All));
        let mut state = State::new(cluster, Arc::new([]));
        state.set_backfill(Some(BackfillParameters::default()));
        state
    }

    fn submit(state: &mut State, nodes: u32, hours: u64, partition: &str, qos: &str) -> JobId {
        let id = state.new_id();
        let request = Request {
            min_nodes: Some(nodes),
            max_nodes: Some(nodes),
            partition: Some(partition.to_owned()),
            qos: Some(qos.to_owned()),
            time: Some(TimeLimitRequest::Limit(Seconds(hours * HOUR))),
            ..Request::default()
        };
        let submitter = Arc::new(Submitter::default());
        state.apply(Event::Submitted {
            record: Box::new(Job::submitted(id, request, submitter, Timestamp(0))),
            array: None,
            history: Vec::new(),
            at: Timestamp(0),
        });
        id
    }

    fn started(state: &mut State, at: i64) -> Vec<JobId> {
        let actions = state.schedule(Timestamp(at)).into_iter();
        let starts = actions.filter_map(|action| match action {
            Action::Start { job, .. } => Some(job),
            _ => None,
        });
        starts.collect()
    }

    #[test]
    fn a_short_pass_tries_those_behind_whenever_something_happens() {
        let mut state = state(10);
        let runs = submit(&mut state, 9, 2, "all", "normal");
        let waits = submit(&mut state, 10, 2, "all", "normal");
        assert_eq!(started(&mut state, 0), [runs]);
        let small = submit(&mut state, 1, 1, "all", "normal");
        assert_eq!(started(&mut state, 1000), [small]);
        assert_eq!(state.cycles.due, None);
        assert_eq!(state.planned(waits), Some(Timestamp(7_200_000)));
    }

    #[test]
    fn a_long_one_is_made_each_interval_and_what_starts_in_order_starts_at_once() {
        let mut state = state(1000);
        let runs = submit(&mut state, 997, 2, "all", "normal");
        let one = submit(&mut state, 1, 2, "all", "one");
        let waits = submit(&mut state, 1000, 2, "all", "normal");
        for _ in 0..100 {
            submit(&mut state, 1000, 2, "all", "normal");
        }
        let limited = submit(&mut state, 1, 1, "all", "one");
        assert_eq!(started(&mut state, 0), [runs, one]);
        let reason = |state: &State, job| match &state.job(job).unwrap().state {
            model::JobState::Pending { reason } => reason.clone(),
            other => panic!("{other:?}"),
        };
        let over_limit = reason(&state, limited);
        assert_ne!(over_limit, PendingReason::Priority);
        // What starts in order starts at once, and behind a blocked one what delays no promise.
        let quick = submit(&mut state, 1, 1, "quick", "normal");
        let beside = submit(&mut state, 1, 1, "all", "normal");
        let long = submit(&mut state, 1, 3, "all", "normal");
        assert_eq!(started(&mut state, 1000), [quick, beside]);
        assert_eq!(reason(&state, waits), PendingReason::Resources);
        assert_eq!(reason(&state, long), PendingReason::Priority);
        assert_eq!(reason(&state, limited), over_limit);
        assert_eq!(state.planned(waits), Some(Timestamp(7_200_000)));
        assert_eq!(state.next_due(), Some(Timestamp(30_000)));
        // What is given back meanwhile is for the next cycle.
        state.apply(Event::Gone {
            job: one,
            outcome: model::Outcome::Completed,
            at: Timestamp(2000),
        });
        assert_eq!(started(&mut state, 2000), []);
        let small = submit(&mut state, 1, 1, "all", "normal");
        let behind = submit(&mut state, 1, 1, "all", "normal");
        assert_eq!(started(&mut state, 29_999), [small]);
        assert_eq!(started(&mut state, 30_000), [limited]);
        assert_eq!(reason(&state, behind), PendingReason::Priority);
    }

    /// Of those that wait some were not tried: a later one of their kind does not go before them.
    #[test]
    fn what_comes_between_cycles_goes_before_none_of_its_like() {
        let mut state = state(1000);
        state.set_backfill(Some(BackfillParameters {
            tests: 60,
            ..BackfillParameters::default()
        }));
        let runs = submit(&mut state, 990, 2, "all", "normal");
        for _ in 0..80 {
            submit(&mut state, 1000, 2, "all", "normal");
        }
        let first = submit(&mut state, 1, 1, "all", "normal");
        assert_eq!(started(&mut state, 0), [runs]);
        let alike = submit(&mut state, 1, 1, "all", "normal");
        let other = submit(&mut state, 2, 1, "all", "normal");
        assert_eq!(started(&mut state, 1000), [other]);
        for job in [first, alike] {
            let state = &state.job(job).unwrap().state;
            assert!(matches!(state, model::JobState::Pending { .. }));
        }
    }
}
