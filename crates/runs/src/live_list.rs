//! The list of runs and jobs kept fresh: a thread a cluster asks, files that have not changed are
//! not read again.

use crate::engines::engines_asked;
use crate::failure::Failure;
use crate::known_runs::indexed_runs;
use crate::listing::{Answer, Listed, Listing, listed, removed_runs};
use crate::reach::{open, poller_of_all};
use crate::run::Run;
use backend::{JobView, Poller, Reach};
use folder::{IndexEntry, RunFolder};
use model::Timestamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use sys::Places;

/// A cluster that could not be opened is tried again so much later.
const AGAIN: Duration = Duration::from_secs(10);

/// Lists again and again. Dropping it ends its questions.
#[derive(Debug)]
pub struct LiveList {
    places: Places,
    remembered: Duration,
    clusters: BTreeMap<String, Cluster>,
    read: BTreeMap<PathBuf, (Stamp, Arc<Run>)>,
}

#[derive(Debug)]
enum Cluster {
    Open {
        poller: Poller,
        looks: u64,
        jobs: Vec<JobView>,
    },
    Closed {
        why: String,
        since: Instant,
    },
}

/// What changes when a run's folder says something new.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    links: Option<SystemTime>,
    events: u64,
}

impl LiveList {
    /// Jobs of no run are listed that live or ended so long ago.
    #[must_use]
    pub fn new(places: Places, remembered: Duration) -> LiveList {
        LiveList {
            places,
            remembered,
            clusters: BTreeMap::new(),
            read: BTreeMap::new(),
        }
    }

    /// The list as far as it is known now; no cluster is waited for once it was opened.
    ///
    /// # Errors
    /// The index can't be read.
    pub fn list(&mut self, now: Timestamp) -> Result<Listing, Failure> {
        let mut listing = Listing::default();
        let mut by_cluster: BTreeMap<String, Vec<Arc<Run>>> = BTreeMap::new();
        let engines = engines_asked(&self.places);
        for engine in &engines {
            by_cluster.insert(engine.clone(), Vec::new());
        }
        let entries = indexed_runs(&self.places)?;
        self.read
            .retain(|folder, _| entries.iter().any(|entry| entry.folder == *folder));
        for entry in entries {
            let id = entry.id.clone();
            match self.run(entry) {
                Ok(run) => by_cluster
                    .entry(run.entry.cluster.clone())
                    .or_default()
                    .push(run),
                Err(error) => listing.problems.push(format!("{id}: {}", error.line())),
            }
        }
        let removed = removed_runs(&self.places)?;
        let remembered = i64::try_from(self.remembered.as_millis()).unwrap_or(i64::MAX);
        let since = Timestamp(now.0.saturating_sub(remembered));
        for (cluster, runs) in by_cluster {
            let needed = engines.contains(&cluster) || runs.iter().any(|run| run.needs_cluster());
            let views = if needed {
                self.ask(&cluster, &runs, &mut listing.problems)
            } else {
                Vec::new()
            };
            let recent: Vec<JobView> = if engines.contains(&cluster) || !views.is_empty() {
                views
                    .iter()
                    .filter(|v| v.is_recent(since))
                    .cloned()
                    .collect()
            } else {
                Vec::new()
            };
            let answer = Answer {
                views: &views,
                recent: &recent,
            };
            listing
                .rows
                .extend(listed(&cluster, &runs, &answer, &removed));
        }
        listing.rows.sort_by_key(Listed::made);
        Ok(listing)
    }

    /// Whether each cluster has answered once, or can't.
    #[must_use]
    pub fn has_answers(&self) -> bool {
        self.clusters.values().all(|cluster| match cluster {
            Cluster::Open { poller, looks, .. } => *looks > 0 || poller.reach() != Reach::Answers,
            Cluster::Closed { .. } => true,
        })
    }

    /// Something was done: the next answers come sooner.
    pub fn hurry(&self) {
        for cluster in self.clusters.values() {
            if let Cluster::Open { poller, .. } = cluster {
                poller.hurry();
            }
        }
    }

    fn run(&mut self, entry: IndexEntry) -> Result<Arc<Run>, Failure> {
        let known = self.read.get(&entry.folder);
        let newest = known.and_then(|(_, run)| run.starts.last());
        let events = newest.map(|start| RunFolder::at(&entry.folder).events(start.attempt));
        let stamp = Stamp::of(&entry.folder, events.as_deref());
        if let Some((_, run)) = known.filter(|(known, _)| *known == stamp) {
            return Ok(Arc::clone(run));
        }
        let folder = entry.folder.clone();
        let run = Arc::new(Run::read(entry)?);
        // The stamp is from before the reading: what came meanwhile is read next time.
        self.read.insert(folder, (stamp, Arc::clone(&run)));
        Ok(run)
    }

    fn ask(&mut self, name: &str, runs: &[Arc<Run>], problems: &mut Vec<String>) -> Vec<JobView> {
        let due = match self.clusters.get(name) {
            None => true,
            Some(Cluster::Closed { since, .. }) => since.elapsed() > AGAIN,
            Some(Cluster::Open { .. }) => false,
        };
        if due {
            let opened = match open(&self.places, name) {
                Ok(transport) => Cluster::Open {
                    poller: poller_of_all(transport, &self.places, self.remembered),
                    looks: 0,
                    jobs: Vec::new(),
                },
                Err(failure) => Cluster::Closed {
                    why: failure.line(),
                    since: Instant::now(),
                },
            };
            self.clusters.insert(name.to_owned(), opened);
        }
        let asked = runs.iter().filter(|run| run.needs_cluster());
        let asked: Vec<_> = asked.flat_map(|run| run.live_jobs()).collect();
        let not_answered = || {
            asked
                .iter()
                .map(|job| JobView::not_answered(*job))
                .collect()
        };
        let ended = match self.clusters.get_mut(name) {
            None => return not_answered(),
            Some(Cluster::Closed { why, .. }) => {
                problems.push(why.clone());
                return not_answered();
            }
            Some(Cluster::Open {
                poller,
                looks,
                jobs,
            }) => {
                poller.watch(&asked);
                match poller.look(*looks) {
                    Ok(look) => {
                        if let Some(look) = look {
                            *looks = look.number;
                            *jobs = look.jobs;
                        }
                        if let Reach::DoesNotAnswer { why, .. } = poller.reach() {
                            problems.push(format!("{name} does not answer: {why}"));
                            return not_answered();
                        }
                        return jobs.clone();
                    }
                    Err(error) => Failure::from(error).line(),
                }
            }
        };
        problems.push(ended.clone());
        let closed = Cluster::Closed {
            why: ended,
            since: Instant::now(),
        };
        self.clusters.insert(name.to_owned(), closed);
        not_answered()
    }
}

impl Stamp {
    fn of(folder: &Path, events: Option<&Path>) -> Stamp {
        let links = RunFolder::at(folder).links();
        Stamp {
            links: links.metadata().and_then(|facts| facts.modified()).ok(),
            events: events
                .and_then(|path| path.metadata().ok())
                .map_or(0, |facts| facts.len()),
        }
    }
}
