//! What a run's ranks need, made ready while a person waits.

use super::interrupt::Interrupt;
use super::story::row;
use crate::failure::{Failure, FailureKind};
use crate::printer::Printer;
use crate::words;
use job::Waiter;
use runs::{Planned, Ready};
use std::path::Path;
use std::time::Instant;

/// Leaves a site's modules out where the embedded engine pretends its cluster and this machine has no
/// modules at all.
pub fn leave_out_modules(plan: &mut train::Plan) {
    let modules = &mut plan.environment.modules.value;
    let is_pretended = plan.embedded && plan.cluster != backend::LOCAL;
    if is_pretended && !modules.is_empty() && !job::environment::has_modules() {
        plan.notes.push(format!(
            "modules are left out, since this machine has no module command: {}",
            modules.join(", ")
        ));
        modules.clear();
    }
}

/// Notes what a plan names and what this machine has not: it would be refused when it is submitted.
pub fn note_what_is_missing(plan: &mut train::Plan) {
    if let Err(failure) = runs::secrets(plan) {
        let there = failure.there.unwrap_or_default();
        plan.notes.push(format!("{}: {there}", failure.what));
    }
    let has_modules = !plan.environment.modules.value.is_empty();
    if let train::Python::CondaName(name) = &plan.environment.python.value
        && !has_modules
        && !job::environment::has_conda()
    {
        let note = format!("[environment] conda = {name:?}: there is no conda on this machine");
        plan.notes.push(note);
    }
}

/// Makes or finds what the ranks need before anything is submitted; `in_job` leaves an environment or an
/// image to a job of its own.
pub fn make_ready(
    planned: &Planned,
    in_job: bool,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Ready, Failure> {
    let plan = &planned.plan.environment;
    planned.make_places()?;
    let (facts, places) = (&planned.target.facts, &planned.places);
    let secrets = runs::secrets(&planned.plan)?;
    let mut making = Making::begin(
        "environment",
        format!("being {}", plan.python.value),
        (interrupt, printer),
    );
    let environment =
        job::environment::prepare(plan, &places.cache, facts.internet, in_job, &mut making);
    interrupt.check()?;
    let environment = environment.map_err(|error| environment_failure(&error))?;
    making.end(environment.made);
    if let Some(made) = &environment.environment {
        keep(&made.path);
    }
    let mut ready = Ready {
        environment: environment.environment,
        image: None,
        image_source: None,
        secrets,
    };
    if let Some(container) = &plan.container {
        let doing = format!("{} is made ready", container.image.value);
        let mut making = Making::begin("image", doing, (interrupt, printer));
        let cache = runs::image_cache(facts, places);
        let modules = &plan.modules.value;
        let prepared = job::image::prepare(
            container,
            modules,
            &cache,
            facts.internet,
            in_job,
            &mut making,
        );
        interrupt.check()?;
        let (image, made) = prepared.map_err(|error| image_failure(&error))?;
        making.end(made);
        if let Some(path) = &image.path {
            keep(path);
        }
        if let Some(digest) = &image.digest {
            printer.show_line(&row("image", digest));
        }
        let moved = job::image::moved_tag(container, &image, facts.internet);
        if let Some(now) = moved.filter(|_| !made) {
            let name = &container.image.value;
            let path = image.path.as_deref().and_then(|path| path.parent());
            let path = path.map(|path| path.display().to_string());
            printer.say(&format!(
                "note: {name} names another image now, {now}; this run has the one that was kept: to \
                 have the new one, remove {}",
                path.unwrap_or_default()
            ));
        }
        ready.image = Some(image);
    }
    Ok(ready)
}

/// Copies what a job of a run's own is to build its image of, where that is left to one.
pub fn keep_image_source(planned: &Planned, ready: &mut Ready) -> Result<(), Failure> {
    let is_left = ready.image.as_ref().is_some_and(|image| image.to_make);
    let container = planned.plan.environment.container.as_ref();
    if let Some(container) = container.filter(|_| is_left) {
        let kept = job::image::keep_source(&container.image.value, &planned.places.scratch);
        ready.image_source = kept.map_err(|error| image_failure(&error))?;
    }
    Ok(())
}

/// Has no `yard cache prune` remove it until a run that is known uses it, or the shell in it has ended.
fn keep(path: &Path) {
    if let Some(lock) = job::cache::lock_of(path) {
        job::cache::keep_until_end(&lock);
    }
}

/// Something that is made while a person waits.
struct Making<'a> {
    title: &'static str,
    doing: String,
    begun: Instant,
    interrupt: &'a Interrupt,
    printer: &'a Printer,
}

impl Making<'_> {
    fn begin<'a>(
        title: &'static str,
        doing: String,
        (interrupt, printer): (&'a Interrupt, &'a Printer),
    ) -> Making<'a> {
        Making {
            title,
            doing,
            begun: Instant::now(),
            interrupt,
            printer,
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

impl Waiter for Making<'_> {
    fn say(&mut self, line: &str) {
        if self.printer.is_terminal() {
            self.printer.moving(self.title, line.trim())
        } else {
            // Where nothing can move, its first line alone would say nothing.
            self.printer.moving(self.title, &self.doing)
        }
    }

    fn has_left(&self) -> bool {
        self.interrupt.asked()
    }
}

fn environment_failure(error: &job::environment::EnvironmentError) -> Failure {
    Failure::new(FailureKind::Failed, error.to_string())
        .asked(error.asked())
        .there(error.there())
        .todo(error.todo())
}

fn image_failure(error: &job::image::ImageError) -> Failure {
    Failure::new(FailureKind::Failed, error.to_string())
        .asked(error.asked())
        .there(error.there())
        .todo(error.todo())
}
