//! The ways to the clusters of runs and jobs that are there already.

use crate::engines::{engine_dir, engines_asked, is_engine};
use crate::failure::{Failure, FailureKind};
use crate::user_config::user_config;
use backend::{EmbeddedTransport, INTERVAL, Poller, SharedQueue, SlurmTransport, Transport};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use sys::Places;

/// A cluster as a value: what leads to it is opened where it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRef {
    /// Its name.
    pub name: String,
    /// Whether an embedded engine schedules there.
    pub is_embedded: bool,
}

impl ClusterRef {
    /// The cluster of that name of a run or job that is there already.
    #[must_use]
    pub fn named(places: &Places, name: &str) -> ClusterRef {
        ClusterRef {
            name: name.to_owned(),
            is_embedded: is_engine(places, name),
        }
    }

    /// The transport to it; it need not answer now.
    ///
    /// # Errors
    /// Its engine can't be started, or it is no Slurm of this machine.
    pub(crate) fn open(&self, places: &Places) -> Result<Box<dyn Transport>, Failure> {
        let cluster = &self.name;
        if self.is_embedded {
            let dir = engine_dir(places, cluster);
            return Ok(Box::new(EmbeddedTransport::open(&dir)?));
        }
        match SlurmTransport::to(cluster) {
            Some(transport) => Ok(Box::new(transport)),
            None => Err(Failure::new(
                FailureKind::Unreachable,
                format!("{cluster} can't be reached from here"),
            )
            .there("no Slurm of that name on this machine")
            .todo("go to a machine of that cluster")),
        }
    }
}

/// The transport to the cluster of a run or job that is there already; it need not answer now.
pub(crate) fn open(places: &Places, cluster: &str) -> Result<Box<dyn Transport>, Failure> {
    ClusterRef::named(places, cluster).open(places)
}

/// The engines whose jobs can be named here: the embedded ones that ever ran, and this machine's
/// Slurm; and what of them does not answer, in words.
pub(crate) fn engines(places: &Places) -> (Vec<Box<dyn Transport>>, Vec<String>) {
    let (mut engines, mut problems) = (Vec::<Box<dyn Transport>>::new(), Vec::new());
    for name in engines_asked(places) {
        match EmbeddedTransport::open_to_look(&engine_dir(places, &name)) {
            Ok(Some(engine)) => engines.push(Box::new(engine)),
            Ok(None) => {}
            Err(error) => problems.push(Failure::from(error).line()),
        }
    }
    match SlurmTransport::here() {
        Ok(Some(slurm)) => engines.push(Box::new(slurm)),
        Ok(None) => {}
        Err(error) => problems.push(Failure::from(error).line()),
    }
    (engines, problems)
}

/// Begins to ask a cluster about jobs that are followed, through one connection. What a real Slurm answers is
/// shared with all of the user's processes on this machine, and asked for as seldom as their config says.
pub(crate) fn poller(cluster: &ClusterRef, places: &Places) -> Result<Poller, Failure> {
    let transport = cluster.open(places)?;
    let queue = queue(&*transport, places);
    Ok(Poller::start(transport, queue))
}

/// As [`poller`], about jobs whose ends are awaited, through a transport that is open.
pub(crate) fn poller_of_ends(transport: Box<dyn Transport>, places: &Places) -> Poller {
    let queue = queue(&*transport, places);
    Poller::start_for_ends(transport, queue)
}

/// Begins to ask a cluster about all of the user's jobs, those included that ended so long ago.
pub(crate) fn poller_of_all(
    transport: Box<dyn Transport>,
    places: &Places,
    remembered: Duration,
) -> Poller {
    let queue = queue(&*transport, places);
    Poller::start_for_all(transport, queue, remembered)
}

/// Where what a real Slurm answers is shared.
fn queue(transport: &dyn Transport, places: &Places) -> Option<SharedQueue> {
    if transport.is_embedded() {
        return None;
    }
    let folder = places.state.join(&places.host).join("slurm");
    let folder = folder.join(transport.cluster());
    Some(SharedQueue::new(&folder, asked_every(places)))
}

/// How often a real Slurm is asked at most.
pub(crate) fn asked_every(places: &Places) -> Duration {
    // A config with a mistake is refused where something is planned by it.
    let config = user_config(places).ok().flatten();
    let poll = config.and_then(|config| config.poll);
    poll.map_or(INTERVAL, |poll| Duration::from_secs(poll.value.0))
}
