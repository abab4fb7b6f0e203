//! Submits a job of a run: the intent is noted before, the answer after.

use crate::failure::Failure;
use backend::{NewJob, Transport};
use folder::{Link, LinkState, NextJob, RunFolder, RunJson};
use model::{JobId, Timestamp};

/// Submits the next job of a run, whose `run.json` and script stand in its folder. `after`: it
/// waits for the end of that job and takes over. Returns the job and when it was taken.
///
/// # Errors
/// The cluster refused it or does not answer, or the folder can't be written.
pub fn submit_next(
    transport: &mut dyn Transport,
    run: &RunFolder,
    json: &RunJson,
    after: Option<JobId>,
) -> Result<(JobId, Timestamp), Failure> {
    let NextJob {
        number,
        token,
        mut request,
        script,
    } = run.next_job(json)?;
    request.dependency = after.map(|job| format!("afterany:{job}"));
    let write = |state: LinkState| {
        run.write_link(&Link {
            number,
            cluster: json.cluster.clone(),
            token: token.clone(),
            after: after.map(|job| job.0),
            state,
        })
    };
    let now = || Timestamp(sys::now());
    write(LinkState::Intent { at: now() })?;
    let answer = transport.submit(&NewJob {
        token: &token,
        request: &request,
        script: &script,
        script_path: &run.script(),
        args: &[number.to_string()],
        environment: &job_environment(),
    });
    let at = now();
    write(match &answer {
        Ok(job) => LinkState::Submitted { job: job.0, at },
        Err(error) => LinkState::Refused {
            why: error.to_string(),
            at,
        },
    })?;
    Ok((answer?, at))
}

/// What a job inherits: this command's environment without another job's variables.
fn job_environment() -> Vec<(String, String)> {
    let of_a_job = |name: &str| {
        let prefixes = ["SLURM_", "SBATCH_", "SRUN_", "PMIX_", "PMI_", "YARD_"];
        name != "SLURM_CONF" && prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let all = sys::odd_text::environment().into_iter();
    all.filter(|(name, _)| !of_a_job(name)).collect()
}
