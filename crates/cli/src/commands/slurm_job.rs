//! A job of a batch script on a real Slurm: submitted as it stands, and followed.

use super::follow::say_outage;
use super::interrupt::Interrupt;
use super::job_output::JobOutput;
use super::script::come_back;
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use backend::{JobView, Poller, SlurmTransport, ViewState};
use model::{JobId, Timestamp};
use runs::{FILE_PAUSE, Outages, Target, hold_remedy, plain_jobs, say_reason};
use std::path::Path;
use std::time::Instant;
use sys::Places;

/// Slurm tells times in whole seconds, by a clock that may lag behind the file server's.
const CLOCKS_DIFFER_MS: i64 = 2000;

/// Submits the script through the cluster's own `sbatch`, with Slurm's flags before it, and follows
/// its output.
pub fn run(
    script: &Path,
    flags: &[String],
    target: Target,
    places: &Places,
    detach: bool,
    printer: &Printer,
) -> Outcome {
    let begun = Instant::now();
    let cluster = target.facts.name.clone();
    let slurm = commands_of(&cluster)?;
    let mut args = flags.to_vec();
    args.push(script.display().to_string());
    let (job, said) = slurm.sbatch(&args)?;
    for line in said.lines() {
        printer.say(line);
    }
    target.remember(places);
    let name = script.display();
    printer.show_line(&format!("{name} · {cluster} · job {job} · {}", target.why));
    if detach {
        printer.show_line(&come_back(job));
        return Ok(exit_code::DONE);
    }
    let interrupt = Interrupt::watch()?;
    let poller = runs::poller(target.transport, places);
    let stop = || interrupt.asked();
    let Some(views) = follow(job, None, &slurm, &poller, &stop, printer)? else {
        printer.show_line(&format!("job {job} continues without this terminal"));
        printer.show_line(&come_back(job));
        return Ok(exit_code::DONE);
    };
    let took = words::length(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
    let failed = views.iter().filter(|view| !view.state.is_completed());
    let failed = failed.count();
    match &views[..] {
        [] => printer.show_line(&format!(
            "{cluster} no longer knows job {job}; how it ended is unknown: sacct -j {job}"
        )),
        [one] if one.array.is_none() => {
            if let ViewState::Ended { how, exit, .. } = &one.state {
                printer.show_line(&format!("job {job} {how} after {took} (exit {exit})"));
            }
        }
        all => {
            let all = all.len();
            printer.show_line(&match failed {
                0 => format!("job {job}: all {all} elements completed after {took}"),
                _ => format!("job {job}: {failed} of {all} elements did not complete"),
            });
            printer.show_line(&row("output", &format!("yard logs {job}")));
        }
    }
    Ok(if views.is_empty() || failed > 0 {
        exit_code::FAILED
    } else {
        exit_code::DONE
    })
}

/// The commands of this machine's Slurm.
///
/// # Errors
/// It is no longer the one of that name.
pub fn commands_of(cluster: &str) -> Result<SlurmTransport, Failure> {
    SlurmTransport::to(cluster).ok_or_else(|| {
        Failure::new(
            FailureKind::Unreachable,
            format!("{cluster} is no longer this machine's Slurm"),
        )
        .todo("look at SLURM_CONF and PATH")
    })
}

/// Shows what a job, or an element of an array, writes until it is over; of a whole array how far
/// it is. Returns what its cluster said of it last; `None` where `stop` ended it.
pub fn follow(
    job: JobId,
    element: Option<u32>,
    slurm: &SlurmTransport,
    poller: &Poller,
    stop: &impl Fn() -> bool,
    printer: &Printer,
) -> Result<Option<Vec<JobView>>, Failure> {
    poller.watch(&[job]);
    let begun = Instant::now();
    let mut output = JobOutput::default();
    let (mut looks, mut outages, mut remedied) = (0, Outages::default(), false);
    let (mut knows_files, mut reason) = (false, None);
    let show = |prefix: &str, line: &[u8]| printer.output_line(prefix, line);
    loop {
        if stop() {
            return Ok(None);
        }
        if let Some(seen) = outages.see(poller) {
            say_outage(poller.cluster(), &seen, printer);
        }
        if let Some(look) = poller.look(looks)? {
            looks = look.number;
            let own = |view: &&JobView| view.id == job || view.array == Some(job);
            let views: Vec<JobView> = look.jobs.iter().filter(own).cloned().collect();
            let is_array = element.is_none() && views.iter().any(|view| view.array.is_some());
            let began = views.iter().find_map(|view| match &view.state {
                ViewState::Running { since, .. } => Some(since.unwrap_or_default()),
                ViewState::Ended { .. } => Some(Timestamp::default()),
                _ => None,
            });
            reason = views.iter().find_map(|view| match &view.state {
                ViewState::Waiting { reason } if began.is_none() => Some(reason.clone()),
                _ => None,
            });
            let remedy = reason
                .as_deref()
                .and_then(|reason| hold_remedy(reason, job));
            if let Some(remedy) = remedy {
                if !std::mem::replace(&mut remedied, true) {
                    printer.show_line(&row("held", &remedy));
                }
                reason = None;
            }
            if let Some(began) = began.filter(|_| !knows_files && !is_array) {
                // Asked once: where a job writes does not change.
                for file in slurm.output_files(job, element).unwrap_or_default() {
                    knows_files = true;
                    output.add(file, Timestamp(began.0 - CLOCKS_DIFFER_MS));
                }
            }
            if is_array && views.len() > 1 {
                for together in plain_jobs(&views, []) {
                    let ended = views.iter().filter(|view| !view.state.is_live()).count();
                    let detail = format!("{ended} ended · {}", together.state.word());
                    printer.moving("elements", &detail);
                }
            }
            let lives = views.iter().any(|view| view.state.is_live());
            if look.asked.contains(&job) && !lives {
                output.finish(&show);
                return Ok(Some(views));
            }
        }
        if output.show_news(&show) {
            // What writes may be about to end.
            poller.hurry();
        }
        output.show_redrawn(printer);
        if let Some(reason) = reason.as_deref().filter(|reason| *reason != "None")
            && begun.elapsed().as_millis() > 500
        {
            printer.moving("waits", &say_reason(reason));
        }
        std::thread::sleep(FILE_PAUSE);
    }
}
