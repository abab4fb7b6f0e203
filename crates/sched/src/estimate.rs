//! When a job would start if it were submitted now (`sbatch --test-only`).
//!
//! As Slurm's test does it: the jobs that run end at their limits, one after the other, and those
//! that wait are not counted.

use crate::State;
use crate::deadline::Span;
use crate::kinds::find_unreserved;
use crate::limit_given::{limit_in, limit_or_default};
use crate::possible_start::{Attempt, PossibleStart};
use model::{JobId, NodeName, Request, Timestamp, node_list};
use resources::{Denial, Finding, Free, Pick, Share};

/// When a job would start, and with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// The moment; never before the one that was asked about.
    pub at: Timestamp,
    /// CPUs that it would hold.
    pub cpus: u32,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
    /// Its partition.
    pub partition: String,
    /// It comes after this job, which has no time limit: the moment is Slurm's guess.
    pub no_limit: Option<JobId>,
}

impl State {
    /// When a request of a user would start, and where, if all jobs that run last until their
    /// limits. As Slurm's test, it counts on no node that is down or drained.
    ///
    /// # Errors
    /// It could never start here, or not on the nodes that are up.
    pub fn estimate(
        &mut self,
        request: &Request,
        user: u32,
        now: Timestamp,
    ) -> Result<Estimate, Box<Finding>> {
        let mut choices = self.admitted(request)?;
        choices.retain(|choice| choice.need.is_possible);
        if choices.is_empty() {
            return Err(self.nowhere(request));
        }
        let begin = request.rare.begin.map_or(now, |begin| begin.max(now));
        let mut free = self.held.free.clone();
        let reserved = self
            .reservations
            .left_to(request.rare.reservation.as_deref(), request);
        let given = limit_or_default(&self.cluster, request);
        let attempts = choices.into_iter().map(|choice| {
            let limit = limit_in(&self.cluster, given, choice.partition);
            Attempt {
                job: JobId(self.next_id()),
                user,
                choice,
                later: None,
                span: Span::of(limit, limit, begin),
            }
        });
        let attempts: Vec<Attempt> = attempts.collect();
        let fits = |at: Timestamp, free: &Free| {
            attempts.iter().find_map(|attempt| {
                let (choice, length) = (&attempt.choice, attempt.span.length);
                let pick = Pick {
                    user,
                    ..Pick::default()
                };
                let closed = reserved.closed(&self.cluster, at.0, length);
                let shares = find_unreserved(&self.cluster, choice, free, pick, closed)?;
                Some(attempt.starting(at, shares))
            })
        };
        let mut moments: Vec<Timestamp> = self.reservations.moments().collect();
        moments.sort_unstable();
        let mut at = begin;
        let mut ends = self.ends(now).into_iter().peekable();
        let mut no_limit = None;
        let found = loop {
            while let Some((_, job)) = ends.next_if(|(end, _)| *end <= at) {
                if crate::why::runs_without_limit(&job.record.state) {
                    no_limit = Some(job.record.id);
                }
                if let Some(held) = &job.derived.holding {
                    held.give_to(&self.cluster, &mut free);
                }
            }
            if let Some(found) = fits(at, &free) {
                break Some(found);
            }
            let end = ends.peek().map(|(end, _)| *end);
            let moment = moments.iter().copied().find(|moment| *moment > at);
            match end.into_iter().chain(moment).min() {
                Some(next) => at = next,
                // When others give back the GPUs that they hold is not known.
                None => break fits(at, &self.without_jobs()),
            }
        };
        let found = found.ok_or_else(|| match fits(at, &Free::idle(&self.cluster)) {
            Some(_) => self.nodes_away(),
            None => Finding::by_engine(
                Denial::NodeConfig,
                "what the job needs",
                "this machine has less than when its jobs started",
                "ask again when they have ended",
            ),
        });
        let PossibleStart {
            attempt,
            at,
            shares,
        } = found?;
        let demand = &attempt.choice.need.compiled.demand;
        Ok(Estimate {
            at,
            cpus: shares.iter().map(Share::cpus).fold(0, u32::saturating_add),
            nodes: crate::held::names(&self.cluster, demand, shares.iter().map(|share| share.node)),
            partition: self
                .cluster
                .partition(attempt.choice.partition)
                .name
                .clone(),
            no_limit,
        })
    }

    /// What is free once all jobs are over, on the nodes that are up.
    fn without_jobs(&self) -> Free {
        let mut free = Free::idle(&self.cluster);
        for node in self.cluster.nodes() {
            free.set_up(node, self.held.free.up().contains(node));
        }
        free
    }

    fn nodes_away(&self) -> Finding {
        let away = self
            .cluster
            .nodes()
            .filter(|node| !self.held.free.up().contains(*node));
        let names = node_list::fold(away.map(|node| self.cluster.node_name(node)));
        Finding::by_engine(
            Denial::NodesAway,
            "a start on nodes that are up",
            format!("down or drained: {names}"),
            "submit it all the same: it waits for them, and yard why names them",
        )
    }
}
