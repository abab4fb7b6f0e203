//! What one transaction writes.

use super::StepRow;
use super::sizes::FormerSize;
use crate::owner::Clock;
use model::{
    JobId, JobStateName, NodeEvent, NodeMark, NodeName, Outcome, PendingReason, Reservation,
    RestartCount, StartedBy, Submitter, Timestamp,
};
use sched::priority::Usage;
use sched::{Job, Member, Spending};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All that one transaction writes.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// A client was or will be answered: flush to disk before.
    pub(crate) durable: bool,
    pub(crate) next_id: u32,
    pub(crate) clock: &'a Clock,
    pub(crate) jobs: Vec<&'a Job>,
    pub(crate) steps: Vec<&'a StepRow>,
    pub(crate) submissions: Vec<&'a NewSubmission>,
    /// Jobs that were started.
    pub(crate) started: &'a BTreeMap<JobId, NewStart>,
    pub(crate) ended_starts: &'a [EndedStart],
    /// What jobs held that lost nodes or gave some back.
    pub(crate) former_sizes: &'a [FormerSize],
    /// By how many milliseconds the clock was set: sizes of what runs move along.
    pub(crate) clock_set_by_ms: i64,
    /// Nodes of which something else is said than before; nothing any more where there is no mark.
    pub(crate) nodes: Vec<(&'a NodeName, Option<&'a NodeMark>)>,
    /// Times in which nodes took no jobs, that began or ended.
    pub(crate) events: Vec<NodeEvent>,
    /// Reservations that changed; none any more where there is none.
    pub(crate) reservations: Vec<(&'a str, Option<&'a Reservation>)>,
    /// Of these jobs, the ones that ask for something else than before.
    pub(crate) updated: &'a [JobId],
    /// What ended jobs used, of users of whom it changed.
    pub(crate) usage: &'a [(Member, Usage)],
    /// The same as limits on what is used count it.
    pub(crate) spent: &'a [(Spending, Usage)],
}

/// What a submission brought along, the same for all elements of an array.
#[derive(Debug)]
pub(crate) struct NewSubmission {
    pub(crate) job: JobId,
    pub(crate) token: String,
    pub(crate) submitter: Arc<Submitter>,
    pub(crate) umask: u32,
    pub(crate) arguments: Vec<String>,
    /// As the client asked, in JSON.
    pub(crate) request: String,
    pub(crate) script: Option<String>,
    /// JSON, as the next: pairs of name and value that submissions have alike.
    pub(crate) environment: String,
    /// Pairs that are this one's own.
    pub(crate) own_environment: String,
}

/// A start of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewStart {
    /// Why the job waited last.
    pub(crate) reason: PendingReason,
    pub(crate) by: StartedBy,
}

/// The end of a job's start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EndedStart {
    pub(crate) job: JobId,
    pub(crate) restart: RestartCount,
    pub(crate) at: Timestamp,
    pub(crate) state: JobStateName,
    /// How the job ended, or would have without the requeue.
    pub(crate) outcome: Outcome,
    pub(crate) usage: Option<model::Usage>,
}
