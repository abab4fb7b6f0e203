//! What a report is made of, read from a run's folder.

use crate::failure::Failure;
use crate::run::{Run, Start};
use crate::run_state::RunState;
use crate::usage::read_usage;
use folder::{Event, RunFolder};
use jiff::tz::TimeZone;
use model::{TimeLimitRequest, Timestamp, moment_text, say_length};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use train::Plan;
use watch::tensorboard::{Broken, Point, Scalars, is_event_file};
use watch::{Extent, Mark, MarkKind, Requested, RunFacts, StartFacts};

/// Folders of event files are looked for so deep.
const DEEPEST: u32 = 8;
/// More event files are not read.
const MOST_FILES: usize = 2000;

/// A page about runs, each with where it stands; several are compared. `now` is the end of what still runs, and
/// `moment` what is said of it.
///
/// # Errors
/// A run's folder can't be read.
pub fn report(runs: &[(&Run, &RunState)], moment: &str, now: Timestamp) -> Result<String, Failure> {
    let zone = sys::local_zone();
    let facts = runs
        .iter()
        .map(|(run, state)| report_facts(run, state, &zone, now));
    Ok(watch::page(&facts.collect::<Result<Vec<_>, _>>()?, moment))
}

/// Reads what a report says of a run that stands there.
fn report_facts(
    run: &Run,
    state: &RunState,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<RunFacts, Failure> {
    let (folder, json) = RunFolder::open(&run.entry.folder)?;
    let extent = extent(run, state, now);
    let mut notes = Vec::new();
    let usage = read_usage(&folder, extent, &mut notes);
    let scalars = scalars(&folder.tensorboard(), &mut notes);
    Ok(RunFacts {
        id: run.entry.id.clone(),
        cluster: run.entry.cluster.clone(),
        state: state.word().to_owned(),
        began: moment_text(extent.from, zone).replace('T', " "),
        extent,
        asked: asked(&json.plan),
        starts: starts(run, extent.to),
        marks: marks(run),
        usage,
        scalars,
        notes,
    })
}

/// What a run's samples mean, in words; nothing where its folder can't be read.
#[must_use]
pub fn run_findings(run: &Run, state: &RunState, now: Timestamp) -> Vec<String> {
    let Ok((folder, json)) = RunFolder::open(&run.entry.folder) else {
        return Vec::new();
    };
    let usage = read_usage(&folder, extent(run, state, now), &mut Vec::new());
    let found = watch::findings(&usage, json.plan.cpus_per_rank.value);
    found.iter().map(ToString::to_string).collect()
}

/// From the first start of a run to its end, or to `now` where it runs.
fn extent(run: &Run, state: &RunState, now: Timestamp) -> Extent {
    let begins = run.starts.iter().filter_map(|start| start.events.first());
    let from = begins
        .map(|line| line.at)
        .min()
        .unwrap_or(run.entry.created);
    let signs = (0..run.starts.len()).filter_map(|index| run.last_sign(index));
    let lines = run.starts.iter().filter_map(|start| start.events.last());
    let last = signs.chain(lines.map(|line| line.at)).max();
    let is_running = matches!(state, RunState::Running { .. });
    let to = if is_running {
        now
    } else {
        last.unwrap_or(from)
    };
    Extent {
        from,
        to: to.max(from),
    }
}

fn asked(plan: &Plan) -> Requested {
    let time = plan.time.as_ref().and_then(|time| match time.value {
        TimeLimitRequest::Limit(limit) => Some(limit.0),
        TimeLimitRequest::Unlimited => None,
    });
    let memory = plan.memory.as_ref().map(|memory| memory.value);
    Requested {
        nodes: plan.nodes.value,
        ranks: plan.world_size(),
        cpus_per_rank: plan.cpus_per_rank.value,
        gpus: plan.all_gpus(),
        gpu_type: plan.gpu_type.as_ref().map(|kind| kind.value.clone()),
        memory_mib: memory.filter(|mib| *mib > 0),
        time,
    }
}

fn starts(run: &Run, end: Timestamp) -> Vec<StartFacts> {
    let all = run.starts.iter().enumerate();
    let facts = all.filter_map(|(index, start)| {
        let from = start.events.first()?.at;
        let is_last = index + 1 == run.starts.len();
        let ended = run
            .last_sign(index)
            .max(start.events.last().map(|line| line.at));
        let to = if is_last { Some(end) } else { ended };
        // Its ranks may print while the next start begins; a moment counts once.
        let next = run
            .starts
            .get(index + 1)
            .and_then(|next| Some(next.events.first()?.at));
        let to = next.into_iter().chain(to).min();
        Some(start_facts(start, from, to.unwrap_or(from).max(from)))
    });
    facts.collect()
}

fn start_facts(start: &Start, from: Timestamp, to: Timestamp) -> StartFacts {
    let mut facts = StartFacts {
        title: format!("job {}", start.attempt.job),
        from,
        to,
        end: String::new(),
        is_bad: false,
        nodes: Vec::new(),
    };
    for line in &start.events {
        let (end, is_bad) = match &line.event {
            Event::Started { nodes, .. } => {
                facts.nodes.clone_from(nodes);
                continue;
            }
            Event::Finished { .. } => ("finished".to_owned(), false),
            Event::Failed { cause, .. } => (format!("failed: {cause}"), true),
            Event::Lost { cause } => (format!("lost: {cause}"), true),
            Event::Terminated { .. } => ("ended from outside".to_owned(), false),
            Event::ComingBack { .. } if facts.end.is_empty() => ("came back".to_owned(), false),
            _ => continue,
        };
        (facts.end, facts.is_bad) = (end, is_bad);
    }
    facts
}

fn marks(run: &Run) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (index, start) in run.starts.iter().enumerate() {
        if let Some(first) = start.events.first().filter(|_| index > 0) {
            marks.push(Mark {
                at: first.at,
                kind: MarkKind::Restart,
                text: format!("job {} starts", start.attempt.job),
            });
        }
        for line in &start.events {
            if let Event::Hung { cause } = &line.event {
                marks.push(Mark {
                    at: line.at,
                    kind: MarkKind::Hang,
                    text: format!("job {}: {cause}", start.attempt.job),
                });
            }
            if let Event::CheckpointOut {
                name,
                bytes,
                took_ms,
                ..
            } = &line.event
            {
                let took = say_length(i64::try_from(*took_ms).unwrap_or(i64::MAX));
                marks.push(Mark {
                    at: line.at,
                    kind: MarkKind::Checkpoint,
                    text: format!("{name}, {} in {took}", train::say_bytes(*bytes)),
                });
            }
        }
    }
    marks
}

/// The scalars of all event files below a folder, by folder and tag.
fn scalars(root: &Path, notes: &mut Vec<String>) -> Vec<(String, Vec<Point>)> {
    let mut files = BTreeMap::new();
    event_files(root, 0, &mut files);
    let mut lines = Vec::new();
    for (folder, mut names) in files {
        names.sort();
        let mut scalars = Scalars::default();
        for path in names {
            let read = File::open(&path).map_err(|_| Broken::Unreadable);
            let read = read.and_then(|file| scalars.add_file(BufReader::new(file)));
            let name = path.display();
            match read {
                Ok(0) | Err(Broken::Cut) => {}
                Ok(damaged) => notes.push(format!("{damaged} records of {name} are damaged")),
                Err(Broken::Length) => {
                    notes.push(format!(
                        "{name} is damaged, or no event file: read up to there"
                    ));
                }
                Err(Broken::Unreadable) => notes.push(format!("{name} can't be read")),
            }
        }
        let below = folder
            .strip_prefix(root)
            .unwrap_or(&folder)
            .display()
            .to_string();
        for (tag, points) in scalars.lines() {
            let tag = if below.is_empty() {
                tag.to_owned()
            } else {
                format!("{below}: {tag}")
            };
            lines.push((tag, points));
        }
    }
    lines
}

fn event_files(folder: &Path, depth: u32, files: &mut BTreeMap<PathBuf, Vec<PathBuf>>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let name = entry.file_name();
        if kind.is_dir() && depth < DEEPEST {
            event_files(&entry.path(), depth + 1, files);
        } else if kind.is_file()
            && is_event_file(&name.to_string_lossy())
            && files.values().map(Vec::len).sum::<usize>() < MOST_FILES
        {
            files
                .entry(folder.to_owned())
                .or_default()
                .push(entry.path());
        }
    }
}
