//! A real Slurm, through its own commands.

use super::cluster_query;
use super::command::{ask, ask_ok, ask_until, ask_with, slurm_command};
use super::commands;
use super::discover::{Discovered, is_here, name_here};
use super::query::{FORMAT, parse_line};
use crate::cluster_view::ClusterView;
use crate::job_view::JobView;
use crate::output_file::OutputFile;
use crate::shared_queue::INTERVAL;
use crate::transport::{NewJob, TestedJob, TestedStart, Transport, TransportError};
use model::{JobId, RestartCount, Timestamp};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The transport to the Slurm whose commands stand on PATH.
#[derive(Debug)]
pub struct SlurmTransport {
    bin: PathBuf,
    cluster: String,
    stop: Arc<AtomicBool>,
}

impl SlurmTransport {
    /// The transport to a discovered Slurm.
    #[must_use]
    pub fn new(found: &Discovered) -> SlurmTransport {
        SlurmTransport {
            bin: found.bin.clone(),
            cluster: found.facts.name.clone(),
            stop: Arc::default(),
        }
    }

    /// The transport to the cluster of that name, if it is this machine's Slurm. It need not answer
    /// now: what follows a run waits until it does.
    #[must_use]
    pub fn to(cluster: &str) -> Option<SlurmTransport> {
        let bin = commands::folder().filter(|bin| is_here(bin, cluster))?;
        let cluster = cluster.to_owned();
        Some(SlurmTransport {
            bin,
            cluster,
            stop: Arc::default(),
        })
    }

    /// The transport to this machine's Slurm; `None` where there is none. It need not answer now.
    ///
    /// # Errors
    /// Only its controller knows the cluster's name, and does not answer.
    pub fn here() -> Result<Option<SlurmTransport>, TransportError> {
        let Some(bin) = commands::folder() else {
            return Ok(None);
        };
        let cluster = name_here(&bin)?;
        Ok(cluster.map(|cluster| SlurmTransport {
            bin,
            cluster,
            stop: Arc::default(),
        }))
    }

    /// The folder of its commands.
    #[must_use]
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    pub(super) fn command(&self, name: &str) -> Command {
        slurm_command(&self.bin.join(name))
    }

    fn squeue(&self, which: &[String]) -> Result<Vec<JobView>, TransportError> {
        let mut command = self.command("squeue");
        command
            .args(["--noheader", "--states=all"])
            .arg(format!("--Format={FORMAT}"))
            .args(which);
        let answer = ask_until(command, &self.stop)?;
        // Asked for one job that was forgotten, squeue fails with these words; asked for several it
        // leaves the forgotten ones out.
        if !answer.status.success() && answer.stderr.contains("Invalid job id specified") {
            return Ok(Vec::new());
        }
        if !answer.status.success() {
            return Err(TransportError::Command {
                command: "squeue".to_owned(),
                status: answer.status.to_string(),
                message: answer.stderr,
            });
        }
        answer.stdout.lines().map(parse_line).collect()
    }
}

impl Transport for SlurmTransport {
    fn cluster(&self) -> &str {
        &self.cluster
    }

    fn is_embedded(&self) -> bool {
        false
    }

    fn test(&mut self, job: &TestedJob<'_>) -> Result<Option<TestedStart>, TransportError> {
        let mut command = self.command("sbatch");
        command.arg("--test-only").args(job.flags);
        let answer = ask_with(command, job.script.as_bytes().to_vec())?;
        if answer.status.success() {
            let start = start_of(&answer.stderr).map(|at| TestedStart {
                at,
                no_limit: None,
                waits: None,
            });
            return Ok(start);
        }
        Err(super::refused(
            &self.cluster,
            "sbatch --test-only".to_owned(),
            last_word(&answer.stderr),
            "ask for what there is, or name another cluster with --on",
        ))
    }

    fn submit(&mut self, job: &NewJob<'_>) -> Result<JobId, TransportError> {
        let dependency = job.request.rare.dependency.as_ref();
        let dependency = dependency.map(|jobs| format!("--dependency={jobs}"));
        let mut command = self.command("sbatch");
        command
            .arg("--parsable")
            // The script says that of the run's first job.
            .arg(format!("--comment={}", job.token))
            .args(dependency)
            .arg(job.script_path)
            .args(job.args)
            .current_dir(job.script_path.parent().unwrap_or(Path::new("/")))
            .env_clear()
            .envs(
                job.environment
                    .iter()
                    .map(|(name, value)| (sys::odd_text::bytes(name), sys::odd_text::bytes(value))),
            )
            // Ctrl-C leaves a submission alone: it would not be known whether it was taken.
            .process_group(0);
        match ask(command) {
            Ok(answer) if answer.status.success() => parse_parsable(&answer.stdout),
            Ok(answer) => Err(super::refused(
                &self.cluster,
                format!("sbatch {}", job.script_path.display()),
                answer.stderr,
                "change the request, or choose another cluster with --on",
            )),
            Err(error) => Err(error),
        }
    }

    fn find(&mut self, token: &str) -> Result<Option<JobId>, TransportError> {
        let mut command = self.command("squeue");
        command.args(model::FIND_BY_COMMENT);
        Ok(model::job_with_comment(&ask_ok(command)?, token))
    }

    fn jobs(&mut self, ids: &[JobId]) -> Result<Vec<JobView>, TransportError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let list: Vec<String> = ids.iter().map(ToString::to_string).collect();
        self.squeue(&[format!("--jobs={}", list.join(","))])
    }

    fn element(&mut self, array: JobId, element: u32) -> Result<Option<JobView>, TransportError> {
        let views = self.squeue(&[format!("--jobs={array}_{element}")])?;
        Ok(views.into_iter().next())
    }

    fn output_files(
        &mut self,
        job: JobId,
        element: Option<u32>,
    ) -> Result<Vec<OutputFile>, TransportError> {
        self.files_of_job(job, element)
    }

    fn snapshot(&mut self, since: Timestamp) -> Result<Vec<JobView>, TransportError> {
        // Slurm forgets ended jobs soon (MinJobAge).
        let mut jobs = self.squeue(&["--me".to_owned()])?;
        jobs.retain(|job| job.is_recent(since));
        Ok(jobs)
    }

    fn cluster_view(&mut self) -> Result<ClusterView, TransportError> {
        let mut nodes = self.command("sinfo");
        nodes
            .args(["--Node", "--noheader"])
            .arg(format!("--Format={}", cluster_query::NODES));
        let mut queue = self.command("squeue");
        queue
            .args(["--noheader", "--states=PENDING,RUNNING,COMPLETING"])
            .arg(format!("--Format={}", cluster_query::QUEUE));
        Ok(ClusterView {
            nodes: cluster_query::nodes(&ask_ok(nodes)?)?,
            queue: cluster_query::queue(&ask_ok(queue)?)?,
        })
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    fn pause(&self, unchanged_for: Duration) -> Duration {
        (unchanged_for / 4).clamp(INTERVAL, Duration::from_secs(60))
    }

    fn cancel(&mut self, job: JobId, element: Option<u32>) -> Result<(), TransportError> {
        let mut command = self.command("scancel");
        command.arg(match element {
            Some(element) => format!("{job}_{element}"),
            None => job.to_string(),
        });
        ask_ok(command).map(drop)
    }

    fn requeue(
        &mut self,
        job: JobId,
        element: Option<(JobId, u32)>,
        _restart: Option<RestartCount>,
    ) -> Result<(), TransportError> {
        let name = match element {
            Some((array, number)) => format!("{array}_{number}"),
            None => job.to_string(),
        };
        let mut command = self.command("scontrol");
        command.args(["requeue", &name]);
        ask_ok(command).map(drop)
    }
}

/// What Slurm says last is why: `allocation failure: Requested node configuration is not available`.
fn last_word(stderr: &str) -> String {
    let line = stderr.lines().rfind(|line| !line.trim().is_empty());
    let line = line.unwrap_or("sbatch gave no reason").trim();
    let line = line.strip_prefix("sbatch: ").unwrap_or(line);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// `sbatch --parsable` answers `id` or `id;cluster`.
pub(super) fn parse_parsable(text: &str) -> Result<JobId, TransportError> {
    let id = text.trim().split(';').next().unwrap_or_default();
    id.parse().map(JobId).map_err(|_| TransportError::Answer {
        command: "sbatch --parsable".to_owned(),
        line: text.trim().to_owned(),
    })
}

/// The moment in `sbatch: Job 7 to start at 2024-05-01T12:00:00 using …`, which is in this machine's
/// time zone.
fn start_of(said: &str) -> Option<Timestamp> {
    let (_, behind) = said.split_once(" to start at ")?;
    let moment: jiff::civil::DateTime = behind.split_whitespace().next()?.parse().ok()?;
    let zoned = moment.to_zoned(sys::local_zone()).ok()?;
    Some(Timestamp(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_that_a_test_says() {
        let said = "sbatch: Job 7 to start at 2024-05-01T12:00:00 using 2 processors on nodes n1\n";
        assert!(start_of(said).is_some());
        assert_eq!(start_of("sbatch: Job 7 to start at once\n"), None);
        assert_eq!(start_of(""), None);
    }
}
