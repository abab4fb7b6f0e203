//! A start that a job could have: in which of its partitions, for how long, when and on which nodes.
//!
//! A pass, a promise, preemption, components that start together and `sbatch --test-only` all look for one, and
//! whoever starts a job starts it so.

use crate::deadline::Span;
use crate::expected_ends::UNLIMITED;
use crate::kinds::{Choice, find_unreserved};
use crate::ledger::{Chain, Ledger};
use crate::live_job::LiveJob;
use crate::reserved::Reserved;
use crate::{Amount, State};
use model::{JobId, PendingReason, Timestamp};
use resources::{Free, NodeSet, Pick, Share, Sharing};
use std::sync::Arc;

/// A job as it is tried in one of its partitions.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) job: JobId,
    /// Whose.
    pub(crate) user: u32,
    pub(crate) choice: Choice,
    /// Nodes that it takes after others of their weight.
    pub(crate) later: Option<Arc<NodeSet>>,
    /// How long it may run there.
    pub(crate) span: Span,
}

/// When and on which nodes a job could start.
#[derive(Clone, Debug)]
pub(crate) struct PossibleStart {
    pub(crate) attempt: Attempt,
    pub(crate) at: Timestamp,
    pub(crate) shares: Vec<Share>,
}

impl Attempt {
    /// Tells apart those that ask for something else, by address.
    pub(crate) fn need(&self) -> usize {
        Arc::as_ptr(&self.choice.need) as usize
    }

    /// Where it would be if it started at a moment and so much were free for as long as it may run, but for nodes
    /// that are kept.
    pub(crate) fn place(
        &self,
        state: &State,
        at: i64,
        free: &Free,
        kept: Option<&NodeSet>,
        reserved: &Reserved<'_>,
    ) -> Option<Vec<Share>> {
        let choice = &self.choice;
        let pick = Pick {
            user: self.user,
            without: kept.filter(|kept| !kept.is_empty()),
            later: self.later.as_deref(),
            few_switches: choice.few_until.is_some_and(|until| at < until.0),
            ..Pick::default()
        };
        let closed = reserved.closed(&state.cluster, at, self.span.length);
        find_unreserved(&state.cluster, choice, free, pick, closed)
    }

    pub(crate) fn starting(&self, at: Timestamp, shares: Vec<Share>) -> PossibleStart {
        PossibleStart {
            attempt: self.clone(),
            at,
            shares,
        }
    }
}

impl PossibleStart {
    /// From its start until its limit, in milliseconds.
    pub(crate) fn until_limit(&self) -> (i64, i64) {
        let end = self.at + self.attempt.span.limit.unwrap_or(UNLIMITED);
        (self.at.0, end.0)
    }

    /// For so long nothing else may need its place, in milliseconds.
    pub(crate) fn needed(&self) -> (i64, i64) {
        let length = self.attempt.span.length;
        (self.at.0, self.at.0.saturating_add(length))
    }

    /// Who else may be on its nodes.
    pub(crate) fn sharing(&self) -> Sharing {
        self.attempt.choice.need.compiled.demand.sharing
    }

    /// What the job would hold.
    pub(crate) fn amount(&self) -> Amount {
        Amount::of_shares(&self.shares)
    }
}

impl State {
    /// A live job as it is tried in a partition: at its turn, or behind a blocked one.
    pub(crate) fn attempt(
        &self,
        job: &LiveJob,
        choice: &Choice,
        is_behind: bool,
        now: Timestamp,
    ) -> Attempt {
        let few_until = self.few_until(job, choice);
        Attempt {
            job: job.record.id,
            user: job.record.submitter.uid,
            choice: Choice {
                few_until: few_until.filter(|until| *until > now),
                ..choice.clone()
            },
            later: self.later_nodes(job, choice).map(Arc::new),
            span: self.span_of(job, choice, is_behind, now),
        }
    }

    /// Nodes that a job takes after others of their weight, as limits on nodes have it.
    fn later_nodes(&self, job: &LiveJob, choice: &Choice) -> Option<NodeSet> {
        if !self.cluster.limits_shared_nodes() {
            return None;
        }
        let chain = Chain::of(&self.cluster, &job.record, Some(choice.partition));
        self.ledger.later_nodes(&chain)
    }

    /// Whether a job may start so now, before nodes are chosen; the error is the reason that it waits for.
    pub(crate) fn may_attempt(
        &self,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Result<(), PendingReason> {
        let job = &self.jobs[&attempt.job];
        self.may_start(job, &attempt.choice)?;
        self.may_pass_limits(attempt, now)
    }

    /// Whether limits that are asked before nodes are chosen let a job start so now.
    pub(crate) fn may_pass_limits(
        &self,
        attempt: &Attempt,
        now: Timestamp,
    ) -> Result<(), PendingReason> {
        let job = &self.jobs[&attempt.job];
        if !Ledger::counts(&self.cluster) {
            return Ok(());
        }
        let chain = Chain::of(&self.cluster, &job.record, Some(attempt.choice.partition));
        self.may_spend(&chain, now)?;
        Ok(self.before(&self.ledger, &chain, attempt.span.limit, now)?)
    }
}
