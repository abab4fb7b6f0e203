//! Jobs that a limit keeps hold others up (`assoc_limit_stop`).
//!
//! Without it such a job is passed over. With it one for which nodes are free, and that a limit on what it would
//! hold keeps, blocks its partition as if they were busy (`_schedule` of 22.05); backfill keeps a place for whoever
//! a limit keeps, and starts no other job of a QOS whose limit on all of its jobs is reached (`_attempt_backfill`).

use crate::State;
use crate::ledger::Chain;
use crate::pass::Pass;
use crate::possible_start::Attempt;
use crate::promise::Kept;
use crate::queue_attempt::QueueAttempt;
use model::{PendingReason, Timestamp};
use resources::NodeSet;

impl State {
    /// A limit keeps a job that would find its nodes.
    pub(crate) fn keep_by_limit(
        &self,
        pass: &mut Pass,
        tried: &QueueAttempt,
        reason: PendingReason,
        now: Timestamp,
    ) {
        let Attempt { job, choice, .. } = &tried.later;
        let stops = self.cluster.queue_rules().stops_at_limits;
        let named = || -> NodeSet {
            let names = choice.need.compiled.demand.required.iter();
            names.filter_map(|name| self.cluster.node(name)).collect()
        };
        let is_over_limit = matches!(reason, PendingReason::OverLimit(_));
        if !stops || !is_over_limit {
            pass.limited.insert(*job, reason);
            // In order those behind it are not given the nodes that it names, as behind one for which nothing is free;
            // by backfill they are.
            if is_over_limit && !tried.is_behind && self.backfill.is_some() {
                let named = named();
                pass.withdrawn.add(&named);
                pass.named.add(&named);
            }
            return;
        }
        let named = named();
        self.stop_qos(pass, &tried.later, &reason);
        if tried.is_behind || self.is_below_threshold(&tried.later, now) {
            pass.limited.insert(*job, reason);
        } else if named.is_empty() {
            pass.unavailable.insert(*job, reason);
            pass.blocked.insert(tried.line, *job);
            if tried.line.1 == 0 {
                let nodes = &self.cluster.partition(choice.partition).nodes;
                pass.withdrawn.add(nodes);
            }
            if self.backfill.is_none() && self.reservations.is_empty() {
                pass.closed.insert(choice.partition);
            }
        } else {
            pass.limited.insert(*job, reason);
            pass.withdrawn.add(&named);
            pass.named.add(&named);
        }
        self.promise(pass, &tried.later, Kept::ByLimit, now);
    }

    /// A limit keeps a job at its turn, whatever nodes it would have: those behind it start all the same, as far as
    /// they go in order.
    pub(crate) fn pass_over_limited(
        &self,
        pass: &mut Pass,
        later: Attempt,
        is_behind: bool,
        reason: &PendingReason,
        now: Timestamp,
    ) {
        let stops = self.cluster.queue_rules().stops_at_limits && self.backfill.is_some();
        if !stops || !matches!(reason, PendingReason::OverLimit(_)) {
            return;
        }
        self.stop_qos(pass, &later, reason);
        if is_behind {
            self.promise(pass, &later, Kept::ByLimit, now);
        } else {
            pass.passed_over.push((later, Kept::ByLimit));
        }
    }

    /// A job of a QOS that waits for a limit on all of its jobs, behind one that is held up: it is promised a place
    /// with that one, and does not start now.
    pub(crate) fn waits_with_its_qos(
        &self,
        pass: &mut Pass,
        tried: &QueueAttempt,
        now: Timestamp,
    ) -> bool {
        if !tried.is_behind || pass.stopped_qos.is_empty() {
            return false;
        }
        let chain = self.chain_of(&tried.later);
        let waits = chain.qos().iter().any(|qos| pass.stopped_qos.contains(qos));
        if waits {
            self.promise(pass, &tried.later, Kept::ByLimit, now);
        }
        waits
    }

    /// Notes whose jobs do not start by backfill, where the limit is one on all jobs of a QOS.
    fn stop_qos(&self, pass: &mut Pass, attempt: &Attempt, reason: &PendingReason) {
        if matches!(reason, PendingReason::OverLimit(name) if name.starts_with("QOSGrp")) {
            pass.stopped_qos
                .extend(self.chain_of(attempt).limited_together());
        }
    }

    fn chain_of(&self, attempt: &Attempt) -> Chain<'_> {
        let record = &self.jobs[&attempt.job].record;
        Chain::of(&self.cluster, record, Some(attempt.choice.partition))
    }
}
