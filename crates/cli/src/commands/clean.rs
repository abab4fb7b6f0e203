//! `yard clean`

use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use folder::{Leftover, RunFolder, Standing, Verdict};
use runs::{KnownRun, all_caches, all_places, places};
use std::collections::BTreeSet;
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
    for node_local in node_local_folders(&known, &places) {
        left.extend(job::leftovers::node_folders(
            &node_local,
            &standing,
            args.dry_run,
            args.force,
        ));
    }
    for cache in all_caches(&places) {
        left.extend(job::leftovers::half_made_in(&cache, args.dry_run));
    }
    let everywhere = all_places(&places);
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

/// All runs of the index; what kept a cluster from answering is said.
pub(super) fn known_runs(places: &Places, printer: &Printer) -> Result<Vec<KnownRun>, Failure> {
    let (known, problems) = runs::known_runs(places)?;
    for problem in problems {
        printer.say(&format!("note: {problem}"));
    }
    Ok(known)
}

/// Where runs had their node-local files, as far as that is known.
pub(super) fn node_local_folders(known: &[KnownRun], places: &Places) -> BTreeSet<PathBuf> {
    let folders = known
        .iter()
        .filter_map(|known| RunFolder::open(known.folder.path()).ok())
        .map(|(_, json)| json.plan.node_local.value);
    folders.chain(runs::node_disks(places)).collect()
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
