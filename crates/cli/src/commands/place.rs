//! Where things lie for this call, and the transport that it means.

use super::target::{self, Given, Why};
use crate::exit_code;
use crate::failure::Failure;
use backend::{Discovered, EmbeddedTransport, LOCAL, SlurmTransport, Transport};
use folder::{Index, IndexEntry};
use model::ClusterFacts;
use runs::SLURM;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use sys::Places;
use train::RunFile;

/// The folders of this user.
pub fn places() -> Result<Places, Failure> {
    Places::from_env().map_err(|error| {
        Failure::new(exit_code::IO, error.to_string())
            .todo("set TRAINYARD_HOME to a folder on a local disk that you may write")
    })
}

/// All runs of this user, as the index names them.
pub fn indexed_runs(places: &Places) -> Result<Vec<IndexEntry>, Failure> {
    let index = Index::new(&places.index);
    index
        .all()
        .map_err(|error| unreadable_index(places, &error))
}

/// The index of runs can't be read.
pub fn unreadable_index(places: &Places, error: &io::Error) -> Failure {
    Failure::new(
        exit_code::IO,
        format!("the index of runs can't be read: {error}"),
    )
    .asked(places.index.display().to_string())
}

/// The embedded engine's folder: inside one of its jobs, that engine's.
pub fn engine_dir(places: &Places) -> PathBuf {
    std::env::var_os(sys::env_vars::TRAINYARD_ENGINE)
        .map_or_else(|| places.engine_dir("main"), PathBuf::from)
}

/// A cluster that new runs go to.
pub struct Target {
    /// The way to it.
    pub transport: Box<dyn Transport>,
    /// What it is and has.
    pub facts: ClusterFacts,
    /// Name and version of what schedules there: `yard 0.1.0`, `slurm 22.05.8`.
    pub scheduler: String,
    /// Why it is this one.
    pub why: Why,
}

/// The cluster that new runs go to, by the rule of [`super::target`].
pub fn target(
    places: &Places,
    on: Option<&str>,
    config: Option<&RunFile>,
) -> Result<Target, Failure> {
    let config = config.and_then(|config| config.on.as_ref());
    let place = config.map_or_else(String::new, |on| on.source.to_string());
    let given = Given {
        flag: on,
        config: config.map(|on| (on.value.as_str(), place.as_str())),
        in_local_job: std::env::var_os(sys::env_vars::TRAINYARD_ENGINE).is_some(),
    };
    let found = match target::decided(given) {
        Some((LOCAL, why)) => return local(places, why),
        Some((name, why)) => return slurm(name, why),
        None => backend::discover()?,
    };
    let target = match found {
        Some(found) => of_slurm(&found, Why::SlurmHere),
        None => local(places, Why::NoSlurmHere)?,
    };
    let last = std::fs::read_to_string(last_target(places)).ok();
    let last = last.as_deref().map(str::trim);
    match last {
        Some(last) if target::has_moved(&target.why, &target.facts.name, Some(last)) => {
            Err(moved(last, &target.facts.name))
        }
        _ => Ok(target),
    }
}

impl Target {
    /// Notes where a run by default went, so that the next one does not go elsewhere unasked.
    pub fn remember(&self, places: &Places) {
        if self.why.is_decided() {
            return;
        }
        let file = last_target(places);
        let folder = file.parent().unwrap_or(&places.state);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        // Without it the next run says its target all the same.
        let _ = made.and_then(|()| sys::atomic::write(&file, self.facts.name.as_bytes()));
    }
}

/// The file that names the cluster of the last run by default on this machine.
fn last_target(places: &Places) -> PathBuf {
    places.state.join(&places.host).join("target")
}

fn moved(last: &str, now: &str) -> Failure {
    let there = match now {
        LOCAL => "no Slurm is set up on this machine any more".to_owned(),
        now => format!("this machine's Slurm is {now}"),
    };
    Failure::new(
        exit_code::USAGE,
        format!("runs without --on went to {last} until now, and would go to {now}"),
    )
    .there(there)
    .todo(format!(
        "--on {last} or --on {now}; for all runs: on = \"{now}\" in config.toml, before all sections"
    ))
}

fn local(places: &Places, why: Why) -> Result<Target, Failure> {
    let mut transport = EmbeddedTransport::open(&engine_dir(places))?;
    let (facts, scheduler) = transport.facts()?;
    Ok(Target {
        transport: Box::new(transport),
        facts,
        scheduler,
        why,
    })
}

fn slurm(name: &str, why: Why) -> Result<Target, Failure> {
    match backend::discover()? {
        Some(found) if found.facts.name == name || name == SLURM => Ok(of_slurm(&found, why)),
        found => {
            let found = found.map(|found| found.facts.name);
            Err(no_such_cluster(name, found.as_deref()).asked(match why {
                Why::Config(place) => format!("on = \"{name}\" ({place})"),
                _ => format!("--on {name}"),
            }))
        }
    }
}

fn of_slurm(found: &Discovered, why: Why) -> Target {
    Target {
        transport: Box::new(SlurmTransport::new(found)),
        facts: found.facts.clone(),
        scheduler: found.scheduler(),
        why,
    }
}

fn no_such_cluster(name: &str, slurm: Option<&str>) -> Failure {
    let there = match slurm {
        Some(slurm) => format!("{LOCAL} and {slurm}"),
        None => format!("{LOCAL}; no Slurm answers on this machine"),
    };
    Failure::new(
        exit_code::USAGE,
        format!("no Slurm answers for {name} here"),
    )
    .there(there)
    .todo(match cluster_file::find(name) {
        Some(_) => {
            format!("--on {LOCAL}; plan, lint and port work with the cluster file of {name}")
        }
        None => format!("--on {LOCAL}, or leave --on out"),
    })
}

/// The transport to the cluster of a run or job that is there already; it need not answer now.
pub fn open(places: &Places, cluster: &str) -> Result<Box<dyn Transport>, Failure> {
    if cluster == LOCAL {
        return Ok(Box::new(EmbeddedTransport::open(&engine_dir(places))?));
    }
    match SlurmTransport::to(cluster) {
        Some(transport) => Ok(Box::new(transport)),
        None => Err(Failure::new(
            exit_code::UNREACHABLE,
            format!("{cluster} can't be reached from here"),
        )
        .there("no Slurm of that name on this machine")
        .todo("go to a machine of that cluster")),
    }
}

/// The engines whose jobs can be named here: the embedded one, where it ever ran, and this machine's
/// Slurm; and what of them does not answer, in words.
pub fn engines(places: &Places) -> (Vec<Box<dyn Transport>>, Vec<String>) {
    let (mut engines, mut problems) = (Vec::<Box<dyn Transport>>::new(), Vec::new());
    match EmbeddedTransport::open_to_look(&engine_dir(places)) {
        Ok(Some(engine)) => engines.push(Box::new(engine)),
        Ok(None) => {}
        Err(error) => problems.push(Failure::from(error).line()),
    }
    match SlurmTransport::here() {
        Ok(Some(slurm)) => engines.push(Box::new(slurm)),
        Ok(None) => {}
        Err(error) => problems.push(Failure::from(error).line()),
    }
    (engines, problems)
}
