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
use sys::Places;

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

/// One of a cache, with those who use it.
struct Used {
    kept: Kept,
    bytes: u64,
    users: Users,
    /// Jobs of batch scripts that no engine knows any more: none of them can come back.
    gone: BTreeSet<JobOfEngine>,
}

/// Who uses one of a cache.
struct Users {
    /// Runs, and the jobs of batch scripts that wait or run.
    names: Vec<String>,
    /// Whether one of them is not over, as far as that is known.
    is_live: bool,
}

impl Users {
    fn of(kept: &Kept, noted: &BTreeSet<JobOfEngine>, runs: &UsersRuns, jobs: &KnownJobs) -> Users {
        let runs = runs.that_use(kept);
        let jobs: Vec<&JobOfEngine> = noted.intersection(&jobs.queued).collect();
        let is_over = |run: &&KnownRun| matches!(run.standing, Standing::Over | Standing::Done);
        let names = runs.iter().map(|run| run.folder.id().to_owned());
        let job_names = jobs.iter().map(|job| format!("job {}", job.job));
        Users {
            is_live: !runs.iter().all(is_over) || !jobs.is_empty(),
            names: names.chain(job_names).collect(),
        }
    }

    /// As they are now.
    fn now(kept: &Kept, places: &Places) -> Result<Users, Failure> {
        // What kept a cluster from answering was said before.
        let (known, _) = runs::known_runs(places)?;
        let noted = kept.jobs();
        let jobs = known_jobs(noted.clone());
        Ok(Users::of(kept, &noted, &UsersRuns::new(known), &jobs))
    }

    /// Whether they need it; `all`: only those that are not over do.
    fn need(&self, kind: Kind, all: bool) -> bool {
        let is_wanted = match kind {
            Kind::Environment | Kind::Image => !self.names.is_empty(),
            Kind::Container => true,
            // A run that is over stages again where it comes back.
            Kind::Data => false,
        };
        self.is_live || is_wanted && !all
    }
}

/// Runs `yard cache`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let runs = UsersRuns::new(known_runs(&places, printer)?);
    let used = used(kept_here(&runs, &places), &runs);
    match &args.command {
        CacheCommand::Ls(args) => list(&used, args, printer),
        CacheCommand::Prune(args) => prune(&used, args, &places, printer),
    }
}

/// All that is kept on this machine's disks. What was staged for a run that is not known here, as with another
/// TRAINYARD_HOME, `yard clean` judges.
fn kept_here(runs: &UsersRuns, places: &Places) -> Vec<Kept> {
    let mut caches = all_caches(places);
    caches.extend(
        runs.known
            .iter()
            .filter_map(|known| RunFolder::open(known.folder.path()).ok())
            .map(|(_, json)| image_cache(&json.facts, places)),
    );
    let disks = node_local_folders(&runs.known, places);
    let data = disks.iter().flat_map(|disk| staged(disk));
    let data = data.filter(|one| !runs.that_use(one).is_empty());
    caches
        .iter()
        .flat_map(|cache| kept(cache))
        .chain(data)
        .collect()
}

/// This user's runs, and what they use.
struct UsersRuns {
    known: Vec<KnownRun>,
    /// By the folder of an environment or image, the places of its runs among those that are known.
    by_folder: BTreeMap<PathBuf, Vec<usize>>,
}

impl UsersRuns {
    fn new(known: Vec<KnownRun>) -> UsersRuns {
        let mut by_folder: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
        for (index, known) in known.iter().enumerate() {
            // What can't be read names nothing.
            let Ok((_, json)) = RunFolder::open(known.folder.path()) else {
                continue;
            };
            let environment = json.environment.map(|made| made.path);
            // An image's own folder holds the file or folder that a runtime starts from.
            let image = json.image.and_then(|image| image.path);
            let image = image.and_then(|path| Some(path.parent()?.to_owned()));
            for path in environment.into_iter().chain(image) {
                by_folder.entry(path).or_default().push(index);
            }
        }
        UsersRuns { known, by_folder }
    }

    fn that_use(&self, kept: &Kept) -> Vec<&KnownRun> {
        if let Some(run) = kept.run() {
            let is_it = |known: &&KnownRun| known.folder.id() == run;
            return self.known.iter().filter(is_it).collect();
        }
        let indices = self.by_folder.get(&kept.place).into_iter().flatten();
        indices.filter_map(|index| self.known.get(*index)).collect()
    }
}

/// Who uses what is kept, the smallest first.
fn used(all: Vec<Kept>, runs: &UsersRuns) -> Vec<Used> {
    // Read once: one that is noted only now was not asked for, and is none that is gone.
    let all: Vec<(BTreeSet<JobOfEngine>, Kept)> =
        all.into_iter().map(|kept| (kept.jobs(), kept)).collect();
    let known = known_jobs(all.iter().flat_map(|(noted, _)| noted).cloned().collect());
    let used = all.into_iter().map(|(noted, kept)| Used {
        bytes: sys::tree_size(&kept.place),
        users: Users::of(&kept, &noted, runs, &known),
        gone: noted.difference(&known.all).cloned().collect(),
        kept,
    });
    let mut used: Vec<Used> = used.collect();
    used.sort_by_key(|one| one.bytes);
    used
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
                "runs": one.users.names,
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
            match one.users.names.as_slice() {
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

fn prune(used: &[Used], args: &PruneArgs, places: &Places, printer: &Printer) -> Outcome {
    let mut freed = 0;
    for one in used {
        let (kept, path) = (&one.kept, one.kept.place.display());
        if kept.made_of.is_some() && one.users.need(kept.kind, args.all) {
            if !args.dry_run {
                // What can't be written now is read again the next time.
                let _ = kept.forget_jobs(&one.gone);
            }
            continue;
        }
        if !args.dry_run
            && let Err(why) = remove(kept, args.all, places)?
        {
            printer.line(&format!("kept, as it is {why}: {path}"));
            continue;
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

/// Removes what is not needed, or says what it is instead. A run may have been submitted since it was listed: once it
/// is held, none begins to use it, and those that do are known.
fn remove(kept: &Kept, all: bool, places: &Places) -> Result<Result<(), &'static str>, Failure> {
    let Some(unused) = kept.take() else {
        return Ok(Err(match kept.kind {
            Kind::Data => "in use, or beside files that are not collected (yard clean)",
            _ => "in use or being made",
        }));
    };
    if kept.made_of.is_some() && Users::now(kept, places)?.need(kept.kind, all) {
        return Ok(Err("needed by what was submitted meanwhile"));
    }
    unused.remove().map(Ok).map_err(|error| {
        let path = kept.place.display();
        Failure::new(FailureKind::Io, format!("{path} can't be removed: {error}"))
            .todo("give yourself the right, then yard cache prune again")
    })
}
