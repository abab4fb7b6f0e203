//! Makes a run's folder and submits its first job: intent first, answer after.

use crate::failure::unwritable;
use crate::failure::{Failure, FailureKind};
use crate::run_request::Planned;
use crate::{pin_program, submit_next};
use folder::{
    CodeSource, Index, IndexEntry, MadeEnvironment, ReadyImage, RunFolder, RunJson, Versions,
};
use model::{JobId, Timestamp};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::Places;
use train::{JobPlace, ResumeBy};

/// A run whose job the cluster has.
#[derive(Debug)]
pub struct Submitted {
    /// The run's id.
    pub id: String,
    /// Its folder.
    pub folder: RunFolder,
    /// Its job.
    pub job: JobId,
    /// When the answer came.
    pub at: Timestamp,
    /// What a person should know.
    pub note: Option<String>,
}

/// What a run's ranks need, made or read before it is submitted.
#[derive(Default)]
pub struct Ready {
    /// The environment that was made of requirements.
    pub environment: Option<MadeEnvironment>,
    /// The image of the container.
    pub image: Option<ReadyImage>,
    /// Secret variables with their values.
    pub secrets: BTreeMap<String, String>,
}

/// Makes the folder, notes the intent, submits, notes the answer.
pub fn submit(
    planned: &mut Planned,
    ready: &Ready,
    places: &Places,
    goes_on: &dyn Fn() -> bool,
) -> Result<Submitted, Failure> {
    planned.check()?;
    let yard = pin_program(&places.scratch)?;
    let random = random_text()?;
    let (suffix, token) = random.split_at(4);
    let id = format!("{}-{suffix}", planned.plan.name.value);
    let source = folder::find_source(&planned.base);
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
    };
    let submitted = fill_and_submit(
        planned,
        ready,
        places,
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
    planned: &mut Planned,
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
    let notify = &planned.plan.notify;
    let secrets = [&notify.hook_file, &notify.password_file];
    let secrets = secrets.into_iter().flatten().map(|file| file.value.clone());
    let secrets: Vec<PathBuf> = secrets.collect();
    let code = folder::copy_code(source, made, &places.scratch, &secrets)?;
    check(goes_on)?;

    let (id, created) = (entry.id.clone(), entry.created);
    let token = format!("{id}.1.{token}");
    let facts = planned.target.facts.clone();
    let plan = &planned.plan;
    let run = RunJson {
        id: id.clone(),
        project: source.project(),
        created,
        token: token.clone(),
        cluster: facts.name.clone(),
        plan: plan.clone(),
        facts: facts.clone(),
        run_file: planned.text.clone(),
        command_line: planned.command_line.clone(),
        code,
        yard: yard.clone(),
        environment: ready.environment.clone(),
        image: ready.image.clone(),
        versions: Versions {
            yard: env!("CARGO_PKG_VERSION").to_owned(),
            scheduler: planned.target.scheduler.clone(),
        },
    };
    let output = made.conductor_log_pattern();
    let place = JobPlace {
        yard: &yard,
        run_folder: made.path(),
        output: &output,
        token: &token,
    };
    let script = plan.script(&place);
    made.write_run(&run)?;
    if !ready.secrets.is_empty() {
        made.write_secrets(&ready.secrets)?;
    }
    sys::atomic::write(&made.script(), script.as_bytes()).map_err(unwritable(&made.script()))?;
    Index::new(&places.index)
        .add(entry)
        .map_err(unwritable(&places.index))?;
    check(goes_on)?;

    let transport = &mut *planned.target.transport;
    let (job, at) = submit_next(transport, made, &run, None)?;
    let resume = &run.plan.resume;
    // Where jobs can't submit the one that takes over, it has to be there from the start.
    let waits = !facts.comeback.submit_from_nodes
        && resume.by.value == ResumeBy::Successor
        && !resume.on.value.is_empty();
    let note = match waits.then(|| submit_next(transport, made, &run, Some(job))) {
        Some(Err(error)) => Some(format!("no job waits to take over: {}", error.line())),
        Some(Ok(_)) | None => None,
    };
    Ok(Submitted {
        id,
        folder: made.clone(),
        job,
        at,
        note,
    })
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
    match goes_on() {
        true => Ok(()),
        false => Err(Failure::interrupted()),
    }
}
