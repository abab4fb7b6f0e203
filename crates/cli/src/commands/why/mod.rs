//! `yard why`

mod lines;
mod starts;
mod story;
#[cfg(test)]
mod tests;

pub(super) use lines::out_of_use;

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::other_engines::cpus_held_elsewhere;
use crate::printer::Printer;
use backend::ViewState;
use clap::Args as ClapArgs;
use folder::RunFolder;
use jiff::tz::TimeZone;
use model::Timestamp;
use runs::{Selected, say_wait, select_live};
use std::borrow::Cow;

/// Say why a run or job waits: what it lacks, who holds that, when it starts, what would start now
///
/// The start is that of the scheduler's own plan, in which jobs run until their limits and no
/// others come; requests that would start now were tried one by one.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `yard why`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let selected = super::selected(select_live(&first_element(&args.run)), printer)?;
    let name = selected.name();
    let after = after(&selected);
    let Some(job) = selected.job else {
        return Err(
            Failure::new(FailureKind::Usage, format!("{name} was never submitted"))
                .todo(format!("yard show {name} says what became of it")),
        );
    };
    let asked = match selected.jobs() {
        none if none.is_empty() => vec![job],
        jobs => jobs,
    };
    let mut views = selected.views_of(&asked)?;
    // Of several jobs of a run the one that counts: what takes over waits where the first has ended.
    let mut comes_back = false;
    if let Some(run) = &selected.run {
        views = run.view(&views).into_iter().collect();
        comes_back = run.state(views.first()).is_live();
    }
    let waits = views.iter().find_map(|view| match &view.state {
        ViewState::Waiting { reason } => Some((view.id, reason.clone())),
        _ => None,
    });
    let Some((waiting, reason)) = waits else {
        let said = views.iter().find_map(|view| match &view.state {
            ViewState::Running { .. } => Some("runs"),
            ViewState::Ended { .. } if comes_back => Some("is about to be started again"),
            ViewState::Ended { .. } => Some("has ended"),
            _ => None,
        });
        let said = said.unwrap_or("does not wait, as far as is known");
        if args.json {
            let text = serde_json::json!({ "name": name, "waits": false, "there": said });
            printer.line(&text.to_string());
        } else {
            printer.show_line(&format!("{name} {said}"));
        }
        return Ok(exit_code::DONE);
    };
    match selected.why(waiting)? {
        Some(why) if args.json => {
            let text = serde_json::to_string_pretty(&why)
                .map_err(|error| Failure::new(FailureKind::Io, format!("no JSON: {error}")))?;
            printer.line(&text);
        }
        Some(why) => {
            let now = Timestamp(jiff::Timestamp::now().as_millisecond());
            let others = cpus_held_elsewhere(&why.cpus_held_elsewhere);
            let when = lines::When {
                now,
                zone: &TimeZone::system(),
            };
            printer.shown(&story::story(&name, &why, &after, others.as_deref(), when));
        }
        None if args.json => {
            let text = serde_json::json!({ "name": name, "waits": true, "reason": reason });
            printer.line(&text.to_string());
        }
        None => {
            printer.show_line(&format!("{name} waits: {}", say_wait(&reason)));
            printer.say(&format!(
                "squeue --start -j {waiting} has the cluster's own estimate"
            ));
        }
    }
    Ok(exit_code::DONE)
}

/// Elements that wait together wait for the same: of `17_[2-4%1]`, as squeue prints them, `17_2`.
fn first_element(name: &str) -> Cow<'_, str> {
    let elements = name
        .strip_suffix(']')
        .and_then(|name| name.split_once("_["));
    let Some((job, elements)) = elements else {
        return Cow::Borrowed(name);
    };
    let is_range = |byte: u8| byte.is_ascii_digit() || b"-,:%.".contains(&byte);
    let first = elements.split(|c: char| !c.is_ascii_digit()).next();
    match first.filter(|first| !first.is_empty() && elements.bytes().all(is_range)) {
        Some(first) => Cow::Owned(format!("{job}_{first}")),
        None => Cow::Borrowed(name),
    }
}
/// The runs after which a run comes.
fn after(selected: &Selected) -> Vec<String> {
    let run = selected.run.as_ref();
    let json = run.and_then(|run| Some(RunFolder::open(&run.entry.folder).ok()?.1));
    let after = json.into_iter().flat_map(|json| json.after);
    after.map(|other| other.id).collect()
}
