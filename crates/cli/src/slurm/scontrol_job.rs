//! `scontrol write batch_script` and `scontrol listpids`.

use super::connection::{CommandError, connect, connect_to_look};
use super::scontrol_show_jobs::{jobs, single_job};
use super::step_processes::measure;
use crate::printer::Printer;
use model::{JobId, JobStateName, StepHolders, StepId, TaskUse};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

/// Writes a job's batch script to a file, or prints it. What could not be read is no failure, as with
/// the real one.
pub fn write_script(
    name: &str,
    job: Option<JobId>,
    file: Option<&str>,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let script = match job {
        None => Err("Invalid job id specified".to_owned()),
        Some(job) => match connect()?.script(job) {
            Ok(text) => Ok(text),
            Err(error) => match error.refusal() {
                Some(refusal) => Err(super::scontrol_change_jobs::words_of(refusal)),
                None => return Err(error.into()),
            },
        },
    };
    let text = match script {
        Ok(text) => text,
        Err(words) => {
            printer.say(&format!("job script retrieval failed: {words}"));
            return Ok(0);
        }
    };
    let bytes = sys::odd_text::bytes(&text);
    let own_name = format!("slurm-{name}.sh");
    let file = file.unwrap_or(&own_name);
    if file == "-" {
        printer.bytes(bytes.as_bytes());
        if !text.ends_with('\n') {
            printer.data("\n");
        }
        return Ok(0);
    }
    match put(file, bytes.as_bytes()) {
        Ok(()) => printer.line(&format!("batch script for job {name} written to {file}")),
        Err(error) => printer.say(&format!(
            "failed to open file `{file}`: {}",
            super::system_words(&error)
        )),
    }
    Ok(0)
}

/// A file that may be run, as the real one makes it.
fn put(file: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o700);
    options.open(file)?.write_all(bytes)
}

/// The processes of a job's steps, or of all steps, on a node or on all.
pub fn list_pids(
    name: Option<&str>,
    node: Option<&str>,
    printer: &Printer,
) -> Result<u8, CommandError> {
    // `*` is any job.
    let name = name.filter(|name| !name.starts_with('*'));
    let parts = name.map(|name| (name, name.split_once('.').unwrap_or((name, ""))));
    let job = match parts.map(|(_, (job, _))| (job, job.parse())) {
        None => None,
        Some((_, Ok(id))) => Some(JobId(id)),
        Some((job, Err(_))) => {
            printer.say(&format!("\"{job}\" does not look like a jobid"));
            return Ok(1);
        }
    };
    printer.line("PID      JOBID    STEPID   LOCALID GLOBALID");
    let step = match parts.filter(|(name, _)| name.contains('.')) {
        None => None,
        // Its `strtol` takes nothing for 0.
        Some((_, (_, ""))) => Some(StepId::Number(0)),
        Some((name, (_, step))) => match step.parse() {
            Ok(number) => Some(StepId::Number(number)),
            Err(_) => {
                printer.say(&format!("\"{name}\" does not look like a stepid"));
                return Ok(0);
            }
        },
    };
    let mut all = match connect_to_look()? {
        Some(mut client) => client.holders(None)?,
        None => Vec::new(),
    };
    let is_on_node = |one: &StepHolders| {
        one.nodes
            .iter()
            .any(|(name, _)| Some(name.as_str()) == node)
    };
    all.retain(|one| node.is_none() || is_on_node(one));
    let has_any = !all.is_empty();
    let is_wanted = |one: &StepHolders| {
        job.is_none_or(|job| one.job == job) && step.is_none_or(|step| one.step == step)
    };
    let mut wanted: Vec<StepHolders> = all.into_iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        let node = node.unwrap_or("(null)");
        printer.say(&match (job, step) {
            (None, _) => "No job steps exist on this node.".to_owned(),
            (Some(job), Some(step)) => {
                format!("StepId={job}.{step} does not exist on node {node}.")
            }
            (Some(job), None) if has_any => {
                format!("There are no steps for job {job} on node {node}.")
            }
            (Some(job), None) => format!("JobId={job} does not exist on node {node}."),
        });
        return Ok(1);
    }
    wanted.sort_by_key(|one| (one.job, one.step == StepId::Batch));
    for one in wanted {
        let used = measure(one);
        let is_there = |task: &&TaskUse| {
            let own = used.nodes.get(task.node);
            node.is_none_or(|node| own.is_some_and(|own| own.to_string() == node))
        };
        for task in used.measured.iter().filter(is_there) {
            for pid in &task.processes {
                let (local, rank) = if *pid == task.pid {
                    (task.local.to_string(), task.rank.to_string())
                } else {
                    ("-".to_owned(), "-".to_owned())
                };
                let step = used.step.to_string();
                printer.line(&format!(
                    "{pid:<8} {:<8} {step:<8} {local:<7} {rank:<8}",
                    used.job
                ));
            }
        }
    }
    Ok(0)
}

/// The job that a process belongs to, and how long it has.
pub fn pid_info(pid: u32, printer: &Printer) -> Result<u8, CommandError> {
    let mut client = connect_to_look()?;
    let all = match &mut client {
        Some(client) => client.holders(None)?,
        None => Vec::new(),
    };
    let job = all.into_iter().find_map(|one| {
        let used = measure(one);
        let holds = used
            .measured
            .iter()
            .any(|task| task.processes.contains(&pid));
        holds.then_some(used.job)
    });
    let (Some(job), Some(client)) = (job, &mut client) else {
        printer.say("Failed to locate job for requested pid");
        return Ok(1);
    };
    let info = jobs(single_job(&job.to_string()), client)?
        .into_iter()
        .next();
    let Some(info) = info else {
        printer.say("Failed to get job for requested pid");
        return Ok(1);
    };
    let end = info
        .end
        .map_or_else(|| "Unknown".to_owned(), |end| info.moments.text(end));
    let left = info.end.map_or(i64::from(i32::MAX), |end| {
        end.seconds() - info.now.seconds()
    });
    printer.line(&format!(
        "Slurm JobId={job} ends at {end}\nslurm_get_rem_time is {left}"
    ));
    Ok(0)
}

/// Waits until a job has its nodes.
pub fn wait_job(name: &str, printer: &Printer) -> Result<u8, CommandError> {
    let mut client = connect()?;
    loop {
        let found = match single_job(name) {
            Some(job) => jobs(Some(job), &mut client)?.into_iter().next(),
            None => None,
        };
        match found {
            Some(info) if info.is_pending() => std::thread::sleep(BETWEEN_LOOKS),
            Some(info) if matches!(info.state, JobStateName::Running | JobStateName::Stopped) => {
                printer.say(&format!("scontrol: Nodes are ready for job {name}"));
                return Ok(0);
            }
            _ => {
                printer.say(&format!("scontrol: Problem running job {name}"));
                return Ok(1);
            }
        }
    }
}

/// How often it is looked whether a job that waits has its nodes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);
