//! What is wrong with a batch script, and with that what would refuse it before it is submitted.

use crate::known_cluster::judged_by;
use crate::{Failure, FailureKind, Target, input_file};
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use lint::{Finding, FolderFact, Lines, LintInput, Severity};
use model::{SlurmVersion, Timestamp};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use sys::Places;
use sys::users::this_user;

/// What is known of where scripts shall run.
#[derive(Debug)]
pub struct ScriptPlace {
    cluster: Option<ClusterFile>,
    version: Option<SlurmVersion>,
    user: &'static str,
    cwd: PathBuf,
    zone: TimeZone,
    now: Timestamp,
}

impl ScriptPlace {
    /// This folder, this user and now, with the cluster and the version that scripts are for.
    ///
    /// # Errors
    /// This folder is gone.
    pub fn here(
        cluster: Option<ClusterFile>,
        version: Option<SlurmVersion>,
    ) -> Result<ScriptPlace, Failure> {
        let cwd = std::env::current_dir().map_err(|error| {
            let what = format!("this folder can't be read: {error}");
            Failure::new(FailureKind::Io, what).todo("go to a folder that is there")
        })?;
        Ok(ScriptPlace {
            cluster,
            version,
            user: this_user(),
            cwd,
            zone: sys::local_zone(),
            now: Timestamp(sys::now()),
        })
    }

    /// The file of the cluster that they are for.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterFile> {
        self.cluster.as_ref()
    }

    /// All that is found in a script that is submitted with these options.
    #[must_use]
    pub fn check(&self, name: &str, text: &str, args: &[String]) -> Vec<Finding> {
        let folders = |path: &Path| self.folder(path);
        lint::check(&LintInput {
            name,
            text,
            args,
            cluster: self.cluster.as_ref(),
            version: self.version,
            user: Some(self.user),
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

/// What is found in a script before it is submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptCheck {
    /// Errors and warnings.
    pub findings: Vec<ScriptFinding>,
    /// What its cluster has otherwise than its cluster file.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Why it is not submitted.
    pub refused: Option<Failure>,
}

/// One thing that is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFinding {
    /// `error` or `warning`.
    pub severity: String,
    /// The rule's code, such as `Y012`.
    pub code: String,
    /// The line of the script; the first where no line is to blame.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// Looks at a script before it is submitted to `target` with these options. An error refuses it; so does what
/// that cluster would not take by its file or its report, where there is one.
///
/// # Errors
/// This folder is gone, or the cluster's file can't be read.
pub fn check_script(
    script: &Path,
    args: &[String],
    target: &Target,
    places: &Places,
) -> Result<ScriptCheck, Failure> {
    let known = judged_by(target, places)?;
    let name = script.display().to_string();
    // What is read from a pipe is gone for sbatch.
    if !input_file::is_plain(script) {
        return Ok(ScriptCheck::default());
    }
    // A script that can't be read is sbatch's to complain of.
    let Ok(file) = input_file::read(script) else {
        return Ok(ScriptCheck::default());
    };
    let text = String::from_utf8_lossy(&file.bytes);
    let by_file = known.is_some();
    let notes = known.as_ref();
    let notes = notes.map_or_else(Vec::new, |known| known.notes(&target.facts.name));
    let check = |cluster: Option<ClusterFile>| -> Result<Vec<Finding>, Failure> {
        let place = ScriptPlace::here(cluster, None)?;
        Ok(place.check(&name, &text, args))
    };
    let found = if by_file || !target.facts.embedded {
        check(known.map(|known| known.file))?
    } else {
        // What this machine's own engine refuses it says itself; what it takes, and will not start, is known of it.
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        let mut found = check(None)?;
        found.retain(is_error);
        let here = train::site::file_of(&target.facts, &sys::host_name());
        let of_engine = check(Some(here))?;
        found.extend(of_engine.into_iter().filter(|it| !is_error(it)));
        found.sort_by_key(Finding::start);
        found
    };
    let lines = Lines::new(&text);
    let line = |finding: &Finding| {
        let first = finding.labels.first();
        first.map_or(1, |_| lines.number(finding.start()))
    };
    let worth = found.iter().filter(|it| it.severity != Severity::Note);
    let findings = worth.map(|finding| ScriptFinding {
        severity: finding.severity.name().to_owned(),
        code: finding.code.to_owned(),
        line: line(finding),
        message: finding.message.clone(),
    });
    // What sbatch refuses it refuses in its own words; by a cluster's file that is known before.
    let dropped =
        |finding: &&Finding| finding.severity == Severity::Error && (by_file || !finding.refused);
    let errors = found.iter().filter(dropped).count();
    let refused = (errors > 0).then(|| {
        let errors = model::counted(errors, "error");
        let what = format!("{name} was not submitted: it has {errors}");
        let todo = format!("yard lint {name} shows what to change; --no-lint submits it as it is");
        Failure::new(FailureKind::Refused, what).todo(todo)
    });
    Ok(ScriptCheck {
        findings: findings.collect(),
        notes,
        refused,
    })
}
