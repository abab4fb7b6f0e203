//! What ended runs and submissions left in run folders, and what becomes of it.

use crate::{IncomingPart, RunFolder};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Something that was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Where it stands.
    pub path: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// What becomes of a leftover, and why, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is of no use.
    Remove(String),
    /// It is removed only where that was asked for expressly.
    Force(String),
    /// It is in use, or not ours.
    Keep(String),
}

/// Whether a run may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It may.
    Live,
    /// It is over, and can be brought back.
    Over,
    /// It is over and done: nothing of it is left to go on with.
    Done,
    /// Its cluster does not answer.
    Unreachable,
    /// No run of this name is known.
    Unknown,
}

/// A folder without a run in it may be that of a submission that is under way.
const SUBMISSION: Duration = Duration::from_secs(600);

impl Leftover {
    /// Of what stands at `path`.
    #[must_use]
    pub fn new(path: PathBuf, verdict: Verdict) -> Leftover {
        let bytes = sys::tree_size(&path);
        Leftover {
            path,
            bytes,
            verdict,
        }
    }

    /// Whether it is to be removed.
    #[must_use]
    pub fn goes(&self, force: bool) -> bool {
        match self.verdict {
            Verdict::Remove(_) => true,
            Verdict::Force(_) => force,
            Verdict::Keep(_) => false,
        }
    }
}

impl RunFolder {
    /// Half-copied checkpoints and code of a run that stands so, and secrets that it needs no more: those of a job that
    /// `scancel` ended while it waited, when nothing of the run's own was there to remove them.
    #[must_use]
    pub fn leftovers(&self, standing: Standing) -> Vec<Leftover> {
        let verdict = |what: &str| match standing {
            Standing::Live => Verdict::Keep(format!("{what}; its run is not over")),
            Standing::Unreachable => Verdict::Keep(format!(
                "{what}; its cluster does not answer, the run may not be over"
            )),
            Standing::Over | Standing::Done | Standing::Unknown => {
                Verdict::Remove(format!("{what}; its run is over"))
            }
        };
        let mut left = Vec::new();
        for path in entries(&self.incoming()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let verdict = match IncomingPart::new(self, &name).read_manifest() {
                Ok(manifest) => Verdict::Force(format!(
                    "checkpoint {} was being put into place; yard requeue {} finishes that",
                    manifest.name,
                    self.id()
                )),
                Err(_) => verdict("a half-copied checkpoint"),
            };
            left.push(Leftover::new(path, verdict));
        }
        let code = self.path().join(crate::code_snapshot::INCOMING);
        if code.exists() {
            left.push(Leftover::new(code, verdict("a half-copied code folder")));
        }
        let secrets = self.secrets();
        if matches!(standing, Standing::Over | Standing::Done) && secrets.exists() {
            left.push(Leftover::new(secrets, verdict("values of secrets")));
        }
        left
    }
}

/// Folders of runs that were never submitted: below `scratch`, without a `run.json`, or with one that was
/// never listed.
#[must_use]
pub fn half_runs(
    scratch: &Path,
    is_listed: &dyn Fn(&Path) -> bool,
    now: SystemTime,
) -> Vec<Leftover> {
    let projects = entries(scratch);
    let visible = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default();
        !name.as_encoded_bytes().starts_with(b".") && is_folder(path)
    };
    let mut left = Vec::new();
    for path in projects
        .iter()
        .filter(visible)
        .flat_map(|path| entries(path))
    {
        let run = RunFolder::at(&path);
        // What has no links is no folder of ours.
        if !is_folder(&path) || !is_folder(&run.links()) {
            continue;
        }
        // One that was submitted and is not listed is of a lost index.
        let is_submitted = || is_listed(&path) || !entries(&run.links()).is_empty();
        if run.run_json().exists() && is_submitted() {
            continue;
        }
        let changed = fs::metadata(&path).and_then(|facts| facts.modified());
        let age = changed.ok().and_then(|at| now.duration_since(at).ok());
        let verdict =
            if entries(&run.links()).is_empty() && age.is_some_and(|age| age >= SUBMISSION) {
                Verdict::Remove("half a run folder; nothing was submitted from it".to_owned())
            } else {
                Verdict::Keep("half a run folder, made just now".to_owned())
            };
        left.push(Leftover::new(path, verdict));
    }
    left
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Manifest;
    use model::Timestamp;

    #[test]
    fn half_copies_go_with_their_run_and_what_is_nearly_published_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let run = RunFolder::create(scratch.path(), "shop", "digits-k3f9").unwrap();
        let half = IncomingPart::new(&run, "7.0.0.1");
        fs::create_dir_all(half.data()).unwrap();
        fs::write(half.data().join("a"), b"12").unwrap();
        let whole = IncomingPart::new(&run, "7.0.0.2");
        fs::create_dir_all(whole.data()).unwrap();
        let manifest = Manifest::new("step-5", Timestamp(0), true, crate::Contents::default());
        whole.write_manifest(&manifest).unwrap();
        fs::create_dir(run.path().join(".code.incoming")).unwrap();
        let going = |standing, force| {
            let left = run.leftovers(standing);
            assert_eq!((left.len(), left[0].bytes), (3, 2));
            left.iter().filter(|one| one.goes(force)).count()
        };
        assert_eq!(going(Standing::Over, false), 2);
        assert_eq!(going(Standing::Over, true), 3);
        assert_eq!(going(Standing::Live, false), 0);
        assert_eq!(going(Standing::Unreachable, false), 0);
    }

    #[test]
    fn secrets_of_a_run_that_is_over_go() {
        let scratch = tempfile::tempdir().unwrap();
        let run = RunFolder::create(scratch.path(), "shop", "digits-k3f9").unwrap();
        run.write_secrets(&[("TOKEN".to_owned(), "x".to_owned())].into())
            .unwrap();
        for standing in [Standing::Live, Standing::Unreachable, Standing::Unknown] {
            assert_eq!(run.leftovers(standing), []);
        }
        let left = run.leftovers(Standing::Over);
        assert!(left.len() == 1 && left[0].goes(false), "{left:?}");
        assert_eq!(left[0].path, run.secrets());
    }

    #[test]
    fn a_submission_under_way_is_not_half_a_run() {
        let scratch = tempfile::tempdir().unwrap();
        let run = RunFolder::create(scratch.path(), "shop", "x").unwrap();
        fs::create_dir_all(scratch.path().join(".yard/0.1.0")).unwrap();
        fs::create_dir_all(scratch.path().join("shop/notes")).unwrap();
        let now = SystemTime::now();
        let later = now + SUBMISSION + SUBMISSION;
        let left = |listed: bool, now| half_runs(scratch.path(), &|_| listed, now);
        let made = left(false, now);
        assert!(made.len() == 1 && !made[0].goes(true), "{made:?}");
        let half = left(false, later);
        assert!(half[0].goes(false) && half[0].path == run.path());
        // Its command was killed before it could list it.
        fs::write(run.run_json(), b"{}").unwrap();
        assert!(left(false, later)[0].goes(false));
        assert_eq!(left(true, later), []);
        fs::write(run.links().join("1.intent"), b"{}").unwrap();
        assert_eq!(left(false, later), []);
    }
}
