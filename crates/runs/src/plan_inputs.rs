//! What a plan names that must be there before anything is submitted.

use crate::cluster_files;
use crate::failure::{Failure, FailureKind};
use crate::run_request::refused;
use backend::LOCAL;
use model::nearest;
use std::fs;
use std::path::Path;
use sys::Places;
use train::{Image, Plan, Python, PythonChoice, RunFile, Source};

/// Refuses a plan for the cluster here that names a file which is not there. Data for a Slurm may be
/// where its nodes alone see it: that is a note.
pub fn check(plan: &mut Plan) -> Result<(), Failure> {
    check_requirements(plan)?;
    let python = &plan.environment.python;
    let source = python.source.to_string();
    match &python.value {
        Python::Venv(path) => check_path(path, "[environment] venv", &source)?,
        Python::CondaFolder(path) => check_path(path, "[environment] conda", &source)?,
        Python::AsItIs | Python::Requirements(_) | Python::CondaName(_) => {}
    }
    if let Some(container) = &plan.environment.container
        && let Some(path) = container.image.value.path()
    {
        let source = container.image.source.to_string();
        check_path(path, "[environment.container] image", &source)?;
        refuse_file_as_folder(&container.image.value, &source)?;
    }
    plan.notes.extend(container_notes(plan));
    let source = plan.data.stage.source.to_string();
    for path in &plan.data.stage.value {
        match check_path(path, "[data] stage", &source) {
            Err(failure) if plan.embedded => return Err(failure),
            Err(_) => plan.notes.push(format!(
                "[data] stage names {}, which is not there on this machine; the nodes must see it",
                path.display()
            )),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// A file whose name is that of no image would be taken for a folder.
fn refuse_file_as_folder(image: &Image, source: &str) -> Result<(), Failure> {
    match image {
        Image::Folder(path) if path.is_file() => Err(Failure::new(
            FailureKind::Usage,
            format!("{} is a file, and no image", path.display()),
        )
        .asked(format!("[environment.container] image ({source})"))
        .there("images are .sif, .sqsh, .def and Dockerfile files, folders, and docker://NAME")
        .todo("name one of those")),
        _ => Ok(()),
    }
}

/// Mounts of a container, and its home folder, whose source is not on this machine, where the ranks run here.
fn container_notes(plan: &Plan) -> Vec<String> {
    let container = plan.environment.container.as_ref();
    let Some(container) = container.filter(|_| plan.embedded) else {
        return Vec::new();
    };
    let mounts = container.mounts.value.iter();
    let mounts = mounts.map(|mount| mount.source.as_str());
    let home = container.home.as_ref().and_then(|home| home.value.to_str());
    let note = |(key, sources): (&str, Vec<&str>)| {
        let missing = |source: &&str| {
            source.starts_with('/') && !source.contains('{') && !Path::new(source).exists()
        };
        let missing: Vec<&str> = sources.into_iter().filter(missing).collect();
        let missing = missing.join(", ");
        let note = format!("[environment.container] {key} names what is not there: {missing}");
        (!missing.is_empty()).then_some(note)
    };
    let named = [("mounts", mounts.collect()), ("home", Vec::from_iter(home))];
    named.into_iter().filter_map(note).collect()
}

/// What a run file names that is not there, each as it is refused; `here` leaves to another machine what its
/// nodes alone must see.
pub(crate) fn missing_in_file(
    run_file: &RunFile,
    base: &Path,
    places: &Places,
    here: bool,
) -> Vec<Failure> {
    let mut found = Vec::new();
    let cluster = backend::LOCAL;
    found.extend(check_clusters([run_file], places, cluster).err());
    let mut check = |path: &str, key: &str, source: &Source| {
        let source = source.to_string();
        let path = base.join(path.strip_prefix("./").unwrap_or(path));
        found.extend(check_path(&path, key, &source).err());
    };
    // What a cluster's section names is for that cluster.
    let own = &run_file.body;
    if let Some(python) = &own.environment.python {
        match &python.value {
            PythonChoice::Requirements(path) => {
                check(path, "[environment] requirements", &python.source)
            }
            PythonChoice::Venv(path) if here => check(path, "[environment] venv", &python.source),
            PythonChoice::Conda(path) if here && (path.contains('/') || path.starts_with('.')) => {
                check(path, "[environment] conda", &python.source);
            }
            PythonChoice::Venv(_) | PythonChoice::Conda(_) => {}
        }
    }
    let image = own.environment.container.image.as_ref().filter(|_| here);
    if let Some(image) = image.filter(|image| !image.value.contains("://")) {
        check(&image.value, "[environment.container] image", &image.source);
    }
    if let Some(stage) = own.data.stage.as_ref().filter(|_| here) {
        for path in &stage.value {
            check(path, "[data] stage", &stage.source);
        }
    }
    found
}

/// Requirements are read where the run is planned, wherever it goes.
pub fn check_requirements(plan: &Plan) -> Result<(), Failure> {
    let python = &plan.environment.python;
    match &python.value {
        Python::Requirements(path) => check_path(
            path,
            "[environment] requirements",
            &python.source.to_string(),
        ),
        _ => Ok(()),
    }
}

/// Refuses a cluster's section whose name is a slip of one that is known: one with a file, and
/// `here`, the cluster that is planned for.
pub fn check_clusters<'a>(
    run_files: impl IntoIterator<Item = &'a RunFile>,
    places: &Places,
    here: &str,
) -> Result<(), Failure> {
    let mut run_files = run_files
        .into_iter()
        .filter(|file| !file.clusters.is_empty())
        .peekable();
    if run_files.peek().is_none() {
        return Ok(());
    }
    let (files, _) = cluster_files::all(places);
    let mut known: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    known.extend([LOCAL, here]);
    for file in run_files {
        train::check_cluster_names(file, &known).map_err(refused)?;
    }
    Ok(())
}

/// That a section is left out: of the cluster file of which the engine `here` is a twin under another name.
pub fn left_out_section<'a>(
    run_files: impl IntoIterator<Item = &'a RunFile>,
    places: &Places,
    here: &str,
) -> Option<String> {
    let mut run_files = run_files
        .into_iter()
        .filter(|file| !file.clusters.is_empty() && !file.clusters.contains_key(here))
        .peekable();
    run_files.peek()?;
    let own = cluster_files::of_engine(places, here)?.ok()?;
    let (files, _) = cluster_files::all(places);
    let mut same = files.iter().filter(|file| file.text == own.text);
    let site = same.find(|file| file.name != here)?.name.as_str();
    run_files.any(|file| file.clusters.contains_key(site)).then(|| {
        format!(
            "[cluster.{site}] is left out: this engine has the cluster file of {site} and is called {here}; write [cluster.{here}], or start the engine as {site}"
        )
    })
}

/// What can't be looked at may be there for the job.
fn check_path(path: &Path, key: &str, source: &str) -> Result<(), Failure> {
    if path.try_exists().unwrap_or(true) {
        return Ok(());
    }
    // The root is there.
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
    let folder = folder.unwrap_or(Path::new("/"));
    let part = path.strip_prefix(folder).ok();
    let part = part.and_then(|rest| rest.iter().next()).unwrap_or_default();
    let part = part.to_string_lossy();
    let names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let todo = match nearest(&part, names.iter().map(String::as_str)) {
        _ if part == "~" => format!("write the whole path: nothing replaces ~ in {key}"),
        Some(near) => format!("did you mean {}?", folder.join(near).display()),
        None => format!("correct {key}, or put the file there"),
    };
    Err(Failure::new(
        FailureKind::Usage,
        format!("{} is not there", path.display()),
    )
    .asked(format!("{key} ({source})"))
    .there(format!("{} has no {part}", folder.display()))
    .todo(todo))
}
