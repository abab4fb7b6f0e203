//! `run.json`: enough to run it again.

use crate::StartedFrom;
use model::{ClusterFacts, Timestamp};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use train::{ContainerPlan, Plan};

/// `run.json`: written once, before anything is submitted. A new field needs `#[serde(default)]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunJson {
    /// The run's id: `<name>-<4 characters>`.
    pub id: String,
    /// The git root's name, or that of the run file's folder.
    pub project: String,
    /// When it was made.
    pub created: Timestamp,
    /// Random; part of each submission's token.
    pub token: String,
    /// The cluster's name.
    pub cluster: String,
    /// Each value with its source.
    pub plan: Plan,
    /// What the cluster had when the plan was made.
    pub facts: ClusterFacts,
    /// The run file's text, where there was one.
    pub run_file: Option<String>,
    /// The command line that made the run.
    pub command_line: Vec<String>,
    /// Where the code came from.
    pub code: CodeOrigin,
    /// The binary that the nodes run.
    pub yard: PathBuf,
    /// The runs that have to be done before this one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<AwaitedRun>,
    /// The checkpoint at which it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StartedFrom>,
    /// The environment that was made for it.
    pub environment: Option<MadeEnvironment>,
    /// The image that the ranks' container starts from.
    #[serde(default)]
    pub image: Option<ReadyImage>,
    /// Of the programs that took part.
    pub versions: Versions,
}

/// A run that has to be done before another one starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedRun {
    /// Its id.
    pub id: String,
    /// Its run folder.
    pub folder: PathBuf,
}

/// Where a run's code came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeOrigin {
    /// The folder that was copied: the git root, or the run file's folder.
    pub root: PathBuf,
    /// Where the run file stood below it: the ranks' working folder below `code/`.
    pub subfolder: PathBuf,
    /// The commit that was checked out.
    pub commit: Option<String>,
    /// What differed from it, as `git diff HEAD` says; `None` where nothing did.
    pub diff: Option<String>,
    /// Files that were copied.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}

/// The environment that was made for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeEnvironment {
    /// Its folder: the argument of [`train::EnvironmentPlan::preludes`].
    pub path: PathBuf,
    /// The hash that names it.
    pub key: String,
    /// The interpreter's version.
    pub python: String,
    /// The hash of what a job of its own makes it of before the run's first; `None`: it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_make: Option<String>,
}

/// A container's image that is ready for its runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyImage {
    /// Its file or folder; `None`: the runtime fetches it by itself.
    pub path: Option<PathBuf>,
    /// Whether it has variables of its own in `/ch/environment`.
    pub has_environment: bool,
    /// What it is by its content, where its maker said so: `sha256:…`.
    pub digest: Option<String>,
    /// A job of its own makes it before the run's first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_make: bool,
}

impl ReadyImage {
    /// Whether it has variables of its own, now that its job has made it.
    #[must_use]
    pub fn has_environment_now(&self) -> bool {
        let file = self.path.as_ref().map(|path| path.join("ch/environment"));
        self.has_environment || self.to_make && file.is_some_and(|file| file.is_file())
    }
}

/// Beside what is made once for all runs that need it: it is whole.
pub const MADE_MARKER: &str = "trainyard-made";

impl RunJson {
    /// What the job of its own has still to make that runs before the first: `environment` or `image`.
    #[must_use]
    pub fn left_to_make(&self) -> Option<&'static str> {
        let environment = self.environment.as_ref().filter(|it| it.to_make.is_some());
        let environment = environment.map(|it| ("environment", it.path.as_path()));
        let image = self.image.as_ref().filter(|it| it.to_make);
        let image = image.and_then(|it| Some(("image", it.path.as_deref()?.parent()?)));
        let (what, place) = environment.or(image)?;
        (!place.join(MADE_MARKER).exists()).then_some(what)
    }

    /// What was made before the run was submitted and is not there any more: `environment` or `image`, with its place.
    #[must_use]
    pub fn no_longer_there(&self) -> Option<(&'static str, &Path)> {
        let environment = self.environment.as_ref().filter(|it| it.to_make.is_none());
        let environment = environment.map(|it| ("environment", it.path.as_path()));
        let container = self.plan.environment.container.as_ref();
        let image = self.image.as_ref().filter(|it| !it.to_make);
        let image = image.filter(|_| container.is_some_and(ContainerPlan::is_made));
        let image = image.and_then(|it| Some(("image", it.path.as_deref()?.parent()?)));
        let mut made = environment.into_iter().chain(image);
        made.find(|(_, place)| !place.join(MADE_MARKER).exists())
    }
}

/// Versions of the programs that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Of `yard`.
    pub yard: String,
    /// Of the engine or the Slurm that took the job.
    pub scheduler: String,
}
