//! Submits a job of a run, by the protocol of its folder.

use crate::failure::Failure;
use backend::{NewJob, Transport, TransportError};
use folder::{NewLink, NextJob, NotSubmitted, RunFolder, RunJson, SubmissionError, Submitter};
use model::{JobId, Timestamp};

/// Submits the next job of a run, whose `run.json` and script stand in its folder. `after`: it
/// waits for the end of that job and takes over; it waits for those of `others` too. Returns the job and when it was taken.
///
/// # Errors
/// The cluster refused it or does not answer, or the folder can't be written.
pub(crate) fn submit_next(
    transport: &mut dyn Transport,
    run: &RunFolder,
    json: &RunJson,
    after: Option<JobId>,
    others: &[JobId],
) -> Result<(JobId, Timestamp), Failure> {
    let now = || Timestamp(sys::now());
    let mut job = run.next_job(json, now())?;
    let awaited: Vec<String> = after.iter().chain(others).map(JobId::to_string).collect();
    job.request.rare.dependency =
        (!awaited.is_empty()).then(|| format!("afterany:{}", awaited.join(":")));
    let token = job.token.clone();
    let link = NewLink {
        number: job.number,
        cluster: &json.cluster,
        token: &token,
        after: after.map(|job| job.0),
    };
    let mut through = Through {
        transport,
        run,
        job,
        secrets: &json.plan.environment.secrets.value,
    };
    let (job, at) = run.submit(&link, &mut through, now)?;
    Ok((JobId(job), at))
}

/// A job of a run, and the way to its cluster.
struct Through<'a> {
    transport: &'a mut dyn Transport,
    run: &'a RunFolder,
    job: NextJob,
    /// Names of variables that no job's environment has.
    secrets: &'a [String],
}

impl Submitter for Through<'_> {
    type Error = TransportError;

    fn find(&mut self, token: &str) -> Result<Option<u32>, TransportError> {
        let found = self.transport.find(token)?;
        Ok(found.map(|job| job.0))
    }

    fn submit(&mut self, link: &NewLink<'_>) -> Result<u32, NotSubmitted<TransportError>> {
        let answer = self.transport.submit(&NewJob {
            token: link.token,
            request: &self.job.request,
            script: &self.job.script,
            script_path: &self.run.script(),
            args: &[link.number.to_string()],
            environment: &job_environment(self.secrets),
        });
        match answer {
            Ok(job) => Ok(job.0),
            Err(error) if error.may_have_been_done() => Err(NotSubmitted::NoAnswer(error)),
            Err(error) => Err(NotSubmitted::Refused(error)),
        }
    }
}

impl From<SubmissionError<TransportError>> for Failure {
    fn from(error: SubmissionError<TransportError>) -> Failure {
        match error {
            SubmissionError::Folder(error) => error.into(),
            SubmissionError::Cluster(error) => error.into(),
        }
    }
}

/// What a job inherits: this command's environment without another job's variables, and without
/// secrets, which travel in the run folder.
pub(crate) fn job_environment(secrets: &[String]) -> Vec<(String, String)> {
    let of_a_job = |name: &str| {
        let prefixes = ["SLURM_", "SBATCH_", "SRUN_", "PMIX_", "PMI_", "YARD_"];
        name != "SLURM_CONF" && prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let all = sys::odd_text::environment().into_iter();
    all.filter(|(name, _)| !of_a_job(name) && !secrets.contains(name))
        .collect()
}
