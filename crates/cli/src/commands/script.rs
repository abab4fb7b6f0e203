//! `yard run SCRIPT`: a batch script, submitted as it stands and followed.

use super::interrupt::Interrupt;
use super::job_output::JobOutput;
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, not_done};
use crate::printer::Printer;
use crate::slurm::connection;
use crate::words;
use api::{Client, JobFilter};
use backend::{JobView, ViewState};
use model::{ArrayTask, JobId, JobRecord, JobState, Outcome as JobOutcome, ViewFacts};
use runs::Why;
use runs::{FILE_PAUSE, say_reason};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for a change of an array before Ctrl-C is looked for again.
const ARRAY_PAUSE: Duration = Duration::from_millis(200);

/// Submits the script to the embedded engine as `sbatch` does, with Slurm's flags before it, and
/// follows its output.
pub fn run(
    script: &Path,
    flags: &[String],
    (cluster, why): (&str, &Why),
    detach: bool,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Outcome {
    let begun = Instant::now();
    let mut args = flags.to_vec();
    args.push(script.display().to_string());
    let job = match crate::slurm::sbatch::queue(&args, cluster, printer) {
        Ok(job) => job,
        // sbatch has said why.
        Err(0) => return Ok(exit_code::DONE),
        Err(_) => return Ok(exit_code::REFUSED),
    };
    let name = script.display();
    printer.show_line(&format!("{name} · {cluster} · job {job} · {why}"));
    if detach {
        printer.show_line(&come_back(job));
        return Ok(exit_code::DONE);
    }
    let failure = |failure: connection::CommandError| {
        Failure::new(FailureKind::Unreachable, failure.to_string()).todo(come_back(job))
    };
    let mut client = connection::connect_to(cluster).map_err(failure)?;
    let facts =
        connection::view_facts_of(cluster.to_owned(), Some(&mut client)).map_err(failure)?;
    if of(&mut client, job)?.array.is_some() {
        return follow_array(job, &facts, &mut client, interrupt, printer);
    }
    let mut output = JobOutput::default();
    let show = |prefix: &str, line: &[u8]| printer.output_line(prefix, line);
    loop {
        if interrupt.asked() {
            printer.show_line(&format!("job {job} continues without this terminal"));
            printer.show_line(&come_back(job));
            return Ok(exit_code::DONE);
        }
        let record = of(&mut client, job)?;
        let view = JobView::from(&record);
        output.see(&record, &facts);
        output.show_news(&show);
        output.show_redrawn(printer);
        if !view.state.is_live() {
            let took = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
            let ViewState::Ended { how, exit, .. } = &view.state else {
                continue;
            };
            printer.show_line(&format!(
                "job {job} {how} after {} (exit {exit})",
                words::length(took)
            ));
            return Ok(if view.state.is_completed() {
                exit_code::DONE
            } else {
                exit_code::FAILED
            });
        }
        if let ViewState::Waiting { reason } = &view.state
            && begun.elapsed().as_millis() > 500
        {
            printer.moving("waits", &say_reason(reason));
        }
        std::thread::sleep(FILE_PAUSE);
    }
}

/// Shows the output of an array's elements and counts them, until all have ended.
fn follow_array(
    job: JobId,
    facts: &ViewFacts,
    client: &mut Client,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Outcome {
    let filter = JobFilter::of(&[job]);
    let mut output = JobOutput::default();
    let mut elements = Elements::default();
    let mut version = 0;
    let show = |prefix: &str, line: &[u8]| printer.output_line(&format!("  {prefix}"), line);
    loop {
        if interrupt.asked() {
            printer.show_line(&format!("job {job} continues without this terminal"));
            printer.show_line(&come_back(job));
            return Ok(exit_code::DONE);
        }
        let watched = client
            .watch(filter.clone(), version, ARRAY_PAUSE)
            .map_err(not_done)?;
        version = watched.version;
        elements.see(&watched.jobs);
        for record in &watched.jobs {
            output.see(record, facts);
        }
        output.show_news(&show);
        let (ended, failed, all) = elements.counts();
        if ended == all {
            output.finish(&show);
            let how = match failed {
                0 => format!("all {all} elements completed"),
                _ => format!("{failed} of {all} elements did not complete"),
            };
            printer.show_line(&format!("job {job}: {how}"));
            for text in elements.failures() {
                printer.show_line(&row("failed", &text));
            }
            return Ok(if failed == 0 {
                exit_code::DONE
            } else {
                exit_code::FAILED
            });
        }
        printer.moving("elements", &format!("{ended} of {all} ended"));
    }
}

/// An array's rows, as they were last seen.
#[derive(Debug, Default)]
struct Elements {
    rows: BTreeMap<JobId, JobRecord>,
}

impl Elements {
    fn see(&mut self, changed: &[JobRecord]) {
        let changed = changed.iter().map(|record| (record.id, record.clone()));
        self.rows.extend(changed);
    }

    /// Elements that ended, of these those that did not complete, and all.
    fn counts(&self) -> (usize, usize, usize) {
        let (mut ended, mut failed, mut all) = (0, 0, 0);
        for record in self.rows.values() {
            let count = match record.array.as_ref().map(|place| &place.task) {
                Some(ArrayTask::Waiting(spec)) => spec.indices.len(),
                Some(ArrayTask::One(_)) | None => 1,
            };
            all += count;
            if let JobState::Ended { outcome, .. } = &record.state {
                ended += count;
                failed += if *outcome == JobOutcome::Completed {
                    0
                } else {
                    count
                };
            }
        }
        (ended, failed, all)
    }

    /// A line for each of the first elements that did not complete.
    fn failures(&self) -> Vec<String> {
        const SHOWN: usize = 10;
        let failed = self.rows.values().filter_map(|record| {
            let view = JobView::from(record);
            let ViewState::Ended { how, exit, .. } = &view.state else {
                return None;
            };
            let element = match record.array.as_ref().map(|place| &place.task) {
                Some(ArrayTask::One(task)) => task.to_string(),
                _ => "those that waited".to_owned(),
            };
            (how != "COMPLETED").then(|| format!("{element}: {how} (exit {exit})"))
        });
        failed.take(SHOWN).collect()
    }
}

fn of(client: &mut Client, job: JobId) -> Result<JobRecord, Failure> {
    let filter = JobFilter::of(&[job]);
    client
        .jobs(filter)
        .map_err(not_done)?
        .into_iter()
        .next()
        .ok_or_else(|| {
            Failure::new(
                FailureKind::Unreachable,
                format!("the engine no longer knows job {job}"),
            )
        })
}

/// How to see it again, and how to end it.
pub(super) fn come_back(job: JobId) -> String {
    format!(
        "{}\n{}\n{}",
        row("output", &format!("yard logs {job}")),
        row("look", &format!("yard show {job}")),
        row("end", &format!("yard cancel {job}"))
    )
}
