//! `yard cache`

use super::clean::{known_runs, node_local_folders};
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use api::{Client, EngineFolder, JobFilter};
use clap::{Args as ClapArgs, Subcommand};
use folder::{RunFolder, Standing};
use job::cache::{JobOfEngine, Kept, Kind, kept, staged};
use model::{JobId, JobRecord, JobState, Timestamp};
use runs::{KnownRun, all_caches, image_cache, places};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// List or remove environments, images, containers with names and staged data that are kept
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

/// List environments, images, containers with names and data on this machine's disks: what they were made of and which
/// runs use them
#[derive(Debug, ClapArgs)]
struct LsArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Remove environments and images that no run uses, half-made ones, and staged data of runs that are over
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
    /// Jobs of batch scripts that no engine knows any more: none of them can come back.
    gone: BTreeSet<JobOfEngine>,
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
    let mut caches = all_caches(&places);
    let mut users: BTreeMap<PathBuf, Vec<(String, bool)>> = BTreeMap::new();
    let known_runs = known_runs(&places, printer)?;
    let disks = node_local_folders(&known_runs, &places);
    let mut data: Vec<Kept> = disks.iter().flat_map(|disk| staged(disk)).collect();
    // What is of a run that is not known here, as with another TRAINYARD_HOME, `yard clean` judges.
    data.retain(|one| {
        let is_its = |known: &&KnownRun| one.run() == Some(known.folder.id());
        let run = known_runs.iter().find(is_its);
        if let Some(run) = run {
            let is_live = run.standing != Standing::Over;
            let user = (run.folder.id().to_owned(), is_live);
            users.entry(one.place.clone()).or_default().push(user);
        }
        run.is_some()
    });
    for known in known_runs {
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
    let all = caches.iter().flat_map(|cache| kept(cache)).chain(data);
    // Read once: one that is noted only now was not asked for, and is none that is gone.
    let all: Vec<(BTreeSet<JobOfEngine>, Kept)> = all.map(|kept| (kept.jobs(), kept)).collect();
    let known = known_jobs(all.iter().flat_map(|(noted, _)| noted).cloned().collect());
    let used = all.into_iter().map(|(noted, kept)| {
        let runs = users.remove(&kept.place).unwrap_or_default();
        let jobs: Vec<&JobOfEngine> = noted.intersection(&known.queued).collect();
        let is_live = runs.iter().any(|(_, is_live)| *is_live) || !jobs.is_empty();
        let runs = runs.into_iter().map(|(run, _)| run);
        let jobs = jobs.into_iter().map(|job| format!("job {}", job.job));
        Used {
            bytes: sys::tree_size(&kept.place),
            is_live,
            runs: runs.chain(jobs).collect(),
            gone: noted.difference(&known.all).cloned().collect(),
            kept,
        }
    });
    let mut used: Vec<Used> = used.collect();
    used.sort_by_key(|one| one.bytes);
    Ok(used)
}

/// Jobs that their engines know, as far as that is known.
#[derive(Default)]
struct KnownJobs {
    /// Those that wait or run.
    queued: BTreeSet<JobOfEngine>,
    /// These, and those that ended: a job that ended can be queued again.
    all: BTreeSet<JobOfEngine>,
}

fn known_jobs(noted: BTreeSet<JobOfEngine>) -> KnownJobs {
    let mut engines: BTreeMap<PathBuf, Vec<JobId>> = BTreeMap::new();
    for job in noted {
        engines.entry(job.engine).or_default().push(job.job);
    }
    let mut known = KnownJobs::default();
    for (engine, jobs) in engines {
        let answer = answer_of(&engine, &jobs);
        for job in jobs {
            let [is_queued, is_known] = match &answer {
                Some([queued, all]) => [queued, all].map(|ids| ids.contains(&job)),
                None => [true, true],
            };
            let one = JobOfEngine {
                engine: engine.clone(),
                job,
            };
            if is_queued {
                known.queued.insert(one.clone());
            }
            if is_known {
                known.all.insert(one);
            }
        }
    }
    known
}

/// Those of an engine that wait or run, and all that it knows, an array by its own id; `None` where it is stopped,
/// since a look starts no jobs, or doesn't say.
fn answer_of(engine: &Path, jobs: &[JobId]) -> Option<[BTreeSet<JobId>; 2]> {
    if !EngineFolder::new(engine).store().exists() {
        return Some(<[BTreeSet<JobId>; 2]>::default());
    }
    let mut client = Client::connect_running(engine).ok()??;
    let filter = JobFilter {
        ids: Some(jobs.to_vec()),
        ended_since: Some(Timestamp(0)),
        ..JobFilter::default()
    };
    let all = client.jobs(filter).ok()?;
    let names = |record: &JobRecord| {
        let array = record.array.as_ref().map(|array| array.array_job);
        [Some(record.id), array].into_iter().flatten()
    };
    let queued = all
        .iter()
        .filter(|record| !matches!(record.state, JobState::Ended { .. }));
    Some([
        queued.flat_map(names).collect(),
        all.iter().flat_map(names).collect(),
    ])
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
        let is_wanted = match one.kept.kind {
            Kind::Environment | Kind::Image => !one.runs.is_empty(),
            Kind::Container => true,
            // A run that is over stages again where it comes back.
            Kind::Data => false,
        };
        let is_needed = one.is_live || is_wanted && !args.all;
        if is_needed && one.kept.made_of.is_some() {
            if !args.dry_run {
                // What can't be written now is read again the next time.
                let _ = one.kept.forget_jobs(&one.gone);
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
                let why = match one.kept.kind {
                    Kind::Data => "in use, or beside files that are not collected (yard clean)",
                    _ => "in use or being made",
                };
                printer.line(&format!("kept, as it is {why}: {path}"));
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
