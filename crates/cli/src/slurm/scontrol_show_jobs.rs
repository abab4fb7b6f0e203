//! `scontrol show` of jobs and steps.

use super::connection::{CommandError, connect_to_look, view_facts};
use super::scontrol_change_jobs::say_unless;
use super::scontrol_show::step_text;
use super::step_ends::{StepEnds, step_ends};
use crate::printer::{PORTION, Printer};
use api::{Client, JobFilter};
use model::scontrol::{ScontrolArgs, ScontrolJob};
use model::{
    ArrayTaskInfo, JobId, JobInfo, JobRecord, JobStateName, ShowStyle, StepRecord, StepState,
    Timestamp, ViewFacts, node_list, padded_elapsed_text, show_job,
};

/// The job or the element that is named, or all jobs.
pub fn show_jobs(
    asked_job: Option<&str>,
    asked: &ScontrolArgs,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let job = match asked_job.map(|text| (text, single_job(text))) {
        None => None,
        Some((_, Some(job))) => Some(job),
        Some((_, None)) => {
            say_unless(
                asked.quiet,
                printer,
                "scontrol_print_job error: Invalid job id specified",
            );
            return Ok(1);
        }
    };
    let mut client = connect_to_look()?;
    let (records, facts) = match &mut client {
        Some(client) => records(job, client)?,
        None => (Vec::new(), view_facts(None)?),
    };
    match (job, records.is_empty()) {
        // Slurm asks its controller for no job of that number.
        (Some(job), true) if job.job == 0 => {
            if !asked.quiet {
                printer.line("Job 0 not found");
            }
            return Ok(1);
        }
        (Some(_), true) => {
            say_unless(
                asked.quiet,
                printer,
                "slurm_load_jobs error: Invalid job id specified",
            );
            return Ok(1);
        }
        (None, true) => {
            if !asked.quiet {
                printer.line("No jobs in the system");
            }
            return Ok(0);
        }
        (_, false) => {}
    }
    let ends = match &mut client {
        Some(client) if asked.style.details => step_ends(&records, client)?,
        _ => StepEnds::default(),
    };
    let infos = records.iter().map(|record| {
        let mut info = JobInfo::of(record, &facts);
        ends.note(&mut info);
        info
    });
    let Some(job) = job else {
        // There may be many thousands: of their text a portion at a time is kept.
        let mut text = String::with_capacity(2 * PORTION);
        for info in infos {
            show_job(&mut text, &info, asked.style);
            if text.len() >= PORTION {
                printer.data(&text);
                text.clear();
            }
        }
        printer.data(&text);
        // The process ends: what a long queue took need not be given back piece by piece.
        std::mem::forget(records);
        return Ok(0);
    };
    let mut shown: Vec<JobInfo> = infos
        .filter(|info| {
            let own = info.component().map(|place| place.offset);
            job.component.is_none() || own == job.component
        })
        .filter_map(|info| element(info, job.task))
        .collect();
    if shown.is_empty() {
        if !asked.quiet {
            let (mark, part) = match job.component {
                Some(component) => ('+', component),
                None => ('_', job.task.unwrap_or_default()),
            };
            printer.line(&format!("Job {}{mark}{part} not found", job.job));
        }
        return Ok(1);
    }
    // Of one array the row that has its id comes first, then elements as Slurm has them, the last first.
    if shown.iter().all(|info| info.array.is_some()) {
        shown.sort_by_key(|info| (info.id != job.job, std::cmp::Reverse(info.id)));
    }
    let mut text = String::new();
    for info in &shown {
        show_job(&mut text, info, asked.style);
    }
    printer.data(&text);
    Ok(0)
}

/// The steps that run, of all jobs, of a job, or one.
pub fn show_steps(
    name: Option<&str>,
    style: ShowStyle,
    quiet: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let (job, step) = match name.map(|name| name.split_once('.').unwrap_or((name, ""))) {
        None => (None, ""),
        Some((job, step)) => match single_job(job) {
            None => {
                // What 22.05 makes of a text that is no number.
                if !quiet {
                    printer.line("Job step 0.Invalid not found");
                }
                return Ok(1);
            }
            Some(job) => (Some(job), step),
        },
    };
    let mut text = String::new();
    if let Some(mut client) = connect_to_look()? {
        let found = jobs(job, &mut client)?;
        // Of no jobs at all the real one finds no step.
        if name.is_some() && found.is_empty() && !jobs(None, &mut client)?.is_empty() {
            let words = "slurm_get_job_steps error: Invalid job id specified";
            say_unless(quiet, printer, words);
            return Ok(1);
        }
        for info in found {
            // A step of a heterogeneous job stands under each component's own number.
            let is_other = job.is_some_and(|job| info.component().is_some() && info.id != job.job);
            if is_other {
                continue;
            }
            let Some(info) = element(info, job.and_then(|job| job.task)) else {
                continue;
            };
            let all = client.steps(JobId(info.id));
            let wanted = |it: &StepRecord| {
                it.state == StepState::Running && (step.is_empty() || it.step.to_string() == step)
            };
            for it in all.unwrap_or_default().iter().filter(|it| wanted(it)) {
                text.push_str(&step_text(it, &info, style));
            }
        }
    }
    match (name, text.is_empty()) {
        (Some(name), true) => {
            let dot = if name.contains('.') { "" } else { "." };
            if !quiet {
                printer.line(&format!("Job step {name}{dot} not found"));
            }
            return Ok(1);
        }
        (None, true) => printer.line("No job steps in the system"),
        (_, false) => printer.data(&text),
    }
    Ok(0)
}

/// `12`, `12_3`, `12+1`
pub fn single_job(text: &str) -> Option<ScontrolJob> {
    let (text, component) = match text.split_once('+') {
        None => (text, None),
        Some((leader, offset)) => (leader, Some(offset.parse().ok()?)),
    };
    match text.split_once('_') {
        None => Some(ScontrolJob {
            job: text.parse().ok()?,
            task: None,
            component,
        }),
        Some(_) if component.is_some() => None,
        Some((job, task)) => Some(ScontrolJob {
            job: job.parse().ok()?,
            task: Some(task.parse().ok()?),
            component: None,
        }),
    }
}

/// The job that is named, however long ago it ended; without a name those that live and, as in
/// Slurm, those that ended in the last five minutes.
pub fn jobs(job: Option<ScontrolJob>, client: &mut Client) -> Result<Vec<JobInfo>, CommandError> {
    let (records, facts) = records(job, client)?;
    Ok(records
        .iter()
        .map(|record| JobInfo::of(record, &facts))
        .collect())
}

/// The records of [`jobs`], and what showing them needs.
fn records(
    job: Option<ScontrolJob>,
    client: &mut Client,
) -> Result<(Vec<JobRecord>, ViewFacts), CommandError> {
    let since = match job {
        Some(_) => Timestamp(0),
        None => Timestamp(sys::now() - 300_000),
    };
    let records = client.jobs(JobFilter {
        ids: job.map(|job| vec![JobId(job.job)]),
        ended_since: Some(since),
        components: true,
        ..JobFilter::default()
    })?;
    Ok((records, view_facts(Some(client))?))
}

/// The job, if it is or has the element; one of several that wait is shown as if alone.
fn element(mut info: JobInfo, task: Option<u32>) -> Option<JobInfo> {
    let Some(task) = task else {
        return Some(info);
    };
    let array = info.array.as_mut()?;
    let has = match &array.task {
        ArrayTaskInfo::One(one) => *one == task,
        ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
    };
    array.task = ArrayTaskInfo::One(task);
    has.then_some(info)
}

/// The jobs that are ending, with the nodes on which they still do.
pub fn completing(printer: &Printer) -> Result<u8, CommandError> {
    let Some(mut client) = connect_to_look()? else {
        return Ok(0);
    };
    for info in jobs(None, &mut client)? {
        if info.state != JobStateName::Completing {
            continue;
        }
        let end = info.end.unwrap_or(info.now);
        let passed = info.now.seconds() - end.seconds();
        printer.line(&format!(
            "JobId={} EndTime={} CompletingTime={} Nodes(COMPLETING)={}",
            info.id_text(false),
            info.moments.text(end),
            padded_elapsed_text(passed.max(0)),
            node_list::fold(&info.nodes)
        ));
    }
    Ok(0)
}
