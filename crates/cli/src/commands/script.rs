//! `yard run SCRIPT`: a batch script, submitted as it stands and followed.

use super::follow_job::follow_job;
use super::interrupt::Interrupt;
use super::story::row;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use backend::ViewState;
use model::{ArrayTask, JobId};
use runs::{JobEnd, Target};
use std::path::Path;
use std::time::Instant;
use sys::Places;

/// How many elements that did not complete are named.
const SHOWN: usize = 10;

/// What `sbatch` gets beside the script.
#[derive(Clone, Copy)]
pub struct ScriptCall<'a> {
    /// Slurm's flags, before it.
    pub flags: &'a [String],
    /// The script's own, behind it.
    pub arguments: &'a [String],
}

/// Submits the script as `sbatch` does, and follows its output.
pub fn run(
    script: &Path,
    call: ScriptCall<'_>,
    target: Target,
    places: &Places,
    detach: bool,
    printer: &Printer,
) -> Outcome {
    let begun = Instant::now();
    let cluster = target.facts.name.clone();
    let mut args = call.flags.to_vec();
    args.push(script.display().to_string());
    args.extend_from_slice(call.arguments);
    let job = if target.facts.embedded {
        match crate::slurm::sbatch::queue(&args, &cluster, printer) {
            Ok(job) => job,
            // sbatch has said why.
            Err(0) => return Ok(exit_code::DONE),
            Err(_) => return Ok(exit_code::REFUSED),
        }
    } else {
        let (job, said) = runs::submit_script(&cluster, &args)?;
        for line in said.lines() {
            printer.say(line);
        }
        job
    };
    target.remember(places);
    let name = script.display();
    printer.show_line(&format!("{name} · {cluster} · job {job} · {}", target.why));
    if detach {
        printer.show_line(&come_back(job));
        return Ok(exit_code::DONE);
    }
    let interrupt = Interrupt::watch()?;
    let embedded = target.facts.embedded;
    let stop = || interrupt.asked();
    let Some(end) = follow_job((job, None), &target.cluster(), places, "  ", &stop, printer)?
    else {
        printer.show_line(&format!("job {job} continues without this terminal"));
        printer.show_line(&come_back(job));
        return Ok(exit_code::DONE);
    };
    let took = words::length(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
    say_end(job, &end, &cluster, &took, printer);
    if end.is_array && !embedded {
        printer.show_line(&row("output", &format!("yard logs {job}")));
    }
    Ok(if end.is_success() {
        exit_code::DONE
    } else {
        exit_code::FAILED
    })
}

/// How it ended, and which elements of an array did not complete.
fn say_end(job: JobId, end: &JobEnd, cluster: &str, took: &str, printer: &Printer) {
    match &end.jobs[..] {
        [] => printer.show_line(&format!(
            "{cluster} no longer knows job {job}; how it ended is unknown: sacct -j {job}"
        )),
        [one] if !end.is_array => {
            if let ViewState::Ended { how, exit, .. } = &one.state {
                printer.show_line(&format!("job {job} {how} after {took} (exit {exit})"));
            }
        }
        _ => {
            let all = end.count();
            printer.show_line(&match end.failed_count() {
                0 => format!("job {job}: all {all} elements completed after {took}"),
                failed => format!("job {job}: {failed} of {all} elements did not complete"),
            });
            for text in failures(end) {
                printer.show_line(&row("failed", &text));
            }
        }
    }
}

/// A line for each of the first elements that did not complete.
fn failures(end: &JobEnd) -> Vec<String> {
    let failed = end.failed().filter_map(|view| {
        let ViewState::Ended { how, exit, .. } = &view.state else {
            return None;
        };
        let element = match &view.task {
            Some(ArrayTask::One(task)) => task.to_string(),
            Some(ArrayTask::Waiting(_)) => "those that waited".to_owned(),
            None => view.id.to_string(),
        };
        Some(format!("{element}: {how} (exit {exit})"))
    });
    failed.take(SHOWN).collect()
}

/// How to see it again, and how to end it.
fn come_back(job: JobId) -> String {
    format!(
        "{}\n{}\n{}",
        row("output", &format!("yard logs {job}")),
        row("look", &format!("yard show {job}")),
        row("end", &format!("yard cancel {job}"))
    )
}
