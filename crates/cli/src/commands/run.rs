//! `yard run`

use super::follow::{self, Ended};
use super::interrupt::Interrupt;
use super::lint;
use super::making::make_ready;
use super::run_request::RequestArgs;
use super::script;
use super::slurm_job;
use super::story::row;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use runs::places;
use runs::{RunRequest, Submitted};
use std::time::Instant;

/// Plan, submit and follow a run; Ctrl-C leaves it running
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: RequestArgs,
    /// Submit and return
    #[arg(long, short)]
    detach: bool,
    /// Submit a batch script even if yard lint finds an error in it
    #[arg(long)]
    no_lint: bool,
}

/// Runs `yard run`.
pub fn run(args: Args, printer: &Printer) -> Outcome {
    let begun = Instant::now();
    let places = places()?;
    let request = RunRequest::from(args.asked);
    if let Some((script, flags)) = request.script()? {
        let config = runs::user_config(&places)?;
        let target = runs::target(&places, request.on.as_deref(), config.as_ref())?;
        if !args.no_lint {
            let known = runs::known_cluster(&target, &places)?;
            lint::before_submission(script, &flags, known, printer)?;
        }
        if !target.facts.embedded {
            return slurm_job::run(script, &flags, target, &places, args.detach, printer);
        }
        target.remember(&places);
        let interrupt = Interrupt::watch()?;
        return script::run(
            script,
            &flags,
            (&target.facts.name, &target.why),
            args.detach,
            &interrupt,
            printer,
        );
    }
    let mut planned = request.plan(&places)?;
    // Until here nothing needs to be tidied, and a question that hangs ends at once.
    let interrupt = Interrupt::watch()?;
    let headline = planned.plan.headline(&planned.target.facts);
    printer.show_line(&format!("{headline} · {}", planned.target.why));
    for note in &planned.plan.notes {
        printer.show_line(&row("note", note));
    }
    planned.check()?;
    let ready = make_ready(&planned, &places, &interrupt, printer)?;
    let submitted = runs::submit(&mut planned, &ready, &places, &|| !interrupt.asked())?;
    planned.target.remember(&places);
    if let Some(note) = &submitted.note {
        printer.show_line(&row("note", note));
    }
    if args.detach {
        printer.show_line(&row("job", &format!("{} submitted", submitted.job)));
        printer.show_line(&come_back(&submitted));
        return Ok(exit_code::DONE);
    }
    let time = planned.plan.time.as_ref().map(|time| time.value);
    let poller = runs::poller(planned.target.transport, &places);
    match follow::follow(&submitted, time, &poller, &interrupt, printer)? {
        Ended::Over(summary) => {
            let took =
                words::length(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
            let name = &planned.plan.name.value;
            let starts = match summary.starts {
                1 => "1 start".to_owned(),
                n => format!("{n} starts"),
            };
            let last = summary.last_line.map(|line| format!(" · {line}"));
            printer.show_line(&format!(
                "{name} {} {took} · {starts}{} · yard show {}",
                summary.how,
                last.unwrap_or_default(),
                submitted.id
            ));
            printer.show_line(&row(
                "kept in",
                &submitted.folder.path().display().to_string(),
            ));
            Ok(if summary.done {
                exit_code::DONE
            } else {
                exit_code::FAILED
            })
        }
        Ended::Detached => {
            printer.show_line(&format!("{} continues without this terminal", submitted.id));
            printer.show_line(&come_back(&submitted));
            Ok(exit_code::DONE)
        }
    }
}

/// How to see it again, and how to end it.
fn come_back(submitted: &Submitted) -> String {
    let id = &submitted.id;
    format!(
        "{}\n{}\n{}",
        row("follow", &format!("yard logs -f {id}")),
        row("look", &format!("yard show {id}")),
        row("end", &format!("yard cancel {id}"))
    )
}
