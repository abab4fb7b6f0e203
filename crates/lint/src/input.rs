//! What is linted, and what is known of where it shall run.

use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::SlurmVersion;
use std::path::Path;

/// What is linted, and what is known of where it shall run.
#[derive(Clone, Copy)]
pub struct LintInput<'a> {
    /// The script's name as it was given; `-` for standard input.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Options that go along with it on `sbatch`'s command line, without the script.
    pub args: &'a [String],
    /// The cluster it is for; rules that need one are silent without.
    pub cluster: Option<&'a ClusterFile>,
    /// The Slurm it is for; the cluster's where none is said.
    pub version: Option<SlurmVersion>,
    /// Who submits it, where known.
    pub user: Option<&'a str>,
    /// Where it is submitted from, absolute.
    pub cwd: &'a Path,
    /// The submitter's time zone.
    pub zone: &'a TimeZone,
    /// The time, for `--begin`.
    pub now: model::Timestamp,
    /// What is known of a folder, given absolute.
    pub folders: &'a dyn Fn(&Path) -> FolderFact,
}

/// What is known of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderFact {
    /// It is there.
    There,
    /// It isn't.
    Missing,
    /// This machine can't tell, because the script is for another one.
    Unknown,
}
