//! Follows a batch script's job on the terminal until it is over or the person leaves.

use super::follow::say_outage;
use super::story::row;
use crate::failure::Failure;
use crate::printer::Printer;
use model::JobId;
use runs::{ClusterRef, FILE_PAUSE, JobEnd, JobEvent, JobFollower, JobLine, hold_remedy, say_wait};
use std::time::{Duration, Instant};
use sys::Places;

/// A wait of a moment is not worth a line.
const MOMENT: Duration = Duration::from_millis(500);

/// Shows what a job, an array, or one element of it writes until it is over, an array's lines behind
/// `indent`; of a real Slurm's array how far it is. `None` where `stop` ended it.
///
/// # Errors
/// Its cluster is no longer there.
pub fn follow_job(
    (job, element): (JobId, Option<u32>),
    cluster: &ClusterRef,
    places: &Places,
    indent: &str,
    stop: &dyn Fn() -> bool,
    printer: &Printer,
) -> Result<Option<JobEnd>, Failure> {
    let mut follower = JobFollower::new(job, element, cluster, places)?;
    let begun = Instant::now();
    let mut waits = None;
    loop {
        if stop() {
            return Ok(None);
        }
        let mut lines = Vec::new();
        let news = follower.poll()?;
        let indent = if follower.is_array() { indent } else { "" };
        for seen in news {
            match seen {
                JobEvent::Output { line } => lines.push(line),
                JobEvent::Waiting { reason } => {
                    // A person must know: it passes by no time.
                    let remedy = hold_remedy(&reason, job);
                    if let Some(remedy) = &remedy {
                        printer.show_line(&row("held", remedy));
                    }
                    waits = Some(reason).filter(|_| remedy.is_none());
                }
                JobEvent::Began => waits = None,
                JobEvent::Elements { ended, of } => {
                    printer.moving("elements", &format!("{ended} of {of} ended"));
                }
                JobEvent::Redrawn { line } => {
                    let text = String::from_utf8_lossy(&line.bytes);
                    printer.redraw(&format!("{}{text}", prefix(indent, &line)));
                }
                JobEvent::Outage(seen) => say_outage(&cluster.name, &seen, printer),
                JobEvent::Over { end } => {
                    show(indent, &lines, printer);
                    return Ok(Some(end));
                }
            }
        }
        show(indent, &lines, printer);
        if let Some(reason) = waits.as_deref().filter(|reason| *reason != "None")
            && begun.elapsed() > MOMENT
        {
            printer.moving("waits", &say_wait(reason));
        }
        if !follower.has_more() {
            std::thread::sleep(FILE_PAUSE);
        }
    }
}

fn show(indent: &str, lines: &[JobLine], printer: &Printer) {
    let lines = lines.iter();
    printer.output_lines(lines.map(|line| (prefix(indent, line), line.bytes.as_slice())));
}

/// The number of the element that alone writes the file stands before its lines.
fn prefix(indent: &str, line: &JobLine) -> String {
    let element = line.element.map(|element| format!("[{element}] "));
    format!("{indent}{}", element.unwrap_or_default())
}
