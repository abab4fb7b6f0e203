//! `[data] collect`: copies files of the node-local data folder into the run folder, each compared
//! with its original, before the node is cleaned up.

use super::keeper::Keeper;
use super::tree::stays_within;
use super::work::Work;
use crate::hashed_copy;
use crate::local_folder::LocalFolder;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;
use train::say_bytes;

/// Between two tries to collect what a disk refuses.
const RETRY: Duration = Duration::from_secs(1);

/// What was collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Files that were copied.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files of which a newer copy was there.
    pub older: u64,
    /// Links and others that were not collected: they stay where they are.
    pub left: Vec<PathBuf>,
    /// Patterns that name nothing.
    pub unmatched: Vec<String>,
}

/// Why not all was collected.
#[derive(Debug, Error)]
pub enum CollectError {
    /// The system.
    #[error("{path:?}: {source}")]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The copy has other bytes.
    #[error("the copy of {path:?} has other bytes than the file")]
    Differs {
        /// The file.
        path: PathBuf,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> CollectError {
    let path = path.to_owned();
    move |source| CollectError::System { path, source }
}

/// Copies what is below `data` and which a pattern names to the same places below `to`: files, folders that hold
/// nothing, and links that stay within `data`, as links. What has a copy that is as new already is left alone.
///
/// # Errors
/// The first file that can't be copied. What was copied before stays, and another call goes on.
pub fn collect(data: &Path, patterns: &[String], to: &Path) -> Result<Collected, CollectError> {
    let wanted = set_of(patterns).map_err(|error| at(data)(io::Error::other(error)))?;
    let mut collected = Collected::default();
    let mut matched = vec![false; patterns.len()];
    let mut is_wanted = |place: &Path| {
        let found = wanted.matches(place);
        found.iter().for_each(|pattern| matched[*pattern] = true);
        !found.is_empty()
    };
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = data.join(&folder);
        let mut is_empty = true;
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            is_empty = false;
            let entry = entry.map_err(at(&path))?;
            let place = folder.join(entry.file_name());
            let kind = entry.file_type().map_err(at(&entry.path()))?;
            if kind.is_dir() {
                folders.push(place);
            } else if kind.is_file() && is_wanted(&place) {
                copy(&entry.path(), &to.join(&place), &mut collected)?;
            } else if kind.is_symlink() && is_wanted(&place) {
                let target = fs::read_link(entry.path()).map_err(at(&entry.path()))?;
                let target = within(data, &place, target);
                if stays_within(&place, &target) {
                    link(&target, &to.join(&place))?;
                } else {
                    collected.left.push(place);
                }
            } else if is_wanted(&place) {
                collected.left.push(place);
            }
        }
        if is_empty && is_wanted(&folder) {
            let there = to.join(&folder);
            fs::create_dir_all(&there).map_err(at(&there))?;
        }
    }
    let patterns = patterns.iter().zip(matched);
    let unmatched = patterns.filter(|(_, is_matched)| !is_matched);
    collected.unmatched = unmatched.map(|(pattern, _)| pattern.clone()).collect();
    Ok(collected)
}

/// What a link at `place` leads to, seen from there where it is named as a whole path below `data`.
fn within(data: &Path, place: &Path, target: PathBuf) -> PathBuf {
    let Ok(inside) = target.strip_prefix(data) else {
        return target;
    };
    let folders = place.components().count() - 1;
    let mut seen = PathBuf::from_iter(std::iter::repeat_n("..", folders));
    seen.push(inside);
    seen
}

/// `*` is within one folder, `**` goes through all.
fn set_of(patterns: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    set.build()
}

/// Makes a link anew; what is no link in its place stays.
fn link(target: &Path, to: &Path) -> Result<(), CollectError> {
    if let Ok(there) = fs::symlink_metadata(to) {
        let is_same = fs::read_link(to).is_ok_and(|there| there == target);
        if is_same || !there.is_symlink() {
            return Ok(());
        }
        fs::remove_file(to).map_err(at(to))?;
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(at(folder))?;
    }
    std::os::unix::fs::symlink(target, to).map_err(at(to))
}

fn copy(from: &Path, to: &Path, collected: &mut Collected) -> Result<(), CollectError> {
    let facts = fs::metadata(from).map_err(at(from))?;
    let written = facts.modified().map_err(at(from))?;
    if let Ok(there) = fs::metadata(to)
        && let Ok(known) = there.modified()
    {
        let is_same = known == written && there.len() == facts.len();
        collected.older += u64::from(known > written);
        if is_same || known > written {
            return Ok(());
        }
    }
    let mut beside = OsString::from(".");
    beside.push(to.file_name().unwrap_or_default());
    beside.push(".incoming");
    let beside = to.with_file_name(beside);
    let put = || -> Result<u64, CollectError> {
        let (bytes, hash) = hashed_copy::copy(from, &beside).map_err(at(to))?;
        let (length, there) = hashed_copy::hash(&beside).map_err(at(to))?;
        if (length, &there) != (bytes, &hash) {
            return Err(CollectError::Differs {
                path: from.to_owned(),
            });
        }
        // Its age says later which of two is newer.
        let times = fs::FileTimes::new().set_modified(written);
        let file = File::options().write(true).open(&beside);
        file.and_then(|file| file.set_times(times))
            .map_err(at(to))?;
        fs::set_permissions(&beside, facts.permissions()).map_err(at(to))?;
        fs::rename(&beside, to).map_err(at(to))?;
        Ok(bytes)
    };
    let bytes = put().inspect_err(|_| {
        // Half a copy is of no use, and its room is needed.
        let _ = fs::remove_file(&beside);
    })?;
    collected.files += 1;
    collected.bytes += bytes;
    Ok(())
}

/// How far an agent is with collecting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Collecting {
    /// Nothing was asked of the worker, or it is asked again after that moment.
    #[default]
    Idle,
    /// It is in the worker's hands.
    Busy,
    /// Another try is due then.
    Again(Instant),
    /// It can't be done; the files stay on the node.
    GivenUp,
}

impl Keeper {
    /// Below the run folder, where this node's files go.
    pub(super) fn collected_folder(&self) -> PathBuf {
        let folder = self.at.run.collected();
        match self.at.plan.nodes.value {
            1 => folder,
            _ => folder.join(self.at.node_index.to_string()),
        }
    }

    /// Whether files of the node are still to be collected, which this asks for.
    pub(super) fn must_collect(&mut self) -> bool {
        if !self.copier || !self.local.has_uncollected() {
            return false;
        }
        match self.collecting {
            Collecting::GivenUp => return false,
            Collecting::Busy => {}
            Collecting::Again(due) if Instant::now() < due => {}
            Collecting::Idle | Collecting::Again(_) => {
                self.collecting = Collecting::Busy;
                self.give(Work::Collect {
                    local: self.local.clone(),
                    patterns: self.at.plan.data.collect.value.clone(),
                    to: self.collected_folder(),
                });
            }
        }
        true
    }

    /// What came of it.
    pub(super) fn collected(
        &mut self,
        local: &LocalFolder,
        result: Result<Collected, CollectError>,
    ) {
        let node = &self.at.node;
        match result {
            Ok(Collected {
                files,
                bytes,
                older,
                left,
                unmatched,
            }) => {
                self.collecting = Collecting::Idle;
                if left.is_empty() {
                    local.all_collected();
                } else {
                    // Else it would be tried again, and removed in the end.
                    self.collecting = Collecting::GivenUp;
                    let names: Vec<String> =
                        left.iter().map(|path| path.display().to_string()).collect();
                    let folder = local.data();
                    let text = format!(
                        "not collected from {node}, as they are links that lead out of {{data}}, or no files: {}; they stay in {folder:?} there",
                        names.join(", ")
                    );
                    self.outbox.note(text);
                }
                let mut text = format!(
                    "{} ({}) collected from {node}",
                    model::counted(usize::try_from(files).unwrap_or(usize::MAX), "file"),
                    say_bytes(bytes)
                );
                if older > 0 {
                    text.push_str(&format!(", {older} left that have a newer copy"));
                }
                self.outbox.note(text);
                if !unmatched.is_empty() {
                    let text = format!(
                        "[data] collect names nothing on {node} by {}: it holds paths below {{data}}, where `**/` is any folder",
                        unmatched.join(", ")
                    );
                    self.outbox.note(text);
                }
            }
            Err(error) if sys::disk_errors::may_pass(&error) => {
                let first = matches!(self.collecting, Collecting::Busy);
                self.collecting = Collecting::Again(Instant::now() + RETRY);
                if first && !std::mem::replace(&mut self.said_refused, true) {
                    let text = format!("the run folder takes no files of {node}: {error}; waiting");
                    self.outbox.note(text);
                }
            }
            Err(error) => {
                self.collecting = Collecting::GivenUp;
                let folder = local.data();
                let text = format!(
                    "not all files of {node} could be collected: {error}; they stay in {folder:?} there"
                );
                self.outbox.note(text);
            }
        }
    }

    /// Collects what an earlier start of this run could not; whether nothing is left there.
    pub(super) fn collect_earlier(&self, earlier: &LocalFolder) -> bool {
        if !earlier.has_uncollected() {
            return true;
        }
        let patterns = &self.at.plan.data.collect.value;
        let done = collect(&earlier.data(), patterns, &self.collected_folder());
        let done = done.is_ok_and(|collected| collected.left.is_empty());
        if done {
            earlier.all_collected();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_whole_path_below_the_data_leads_there_in_the_copy_too() {
        let check = |place: &str, target: &str, want: &str| {
            let seen = super::within("/n/data".as_ref(), place.as_ref(), target.into());
            assert_eq!(seen.to_str(), Some(want));
        };
        check("results/best", "/n/data/results/a", "../results/a");
        check("best", "/n/data/results/a", "results/a");
        check("results/best", "a", "a");
        check("results/best", "/etc/hostname", "/etc/hostname");
    }

    use super::*;
    use std::time::SystemTime;

    fn age(path: &Path, seconds: u64) {
        let times = fs::FileTimes::new()
            .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - seconds));
        let file = File::options().write(true).open(path).unwrap();
        file.set_times(times).unwrap();
    }

    /// They were dropped without a message, and removed with the node's folder.
    #[test]
    fn links_and_empty_folders_come_and_what_leads_out_is_named() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let (data, to) = (root.path().join("data"), root.path().join("collected"));
        fs::create_dir_all(data.join("results/empty")).unwrap();
        fs::write(data.join("results/a"), "1").unwrap();
        symlink("a", data.join("results/newest")).unwrap();
        symlink("/etc/hostname", data.join("results/out")).unwrap();
        let all = ["results/**".to_owned()];
        for _ in 0..2 {
            let found = collect(&data, &all, &to).unwrap();
            assert_eq!(found.left, [PathBuf::from("results/out")]);
            let link = fs::read_link(to.join("results/newest")).unwrap();
            assert_eq!(link, Path::new("a"));
            assert!(to.join("results/empty").is_dir());
        }
    }

    #[test]
    fn newer_files_come_and_newer_copies_stay() {
        let root = tempfile::tempdir().unwrap();
        let (data, to) = (root.path().join("data"), root.path().join("collected"));
        fs::create_dir_all(data.join("results/deep")).unwrap();
        for (name, text) in [
            ("results/a", "1"),
            ("results/deep/b", "22"),
            ("results/deep/c.log", "333"),
            ("other", "x"),
        ] {
            fs::write(data.join(name), text).unwrap();
            age(&data.join(name), 10);
        }
        let all = ["results/**".to_owned()];
        let check = |patterns: &[String], files, bytes, older| {
            let found = collect(&data, patterns, &to).unwrap();
            assert_eq!(
                found,
                Collected {
                    files,
                    bytes,
                    older,
                    left: Vec::new(),
                    unmatched: Vec::new(),
                }
            );
        };
        check(&["results/*".to_owned()], 1, 1, 0);
        check(&all, 2, 5, 0);
        check(&all, 0, 0, 0);
        let other = ["result/*".to_owned(), "results/a".to_owned()];
        let found = collect(&data, &other, &to).unwrap();
        assert_eq!(found.unmatched, ["result/*"]);
        assert!(!to.join("other").exists());
        // A start on another node has brought a newer one.
        fs::write(to.join("results/a"), "newer").unwrap();
        fs::write(data.join("results/deep/b"), "again").unwrap();
        check(&all, 1, 5, 1);
        assert_eq!(fs::read_to_string(to.join("results/a")).unwrap(), "newer");
        assert_eq!(
            fs::read_to_string(to.join("results/deep/b")).unwrap(),
            "again"
        );
        let names = fs::read_dir(to.join("results/deep")).unwrap();
        assert_eq!(names.count(), 2, "nothing is left beside");
    }
}
