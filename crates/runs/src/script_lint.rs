//! What is wrong with a batch script, and with that what would refuse it before it is submitted.

use crate::known_cluster::known_file;
use crate::would_take::{JobToTest, WouldTake, would_take};
use crate::{Failure, FailureKind, Target, input_file};
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use lint::{Finding, FolderFact, Lines, LintInput, Severity};
use model::{SlurmVersion, Surroundings, Timestamp, sbatch};
use resources::Fate;
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

/// Whether an engine takes a script and would start it, by its own answer.
fn is_taken(
    place: &ScriptPlace,
    script: &Path,
    text: &str,
    args: &[String],
    target: &Target,
    places: &Places,
) -> Result<bool, Failure> {
    let around = Surroundings::embedded(place.now, &place.zone, &place.cwd).with_nodes(true);
    let mut words = args.to_vec();
    words.push(script.display().to_string());
    let variable = |name: &str| Some(sys::odd_text::text(&std::env::var_os(name)?));
    let (read, remarks) = sbatch::resolve(&words, &variable, Some(text), &around);
    if remarks
        .iter()
        .any(|it| it.severity == model::Severity::Error)
    {
        return Ok(false);
    }
    let job = JobToTest {
        request: read.request,
        script: text.to_owned(),
        flags: Vec::new(),
    };
    let answer = would_take(&target.cluster(), &job, places)?;
    // One that waits for what no job ends is taken, and never starts.
    let by_file = place.cluster.as_ref();
    let by_file = by_file.map(|file| resources::findings(file, &job.request, Some(place.user)));
    let never = by_file.into_iter().flatten().any(
        |found| matches!(found.fate, Fate::Waits(reason) if answer.waits_for() == Some(reason)),
    );
    Ok(!never && !matches!(answer, WouldTake::No(_)))
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
    let cluster = known_file(target, places)?;
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
    let by_file = cluster.is_some();
    let mut place = ScriptPlace::here(cluster, None)?;
    let mut found = place.check(&name, &text, args);
    // An engine's file lacks what was changed since by sacctmgr and scontrol.
    if target.facts.embedded
        && by_file
        && found.iter().any(|it| it.severity == Severity::Error)
        && is_taken(&place, script, &text, args, target, places)?
    {
        place.cluster = None;
        found = place.check(&name, &text, args);
    }
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
        refused,
    })
}
