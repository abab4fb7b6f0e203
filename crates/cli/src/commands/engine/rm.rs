//! `yard engine rm`.

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, unreachable};
use crate::printer::Printer;
use api::{Client, EngineFolder};
use model::counted;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::lock::FileLock;

/// How often a folder is removed into which a process still writes.
const ATTEMPTS: u32 = 30;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(100);

/// Removes an engine's folder.
pub fn run(name: &str, printer: &Printer) -> Outcome {
    let asked = || format!("yard engine rm {name}");
    if name == backend::LOCAL {
        let what = format!("{name} is this machine's own engine, which can't be removed");
        return Err(Failure::new(FailureKind::Usage, what)
            .asked(asked())
            .todo("yard engine stop stops it; it starts again at the next command for jobs"));
    }
    let dir = super::dir_of(Some(name))?;
    if Client::connect_running(&dir)
        .map_err(unreachable)?
        .is_some()
    {
        return Err(Failure::new(FailureKind::Failed, format!("{name} runs"))
            .asked(asked())
            .there("an engine that runs")
            .todo(format!("yard engine stop {name}, then this again")));
    }
    if let Some(left) = folder_of_run(&dir.join("nodes")) {
        let what = format!("a node of {name} holds what a run left on its disk");
        return Err(Failure::new(FailureKind::Failed, what)
            .asked(asked())
            .there(left.display().to_string())
            .todo("it may be the only copy of a checkpoint: yard clean removes what is not, or remove it"));
    }
    // Its store alone knows of its jobs, and the engine alone reads that.
    if EngineFolder::new(&dir).store().exists() {
        let client = Client::connect(&dir).map_err(unreachable)?;
        let facts = super::stop(client)?;
        let unfinished = facts.running + facts.pending;
        if unfinished > 0 {
            let count = usize::try_from(unfinished).unwrap_or(usize::MAX);
            let what = format!("{name} has {}", counted(count, "unfinished job"));
            return Err(Failure::new(FailureKind::Failed, what)
                .asked(asked())
                .there(format!("{} running, {} waiting", facts.running, facts.pending))
                .todo(format!(
                    "yard engine start {name}, wait for them or cancel them, stop it, then this again"
                )));
        }
    }
    remove(&dir).map_err(|error| {
        Failure::new(FailureKind::Io, format!("{name} can't be removed: {error}"))
            .asked(dir.display().to_string())
            .todo("remove that folder")
    })?;
    printer.show_line(&format!("{name} is removed"));
    Ok(exit_code::DONE)
}

/// Once its process is gone, which holds the lock; the name first, so that no half of it is started.
fn remove(dir: &Path) -> std::io::Result<()> {
    let folder = EngineFolder::new(dir);
    let _ended = FileLock::acquire(&folder.lock())?;
    match fs::remove_file(folder.cluster()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut attempts = 0;
    loop {
        attempts += 1;
        match fs::remove_dir_all(dir) {
            // The engine's other processes end within a second.
            Err(error)
                if error.kind() == std::io::ErrorKind::DirectoryNotEmpty && attempts < ATTEMPTS =>
            {
                std::thread::sleep(PAUSE);
            }
            removed => return removed,
        }
    }
}

/// A run's folder on the disk of a node.
fn folder_of_run(nodes: &Path) -> Option<PathBuf> {
    let entries = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let disks = entries(nodes.to_owned()).flat_map(|node| {
        let of_users = entries(node.join("users"));
        let all = std::iter::once(node).chain(of_users);
        all.map(|folder| folder.join("tmp")).collect::<Vec<_>>()
    });
    let of_users = disks.flat_map(entries).filter(|path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b"trainyard-")
    });
    of_users.flat_map(entries).find(|path| path.is_dir())
}
