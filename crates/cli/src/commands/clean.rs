//! `yard clean`

use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use folder::{Leftover, RunFolder, Standing, Verdict};
use runs::{Run, ask_for};
use runs::{all_places, indexed_runs, places};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use sys::Places;

/// Remove what ended runs left on this machine: node-local files, half copies, half-made environments
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Only say what would be removed, and why
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Also the only copies of checkpoints
    #[arg(long)]
    force: bool,
}

/// Runs `yard clean`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let known = known_runs(&places, printer)?;
    let standing = |run: &str| {
        let known = known.iter().find(|known| known.folder.id() == run);
        known.map_or(Standing::Unknown, |known| known.standing)
    };
    let mut left = Vec::new();
    for node_local in node_local_folders(&known) {
        left.extend(job::leftovers::node_folders(
            &node_local,
            &standing,
            args.dry_run,
            args.force,
        ));
    }
    let everywhere = all_places(&places);
    let caches: BTreeSet<&PathBuf> = everywhere.iter().map(|places| &places.cache).collect();
    for cache in caches {
        left.extend(job::leftovers::half_made_in(cache, args.dry_run));
    }
    let scratches: BTreeSet<&PathBuf> = everywhere.iter().map(|places| &places.scratch).collect();
    for scratch in &scratches {
        left.extend(job::leftovers::shells_in(scratch, args.dry_run, args.force));
    }
    let is_listed = |path: &Path| {
        let mut listed = known.iter().map(|known| known.folder.path());
        listed.any(|folder| folder.starts_with(path))
    };
    let mut in_scratch: Vec<Leftover> = scratches
        .into_iter()
        .flat_map(|scratch| folder::half_runs(scratch, &is_listed, SystemTime::now()))
        .collect();
    for known in &known {
        in_scratch.extend(known.folder.leftovers(known.standing));
    }
    if !args.dry_run {
        for one in in_scratch.iter().filter(|one| one.goes(args.force)) {
            remove(one)?;
        }
    }
    left.extend(in_scratch);
    show(&left, args, printer);
    Ok(exit_code::DONE)
}

pub(super) struct Known {
    pub folder: RunFolder,
    pub standing: Standing,
}

/// All runs of the index, each cluster asked once.
pub(super) fn known_runs(places: &Places, printer: &Printer) -> Result<Vec<Known>, Failure> {
    let entries = indexed_runs(places)?;
    let mut known = Vec::new();
    let mut asked: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for entry in entries {
        let folder = RunFolder::at(&entry.folder);
        match Run::read(entry) {
            Ok(run) if run.needs_cluster() => {
                asked
                    .entry(run.entry.cluster.clone())
                    .or_default()
                    .push(run);
            }
            Ok(_) => known.push(Known {
                folder,
                standing: Standing::Over,
            }),
            // What can't be read may be a live run's.
            Err(_) => known.push(Known {
                folder,
                standing: Standing::Unreachable,
            }),
        }
    }
    for (cluster, runs) in asked {
        let all: Vec<&Run> = runs.iter().collect();
        let views = runs::open(places, &cluster)
            .and_then(|mut transport| Ok(ask_for(&mut *transport, &all)?));
        if let Err(failure) = &views {
            printer.say(&format!("note: {}", failure.line()));
        }
        for run in runs {
            let state = views
                .as_ref()
                .map(|views| run.state(run.view(views).as_ref()));
            let standing = match state {
                Ok(state) if state.is_live() => Standing::Live,
                Ok(_) => Standing::Over,
                Err(_) => Standing::Unreachable,
            };
            known.push(Known {
                folder: run.folder,
                standing,
            });
        }
    }
    Ok(known)
}

/// Where runs had their node-local files, as far as that is known.
fn node_local_folders(known: &[Known]) -> BTreeSet<PathBuf> {
    let folders = known
        .iter()
        .filter_map(|known| RunFolder::open(known.folder.path()).ok())
        .map(|(_, json)| json.plan.node_local.value);
    folders.chain([backend::node_local()]).collect()
}

fn remove(one: &Leftover) -> Result<(), Failure> {
    let removed = if one.path.is_dir() {
        std::fs::remove_dir_all(&one.path)
    } else {
        std::fs::remove_file(&one.path)
    };
    removed.map_err(|error| {
        Failure::new(
            FailureKind::Io,
            format!("{} can't be removed: {error}", one.path.display()),
        )
        .todo("give yourself the right, then yard clean again")
    })
}

fn show(left: &[Leftover], args: &Args, printer: &Printer) {
    let (mut gone, mut stays) = (0, 0);
    for one in left {
        let goes = one.goes(args.force);
        let title = match (goes, args.dry_run) {
            (true, true) => "would remove",
            (true, false) => "removed",
            (false, _) => "kept",
        };
        *(if goes { &mut gone } else { &mut stays }) += one.bytes;
        let (Verdict::Remove(why) | Verdict::Force(why) | Verdict::Keep(why)) = &one.verdict;
        let size = words::bytes(one.bytes);
        printer.line(&row(title, &format!("{size:>8}  {}", one.path.display())));
        printer.line(&row("", &format!("{:>8}  {why}", "")));
    }
    if left.is_empty() {
        return printer.line("nothing is left over");
    }
    let verb = if args.dry_run {
        "would be removed"
    } else {
        "removed"
    };
    printer.line(&format!(
        "{} {verb}, {} kept",
        words::bytes(gone),
        words::bytes(stays)
    ));
}
