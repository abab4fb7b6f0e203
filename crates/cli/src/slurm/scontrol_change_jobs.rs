//! What `scontrol` does to jobs, one after another.

use super::connection::{CommandError, connect};
use super::scontrol_resize::{is_resize, leave_scripts, one_job};
use super::scontrol_show_jobs::{jobs, single_job};
use crate::printer::Printer;
use api::{ACCESS_DENIED, CallError, Client, JobFilter, NamedJob, Refusal};
use model::scontrol::{self, ScontrolJob};
use model::{
    ArrayTask, ArrayTaskInfo, JobChange, JobId, JobRecord, JobState, Timestamp, WrittenChange,
};
use std::os::unix::fs::MetadataExt;

/// Changes jobs as the words say.
pub fn update_jobs(
    jobs: &str,
    changes: &[WrittenChange],
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    if let Some(name) = changes.iter().find_map(unknown_user) {
        printer.say(&format!("Invalid UserID: {name}\nRequest aborted"));
        return Ok(1);
    }
    let zone = sys::local_zone();
    let changes = match model::job_changes(changes, Timestamp(sys::now()), &zone) {
        Ok(changes) => changes,
        Err(error) => {
            error.lines.iter().for_each(|line| printer.say(line));
            return Ok(error.status);
        }
    };
    for note in changes.iter().filter_map(JobChange::note) {
        say_unless(quiet, printer, &format!("scontrol: {note}"));
    }
    let jobs = by_name(&[jobs.to_owned()])?;
    let mut change = |client: &mut Client, job| client.update(job, changes.clone());
    let (true, [name]) = (changes.iter().any(is_resize), &jobs[..]) else {
        return each_job(&jobs, quiet, printer, &mut change);
    };
    let mut client = connect()?;
    let job = match one_job(name, &mut client)? {
        Ok(job) => job,
        Err(words) => {
            printer.say(&format!("scontrol: error: {words}"));
            return Ok(1);
        }
    };
    let status = each_job(&jobs, quiet, printer, &mut change)?;
    if status == 0 {
        leave_scripts(job, &mut client, printer)?;
    }
    Ok(status)
}

/// The value of `UserID=` that names no user. Otherwise it changes nothing: it is for jobs by their name.
fn unknown_user(change: &WrittenChange) -> Option<&str> {
    let is_user = change.key.len() >= 3 && "userid".starts_with(&change.key.to_ascii_lowercase());
    let name = change.value.as_deref().filter(|_| is_user)?;
    let is_known =
        name.parse::<u32>().is_ok() || matches!(sys::users::user_by_name(name), Ok(Some(_)));
    (!is_known).then_some(name)
}

/// Sends a line to a job, in the words of the real one where it can't.
pub fn notify(job: &str, text: &str, printer: &Printer) -> Result<u8, CommandError> {
    let Some(named) = single_job(job) else {
        printer.say(&format!("Invalid job_id {job}job notify failure: No error"));
        return Ok(1);
    };
    let mut client = connect()?;
    let own = its_own_id(named, &mut client)?;
    let done = client.notify(own, text);
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

/// Has jobs go before those that wait of the same user, account, partition and QOS, the first that is named at the
/// top. Operators alone may do that.
pub fn top(words: &[String], quiet: bool, printer: &Printer) -> Result<u8, CommandError> {
    // Each goes before those that went there before it.
    let separated = |word: &String| {
        let is_list = !word.contains('[');
        let jobs = word.split(move |letter| is_list && letter == ',');
        jobs.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut words: Vec<String> = words.iter().flat_map(separated).collect();
    words.reverse();
    each_job(&words, quiet, printer, &mut |client, job| {
        if !is_operator(client) {
            return Err(Refusal::invalid(ACCESS_DENIED).into());
        }
        let all = client.jobs(JobFilter::default())?;
        let own = all.iter().find(|record| is_named(record, job));
        let Some(own) = own else {
            let ended = client.jobs(JobFilter::of(&[job.job]))?;
            let refusal = if ended.is_empty() {
                Refusal::NoSuchJob { job: job.job }
            } else {
                Refusal::invalid("Job is no longer pending execution")
            };
            return Err(refusal.into());
        };
        let is_waiting = |record: &JobRecord| matches!(record.state, JobState::Pending { .. });
        let refused = match own.priority {
            _ if !is_waiting(own) => Some("Job is no longer pending execution"),
            0 => Some("Job is in held state, pending scheduler release"),
            _ => None,
        };
        if let Some(message) = refused {
            return Err(Refusal::invalid(message).into());
        }
        let charged = |record: &JobRecord| {
            let request = &record.request;
            let place = (request.partition.clone(), request.qos.clone());
            (record.submitter.uid, request.account.clone(), place)
        };
        let others = all.iter().filter(|record| {
            record.id != own.id
                && is_waiting(record)
                && record.priority > 0
                && charged(record) == charged(own)
        });
        // Of equals the one that was submitted first goes first.
        let highest = others.map(|record| record.priority).max();
        match highest.filter(|highest| *highest >= own.priority) {
            Some(highest) => {
                let above = highest.saturating_add(1);
                client.update(job, vec![JobChange::Priority(above)])
            }
            None => Ok(()),
        }
    })
}

/// What is said of elements with which it was done beside others.
const NO_ERROR: &str = "No error";

/// Whether the caller is root, or the engine's own user.
fn is_operator(client: &Client) -> bool {
    let me = sys::process::user();
    let engine = std::fs::metadata(client.folder().root());
    me == 0 || engine.is_ok_and(|folder| folder.uid() == me)
}

/// Does something to each job that the words name; a refusal is said and the next one tried.
pub fn each_job(
    words: &[String],
    quiet: bool,
    printer: &Printer,
    act: &mut dyn FnMut(&mut Client, NamedJob) -> Result<(), CallError>,
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
        let are_together = word.contains('[');
        // Elements that are named together, by what is said of them.
        let mut together: Vec<(String, Vec<u32>)> = Vec::new();
        let array = jobs.first().map_or(0, |job| job.job);
        for job in jobs {
            let client = match &mut client {
                Some(client) => client,
                none => none.insert(connect()?),
            };
            let named = NamedJob {
                job: JobId(job.job),
                element: job.task,
                component: job.component,
            };
            let refusal = match act(client, named) {
                Ok(()) => None,
                Err(error) => match error.refusal() {
                    Some(refusal) => Some(refusal.clone()),
                    None => return Err(error.into()),
                },
            };
            status |= u8::from(refusal.is_some());
            if let Some(element) = job.task.filter(|_| are_together && job.job == array) {
                let words = refusal.map_or_else(|| NO_ERROR.to_owned(), |it| words_of(&it));
                match together.iter_mut().find(|(known, _)| *known == words) {
                    Some((_, elements)) => elements.push(element),
                    None => together.push((words, vec![element])),
                }
            } else if let Some(refusal) = refusal {
                for line in said_of(named, &refusal) {
                    say_unless(quiet, printer, &line);
                }
            }
        }
        if together.iter().any(|(words, _)| words != NO_ERROR) {
            for (words, elements) in together {
                let elements = model::array_elements_text(&elements, None, true);
                say_unless(quiet, printer, &format!("{array}_{elements}: {words}"));
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

/// Whether a row is the job that is named, or has the element.
fn is_named(record: &JobRecord, named: NamedJob) -> bool {
    let Some(element) = named.element else {
        let own = named.job.0.saturating_add(named.component.unwrap_or(0));
        return record.id == JobId(own);
    };
    record.array.as_ref().is_some_and(|place| {
        let has_it = match &place.task {
            ArrayTask::One(one) => *one == element,
            ArrayTask::Waiting(waiting) => waiting.indices.contains(&element),
        };
        place.array_job == named.job && has_it
    })
}

/// The id under which the engine keeps a job, or an element of an array that does not wait with
/// others; else the array's.
pub fn its_own_id(job: ScontrolJob, client: &mut Client) -> Result<JobId, CommandError> {
    let of_job = JobId(job.job);
    let Some(task) = job.task else {
        return Ok(of_job);
    };
    let found = jobs(Some(job), client)?.into_iter().find_map(|info| {
        let is_it = matches!(info.array?.task, ArrayTaskInfo::One(one) if one == task);
        is_it.then_some(JobId(info.id))
    });
    Ok(found.unwrap_or(of_job))
}

/// What is said of a job, or of elements of an array, to which something was not done.
fn said_of(named: NamedJob, refusal: &Refusal) -> Vec<String> {
    match refusal {
        Refusal::OfElements { job, each } => {
            let line = |(elements, words): &(Vec<u32>, String)| {
                let elements = model::array_elements_text(elements, None, true);
                format!("{job}_{elements}: {words}")
            };
            each.iter().map(line).collect()
        }
        refusal => {
            let words = words_of(refusal);
            let line = match named.element {
                Some(_) => format!("{named}: {words}"),
                None => format!("{words} for job {named}"),
            };
            let why = match refusal {
                Refusal::NotRequeueable { because, .. } => Some(format!("job {named}: {because}")),
                _ => None,
            };
            std::iter::once(line).chain(why).collect()
        }
    }
}

/// A refusal in Slurm's words.
pub fn words_of(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoSuchJob { .. } => "Invalid job id specified".to_owned(),
        Refusal::AlreadyEnded { .. } => "Job/step already completing or completed".to_owned(),
        Refusal::NotRunning { .. } => "Job is pending execution".to_owned(),
        Refusal::NotYours { .. } => "Access/permission denied".to_owned(),
        Refusal::NotRequeueable { .. } => "Requested operation is presently disabled".to_owned(),
        other => other.to_string(),
    }
}

/// Says something that `--quiet` keeps back.
pub fn say_unless(quiet: bool, printer: &Printer, text: &str) {
    if !quiet {
        printer.say(text);
    }
}
