//! Clusters kept fresh for who looks at them: a thread each, which asks only while it is looked.

use crate::cluster_now::ClusterNow;
use crate::engines::{engine_dir, engines_asked, is_engine};
use crate::failure::Failure;
use crate::reach::asked_every;
use backend::{EmbeddedTransport, LOCAL, SlurmTransport, Transport};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use sys::Places;

/// Between two questions to an engine of this machine.
const ENGINE: Duration = Duration::from_secs(1);
/// A cluster at which no one looks for so long is not asked.
const IDLE: Duration = Duration::from_secs(15);
/// How often a thread sees whether it is looked at.
const PAUSE: Duration = Duration::from_millis(250);
/// Longest wait after questions that failed.
const LONGEST: Duration = Duration::from_secs(120);

/// The clusters whose queues can be seen here. Dropping it ends its questions.
#[derive(Debug)]
pub struct LiveClusters {
    places: Places,
    /// A Slurm answers here, once that was asked.
    slurm: Option<Result<Option<String>, String>>,
    clusters: BTreeMap<String, Arc<Mutex<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    now: Arc<ClusterNow>,
    looked: Instant,
}

impl LiveClusters {
    /// None is asked yet.
    #[must_use]
    pub fn new(places: Places) -> LiveClusters {
        LiveClusters {
            places,
            slurm: None,
            clusters: BTreeMap::new(),
        }
    }

    /// All of them as far as is known now, the engine of this machine first; none is waited for. What
    /// can't be asked is said in words.
    pub fn look(&mut self) -> (Vec<Arc<ClusterNow>>, Vec<String>) {
        let mut names = engines_asked(&self.places);
        // A look starts none here.
        if !names.iter().any(|name| name == LOCAL) {
            names.insert(0, LOCAL.to_owned());
        }
        let slurm = self.slurm.get_or_insert_with(|| {
            let here = SlurmTransport::here();
            here.map(|slurm| slurm.map(|slurm| slurm.cluster().to_owned()))
                .map_err(|error| Failure::from(error).line())
        });
        let problem = match slurm {
            Ok(name) => {
                names.extend(name.clone());
                None
            }
            Err(why) => {
                let why = why.clone();
                // Asked again with the next look.
                self.slurm = None;
                Some(why)
            }
        };
        self.clusters.retain(|name, _| names.contains(name));
        let look = |name: &String| {
            let kept = self.clusters.entry(name.clone());
            let kept = kept.or_insert_with(|| start(name, &self.places));
            let mut kept = lock(kept);
            kept.looked = Instant::now();
            Arc::clone(&kept.now)
        };
        (
            names.iter().map(look).collect(),
            problem.into_iter().collect(),
        )
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    // What is in it is whole at every moment.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(name: &str, places: &Places) -> Arc<Mutex<Kept>> {
    let kept = Arc::new(Mutex::new(Kept {
        now: Arc::new(ClusterNow::unasked(name)),
        looked: Instant::now(),
    }));
    let (name, places, own) = (name.to_owned(), places.clone(), Arc::downgrade(&kept));
    std::thread::spawn(move || keep(&name, &places, &own));
    kept
}

/// Asks until no one holds the cluster any more.
fn keep(name: &str, places: &Places, own: &Weak<Mutex<Kept>>) {
    let every = if is_engine(places, name) {
        ENGINE
    } else {
        asked_every(places)
    };
    let mut transport: Option<Box<dyn Transport>> = None;
    let (mut pause, mut asked) = (every, None::<Instant>);
    while let Some(kept) = own.upgrade() {
        let is_looked_at = lock(&kept).looked.elapsed() < IDLE;
        if is_looked_at && asked.is_none_or(|asked| asked.elapsed() >= pause) {
            let answer = ask(name, places, &mut transport);
            asked = Some(Instant::now());
            let mut kept = lock(&kept);
            match answer {
                Ok(now) => (kept.now, pause) = (Arc::new(now), every),
                Err(failure) => {
                    transport = None;
                    pause = (pause * 2).min(LONGEST);
                    kept.now = Arc::new(kept.now.not_answered(failure.line()));
                }
            }
        }
        drop(kept);
        std::thread::sleep(PAUSE);
    }
}

/// One question. An engine that does not run is not started for a look.
fn ask(
    name: &str,
    places: &Places,
    kept: &mut Option<Box<dyn Transport>>,
) -> Result<ClusterNow, Failure> {
    if kept.is_none() {
        *kept = if is_engine(places, name) {
            let engine = EmbeddedTransport::open_to_look(&engine_dir(places, name))?;
            engine.map(|engine| Box::new(engine) as Box<dyn Transport>)
        } else {
            Some(crate::reach::open(places, name)?)
        };
    }
    let Some(transport) = kept else {
        return Ok(ClusterNow::never_ran(name));
    };
    Ok(ClusterNow::of(name, transport.cluster_view()?))
}
