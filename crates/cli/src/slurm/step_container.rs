//! The container of a step or script: its image made ready, and the words that start a command in it.

use crate::printer::Printer;
use folder::MakingPlace;
use job::cache::{self, JobOfEngine, NamedContainer};
use model::{ContainerRuntime, Internet, JobId, StepContainer, UseOfName};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use sys::lock::FileLock;
use train::{ContainerPlan, ContainerStart, StepPlace, copy_words};

/// Why there is no container, line by line.
pub type Lines = Vec<String>;

/// What a command is started with in the container that was asked for, in JSON; none where none was.
/// `who` is the command that says so.
pub fn made_ready(
    asked: &StepContainer,
    cwd: &Path,
    who: &str,
    printer: &Printer,
) -> Result<Option<String>, Lines> {
    if !asked.is_asked() {
        for option in ignored(asked) {
            printer.say(&format!(
                "{who}: pyxis: ignoring {option} because neither --container-image nor \
                 --container-name is set"
            ));
        }
        return Ok(None);
    }
    let mut asked = asked.clone();
    let runtimes = backend::runtimes_here();
    let cache_folder = runs::places().map_err(|failure| vec![failure.what])?.cache;
    let named = asked
        .name
        .as_ref()
        .map(|name| NamedContainer::new(&cache_folder, name));
    let is_there = check_named(&asked, named.as_ref())?;
    if let Some(named) = named.as_ref().filter(|_| is_there) {
        asked.image = Some(named.place.display().to_string());
    }
    if let Some(save) = asked
        .save
        .as_ref()
        .map(|save| cwd.join(save))
        .filter(|save| save.exists())
    {
        return Err(vec![format!(
            "{} is there already: save under another name",
            save.display()
        )]);
    }
    let plan = ContainerPlan::of_step(&asked, &runtimes, cwd).map_err(|refusal| lines(&refusal))?;
    let shown = plan.image.value.to_string();
    let mut said = false;
    let mut progress = |_: &str| {
        if !std::mem::replace(&mut said, true) {
            printer.say(&format!("{who}: pyxis: importing docker image: {shown}"));
        }
    };
    let (mut image, mut in_use) = loop {
        let prepared = job::image::prepare(
            &plan,
            &[],
            &MakingPlace::here(&cache_folder, Internet::Compute),
            &mut progress,
        );
        let (ready, made) = prepared.map_err(|error| {
            let mut lines = vec![format!("pyxis: {error}")];
            let asked = format!("--container-image={shown}");
            lines.extend(parts(&asked, &error.there(), error.todo()));
            lines
        })?;
        if made {
            printer.say(&format!("{who}: pyxis: imported docker image: {shown}"));
        }
        let image = ready.path.unwrap_or_default();
        // `yard cache prune` may have removed it before it was held.
        if cache::keep_whole(&image) || !plan.is_made() {
            let in_use = cache::lock_of(&image);
            break (image, in_use);
        }
    };
    if let Some(named) = named {
        // What was made may be removed again before it is held.
        while !is_there && !named.keep() {
            copy(plan.runtime.value, &image, &named)?;
        }
        (image, in_use) = (named.place, Some(named.lock));
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let place = StepPlace {
        image: &image.display().to_string(),
        has_environment: image.join("ch/environment").is_file(),
        is_named: asked.name.is_some(),
        in_use: in_use.as_deref(),
        home: &home,
        gpus: sys::gpus::are_there(),
    };
    let start = ContainerStart::of_step(&asked, &plan, &place, cwd);
    let start = start.map_err(|refusal| lines(&refusal))?;
    let text = serde_json::to_string(&start);
    text.map(Some).map_err(|error| vec![error.to_string()])
}

/// Has nothing remove what a job's container starts from before that is over: until it starts, no process uses it.
pub fn keep_for(container: &str, engine: &Path, job: JobId) -> io::Result<()> {
    let start: ContainerStart = serde_json::from_str(container)?;
    let job = JobOfEngine {
        engine: engine.to_owned(),
        job,
    };
    start
        .in_use
        .map_or(Ok(()), |lock| cache::note_job(&lock, &job))
}

/// The words that start a command of a step in the container.
pub fn words(container: &str) -> Result<Vec<String>, Lines> {
    // A node may have another /tmp than this program is in.
    let own = runs::places().and_then(|places| runs::pin_program(&places.scratch));
    let own = own.map_err(|failure| vec![failure.what])?;
    let own = own
        .into_os_string()
        .into_string()
        .map_err(|own| vec![format!("yard's own program: {} is no text", own.display())])?;
    Ok([&own, "job", "container", container]
        .map(str::to_owned)
        .to_vec())
}

/// Options that say nothing without an image.
fn ignored(asked: &StepContainer) -> Vec<&'static str> {
    let set = [
        ("--container-mounts", !asked.mounts.is_empty()),
        ("--container-workdir", asked.workdir.is_some()),
        ("--container-save", asked.save.is_some()),
        ("--container-mount-home", asked.mount_home),
        ("--container-remap-root", asked.root),
        ("--container-entrypoint", asked.entrypoint),
        ("--container-writable", asked.writable),
        ("--container-env", !asked.variables.is_empty()),
    ];
    let set = set.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(option, _)| option).collect()
}

/// Whether the container of a name is there, as was asked; then it stays until this process has ended.
fn check_named(asked: &StepContainer, named: Option<&NamedContainer>) -> Result<bool, Lines> {
    let (Some(name), Some(named)) = (&asked.name, named) else {
        return Ok(false);
    };
    match (asked.use_of_name, named.keep()) {
        (UseOfName::There, false) => Err(vec![
            format!("pyxis: there is no container {name:?}"),
            format!("--container-name={name} with --container-image=… makes it"),
        ]),
        (UseOfName::Create, true) => Err(vec![
            format!("pyxis: the container {name:?} is there already"),
            format!(
                "leave out :create to use it, or remove {}",
                named.place.display()
            ),
        ]),
        (UseOfName::Auto, false) if asked.image.is_none() => Err(vec![format!(
            "pyxis: there is no container {name:?}, and no --container-image to make it of"
        )]),
        (_, is_there) => Ok(is_there),
    }
}

/// Makes the container of a name from an image: all of it, or nothing. Another that makes it now is waited for.
fn copy(runtime: ContainerRuntime, image: &Path, named: &NamedContainer) -> Result<(), Lines> {
    if runtime == ContainerRuntime::Enroot {
        return Err(vec![
            "containers with names are folders, which enroot does not start".to_owned(),
        ]);
    }
    let place = &named.place;
    let failed = |why: String| vec![format!("pyxis: {} can't be made: {why}", place.display())];
    let folder = place.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    let held = FileLock::acquire(&named.lock);
    let _held = held.map_err(|error| failed(error.to_string()))?;
    if place.is_dir() {
        return Ok(());
    }
    let half_made = &named.half_made;
    // Of one that was killed.
    let _ = fs::remove_dir_all(half_made);
    let text = |path: &Path| path.display().to_string();
    let words = copy_words(runtime, &text(image), &text(half_made));
    let output = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| failed(format!("{}: {error}", words[0])))?;
    let done = if output.status.success() {
        fs::rename(half_made, place).map_err(|error| error.to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    };
    done.map_err(|why| {
        let _ = fs::remove_dir_all(half_made);
        failed(why)
    })
}

fn lines(refusal: &train::Refusal) -> Lines {
    let mut lines = vec![format!("pyxis: {}", refusal.message)];
    lines.extend(parts(&refusal.asked, &refusal.there, &refusal.todo));
    lines
}

fn parts(asked: &str, there: &str, todo: &str) -> [String; 3] {
    [
        format!("  asked   {asked}"),
        format!("  there   {there}"),
        format!("  do      {todo}"),
    ]
}
