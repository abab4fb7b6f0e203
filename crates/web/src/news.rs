//! What the pages show, as documents, kept fresh by a thread.

use folder::RunFolder;
use model::{Timestamp, say_length};
use runs::{Listed, ListedKind, Listing, LiveClusters, LiveList, RunLook, RunState, RunWatch};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sys::Places;
use watch::{Measure, Subject};

/// Jobs of no run that ended are known so long.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Between two looks while someone watches.
const PAUSE: Duration = Duration::from_millis(500);
/// Without a visitor for so long it is looked seldom.
const IDLE: Duration = Duration::from_secs(15);
/// Lines of a rank that a page gets.
pub const LINES: usize = 200;
/// A drawn report is good for so long.
const REPORT: Duration = Duration::from_secs(5);

/// What the thread found and the pages read.
#[derive(Clone)]
pub struct News {
    shared: Arc<Mutex<Shared>>,
    /// Apart: to ask whether there is a Slurm takes its time.
    clusters: Arc<Mutex<LiveClusters>>,
}

#[derive(Default)]
struct Shared {
    listing: Listing,
    problem: Option<String>,
    visited: Option<Instant>,
    watched: BTreeMap<String, RunWatch>,
    reports: BTreeMap<String, (Instant, Arc<String>)>,
}

/// A line of the list.
#[derive(Debug, Serialize)]
struct Row {
    key: String,
    name: String,
    run: bool,
    job: Option<u32>,
    cluster: String,
    state: &'static str,
    live: bool,
    since: Option<i64>,
    step: Option<u64>,
    note: String,
}

impl News {
    /// Begins to look; it looks for as long as the program runs.
    pub fn start(places: Places) -> News {
        let news = News {
            shared: Arc::default(),
            clusters: Arc::new(Mutex::new(LiveClusters::new(places.clone()))),
        };
        let own = news.clone();
        std::thread::spawn(move || {
            let mut list = LiveList::new(places, REMEMBERED);
            loop {
                let found = list.list(Timestamp(sys::now()));
                let mut shared = own.lock();
                match found {
                    Ok(listing) => (shared.listing, shared.problem) = (listing, None),
                    Err(failure) => shared.problem = Some(failure.line()),
                }
                let visited = shared.visited.is_some_and(|at| at.elapsed() < IDLE);
                drop(shared);
                let pause = if visited || !list.has_answers() {
                    PAUSE
                } else {
                    4 * PAUSE
                };
                std::thread::sleep(pause);
            }
        });
        news
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // What is in it is whole at every moment.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list, the newest first.
    pub fn list(&self) -> Value {
        let mut shared = self.lock();
        shared.visited = Some(Instant::now());
        let rows: Vec<Row> = shared.listing.rows.iter().rev().map(row).collect();
        let problems = shared.problem.iter().chain(&shared.listing.problems);
        let problems: Vec<&String> = problems.collect();
        json!({ "now": sys::now(), "rows": rows, "problems": problems })
    }

    /// Nodes and queue of each cluster.
    pub fn clusters(&self) -> Value {
        let clusters = self.clusters.lock();
        let (clusters, mut problems) = clusters.unwrap_or_else(PoisonError::into_inner).look();
        let mut shared = self.lock();
        shared.visited = Some(Instant::now());
        problems.extend(shared.problem.clone());
        // What one cluster calls its jobs.
        let keys = shared.listing.rows.iter();
        let keys: HashMap<(&str, u32), String> = keys
            .filter_map(|row| Some(((&*row.cluster, row.job()?.0), row.key())))
            .collect();
        let with_keys = |cluster: &Arc<runs::ClusterNow>| {
            let mut value = json!(**cluster);
            let rows = value["queue"].as_array_mut().into_iter().flatten();
            for (row, job) in rows.zip(&cluster.queue) {
                row["key"] = json!(keys.get(&(&*cluster.name, job.job)));
            }
            value
        };
        let clusters: Vec<Value> = clusters.iter().map(with_keys).collect();
        json!({ "now": sys::now(), "clusters": clusters, "problems": problems })
    }

    /// One run or job, and the last lines of a rank; `None` where none has that key.
    pub fn one(&self, key: &str, rank: u32) -> Option<Value> {
        let now = Timestamp(sys::now());
        let (listed, mut watch) = {
            let mut shared = self.lock();
            shared.visited = Some(Instant::now());
            let listed = shared
                .listing
                .rows
                .iter()
                .find(|row| row.key() == key)?
                .clone();
            (listed, shared.watched.remove(key))
        };
        let look = match &listed.what {
            ListedKind::Run { run, .. } => {
                let new = || RunWatch::new(RunFolder::at(&run.entry.folder));
                let watch = watch.get_or_insert_with(new);
                watch.look(run, rank, LINES)
            }
            ListedKind::Job { .. } | ListedKind::Repeats { .. } => RunLook::default(),
        };
        if let Some(watch) = watch {
            self.lock().watched.insert(key.to_owned(), watch);
        }
        Some(detail(&listed, &look, now))
    }

    /// The report of a run as it is now; `None` where there is none.
    pub fn report(&self, key: &str) -> Option<Arc<String>> {
        let listed = {
            let shared = self.lock();
            if let Some((at, page)) = shared.reports.get(key)
                && at.elapsed() < REPORT
            {
                return Some(Arc::clone(page));
            }
            shared
                .listing
                .rows
                .iter()
                .find(|row| row.key() == key)?
                .clone()
        };
        let run = listed.run()?;
        let now = Timestamp(sys::now());
        let page = runs::report(&[(run, &listed.state)], "as it is now", now).ok()?;
        let page = Arc::new(page);
        let mut shared = self.lock();
        // Of pages that were looked at long ago nothing is kept.
        shared.reports.retain(|_, (at, _)| at.elapsed() < REPORT);
        shared
            .reports
            .insert(key.to_owned(), (Instant::now(), Arc::clone(&page)));
        Some(page)
    }
}

fn row(listed: &Listed) -> Row {
    let name = match &listed.what {
        ListedKind::Run { run, .. } => run.entry.id.clone(),
        ListedKind::Job { job, .. } if job.rows > 1 => format!("{} × {}", job.name, job.rows),
        ListedKind::Job { job, .. } => job.name.clone(),
        ListedKind::Repeats { entry, .. } => entry.id.clone(),
    };
    let checkpoint = listed.run().and_then(|run| run.last_checkpoint());
    Row {
        key: listed.key(),
        name,
        run: listed.run().is_some(),
        job: listed.job().map(|job| job.0),
        cluster: listed.cluster.clone(),
        state: listed.state.word(),
        live: listed.state.is_live(),
        since: listed.since().map(|at| at.0),
        step: checkpoint.and_then(|(_, step, _)| step),
        note: listed.note(),
    }
}

fn detail(listed: &Listed, look: &RunLook, now: Timestamp) -> Value {
    let of = |subject: Subject, latest: &watch::Latest, node: &str| {
        let mut values = serde_json::Map::new();
        for measure in Measure::ALL {
            if let Some(value) = latest.sample.get(*measure) {
                values.insert(measure.column().to_owned(), json!(value));
            }
        }
        json!({
            "node": node,
            "what": subject.to_string(),
            "values": values,
            "busy": latest.busy,
        })
    };
    let measured = look.measured.iter();
    let measured: Vec<Value> = measured
        .map(|(node, subject, latest)| of(*subject, latest, node))
        .collect();
    let printed: Vec<(u32, i64)> = look
        .printed
        .iter()
        .map(|(rank, at)| (*rank, at.0))
        .collect();
    let starts = listed.run().map_or(0, |run| run.starts.len());
    let folder = listed
        .run()
        .map(|run| run.entry.folder.display().to_string());
    let running = matches!(listed.state, RunState::Running { .. });
    let services = listed.run().filter(|_| running);
    let services = services.map(runs::Run::services).unwrap_or_default();
    json!({
        "now": now.0,
        "row": row(listed),
        "running": running,
        "services": services,
        "since": listed.since().map(|at| say_length(now.since(at))),
        "starts": starts,
        "folder": folder,
        "measured": measured,
        "printed": printed,
        "rank": look.rank,
        "lines": look.lines,
    })
}
