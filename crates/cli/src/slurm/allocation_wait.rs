//! The wait of `salloc` and `srun` for the job of their own.

use api::{CallError, CancelRequest, Client, JobFilter, Selector};
use model::{JobId, JobRecord, JobState, Outcome};
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
    /// A signal came that means to give up: it is cancelled.
    Interrupted,
    /// The engine does not answer.
    Failed(CallError),
}

/// Waits until `job` runs. `queued` is called once when it has to wait for resources, unless it does
/// not wait longer than `immediate`.
pub fn wait_until_running(
    job: JobId,
    immediate: Option<Duration>,
    client: &mut Client,
    signals: &SignalFd,
    queued: &mut dyn FnMut(),
) -> Waited {
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
            Some(JobState::Ended { outcome, .. }) => return Waited::Ended(outcome.clone()),
            Some(JobState::Pending { .. }) | None => {
                if !announced && immediate.is_none() && begun.elapsed() >= LOOK {
                    announced = true;
                    queued();
                }
                let interrupted = std::iter::from_fn(|| signals.next())
                    .any(|signal| matches!(signal, 1 | 2 | 3 | 15));
                if interrupted {
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

fn cancel(job: JobId, client: &mut Client) {
    // When it fails, the job ends with this connection.
    let _ = client.cancel(CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    });
}
