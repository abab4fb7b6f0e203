//! `yard run`

use super::follow::{self, Ended};
use super::interrupt::Interrupt;
use super::lint;
use super::run_request::RequestArgs;
use super::script;
use super::slurm_job;
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use runs::places;
use runs::{Planned, Ready, RunRequest, Submitted};
use std::time::Instant;
use sys::Places;

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

/// Makes or finds what the ranks need before anything is submitted.
fn make_ready(
    planned: &Planned,
    places: &Places,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Ready, Failure> {
    let plan = &planned.plan.environment;
    let facts = &planned.target.facts;
    let secrets = runs::secrets(&planned.plan)?;
    let mut making = Making::begin(
        "environment",
        format!("being {}", plan.python.value),
        printer,
    );
    let environment = job::environment::prepare(plan, &places.cache, facts.internet, &mut |line| {
        making.say(line)
    });
    interrupt.check()?;
    let environment = environment.map_err(|error| environment_failure(&error))?;
    making.end(environment.made);
    let mut ready = Ready {
        environment: environment.environment,
        image: None,
        secrets,
    };
    if let Some(container) = &plan.container {
        let doing = format!("{} is made ready", container.image.value);
        let mut making = Making::begin("image", doing, printer);
        let cache = runs::image_cache(facts, places);
        let modules = &plan.modules.value;
        let prepared =
            job::image::prepare(container, modules, &cache, facts.internet, &mut |line| {
                making.say(line);
            });
        interrupt.check()?;
        let (image, made) = prepared.map_err(|error| image_failure(&error))?;
        making.end(made);
        ready.image = Some(image);
    }
    Ok(ready)
}

/// Something that is made while a person waits.
struct Making<'a> {
    title: &'static str,
    doing: String,
    begun: Instant,
    printer: &'a Printer,
}

impl Making<'_> {
    fn begin<'a>(title: &'static str, doing: String, printer: &'a Printer) -> Making<'a> {
        Making {
            title,
            doing,
            begun: Instant::now(),
            printer,
        }
    }

    fn say(&mut self, line: &str) {
        match self.printer.is_terminal() {
            true => self.printer.moving(self.title, line.trim()),
            // Where nothing can move, its first line alone would say nothing.
            false => self.printer.moving(self.title, &self.doing),
        }
    }

    fn end(self, made: bool) {
        if made {
            let took = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
            let took = words::length(took);
            let made = format!("made in {took}, kept for next time");
            self.printer.show_line(&row(self.title, &made));
        }
    }
}

fn environment_failure(error: &job::environment::EnvironmentError) -> Failure {
    Failure::new(exit_code::FAILED, error.to_string())
        .asked(error.asked())
        .there(error.there())
        .todo(error.todo())
}

fn image_failure(error: &job::image::ImageError) -> Failure {
    Failure::new(exit_code::FAILED, error.to_string())
        .asked(error.asked())
        .there(error.there())
        .todo(error.todo())
}
