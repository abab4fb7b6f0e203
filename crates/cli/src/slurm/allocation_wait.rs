//! The wait of `salloc` and `srun` for the job of their own.

use api::{CallError, CancelRequest, Client, JobFilter, Selector};
use model::{Denial, JobId, JobProlog, JobRecord, JobState, Outcome, PendingReason};
use std::time::{Duration, Instant};
use sys::signals::SignalFd;

/// Longest wait for a change before signals are looked at again.
const LOOK: Duration = Duration::from_millis(200);

/// How the wait ended.
#[derive(Debug)]
pub enum Waited {
    /// The job runs.
    Running {
        /// The job.
        record: Box<JobRecord>,
        /// `queued` was called.
        announced: bool,
    },
    /// It ended before it ran.
    Ended(Outcome),
    /// The time of `--immediate` was over: it is cancelled.
    Late,
    /// It can't start as things are, whatever is free, and `--immediate` does not wait for that: it is
    /// cancelled, and why in Slurm's words.
    NotAtOnce(&'static str),
    /// A signal came that means to give up: it is cancelled.
    Interrupted,
    /// The engine does not answer.
    Failed(CallError),
}

/// Whether `--immediate` means that the job starts at once or not at all: as in Slurm one second, which is what it
/// means without a number. Longer ones wait as others do, until they are over.
pub fn is_at_once(immediate: Option<Duration>) -> bool {
    immediate.is_some_and(|most| most <= Duration::from_secs(1))
}

/// Waits until `job` runs, which was `seen` as it was submitted. `queued` is called once when it has to
/// wait for resources, unless it starts at once or not at all, with what Slurm says of a job that
/// can't start as things are.
pub fn wait_until_running(
    (job, seen): (JobId, Option<Box<JobRecord>>),
    immediate: Option<Duration>,
    client: &mut Client,
    signals: &SignalFd,
    queued: &mut dyn FnMut(Option<&str>),
) -> Waited {
    let runs = |record: &JobRecord| matches!(record.state, JobState::Running { .. });
    let at_once = is_at_once(immediate);
    if at_once && let Some(why) = seen.as_deref().and_then(why_not_at_once) {
        cancel(job, client);
        return Waited::NotAtOnce(why);
    }
    if seen.as_deref().is_some_and(runs)
        && let Some(record) = seen
    {
        let announced = false;
        return Waited::Running { record, announced };
    }
    let mut why = seen.as_deref().and_then(why_queued);
    let filter = JobFilter::of(&[job]);
    let begun = Instant::now();
    let (mut after, mut announced) = (0, false);
    loop {
        let mut watched = match client.watch(filter.clone(), after, LOOK) {
            Ok(watched) => watched,
            Err(error) => return Waited::Failed(error),
        };
        after = watched.version;
        let record = watched.jobs.pop();
        match record.as_ref().map(|record| &record.state) {
            Some(JobState::Running { .. }) => {}
            // It ran, as far as its user is concerned: the programs before it ended it.
            Some(JobState::Ended { .. }) if record.as_ref().is_some_and(has_failed) => {}
            Some(JobState::Ended { outcome, .. }) => return Waited::Ended(outcome.clone()),
            Some(JobState::Pending { .. }) | None => {
                // It is told again only where something of it changed.
                if let Some(record) = &record {
                    why = why_queued(record);
                }
                if !announced && !at_once && begun.elapsed() >= LOOK {
                    announced = true;
                    queued(why);
                }
                if is_interrupted(signals) {
                    cancel(job, client);
                    return Waited::Interrupted;
                }
                if immediate.is_some_and(|most| begun.elapsed() >= most) {
                    cancel(job, client);
                    return Waited::Late;
                }
                continue;
            }
        }
        if let Some(record) = record {
            let record = Box::new(record);
            return Waited::Running { record, announced };
        }
    }
}

/// How the wait for the programs before a job ended.
#[derive(Debug)]
pub enum Prologs {
    /// They ran, or there were none.
    Ran {
        /// The job.
        record: Box<JobRecord>,
        /// `waits` was called.
        waited: bool,
    },
    /// The job is over, and what the cluster says of it.
    Over(Option<String>),
    /// A signal came that means to give up: it is cancelled.
    Interrupted,
    /// The engine does not answer.
    Failed(CallError),
}

/// Waits until the programs have run that the cluster has before a job at its start. `waits` is called
/// once where there are any.
pub fn wait_for_prologs(
    record: Box<JobRecord>,
    client: &mut Client,
    signals: &SignalFd,
    waits: &mut dyn FnMut(),
) -> Prologs {
    let runs = |record: &JobRecord| record.prolog.as_ref().is_some_and(JobProlog::runs);
    if has_failed(&record) {
        waits();
        return Prologs::Over(record.prolog.as_ref().and_then(JobProlog::failure));
    }
    if !runs(&record) {
        let waited = false;
        return Prologs::Ran { record, waited };
    }
    waits();
    let job = record.id;
    let filter = JobFilter::of(&[job]);
    let mut after = 0;
    loop {
        let mut watched = match client.watch(filter.clone(), after, LOOK) {
            Ok(watched) => watched,
            Err(error) => return Prologs::Failed(error),
        };
        after = watched.version;
        if is_interrupted(signals) {
            cancel(job, client);
            return Prologs::Interrupted;
        }
        let Some(record) = watched.jobs.pop() else {
            continue;
        };
        match &record.state {
            JobState::Running { .. } if record.state.is_ending() || runs(&record) => {}
            JobState::Running { .. } => {
                let (record, waited) = (Box::new(record), true);
                return Prologs::Ran { record, waited };
            }
            JobState::Pending { .. } | JobState::Ended { .. } => {
                return Prologs::Over(record.prolog.as_ref().and_then(JobProlog::failure));
            }
        }
    }
}

/// Why a job that is to start at once can't, whatever is free: it is held, comes after a moment or other jobs, or
/// could not start on idle nodes either.
fn why_not_at_once(record: &JobRecord) -> Option<&'static str> {
    let JobState::Pending { reason } = &record.state else {
        return None;
    };
    match reason {
        PendingReason::JobHeldUser
        | PendingReason::JobHeldAdmin
        | PendingReason::BeginTime
        | PendingReason::Dependency => Some("Job dependency problem"),
        _ => why_queued(record),
    }
}

/// What the controller answers with the number of a job that is queued and could not start on idle nodes either.
fn why_queued(record: &JobRecord) -> Option<&'static str> {
    let JobState::Pending { reason } = &record.state else {
        return None;
    };
    match reason {
        PendingReason::JobHeldUser | PendingReason::JobHeldAdmin => {
            Some("Job is in held state, pending scheduler release")
        }
        PendingReason::PartitionDown => Some("Partition in DOWN state"),
        PendingReason::PartitionConfig
        | PendingReason::PartitionNodeLimit
        | PendingReason::PartitionTimeLimit => Some(Denial::PartitionConfig.words()),
        PendingReason::NodesUnavailable(_) | PendingReason::NodesDownOrReserved => {
            Some("Required node not available (down, drained or reserved)")
        }
        _ => None,
    }
}

/// Whether the programs before the job ended it.
fn has_failed(record: &JobRecord) -> bool {
    let is_over = matches!(record.state, JobState::Ended { .. });
    is_over && record.prolog.as_ref().is_some_and(|prolog| !prolog.runs())
}

/// The nodes that a job has or had, as Slurm lists them.
pub fn nodes_of(record: &JobRecord) -> String {
    let allocation = match &record.state {
        JobState::Running { allocation, .. } => allocation,
        JobState::Ended { ran: Some(ran), .. } => &ran.allocation,
        JobState::Ended { ran: None, .. } | JobState::Pending { .. } => return String::new(),
    };
    let nodes: Vec<_> = allocation
        .nodes
        .iter()
        .map(|share| share.node.clone())
        .collect();
    model::node_list::fold(&nodes)
}

fn is_interrupted(signals: &SignalFd) -> bool {
    std::iter::from_fn(|| signals.next()).any(|signal| matches!(signal, 1 | 2 | 3 | 15))
}

fn cancel(job: JobId, client: &mut Client) {
    // When it fails, the job ends with this connection.
    let _ = client.cancel(CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    });
}
