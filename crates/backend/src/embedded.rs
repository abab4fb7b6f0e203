//! The embedded engine's transport.

use crate::facts::embedded_facts;
use crate::job_view::JobView;
use crate::transport::{NewJob, TestedJob, Transport, TransportError};
use api::{CallError, CancelRequest, Client, JobFilter, Refusal, Selector, Submission};
use model::{ClusterFacts, JobId, RestartCount, Timestamp};
use std::path::Path;
use std::time::Duration;

/// The engine's name as a cluster.
pub const LOCAL: &str = "local";

/// The transport to the embedded engine of one folder.
#[derive(Debug)]
pub struct EmbeddedTransport {
    client: Client,
    facts: ClusterFacts,
    scheduler: String,
}

impl EmbeddedTransport {
    /// Connects, starting an engine where none runs.
    ///
    /// # Errors
    /// No engine can serve that folder.
    pub fn open(engine_dir: &Path) -> Result<EmbeddedTransport, TransportError> {
        let mut client = Client::connect(engine_dir).map_err(|error| unreachable(error.into()))?;
        let facts = client.facts().map_err(unreachable)?;
        Ok(EmbeddedTransport {
            client,
            scheduler: format!("yard {}", facts.version),
            facts: embedded_facts(&facts),
        })
    }
}

impl Transport for EmbeddedTransport {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    fn scheduler(&self) -> &str {
        &self.scheduler
    }

    fn test(&mut self, job: &TestedJob<'_>) -> Result<Option<Timestamp>, TransportError> {
        let answer = self.client.test(job.request.clone());
        answer.map(|start| Some(start.at)).map_err(refused)
    }

    fn submit(&mut self, job: &NewJob<'_>) -> Result<JobId, TransportError> {
        let submission = Submission {
            token: job.token.to_owned(),
            request: job.request.clone(),
            script: Some(job.script.to_owned()),
            args: job.args.to_vec(),
            command: Some(job.script_path.display().to_string()),
            environment: job.environment.to_vec(),
            umask: sys::process::umask(),
            submit_host: sys::host_name(),
        };
        self.client.submit(submission).map_err(refused)
    }

    fn jobs(&mut self, ids: &[JobId]) -> Result<Vec<JobView>, TransportError> {
        let jobs = self.client.jobs(JobFilter::of(ids)).map_err(refused)?;
        Ok(jobs.iter().map(JobView::from).collect())
    }

    fn recent_jobs(&mut self, since: Timestamp) -> Result<Vec<JobView>, TransportError> {
        let filter = JobFilter {
            ended_since: Some(since),
            ..JobFilter::default()
        };
        let jobs = self.client.jobs(filter).map_err(refused)?;
        Ok(jobs.iter().map(JobView::from).collect())
    }

    fn pause(&self, unchanged_for: Duration) -> Duration {
        // Its own machine's engine: a look costs tens of microseconds.
        (unchanged_for / 10).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    fn cancel(&mut self, job: JobId) -> Result<(), TransportError> {
        let request = CancelRequest {
            selector: Selector::Job(job),
            signal: None,
            batch: false,
            full: false,
        };
        self.client.cancel(request).map_err(refused)
    }

    fn requeue(&mut self, job: JobId, restart: Option<RestartCount>) -> Result<(), TransportError> {
        self.client.requeue(job, false, restart).map_err(refused)
    }
}

/// What the engine said, in a transport's words.
fn refused(error: CallError) -> TransportError {
    match error {
        CallError::Refused(Refusal::NeverFits { asked, there, todo }) => TransportError::Refused {
            cluster: LOCAL.to_owned(),
            asked,
            there,
            todo,
        },
        CallError::Refused(refusal) => TransportError::Job {
            message: refusal.to_string(),
        },
        other => unreachable(other),
    }
}

fn unreachable(error: CallError) -> TransportError {
    let todo = match &error {
        CallError::Connect(error) => error.todo(),
        _ => "try again; its log is engine.log in the folder that yard engine status shows"
            .to_owned(),
    };
    TransportError::Unreachable {
        cluster: LOCAL.to_owned(),
        message: error.to_string(),
        todo,
    }
}
