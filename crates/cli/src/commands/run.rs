//! `yard run`

use super::follow::{self, Ended};
use super::interrupt::Interrupt;
use super::lint;
use super::making::Maker;
use super::repeats;
use super::run_request::RequestArgs;
use super::script::{self, ScriptCall};
use super::starting_point::{proof, starting_point};
use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use folder::IndexEntry;
use runs::places;
use runs::{Planned, Repeats, RepeatsEnd, RunRequest, Submitted};
use std::time::Instant;
use sys::Places;

/// Plan, submit and follow a run; Ctrl-C leaves it running
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: RequestArgs,
    /// Start at the newest complete checkpoint of this run, at RUN/CHECKPOINT, at a checkpoint's
    /// file or folder, or at the newest in a folder of checkpoints
    #[arg(long, value_name = "RUN|PATH")]
    from: Option<String>,
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
        let of_run_files = [
            ("--from", args.from.is_some()),
            ("--repeat", request.repeat.is_some()),
            ("--at-once", request.at_once.is_some()),
        ];
        if let Some((flag, _)) = of_run_files.iter().find(|(_, given)| *given) {
            let what = format!(
                "{flag} is for run files, and {} is a script",
                script.display()
            );
            return Err(Failure::new(FailureKind::Usage, what)
                .todo("leave it out; a script has --array in its #SBATCH lines"));
        }
        let target = runs::target(&places, request.on.as_deref())?;
        if !args.no_lint {
            lint::before_submission(script, &flags, &target, &places, printer)?;
        }
        let call = ScriptCall {
            flags: &flags,
            arguments: &request.command,
        };
        return script::run(script, call, target, &places, args.detach, printer);
    }
    let mut planned = request.plan(&places)?;
    let from = args.from.as_deref();
    planned.from = from.map(|text| starting_point(text, printer)).transpose()?;
    submit(planned, args.detach, begun, &places, printer)
}

/// Says what is planned, submits it, and follows it unless it is to be `detached`.
pub(super) fn submit(
    mut planned: Planned,
    detach: bool,
    begun: Instant,
    places: &Places,
    printer: &Printer,
) -> Outcome {
    planned.check_before()?;
    planned.leave_out_modules(job::environment::has_modules);
    // Until here nothing needs to be tidied, and a question that hangs ends at once.
    let interrupt = Interrupt::watch()?;
    let headline = planned.plan.headline(&planned.target.facts);
    printer.show_line(&format!("{headline} · {}", planned.target.why));
    for note in &planned.plan.notes {
        let mut shown = String::new();
        model::wrap(&mut shown, &row("note", ""), &row("", ""), note);
        printer.shown(&shown);
    }
    if let Some(from) = &planned.from {
        let what = words::checkpoint_of(&from.manifest.name, &from.of);
        let repeats = all_repeats(&planned);
        printer.show_line(&row(
            "starts at",
            &format!("{what} ({}){repeats}", proof(from)),
        ));
    }
    planned.check()?;
    let mut maker = Maker {
        interrupt: &interrupt,
        printer,
    };
    let mut ready = planned.prepare(&mut maker)?;
    planned.keep_image_source(&mut ready, &mut maker)?;
    let submitted = runs::submit(&planned, &ready, &|| !interrupt.asked());
    if let Some(source) = &ready.image_source {
        // Of a run that there is it is not there any more.
        let _ = std::fs::remove_dir_all(source);
    }
    let submitted = submitted?;
    planned.target.remember(places);
    if let Some(note) = &submitted.note {
        printer.show_line(&row("note", note));
    }
    if let Some(job) = submitted.environment_job {
        let what = format!("job {job} makes it on a node first, once for its content");
        let title = match &planned.plan.environment.container {
            Some(_) => "image",
            None => "environment",
        };
        printer.show_line(&row(title, &what));
    }
    if detach {
        printer.show_line(&row("job", &format!("{} submitted", submitted.job)));
        printer.show_line(&come_back(&submitted));
        return Ok(exit_code::DONE);
    }
    if let Some(entry) = submitted.repeats {
        return follow_repeats(entry, begun, &interrupt, printer);
    }
    let time = planned.plan.time.as_ref().map(|time| time.value);
    match follow::follow(&submitted, time, places, &interrupt, printer)? {
        Ended::Over(summary) => {
            let took =
                words::length(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
            let name = &planned.plan.name.value;
            let starts = match summary.starts {
                1 => "1 start".to_owned(),
                n => format!("{n} starts"),
            };
            // `yard logs` has it whole.
            let last = summary.last_line.map(|line| {
                let line = words::shortened(&line, printer.width());
                format!(" · {line}")
            });
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
            if let Some(left) = &summary.left {
                printer.show_line(&row("not saved", left));
            }
            Ok(if summary.left.is_some() {
                exit_code::UNSAVED
            } else if summary.done {
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

/// That all of several repeats start there.
fn all_repeats(planned: &Planned) -> String {
    match planned.plan.repeats.value {
        1 => String::new(),
        count => format!(", each of the {count} repeats"),
    }
}

/// Waits for all of several repeats.
fn follow_repeats(
    entry: IndexEntry,
    begun: Instant,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Outcome {
    let (id, folder) = (entry.id.clone(), entry.folder.display().to_string());
    let ended = repeats::wait(Repeats::read(entry)?, &|| interrupt.asked(), printer)?;
    let took = words::length(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
    let (how, code) = match ended {
        RepeatsEnd::Left => {
            printer.show_line(&format!("{id} continues without this terminal"));
            printer.show_line(&row("look", &format!("yard show {id}")));
            printer.show_line(&row("end", &format!("yard cancel {id}")));
            return Ok(exit_code::DONE);
        }
        RepeatsEnd::Over { all_done: true } => ("all done in", exit_code::DONE),
        RepeatsEnd::Over { all_done: false } => ("not all done after", exit_code::FAILED),
    };
    printer.show_line(&format!("{id} {how} {took} · yard show {id}"));
    printer.show_line(&row("kept in", &folder));
    Ok(code)
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
