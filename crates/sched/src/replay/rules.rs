//! By which rules a trace is played.

use super::TraceJob;
use crate::planner::BackfillParameters;
use serde::{Deserialize, Serialize};

/// Who of those that wait starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The first in the queue, and none before it.
    Fifo,
    /// EASY backfill: a promise to the first, others may start where they don't delay it.
    Easy,
    /// EASY backfill that tries those with the shortest limit first.
    #[serde(rename = "easy-sjbf")]
    EasySjbf,
    /// A promise to each, made anew at each moment at which something happens.
    Conservative,
    /// Slurm's two schedulers: one in order at each event, and a backfill cycle from time to time
    /// that promises whole nodes to each job.
    Slurm,
}

/// When a job that was submitted comes into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At once.
    AtOnce,
    /// When no job waits, or while the first of the queue can't start; it stays the first until it
    /// does. The simulator of RLScheduler (Zhang et al., SC'20) goes by that; it knows no backfill.
    WhileBlocked,
}

/// The order of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// First come, first served.
    Fcfs,
    /// Shortest limit first.
    Sjf,
    /// Fewest processors first.
    Smallest,
    /// Slurm's multifactor priority, by the weights of the cluster.
    Multifactor,
    /// `log10(limit) × processors + 870 × log10(submission)`, ascending (Carastan-Santos and
    /// de Camargo, 2017).
    F1,
}

/// What stands for a job's time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Estimates {
    /// What was asked for; where the trace does not say, how long it ran.
    Requested,
    /// How long it ran.
    Actual,
}

/// By which rules a trace is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// Who starts.
    pub policy: Policy,
    /// The order of the queue.
    pub order: Order,
    /// What stands for time limits.
    pub estimates: Estimates,
    /// When jobs come into the queue.
    pub arrivals: Arrivals,
    /// How Slurm's backfill goes, where that is the policy; `None` where it is switched off.
    #[serde(skip)]
    pub backfill: Option<BackfillParameters>,
}

impl Rules {
    /// A policy with the jobs in order of submission, and their own limits.
    #[must_use]
    pub fn new(policy: Policy) -> Rules {
        Rules {
            policy,
            order: Order::Fcfs,
            estimates: Estimates::Requested,
            arrivals: Arrivals::AtOnce,
            backfill: Some(BackfillParameters::default()),
        }
    }
}

impl Estimates {
    /// A job's limit in milliseconds.
    #[must_use]
    pub fn limit(self, job: &TraceJob) -> i64 {
        match self {
            Estimates::Requested => job.estimate.unwrap_or(job.run),
            Estimates::Actual => job.run,
        }
    }
}

impl Order {
    /// What the queue is sorted by, ascending; equal ones stay in the order of submission. A
    /// multifactor priority changes with time and comes before it.
    pub(crate) fn key(self, job: &TraceJob, limit: i64) -> f64 {
        let seconds = |millis: i64| millis as f64 / 1000.0;
        let processors = f64::from(job.cpus.max(job.gpus));
        match self {
            Order::Fcfs | Order::Multifactor => 0.0,
            Order::Sjf => seconds(limit),
            Order::Smallest => processors,
            Order::F1 => {
                seconds(limit).log10() * processors + 870.0 * seconds(job.submit.0).max(1.0).log10()
            }
        }
    }
}
