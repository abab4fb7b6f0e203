//! `sstat`: what running steps use.

use super::connection::{CommandError, connect_to_look};
use super::step_processes::{is_inside, measure};
use crate::printer::Printer;
use api::{Client, JobFilter};
use model::{
    ArrayTask, JobId, SSTAT_USAGE, SstatArgs, SstatChoice, SstatShow, SstatStep, StepHolders,
    StepId, sstat_fields_text,
};
use std::fmt::Display;

const SLURMD_NODENAME: &str = "SLURMD_NODENAME";

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SstatArgs::parse("sstat", args) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.show {
        Some(SstatShow::Fields) => printer.data(&sstat_fields_text()),
        Some(SstatShow::Help) => printer.data(&help()),
        Some(SstatShow::Usage) => printer.data(SSTAT_USAGE),
        Some(SstatShow::Version) => printer.line(&super::version_line()),
        None => {
            if let Err(failure) = list(&asked, printer) {
                failure.say("sstat", printer);
                return 1;
            }
        }
    }
    0
}

fn list(asked: &SstatArgs, printer: &Printer) -> Result<(), CommandError> {
    let mut client = connect_to_look()?;
    printer.data(&asked.header());
    for named in &asked.steps {
        let held = match &mut client {
            Some(client) => steps_of(client, named)?,
            None => Vec::new(),
        };
        let not_running = |step: &dyn Display| {
            printer.say(&format!(
                "sstat: error: StepId={}.{step} not found running.",
                named.job
            ));
        };
        let chosen = match named.step {
            SstatChoice::Absent(name) => {
                not_running(&name);
                continue;
            }
            SstatChoice::One(wanted) => {
                let mut held = held.into_iter();
                let Some(found) = held.find(|one| one.step == wanted) else {
                    not_running(&wanted);
                    continue;
                };
                vec![found]
            }
            SstatChoice::Any if held.is_empty() => {
                printer.say(&format!(
                    "sstat: error: No steps running for job {}",
                    named.job
                ));
                continue;
            }
            SstatChoice::Any if asked.all_steps => held,
            // The first that srun started; a batch script is asked for by name.
            SstatChoice::Any => {
                let mut numbered = held.into_iter().filter(|one| one.step != StepId::Batch);
                numbered.next().into_iter().collect()
            }
        };
        let mhz = sys::cpu::megahertz().unwrap_or(0.0);
        for step in chosen {
            let here = std::env::var(SLURMD_NODENAME).unwrap_or_default();
            if is_inside() && step.nodes.iter().any(|(node, _)| node.as_str() != here) {
                printer.say(&format!(
                    "sstat: StepId={}.{}: only its tasks on {here} are seen from inside of a job",
                    step.job, step.step
                ));
            }
            printer.data(&asked.rows(&measure(step), mhz));
        }
    }
    Ok(())
}

/// The running steps of the job that is named.
fn steps_of(client: &mut Client, named: &SstatStep) -> Result<Vec<StepHolders>, CommandError> {
    let job = match named.task {
        None => Some(named.job),
        Some(task) => element(client, named.job, task)?,
    };
    match job {
        Some(job) => Ok(client.holders(Some(job))?),
        None => Ok(Vec::new()),
    }
}

/// The id of an array's element.
fn element(client: &mut Client, array: JobId, task: u32) -> Result<Option<JobId>, CommandError> {
    let jobs = client.jobs(JobFilter {
        ids: Some(vec![array]),
        ..JobFilter::default()
    })?;
    let mut rows = jobs.into_iter().filter(|record| {
        let place = record.array.as_ref();
        place.is_some_and(|place| matches!(place.task, ArrayTask::One(index) if index == task))
    });
    Ok(rows.next().map(|record| record.id))
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sstat [OPTIONS] -j JOB[.STEP],...
Shows what running steps of Trainyard's embedded engine use, as Slurm's sstat shows it. It is measured
at this moment: memory is what the processes of a task hold now, not the most that they held. Steps of
other users can be measured by root alone.
";

/// What `--help` says below the options.
const NOTES: &str = "\
Energy and the speeds that were asked for are not measured.
";

/// `sstat --help`
pub(super) fn help() -> String {
    super::command_help("sstat", ABOUT, NOTES)
}
