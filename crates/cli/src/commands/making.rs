//! What a run's ranks need, made ready while a person waits.

use super::interrupt::Interrupt;
use super::story::row;
use crate::failure::{Failure, FailureKind};
use crate::printer::Printer;
use crate::words;
use folder::{MadeEnvironment, MakingPlace, ReadyImage};
use job::{Waiter, cache};
use runs::Preparer;
use std::path::{Path, PathBuf};
use std::time::Instant;
use train::{ContainerPlan, EnvironmentPlan, Image};

/// Makes environments and images, and says what it does; a person may end it. No `yard cache prune` removes them until
/// a run that is known uses them, or the shell in them has ended: what one removed before they were held is made again.
pub struct Maker<'a> {
    /// Whether a person has.
    pub interrupt: &'a Interrupt,
    /// Where it is said.
    pub printer: &'a Printer,
}

impl Preparer for Maker<'_> {
    fn environment(
        &mut self,
        plan: &EnvironmentPlan,
        place: &MakingPlace,
    ) -> Result<Option<MadeEnvironment>, Failure> {
        loop {
            let doing = format!("being {}", plan.python.value);
            let mut making = Making::begin("environment", doing, (self.interrupt, self.printer));
            let prepared = job::environment::prepare(plan, place, &mut making);
            self.interrupt.check()?;
            let prepared = prepared.map_err(|error| environment_failure(&error))?;
            making.end(prepared.made);
            let environment = prepared.environment;
            let mut is_here = environment.iter().filter(|made| made.to_make.is_none());
            if is_here.all(|made| cache::keep_whole(&made.path)) {
                return Ok(environment);
            }
        }
    }

    fn image(
        &mut self,
        plan: &ContainerPlan,
        modules: &[String],
        place: &MakingPlace,
    ) -> Result<ReadyImage, Failure> {
        let name = &plan.image.value;
        let (image, made) = loop {
            let doing = format!("{name} is made ready");
            let mut making = Making::begin("image", doing, (self.interrupt, self.printer));
            let prepared = job::image::prepare(plan, modules, place, &mut making);
            self.interrupt.check()?;
            let (image, made) = prepared.map_err(|error| image_failure(&error))?;
            making.end(made);
            let is_here = plan.is_made() && !image.to_make;
            let mut path = image.path.iter().filter(|_| is_here);
            if path.all(|path| cache::keep_whole(path)) {
                break (image, made);
            }
        };
        if let Some(digest) = &image.digest {
            self.printer.show_line(&row("image", digest));
        }
        let moved = job::image::moved_tag(plan, &image, place.internet);
        if let Some(now) = moved.filter(|_| !made) {
            let path = image.path.as_deref().and_then(|path| path.parent());
            let path = path.map(|path| path.display().to_string());
            self.printer.say(&format!(
                "note: {name} names another image now, {now}; this run has the one that was kept: to \
                 have the new one, remove {}",
                path.unwrap_or_default()
            ));
        }
        Ok(image)
    }

    fn image_source(&mut self, image: &Image, scratch: &Path) -> Result<Option<PathBuf>, Failure> {
        job::image::keep_source(image, scratch).map_err(|error| image_failure(&error))
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
