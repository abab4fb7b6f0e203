//! `yard cache`

use super::clean::known_runs;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use api::{Client, EngineFolder, JobFilter};
use clap::{Args as ClapArgs, Subcommand};
use folder::{RunFolder, Standing};
use job::cache::{JobOfEngine, Kept, Kind, kept};
use model::JobId;
use runs::{all_places, image_cache, places};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// List or remove environments, images and containers with names that are kept for further runs
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, Subcommand)]
enum CacheCommand {
    Ls(LsArgs),
    Prune(PruneArgs),
}

/// List environments, images and containers with names, what they were made of and which runs use them
#[derive(Debug, ClapArgs)]
struct LsArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Remove environments and images that no run uses, and half-made ones
#[derive(Debug, ClapArgs)]
struct PruneArgs {
    /// Only say what would be removed
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Also those that only runs use which are over, and containers with names (srun --container-name)
    #[arg(long)]
    all: bool,
}

/// One of a cache, with the runs that use it and the jobs of batch scripts that wait or run.
struct Used {
    kept: Kept,
    bytes: u64,
    runs: Vec<String>,
    /// Whether one of them is not over, as far as that is known.
    is_live: bool,
    /// Jobs of batch scripts that are over.
    over: BTreeSet<JobOfEngine>,
}

/// Runs `yard cache`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let used = used(printer)?;
    match &args.command {
        CacheCommand::Ls(args) => list(&used, args, printer),
        CacheCommand::Prune(args) => prune(&used, args, printer),
    }
}

fn used(printer: &Printer) -> Result<Vec<Used>, Failure> {
    let places = places()?;
    let everywhere = all_places(&places);
    let mut caches: BTreeSet<PathBuf> = everywhere
        .iter()
        .map(|places| places.cache.clone())
        .collect();
    let mut users: BTreeMap<PathBuf, Vec<(String, bool)>> = BTreeMap::new();
    for known in known_runs(&places, printer)? {
        // What can't be read names nothing.
        let Ok((run, json)) = RunFolder::open(known.folder.path()) else {
            continue;
        };
        caches.insert(image_cache(&json.facts, &places));
        let environment = json.environment.map(|made| made.path);
        // An image's own folder holds the file or folder that a runtime starts from.
        let image = json.image.and_then(|image| image.path);
        let image = image.and_then(|path| Some(path.parent()?.to_owned()));
        for path in environment.into_iter().chain(image) {
            let is_live = known.standing != Standing::Over;
            let user = (run.id().to_owned(), is_live);
            users.entry(path).or_default().push(user);
        }
    }
    let all = caches.iter().flat_map(|cache| kept(cache));
    // Read once: one that is noted only now was not asked for, and is none that is over.
    let all: Vec<(BTreeSet<JobOfEngine>, Kept)> = all.map(|kept| (kept.jobs(), kept)).collect();
    let queued = queued(all.iter().flat_map(|(noted, _)| noted).cloned().collect());
    let used = all.into_iter().map(|(noted, kept)| {
        let runs = users.remove(&kept.place).unwrap_or_default();
        let jobs: Vec<&JobOfEngine> = noted.intersection(&queued).collect();
        let is_live = runs.iter().any(|(_, is_live)| *is_live) || !jobs.is_empty();
        let runs = runs.into_iter().map(|(run, _)| run);
        let jobs = jobs.into_iter().map(|job| format!("job {}", job.job));
        Used {
            bytes: sys::tree_size(&kept.place),
            is_live,
            runs: runs.chain(jobs).collect(),
            over: noted.difference(&queued).cloned().collect(),
            kept,
        }
    });
    let mut used: Vec<Used> = used.collect();
    used.sort_by_key(|one| one.bytes);
    Ok(used)
}

/// Those that wait or run, as far as that is known.
fn queued(all: BTreeSet<JobOfEngine>) -> BTreeSet<JobOfEngine> {
    let mut engines: BTreeMap<PathBuf, Vec<JobId>> = BTreeMap::new();
    for job in all {
        engines.entry(job.engine).or_default().push(job.job);
    }
    let queued = engines.into_iter().flat_map(|(engine, mut jobs)| {
        if let Some(queued) = queued_of(&engine, &jobs) {
            jobs.retain(|job| queued.contains(job));
        }
        let of_engine = move |job| JobOfEngine {
            engine: engine.clone(),
            job,
        };
        jobs.into_iter().map(of_engine)
    });
    queued.collect()
}

/// Those of an engine, an array by its own id; `None` where it is stopped, since a look starts no jobs, or doesn't say.
fn queued_of(engine: &Path, jobs: &[JobId]) -> Option<BTreeSet<JobId>> {
    if !EngineFolder::new(engine).store().exists() {
        return Some(BTreeSet::new());
    }
    let mut client = Client::connect_running(engine).ok()??;
    let filter = JobFilter {
        ids: Some(jobs.to_vec()),
        ..JobFilter::default()
    };
    let queued = client.jobs(filter).ok()?;
    let names = queued.iter().flat_map(|record| {
        let array = record.array.as_ref().map(|array| array.array_job);
        [Some(record.id), array]
    });
    Some(names.flatten().collect())
}

fn list(used: &[Used], args: &LsArgs, printer: &Printer) -> Outcome {
    if args.json {
        let rows = used.iter().map(|one| {
            json!({
                "kind": one.kept.kind.word(),
                "made_of": one.kept.made_of,
                "bytes": one.bytes,
                "runs": one.runs,
                "path": one.kept.place,
            })
        });
        let rows: Vec<_> = rows.collect();
        printer.line(&json!({ "cached": rows }).to_string());
        return Ok(exit_code::DONE);
    }
    if used.is_empty() {
        printer.line("nothing is cached");
        return Ok(exit_code::DONE);
    }
    let row = |one: &Used| {
        let made_of = one.kept.made_of.clone();
        vec![
            one.kept.kind.word().to_owned(),
            words::bytes(one.bytes),
            match one.runs.as_slice() {
                [] => "–".to_owned(),
                runs => runs.join(" "),
            },
            made_of.unwrap_or_else(|| "half made".to_owned()),
            one.kept.place.display().to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = used.iter().map(row).collect();
    let head = ["WHAT", "SIZE", "RUNS", "MADE OF", "WHERE"];
    printer.shown(&words::fitted(&head, &rows, printer.width()));
    Ok(exit_code::DONE)
}

fn prune(used: &[Used], args: &PruneArgs, printer: &Printer) -> Outcome {
    let mut freed = 0;
    for one in used {
        let is_wanted = !one.runs.is_empty() || one.kept.kind == Kind::Container;
        let is_needed = one.is_live || is_wanted && !args.all;
        if is_needed && one.kept.made_of.is_some() {
            if !args.dry_run {
                // What can't be written now is read again the next time.
                let _ = one.kept.forget_jobs(&one.over);
            }
            continue;
        }
        let path = one.kept.place.display();
        if !args.dry_run {
            let removed = one.kept.remove().map_err(|error| {
                Failure::new(FailureKind::Io, format!("{path} can't be removed: {error}"))
                    .todo("give yourself the right, then yard cache prune again")
            })?;
            if !removed {
                printer.line(&format!("kept, as it is in use or being made: {path}"));
                continue;
            }
        }
        freed += one.bytes;
        let title = if args.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let size = words::bytes(one.bytes);
        printer.line(&super::story::row(title, &format!("{size:>8}  {path}")));
    }
    let verb = if args.dry_run {
        "would be removed"
    } else {
        "removed"
    };
    printer.line(&format!("{} {verb}", words::bytes(freed)));
    Ok(exit_code::DONE)
}
