//! The cluster that a new run goes to.

use crate::SLURM;
use crate::engines::{engine_dir, engine_names, is_engine, said_engine};
use crate::failure::{Failure, FailureKind};
use crate::reach::ClusterRef;
use crate::target_choice::{self, Given, Why};
use crate::user_config::user_config;
use backend::{Discovered, EmbeddedTransport, EngineFolder, LOCAL, ReportedNodes, ReportedSite};
use model::ClusterFacts;
use serde::{Deserialize, Serialize};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use sys::Places;
use sys::env_vars::TRAINYARD_ENGINE;
use train::RunFile;

/// A cluster that new runs go to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// What it is and has.
    pub facts: ClusterFacts,
    /// Name and version of what schedules there: `yard 0.1.0`, `slurm 22.05.8`.
    pub scheduler: String,
    /// Why it is this one.
    pub why: Why,
    /// What a Slurm reports of its nodes; empty for the embedded engine.
    pub nodes: Vec<ReportedNodes>,
    /// What a Slurm may decide of a job that doesn't say it; nothing for the embedded engine.
    pub site: ReportedSite,
}

/// The cluster that new runs go to, by the rule of [`crate::target_choice`]: `on` is what a person named.
///
/// # Errors
/// There is no such cluster, it does not answer, or the user's config can't be read.
pub fn target(places: &Places, on: Option<&str>) -> Result<Target, Failure> {
    target_by(places, on, user_config(places)?.as_ref())
}

/// The same by a user's config that was read.
pub(crate) fn target_by(
    places: &Places,
    on: Option<&str>,
    config: Option<&RunFile>,
) -> Result<Target, Failure> {
    let config = config.and_then(|config| config.on.as_ref());
    let place = config.map_or_else(String::new, |on| on.source.to_string());
    let own = said_engine(places).map(|folder| EngineFolder::new(folder).name());
    let given = Given {
        flag: on,
        config: config.map(|on| (on.value.as_str(), place.as_str())),
        engine: own.as_deref(),
    };
    let found = match target_choice::decided(given) {
        Some((name, why)) if is_engine(places, name) => return embedded(places, name, why),
        Some((name, why)) => return slurm(places, name, why),
        None => backend::discover()?,
    };
    let target = match found {
        Some(found) => of_slurm(&found, Why::SlurmHere),
        None => embedded(places, LOCAL, Why::NoSlurmHere)?,
    };
    let last = std::fs::read_to_string(last_target(places)).ok();
    let last = last.as_deref().map(str::trim);
    match last {
        Some(last) if target_choice::has_moved(&target.why, &target.facts.name, Some(last)) => {
            Err(moved(last, &target.facts.name))
        }
        _ => Ok(target),
    }
}

impl Target {
    /// Which cluster it is.
    #[must_use]
    pub fn cluster(&self) -> ClusterRef {
        ClusterRef {
            name: self.facts.name.clone(),
            is_embedded: self.facts.embedded,
        }
    }

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
        FailureKind::Usage,
        format!("runs without --on went to {last} until now, and would go to {now}"),
    )
    .there(there)
    .todo(format!(
        "--on {last} or --on {now}; for all runs: on = \"{now}\" in config.toml, before all sections"
    ))
}

fn embedded(places: &Places, name: &str, why: Why) -> Result<Target, Failure> {
    let mut transport = EmbeddedTransport::open(&engine_dir(places, name))?;
    let (facts, scheduler) = transport.facts()?;
    Ok(Target {
        facts,
        scheduler,
        why,
        nodes: Vec::new(),
        site: ReportedSite::default(),
    })
}

fn slurm(places: &Places, name: &str, why: Why) -> Result<Target, Failure> {
    match backend::discover()? {
        Some(found) if found.facts.name == name || name == SLURM => Ok(of_slurm(&found, why)),
        found => {
            let found = found.map(|found| found.facts.name);
            Err(
                no_such_cluster(places, name, found.as_deref()).asked(match why {
                    Why::Config(place) => format!("on = \"{name}\" ({place})"),
                    Why::Variable => format!("{TRAINYARD_ENGINE}={name}"),
                    _ => format!("--on {name}"),
                }),
            )
        }
    }
}

fn of_slurm(found: &Discovered, why: Why) -> Target {
    Target {
        facts: found.facts.clone(),
        scheduler: found.scheduler(),
        why,
        nodes: found.nodes.clone(),
        site: found.site.clone(),
    }
}

fn no_such_cluster(places: &Places, name: &str, slurm: Option<&str>) -> Failure {
    let engines = engine_names(places).join(", ");
    let there = match slurm {
        Some(slurm) => format!("{engines} and {slurm}"),
        None => format!("{engines}; no Slurm answers on this machine"),
    };
    Failure::new(
        FailureKind::Usage,
        format!("no Slurm answers for {name} here"),
    )
    .there(there)
    .todo(match cluster_file::find(name) {
        Some(_) => {
            format!(
                "yard engine start {name} --cluster {name} pretends it on this machine; plan, lint and port work with its cluster file"
            )
        }
        None => format!("--on {LOCAL}, or leave --on out"),
    })
}
