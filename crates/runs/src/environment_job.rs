//! Submits the job of its own that makes a run's environment, or its container's image.

use crate::failure::{Failure, unwritable};
use crate::submit::job_environment;
use backend::{NewJob, Transport};
use folder::{RunFolder, RunJson};
use model::JobId;
use train::JobPlace;

/// Submits it where the run's environment is still to be made: the run's first job waits for its end, and
/// looks then whether it is there.
///
/// # Errors
/// The cluster refused it or does not answer, or the folder can't be written.
pub(crate) fn submit_environment(
    transport: &mut dyn Transport,
    run: &RunFolder,
    json: &RunJson,
) -> Result<Option<JobId>, Failure> {
    if json.left_to_make().is_none() {
        return Ok(None);
    }
    // Another than that of one that failed.
    let token = match run.environment_jobs().last() {
        Some(former) => format!("{}.environment.{former}", json.token),
        None => format!("{}.environment", json.token),
    };
    let output = run.environment_log_pattern();
    let place = JobPlace {
        yard: &json.yard,
        run_folder: run.path(),
        output: &output,
        token: &token,
    };
    let (path, script) = (
        run.environment_script(),
        json.plan.environment_script(&place),
    );
    sys::atomic::write(&path, script.as_bytes()).map_err(unwritable(&path))?;
    let submitted = transport.submit(&NewJob {
        token: &token,
        request: &json.plan.environment_request(&place),
        script: &script,
        script_path: &path,
        args: &[],
        environment: &job_environment(&json.plan.environment.secrets.value),
    });
    let job = match submitted {
        Ok(job) => job,
        Err(error) if error.may_have_been_done() => match transport.find(&token) {
            Ok(Some(job)) => job,
            Ok(None) | Err(_) => return Err(error.into()),
        },
        Err(error) => return Err(error.into()),
    };
    run.write_environment_job(job.0)?;
    Ok(Some(job))
}
