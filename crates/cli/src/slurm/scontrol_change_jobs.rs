//! What `scontrol` does to jobs, one after another.

use super::connection::{CommandError, connect};
use super::scontrol_show_jobs::{jobs, single_job};
use crate::printer::Printer;
use api::{CallError, Client, JobFilter, Refusal};
use model::scontrol::{self, ScontrolJob};
use model::{ArrayTaskInfo, JobChange, JobId, JobRecord, JobState, Timestamp};

/// Changes jobs as the words say.
pub fn update_jobs(
    jobs: &str,
    changes: &[(String, String)],
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let zone = sys::local_zone();
    let changes = match model::job_changes(changes, Timestamp(sys::now()), &zone) {
        Ok(changes) => changes,
        Err(error) => {
            error.lines.iter().for_each(|line| printer.say(line));
            return Ok(error.status);
        }
    };
    let jobs = by_name(&[jobs.to_owned()])?;
    each_job(&jobs, quiet, printer, &mut |client, job| {
        client.update(job, changes.clone())
    })
}

/// Sends a line to a job, in the words of the real one where it can't.
pub fn notify(job: &str, text: &str, printer: &Printer) -> Result<u8, CommandError> {
    let Some(named) = single_job(job) else {
        printer.say(&format!("Invalid job_id {job}job notify failure: No error"));
        return Ok(1);
    };
    let mut client = connect()?;
    let own = its_own_id(named, &mut client)?;
    let done = client.notify(own.unwrap_or(JobId(named.job)), text);
    let Err(error) = done else {
        return Ok(0);
    };
    let words = match error.refusal() {
        Some(refusal) => words_of(refusal),
        None => return Err(error.into()),
    };
    printer.say(&format!("job notify failure: {words}"));
    Ok(1)
}

/// Gives jobs the highest priority of the waiting ones of their user, and one more.
pub fn top(words: &[String], quiet: bool, printer: &Printer) -> Result<u8, CommandError> {
    each_job(words, quiet, printer, &mut |client, job| {
        let all = client.jobs(JobFilter::default())?;
        let own = all.iter().find(|record| record.id == job);
        let Some(own) = own else {
            return Err(Refusal::NoSuchJob { job }.into());
        };
        let is_waiting = |record: &JobRecord| {
            matches!(record.state, JobState::Pending { .. }) && record.priority > 0
        };
        if !is_waiting(own) {
            return Err(Refusal::NotRunning { job }.into());
        }
        let others = all.iter().filter(|record| {
            let is_same =
                record.uid == own.uid && record.request.partition == own.request.partition;
            is_same && is_waiting(record)
        });
        let highest = others
            .map(|record| record.priority)
            .max()
            .unwrap_or(own.priority);
        let first = highest.saturating_add(u32::from(highest > own.priority));
        client.update(job, vec![JobChange::Priority(first.max(own.priority))])
    })
}

/// Does something to each job that the words name; a refusal is said and the next one tried.
pub fn each_job(
    words: &[String],
    quiet: bool,
    printer: &Printer,
    act: &mut dyn FnMut(&mut Client, JobId) -> Result<(), CallError>,
) -> Result<u8, CommandError> {
    let mut client = None;
    let mut status = 0;
    for word in words {
        let Some(jobs) = scontrol::job_ids(word) else {
            say_unless(
                quiet,
                printer,
                &format!("Invalid job id specified for job {word}"),
            );
            status = 1;
            continue;
        };
        for job in jobs {
            let client = match &mut client {
                Some(client) => client,
                none => none.insert(connect()?),
            };
            let name = match job.task {
                None => job.job.to_string(),
                Some(task) => format!("{}_{task}", job.job),
            };
            let outcome = match its_own_id(job, client)? {
                Ok(id) => act(client, id),
                Err(refusal) => Err(refusal.into()),
            };
            if let Err(error) = outcome {
                let Some(refusal) = error.refusal() else {
                    return Err(error.into());
                };
                say_unless(
                    quiet,
                    printer,
                    &format!("{} for job {name}", words_of(refusal)),
                );
                status = 1;
            }
        }
    }
    Ok(status)
}

/// `Name=x` and `JobName=x` as the ids of the jobs that wait under that name.
pub fn by_name(words: &[String]) -> Result<Vec<String>, CommandError> {
    let mut ids = Vec::new();
    for word in words {
        let name = word.split_once('=').filter(|(key, _)| {
            key.eq_ignore_ascii_case("name") || key.eq_ignore_ascii_case("jobname")
        });
        match name {
            None => ids.push(word.clone()),
            Some((_, name)) => {
                let jobs = connect()?.jobs(JobFilter::default())?;
                ids.extend(
                    jobs.iter()
                        .filter(|job| job.request.name == name)
                        .map(|job| job.id.to_string()),
                );
            }
        }
    }
    Ok(ids)
}

/// The id under which the engine keeps an element of an array.
pub fn its_own_id(
    job: ScontrolJob,
    client: &mut Client,
) -> Result<Result<JobId, Refusal>, CommandError> {
    let Some(task) = job.task else {
        return Ok(Ok(JobId(job.job)));
    };
    let found = jobs(Some(job), client)?.into_iter().find_map(|info| {
        Some((JobId(info.id), info.array?.task)).filter(|(_, tasks)| match tasks {
            ArrayTaskInfo::One(one) => *one == task,
            ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
        })
    });
    Ok(match found {
        None => Err(Refusal::NoSuchJob {
            job: JobId(job.job),
        }),
        Some((id, ArrayTaskInfo::One(_))) => Ok(id),
        Some((_, ArrayTaskInfo::Waiting(_))) => Err(Refusal::Invalid {
            message: "elements that wait are held, released and requeued together: name the array"
                .to_owned(),
        }),
    })
}

/// A refusal in Slurm's words.
pub fn words_of(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoSuchJob { .. } => "Invalid job id specified".to_owned(),
        Refusal::AlreadyEnded { .. } => "Job/step already completing or completed".to_owned(),
        Refusal::NotRunning { .. } => "Job is pending execution".to_owned(),
        Refusal::NotYours { .. } => "Access/permission denied".to_owned(),
        Refusal::NotRequeueable { because, .. } => {
            format!("Requested operation is presently disabled ({because})")
        }
        other => other.to_string(),
    }
}

/// Says something that `--quiet` keeps back.
pub fn say_unless(quiet: bool, printer: &Printer, text: &str) {
    if !quiet {
        printer.say(text);
    }
}
