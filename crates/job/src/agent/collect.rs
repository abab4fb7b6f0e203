//! `[data] collect`: copies files of the node-local data folder into the run folder, each compared
//! with its original, before the node is cleaned up.

use super::keeper::Keeper;
use super::tree::stays_within;
use super::work::Work;
use crate::hashed_copy;
use crate::local_folder::LocalFolder;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::fs::{self, File, FileType};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;
use train::say_bytes;

/// A file while it comes. One is copied at a time, and of its own name, which may be as long as a disk takes, there is
/// no longer one.
const INCOMING: &str = ".trainyard-incoming";

/// Of how many files that could not be copied a note has the reasons.
const SHOWN: usize = 20;

/// Between two tries to collect what a disk refuses.
const RETRY: Duration = Duration::from_secs(1);

/// What was collected.
#[derive(Debug, Default)]
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
    /// Why others could not be copied, one by one: they stay where they are too.
    pub refused: Vec<CollectError>,
}

impl Collected {
    /// Keeps the error of one file, by which the others are not held up; one that a disk gives for a while is all files'.
    fn keep(&mut self, result: Result<(), CollectError>) -> Result<(), CollectError> {
        match result {
            Err(error) if !sys::disk_errors::may_pass(&error) => {
                self.refused.push(error);
                Ok(())
            }
            other => other,
        }
    }
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
/// A disk refuses for a while. What was copied before stays, and another call goes on.
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
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) => {
                collected.keep(Err(at(&path)(error)))?;
                continue;
            }
        };
        let mut is_empty = true;
        for entry in entries {
            is_empty = false;
            let one = entry.map_err(at(&path)).and_then(|entry| {
                let place = folder.join(entry.file_name());
                let kind = entry.file_type().map_err(at(&entry.path()))?;
                if kind.is_dir() {
                    folders.push(place);
                    Ok(())
                } else if is_wanted(&place) {
                    bring(data, place, kind, to, &mut collected)
                } else {
                    Ok(())
                }
            });
            collected.keep(one)?;
        }
        if is_empty && is_wanted(&folder) {
            let there = to.join(&folder);
            collected.keep(fs::create_dir_all(&there).map_err(at(&there)))?;
        }
    }
    let patterns = patterns.iter().zip(matched);
    let unmatched = patterns.filter(|(_, is_matched)| !is_matched);
    collected.unmatched = unmatched.map(|(pattern, _)| pattern.clone()).collect();
    Ok(collected)
}

/// Copies what is at `place` below `data`, and no folder.
fn bring(
    data: &Path,
    place: PathBuf,
    kind: FileType,
    to: &Path,
    collected: &mut Collected,
) -> Result<(), CollectError> {
    let path = data.join(&place);
    if kind.is_file() {
        return copy(&path, &to.join(&place), collected);
    }
    if kind.is_symlink() {
        let target = fs::read_link(&path).map_err(at(&path))?;
        let target = within(data, &place, target);
        if stays_within(&place, &target) {
            return link(&target, &to.join(&place));
        }
    }
    collected.left.push(place);
    Ok(())
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
    let beside = to.with_file_name(INCOMING);
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

/// The reasons of the first that could not be copied, and how many more there are.
fn in_words(refused: &[CollectError]) -> String {
    let mut words: Vec<String> = refused
        .iter()
        .take(SHOWN)
        .map(ToString::to_string)
        .collect();
    if let Some(more @ 1..) = refused.len().checked_sub(SHOWN) {
        words.push(format!("and {more} more"));
    }
    words.join("; ")
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
                refused,
            }) => {
                self.collecting = Collecting::Idle;
                let folder = local.data();
                if left.is_empty() && refused.is_empty() {
                    local.all_collected();
                } else {
                    // Else it would be tried again, and removed in the end.
                    self.collecting = Collecting::GivenUp;
                }
                if !left.is_empty() {
                    let names: Vec<String> =
                        left.iter().map(|path| path.display().to_string()).collect();
                    let text = format!(
                        "not collected from {node}, as they are links that lead out of {{data}}, or no files: {}; they stay in {folder:?} there",
                        names.join(", ")
                    );
                    self.outbox.note(text);
                }
                if !refused.is_empty() {
                    let text = format!(
                        "not all files of {node} could be collected: {}; they stay in {folder:?} there",
                        in_words(&refused)
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
        let done = done.is_ok_and(|all| all.left.is_empty() && all.refused.is_empty());
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

    /// The first of them ended it all, and no name above 244 bytes came.
    #[test]
    fn a_file_that_can_not_be_copied_holds_up_no_other_one() {
        let root = tempfile::tempdir().unwrap();
        let (data, to) = (root.path().join("data"), root.path().join("collected"));
        let longest = "n".repeat(255);
        for folder in [&data, &to] {
            fs::create_dir_all(folder.join("r/deep")).unwrap();
        }
        for name in ["r/a", "r/taken", "r/deep/b", &format!("r/{longest}")] {
            fs::write(data.join(name), "1").unwrap();
        }
        fs::create_dir(data.join("r/away")).unwrap();
        fs::write(data.join("r/away/x"), "1").unwrap();
        // In place of a file there is a folder, and of a folder a file.
        fs::create_dir(to.join("r/taken")).unwrap();
        fs::write(to.join("r/away"), "1").unwrap();
        let found = collect(&data, &["r/**".to_owned()], &to).unwrap();
        assert_eq!(found.files, 3, "{found:?}");
        let mut words: Vec<String> = found.refused.iter().map(ToString::to_string).collect();
        words.sort();
        assert_eq!(words.len(), 2);
        assert!(
            words[0].contains("r/away") && words[1].contains("r/taken"),
            "{words:?}"
        );
        assert!(to.join("r").join(&longest).exists() && to.join("r/deep/b").exists());
        let many: Vec<CollectError> = (0..22)
            .map(|number| at(Path::new(&number.to_string()))(io::ErrorKind::NotFound.into()))
            .collect();
        assert!(in_words(&many).ends_with("; and 2 more"));
        assert!(!in_words(&many[..20]).contains("more"));
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
            let numbers = (found.files, found.bytes, found.older);
            assert_eq!(numbers, (files, bytes, older));
            assert!(
                found.left.is_empty() && found.refused.is_empty(),
                "{found:?}"
            );
            assert!(found.unmatched.is_empty());
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
