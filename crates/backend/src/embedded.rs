//! The embedded engine's transport.

use crate::cluster_view::{ClusterView, QueuedJob};
use crate::facts::{embedded_facts, machine_facts};
use crate::job_view::JobView;
use crate::output_file::{OutputFile, output_files};
use crate::transport::{NewJob, TestedJob, TestedStart, Transport, TransportError};
use api::{
    CallError, CancelRequest, Client, EngineFolder, JobFilter, Refusal, Selector, Submission,
    WhyWaiting,
};
use model::{ClusterFacts, JobId, JobRecord, PassedLimits, RequeueHold, RestartCount, Timestamp};
use std::path::Path;
use std::time::Duration;

/// The name of the engine of this machine, as a cluster.
pub const LOCAL: &str = sys::OWN_ENGINE_NAME;

/// The transport to the embedded engine of one folder.
#[derive(Debug)]
pub struct EmbeddedTransport {
    client: Client,
    /// The engine's name, which its cluster has too.
    name: String,
}

impl EmbeddedTransport {
    /// Connects, starting an engine where none runs.
    ///
    /// # Errors
    /// No engine can serve that folder.
    pub fn open(engine_dir: &Path) -> Result<EmbeddedTransport, TransportError> {
        let name = EngineFolder::new(engine_dir).name();
        let client = Client::connect(engine_dir);
        let client = client.map_err(|error| unreachable(&name, error.into()))?;
        Ok(EmbeddedTransport { client, name })
    }

    /// Connects for a look: `None` where no engine ever ran, so that looking starts none.
    ///
    /// # Errors
    /// No engine can serve that folder.
    pub fn open_to_look(engine_dir: &Path) -> Result<Option<EmbeddedTransport>, TransportError> {
        let client = Client::connect_to_look(engine_dir);
        let name = EngineFolder::new(engine_dir).name();
        let client = client.map_err(|error| unreachable(&name, error.into()))?;
        Ok(client.map(|client| EmbeddedTransport { client, name }))
    }

    /// What the machine of an engine is and has: as it answers where it runs, else what is seen of this machine. None
    /// is started, since with it its waiting jobs would be.
    ///
    /// # Errors
    /// It runs and does not answer.
    pub fn facts_without_start(engine_dir: &Path) -> Result<ClusterFacts, TransportError> {
        let name = EngineFolder::new(engine_dir).name();
        let client = Client::connect_running(engine_dir);
        match client.map_err(|error| unreachable(&name, error.into()))? {
            Some(client) => Ok(EmbeddedTransport { client, name }.facts()?.0),
            None => Ok(machine_facts(name)),
        }
    }

    /// What the machine is and has, and name and version of the engine, such as `yard 0.1.0`.
    ///
    /// # Errors
    /// The engine does not answer.
    pub fn facts(&mut self) -> Result<(ClusterFacts, String), TransportError> {
        let facts = self.client.facts();
        let facts = facts.map_err(|error| unreachable(&self.name, error))?;
        Ok((embedded_facts(&facts), format!("yard {}", facts.version)))
    }
}

impl Transport for EmbeddedTransport {
    fn cluster(&self) -> &str {
        &self.name
    }

    fn is_embedded(&self) -> bool {
        true
    }

    fn test(&mut self, job: &TestedJob<'_>) -> Result<Option<TestedStart>, TransportError> {
        let answer = self.client.test(job.request.clone(), None);
        answer
            .map(|start| {
                Some(TestedStart {
                    at: start.at,
                    no_limit: start.no_limit,
                    waits: start.waits,
                })
            })
            .map_err(|error| refused(&self.name, error))
    }

    fn why(&mut self, job: JobId) -> Result<Option<WhyWaiting>, TransportError> {
        let answer = self.client.why(job);
        answer.map(Some).map_err(|error| refused(&self.name, error))
    }

    fn submit(&mut self, job: &NewJob<'_>) -> Result<JobId, TransportError> {
        let submission = Submission {
            token: job.token.to_owned(),
            request: job.request.clone(),
            later: Vec::new(),
            script: Some(job.script.to_owned()),
            args: job.args.to_vec(),
            command: Some(job.script_path.display().to_string()),
            environment: [
                job.environment,
                &PassedLimits::default().variables(&sys::soft_limits()),
            ]
            .concat(),
            umask: sys::process::umask(),
            submit_host: sys::host_name(),
            as_user: None,
            step: None,
        };
        self.client
            .submit(submission)
            .map_err(|error| refused(&self.name, error))
    }

    fn find(&mut self, token: &str) -> Result<Option<JobId>, TransportError> {
        let filter = JobFilter {
            comment: Some(token.to_owned()),
            ..JobFilter::default()
        };
        let jobs = self.client.jobs(filter);
        let jobs = jobs.map_err(|error| refused(&self.name, error))?;
        let id = |job: &JobRecord| job.array.as_ref().map_or(job.id, |place| place.array_job);
        Ok(jobs.first().map(id))
    }

    fn jobs(&mut self, ids: &[JobId]) -> Result<Vec<JobView>, TransportError> {
        let jobs = self
            .client
            .jobs(JobFilter::of(ids))
            .map_err(|error| refused(&self.name, error))?;
        Ok(jobs.iter().map(JobView::from).collect())
    }

    /// An array of thousands is read whole once, when nothing of it lives any more.
    fn jobs_to_their_end(&mut self, ids: &[JobId]) -> Result<Vec<JobView>, TransportError> {
        let live = JobFilter {
            ended_since: None,
            ..JobFilter::of(ids)
        };
        let live = self
            .client
            .jobs(live)
            .map_err(|error| refused(&self.name, error))?;
        let mut views: Vec<JobView> = live.iter().map(JobView::from).collect();
        let lives = |id: &JobId| {
            let is_of = |view: &JobView| view.id == *id || view.array == Some(*id);
            views.iter().any(is_of)
        };
        let over: Vec<JobId> = ids.iter().copied().filter(|id| !lives(id)).collect();
        if !over.is_empty() {
            views.extend(self.jobs(&over)?);
        }
        Ok(views)
    }

    fn element(&mut self, array: JobId, element: u32) -> Result<Option<JobView>, TransportError> {
        let jobs = self
            .client
            .jobs(JobFilter::of(&[array]))
            .map_err(|error| refused(&self.name, error))?;
        let mut jobs = jobs.iter();
        let job = jobs.find(|job| job.is_element(Some(element)));
        Ok(job.map(JobView::from))
    }

    fn output_files(
        &mut self,
        job: JobId,
        element: Option<u32>,
    ) -> Result<Vec<OutputFile>, TransportError> {
        let jobs = self.client.jobs(JobFilter::of(&[job]));
        let jobs = jobs.map_err(|error| refused(&self.name, error))?;
        let meant = jobs.iter().filter(|job| job.is_element(element));
        Ok(output_files(meant))
    }

    fn snapshot(&mut self, since: Timestamp) -> Result<Vec<JobView>, TransportError> {
        let filter = JobFilter {
            ended_since: Some(since),
            ..JobFilter::default()
        };
        let jobs = self
            .client
            .jobs(filter)
            .map_err(|error| refused(&self.name, error))?;
        Ok(jobs.iter().map(JobView::from).collect())
    }

    fn cluster_view(&mut self) -> Result<ClusterView, TransportError> {
        let name = &self.name;
        let report = self
            .client
            .cluster()
            .map_err(|error| refused(name, error))?;
        let jobs = self.client.jobs(JobFilter::default());
        let jobs = jobs.map_err(|error| refused(name, error))?;
        Ok(ClusterView {
            queue: jobs.iter().filter_map(QueuedJob::of).collect(),
            ..ClusterView::from(&report)
        })
    }

    fn pause(&self, unchanged_for: Duration) -> Duration {
        // Its own machine's engine: a look costs tens of microseconds.
        (unchanged_for / 10).clamp(Duration::from_millis(50), Duration::from_millis(200))
    }

    fn cancel(&mut self, job: JobId, element: Option<u32>) -> Result<(), TransportError> {
        let request = CancelRequest {
            selector: match element {
                Some(element) => Selector::Elements(job, vec![element]),
                None => Selector::Job(job),
            },
            signal: None,
            batch: false,
            full: false,
        };
        match self.client.cancel(request) {
            // Since it was looked at: that was wanted.
            Err(CallError::Refused(Refusal::AlreadyEnded { .. })) => Ok(()),
            cancelled => cancelled.map_err(|error| refused(&self.name, error)),
        }
    }

    fn requeue(
        &mut self,
        job: JobId,
        _element: Option<(JobId, u32)>,
        restart: Option<RestartCount>,
    ) -> Result<(), TransportError> {
        self.client
            .requeue(job, RequeueHold::No, restart)
            .map_err(|error| refused(&self.name, error))
    }
}

/// What the engine said, in a transport's words.
fn refused(cluster: &str, error: CallError) -> TransportError {
    match error {
        CallError::Refused(Refusal::NeverFits(refusal)) => TransportError::Refused {
            cluster: cluster.to_owned(),
            refusal,
        },
        CallError::Refused(refusal @ Refusal::Store { .. }) => TransportError::Store {
            message: refusal.to_string(),
        },
        CallError::Refused(refusal) => TransportError::Job {
            message: refusal.to_string(),
        },
        other => unreachable(cluster, other),
    }
}

fn unreachable(cluster: &str, error: CallError) -> TransportError {
    let todo = match &error {
        CallError::Connect(error) => error.todo(),
        _ => "try again; its log is engine.log in the folder that yard engine status shows"
            .to_owned(),
    };
    TransportError::Unreachable {
        cluster: cluster.to_owned(),
        message: error.to_string(),
        todo,
    }
}
