//! What is known of where scripts shall run.

use super::Args;
use crate::exit_code;
use crate::failure::Failure;
use crate::printer::Printer;
use ::lint::{Finding, FolderFact, LintInput};
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::{SlurmVersion, Timestamp};
use runs::cluster_files as files;
use runs::places;
use std::path::{Path, PathBuf};

/// What is known of where scripts shall run.
pub(super) struct Around {
    cluster: Option<ClusterFile>,
    version: Option<SlurmVersion>,
    user: Option<String>,
    cwd: PathBuf,
    zone: TimeZone,
    now: Timestamp,
}

impl Around {
    pub(super) fn find(args: &Args, printer: &Printer) -> Result<Around, Failure> {
        let version = match &args.slurm {
            None => None,
            Some(text) => Some(known_version(text, printer)?),
        };
        let cluster = match &args.on {
            Some(name) => Some(files::read(&places()?, name)?),
            None => None,
        };
        Around::of(cluster, version)
    }

    pub(super) fn of(
        cluster: Option<ClusterFile>,
        version: Option<SlurmVersion>,
    ) -> Result<Around, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            Failure::new(exit_code::IO, format!("this folder can't be read: {error}"))
                .todo("go to a folder that is there")
        })?;
        Ok(Around {
            cluster,
            version,
            user: std::env::var("USER").ok().filter(|user| !user.is_empty()),
            cwd,
            zone: sys::local_zone(),
            now: Timestamp(sys::now()),
        })
    }

    pub(super) fn cluster(&self) -> Option<&ClusterFile> {
        self.cluster.as_ref()
    }

    pub(super) fn check(&self, name: &str, text: &str, args: &[String]) -> Vec<Finding> {
        let folders = |path: &Path| self.folder(path);
        lint::check(&LintInput {
            name,
            text,
            args,
            cluster: self.cluster.as_ref(),
            version: self.version,
            user: self.user.as_deref(),
            cwd: &self.cwd,
            zone: &self.zone,
            now: self.now,
            folders: &folders,
        })
    }

    /// A folder below or beside this one is known. Of one elsewhere this machine can speak only
    /// without a cluster, and where more of its path is here than `/` and one name: `/scratch/x` or
    /// `/home/x` may be another machine's.
    fn folder(&self, path: &Path) -> FolderFact {
        // Linux takes no longer path.
        if path.as_os_str().len() > 4096 {
            return FolderFact::Unknown;
        }
        if path.is_dir() {
            return FolderFact::There;
        }
        let mut above = path.ancestors().skip(1);
        let nearest = above.find(|folder| folder.is_dir());
        // The root counts as a component.
        let known = nearest.filter(|folder| folder.components().count() > 2);
        // Everything is below the root: that says nothing of another machine.
        let below = self.cwd.parent().is_some() && path.starts_with(&self.cwd);
        match known {
            Some(folder) if self.cwd.starts_with(folder) || below => FolderFact::Missing,
            Some(folder) if self.cluster.is_none() && path.parent() == Some(folder) => {
                FolderFact::Missing
            }
            None if below => FolderFact::Missing,
            _ => FolderFact::Unknown,
        }
    }
}

/// A version of which the options are known; one that is newer than all is taken as the newest.
fn known_version(text: &str, printer: &Printer) -> Result<SlurmVersion, Failure> {
    let refuse =
        |there: String| Failure::new(exit_code::USAGE, there).asked(format!("--slurm {text}"));
    let version = text
        .parse::<SlurmVersion>()
        .map_err(|error| refuse(error.to_string()))?;
    let newest = SlurmVersion::V25_11;
    if version < SlurmVersion::V22_05 {
        let oldest = SlurmVersion::V22_05;
        return Err(refuse(format!(
            "Slurm {version} is not known: {oldest} is the oldest that is"
        ))
        .todo(format!("--slurm {oldest} is the nearest")));
    }
    if version > newest {
        printer.say(&format!(
            "note: Slurm {version} is not known, and taken as {newest}, the newest that is"
        ));
    }
    Ok(version.min(newest))
}
