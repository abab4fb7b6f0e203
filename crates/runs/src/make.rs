//! Makes a run's folder and submits its first job: intent first, answer after.

use crate::awaited::{Awaited, awaited};
use crate::environment_job::submit_environment;
use crate::failure::unwritable;
use crate::failure::{Failure, FailureKind};
use crate::pin_program;
use crate::reach::ClusterRef;
use crate::run_request::Planned;
use crate::submit::submit_next;
use folder::{
    CodeSource, Index, IndexEntry, MadeEnvironment, ReadyImage, RunFolder, RunJson, StartingPoint,
    Versions,
};
use model::{JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::Places;
use train::{Plan, ResumeBy};

/// A run whose job the cluster has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submitted {
    /// The run's id.
    pub id: String,
    /// Its folder.
    pub folder: RunFolder,
    /// Its cluster.
    pub cluster: ClusterRef,
    /// Its job.
    pub job: JobId,
    /// When the answer came.
    pub at: Timestamp,
    /// The job that makes its environment, where the run waits for one.
    pub environment_job: Option<JobId>,
    /// The entry that stands for its repeats, where it has several.
    pub repeats: Option<IndexEntry>,
    /// What a person should know.
    pub note: Option<String>,
}

/// What a run's ranks need, made or read before it is submitted.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// The environment that was made of requirements.
    pub environment: Option<MadeEnvironment>,
    /// The image of the container.
    pub image: Option<ReadyImage>,
    /// A copy, below the scratch folder, of what a job of its own is to build the image of: the run gets it.
    pub image_source: Option<PathBuf>,
    /// Secret variables with their values.
    pub secrets: BTreeMap<String, String>,
}

/// Makes the folder, notes the intent, submits, notes the answer.
pub fn submit(
    planned: &Planned,
    ready: &Ready,
    goes_on: &dyn Fn() -> bool,
) -> Result<Submitted, Failure> {
    planned.check()?;
    planned.make_places()?;
    let places = planned.places.clone();
    let yard = pin_program(&places.scratch)?;
    let random = random_text()?;
    let (suffix, token) = random.split_at(4);
    let id = format!("{}-{suffix}", planned.plan.name.value);
    let source = planned.source.clone();
    let project = source.project();
    refuse_control_characters(&places.scratch.join(&project))?;
    let facts = &planned.target.facts;
    let made = RunFolder::create(&places.scratch, &project, &id)?;
    let created = Timestamp(sys::now());
    let entry = IndexEntry {
        id,
        name: planned.plan.name.value.clone(),
        cluster: facts.name.clone(),
        folder: made.path().to_owned(),
        created,
        repeats: (planned.plan.repeats.value > 1).then_some(planned.plan.repeats.value),
        of: None,
    };
    let submitted = fill_and_submit(
        planned,
        ready,
        &places,
        goes_on,
        New {
            folder: &made,
            entry: &entry,
            source: &source,
            token,
            yard,
        },
    );
    // Without an intent no cluster was asked: what was made is of no use.
    if submitted.is_err() && made.read_links().is_ok_and(|links| links.is_empty()) {
        Index::new(&places.index).remove(&entry);
        made.discard();
    }
    submitted
}

/// A run that is being made.
struct New<'a> {
    folder: &'a RunFolder,
    entry: &'a IndexEntry,
    source: &'a CodeSource,
    /// The random part of its token.
    token: &'a str,
    yard: PathBuf,
}

fn fill_and_submit(
    planned: &Planned,
    ready: &Ready,
    places: &Places,
    goes_on: &dyn Fn() -> bool,
    new: New<'_>,
) -> Result<Submitted, Failure> {
    let New {
        folder: made,
        entry,
        source,
        token,
        yard,
    } = new;
    let left_out = left_out(&planned.plan);
    let repeats: Vec<RunFolder> = entry
        .repeats
        .map(|count| repeat_folders(made, count))
        .transpose()?
        .unwrap_or_default();
    // Of several repeats each has a copy of its own: programs write beside their code.
    let (first, others) = match repeats.split_first() {
        Some((first, others)) => (first, others),
        None => (made, &[][..]),
    };
    let mut transport = planned.target.cluster().open(places)?;
    let transport = &mut *transport;
    let awaited = match &planned.before {
        Some(named) => awaited(named, transport)?,
        None => Awaited::default(),
    };
    let code = folder::copy_code(source, first, &places.scratch, &left_out)?;
    for other in others {
        let copied = sys::copy_tree::folder_with_links(&first.code(), &other.code());
        copied.map_err(|error| unwritable(&other.code())(error.source))?;
        check(goes_on)?;
    }
    check(goes_on)?;

    let (id, created) = (entry.id.clone(), entry.created);
    let facts = planned.target.facts.clone();
    let run = RunJson {
        id: id.clone(),
        project: source.project(),
        created,
        token: format!("{id}.1.{token}"),
        cluster: facts.name.clone(),
        plan: planned.plan.clone(),
        facts: facts.clone(),
        run_file: planned.text.clone(),
        command_line: planned.command_line.clone(),
        code,
        yard,
        after: awaited.runs,
        from: planned.from.as_ref().map(StartingPoint::record),
        environment: ready.environment.clone(),
        image: ready.image.clone(),
        versions: Versions {
            yard: env!("CARGO_PKG_VERSION").to_owned(),
            scheduler: planned.target.scheduler.clone(),
        },
    };
    let alone = [made.clone()];
    let started = if repeats.is_empty() {
        &alone[..]
    } else {
        &repeats
    };
    for folder in started {
        if let Some(from) = &planned.from {
            from.copy_into(folder)?;
        }
        check(goes_on)?;
    }
    for (number, repeat) in (1..).zip(&repeats) {
        let own = RunJson {
            id: repeat.id().to_owned(),
            token: format!("{}.1.{token}", repeat.id()),
            plan: run.plan.repeat_of(number),
            ..run.clone()
        };
        write_run(repeat, &own)?;
    }
    write_run(made, &run)?;
    Index::new(&places.index)
        .add(entry)
        .map_err(unwritable(&places.index))?;
    // After it is listed: what is left of a command that was killed can be found and removed.
    if !ready.secrets.is_empty() {
        for folder in started {
            folder.write_secrets(&ready.secrets)?;
        }
    }
    if let Some(source) = &ready.image_source {
        std::fs::rename(source, made.image_source()).map_err(unwritable(&made.image_source()))?;
    }
    check(goes_on)?;

    let _turn = made.submission_turn()?;
    let environment_job = submit_environment(transport, made, &run)?;
    let others: Vec<JobId> = awaited.jobs.into_iter().chain(environment_job).collect();
    let submitted = submit_next(transport, made, &run, None, &others);
    if let (Err(_), Some(job)) = (&submitted, environment_job) {
        // What it would make is of no use now; where that is not known it ends by itself.
        let _ = transport.cancel(job, None);
    }
    let (job, at) = submitted?;
    let resume = &run.plan.resume;
    // Where jobs can't submit the one that takes over, it has to be there from the start.
    let needed = !facts.comeback.submit_from_nodes
        && resume.by.value == ResumeBy::Successor
        && !resume.on.value.is_empty();
    let note = match needed {
        false => None,
        true if !repeats.is_empty() => {
            let why = "an element of an array has no job that waits for it";
            Some(format!("no job waits to take over: {why}"))
        }
        true => submit_next(transport, made, &run, Some(job), &[])
            .err()
            .map(|error| format!("no job waits to take over: {}", error.line())),
    };
    Ok(Submitted {
        id,
        folder: made.clone(),
        cluster: planned.target.cluster(),
        job,
        at,
        environment_job,
        repeats: entry.repeats.map(|_| entry.clone()),
        note,
    })
}

impl Planned {
    /// Refuses code that a run can't have a copy of.
    ///
    /// # Errors
    /// It can't be listed, or is too large.
    pub fn check_code(&self) -> Result<(), Failure> {
        check_code(&self.source, &self.plan, &self.places)
    }
}

/// The same for a plan without its target.
pub(crate) fn check_code(source: &CodeSource, plan: &Plan, places: &Places) -> Result<(), Failure> {
    Ok(source.check(&places.scratch, &left_out(plan))?)
}

/// What stays where it is when the code is copied: secrets, and the image.
fn left_out(plan: &Plan) -> Vec<PathBuf> {
    let notify = &plan.notify;
    let secrets = [&notify.hook_file, &notify.password_file];
    let secrets = secrets.into_iter().flatten().map(|file| file.value.clone());
    // The ranks start from it where it lies, and it is larger than any code.
    let container = plan.environment.container.as_ref();
    let image = container.and_then(|container| container.image.value.path());
    let is_recipe = container.is_some_and(|container| container.image.value.is_recipe());
    let image = image.filter(|path| !(is_recipe && path.is_file()));
    let image = image.map(Path::to_owned);
    secrets.chain(image).collect()
}

/// The folders of all repeats, in that of the run.
fn repeat_folders(made: &RunFolder, count: u32) -> Result<Vec<RunFolder>, Failure> {
    let above = made.path().parent().unwrap_or(Path::new("/"));
    let make = |number| RunFolder::create(above, made.id(), made.repeat(number).id());
    Ok((1..=count).map(make).collect::<Result<_, _>>()?)
}

/// Writes what a run is, and the script that it is submitted with.
fn write_run(folder: &RunFolder, run: &RunJson) -> Result<(), Failure> {
    let script = folder.next_job(run, run.created)?.script;
    folder.write_run(run)?;
    sys::atomic::write(&folder.script(), script.as_bytes()).map_err(unwritable(&folder.script()))
}

/// A line end in a path would end a directive of the batch script.
fn refuse_control_characters(path: &Path) -> Result<(), Failure> {
    let is_odd = |text: &str| text.chars().any(char::is_control);
    match path.to_str() {
        Some(text) if !is_odd(text) => Ok(()),
        _ => Err(Failure::new(
            FailureKind::Io,
            format!("{path:?} can't hold a run: its name has characters that no script can name"),
        )
        .todo("rename the folder, or set TRAINYARD_HOME to another one")),
    }
}

/// Twenty characters of `a-z2-7`: two runs of one name never meet.
fn random_text() -> Result<String, Failure> {
    let bytes: [u8; 20] = sys::random().map_err(|error| {
        let message = format!("a run needs a random name, and /dev/urandom can't be read: {error}");
        Failure::new(FailureKind::Io, message).todo("have /dev mounted")
    })?;
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    Ok(bytes
        .iter()
        .map(|byte| char::from(letters[usize::from(byte % 32)]))
        .collect())
}

fn check(goes_on: &dyn Fn() -> bool) -> Result<(), Failure> {
    if goes_on() {
        Ok(())
    } else {
        Err(Failure::interrupted())
    }
}
