//! Where runs are found again, though scratch is purged and projects are many.

use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// `<index>/<cluster>/<run>.json`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The run's id.
    pub id: String,
    /// The run's name: its id without the last part.
    pub name: String,
    /// The cluster's name.
    pub cluster: String,
    /// The run folder.
    pub folder: PathBuf,
    /// When it was made.
    pub created: Timestamp,
    /// How many runs it stands for, `ID.1` to `ID.N`, each with a folder in its folder; none: it is
    /// one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Which repeat it is, where it is one; in the file stand none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Repeat>,
}

/// One of several repeats of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The id that all of them share.
    pub id: String,
    /// The folder in which theirs stand.
    pub folder: PathBuf,
    /// Which it is, from 1.
    pub number: u32,
    /// How many there are.
    pub count: u32,
}

impl IndexEntry {
    /// The entry of one of its repeats.
    #[must_use]
    pub fn repeat(&self, number: u32, count: u32) -> IndexEntry {
        let id = format!("{}.{number}", self.id);
        IndexEntry {
            folder: self.folder.join(&id),
            id,
            name: self.name.clone(),
            cluster: self.cluster.clone(),
            created: self.created,
            repeats: None,
            of: Some(Repeat {
                id: self.id.clone(),
                folder: self.folder.clone(),
                number,
                count,
            }),
        }
    }

    /// The entry in the file of which this is a part: its own, or that of all repeats.
    #[must_use]
    pub fn whole(&self) -> IndexEntry {
        match &self.of {
            None => self.clone(),
            Some(of) => IndexEntry {
                id: of.id.clone(),
                folder: of.folder.clone(),
                repeats: Some(of.count),
                of: None,
                ..self.clone()
            },
        }
    }

    /// The runs that it stands for: itself, or its repeats in order.
    fn runs(self) -> Vec<IndexEntry> {
        match self.repeats {
            None => vec![self],
            Some(count) => (1..=count)
                .map(|number| self.repeat(number, count))
                .collect(),
        }
    }

    /// Its number among repeats; 0 for a run that is no repeat.
    fn number(&self) -> u32 {
        self.of.as_ref().map_or(0, |of| of.number)
    }

    /// The id that it shares with other repeats, or its own.
    #[must_use]
    pub fn shared_id(&self) -> &str {
        self.of.as_ref().map_or(&self.id, |of| &of.id)
    }
}

/// `<index>/<cluster>/<run>.removed`: jobs that an engine still lists and whose run is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedRun {
    /// The run's id.
    pub id: String,
    /// The cluster's name.
    pub cluster: String,
    /// Its jobs.
    pub jobs: Vec<u32>,
    /// When it was removed.
    pub at: Timestamp,
}

impl RemovedRun {
    /// Whether a job of that cluster was one of its jobs.
    #[must_use]
    pub fn had(&self, cluster: &str, job: u32) -> bool {
        self.cluster == cluster && self.jobs.contains(&job)
    }
}

/// Engines forget a job after a year.
const REMEMBERED_MS: i64 = 366 * 24 * 3600 * 1000;

/// The index of one user: a file a run, outside scratch.
#[derive(Clone, Debug)]
pub struct Index {
    root: PathBuf,
}

impl Index {
    /// The index in that folder, which need not be there yet.
    #[must_use]
    pub fn new(root: &Path) -> Index {
        Index {
            root: root.to_owned(),
        }
    }

    /// Adds a run.
    ///
    /// # Errors
    /// What the system says.
    pub fn add(&self, entry: &IndexEntry) -> io::Result<()> {
        let folder = self.root.join(&entry.cluster);
        crate::run_folder::own_folders(&folder, 0o700)?;
        let path = folder.join(format!("{}.json", entry.id));
        sys::atomic::write(&path, &serde_json::to_vec_pretty(entry)?)
    }

    /// Removes what [`Index::add`] added; what is not there is fine.
    pub fn remove(&self, entry: &IndexEntry) {
        let name = format!("{}.json", entry.id);
        let _ = std::fs::remove_file(self.root.join(&entry.cluster).join(name));
    }

    /// Notes that a run was removed whose jobs an engine may still list. Old notes go.
    ///
    /// # Errors
    /// What the system says.
    pub fn note_removed(&self, removed: &RemovedRun) -> io::Result<()> {
        let folder = self.root.join(&removed.cluster);
        crate::run_folder::own_folders(&folder, 0o700)?;
        for old in self.removed()? {
            if removed.at.since(old.at) > REMEMBERED_MS {
                let _gone = std::fs::remove_file(self.removed_file(&old));
            }
        }
        let text = serde_json::to_vec_pretty(removed)?;
        sys::atomic::write(&self.removed_file(removed), &text)
    }

    /// The runs that were removed, in no order.
    ///
    /// # Errors
    /// What the system says.
    pub fn removed(&self) -> io::Result<Vec<RemovedRun>> {
        let mut removed = Vec::new();
        for cluster in folder_entries(&self.root)? {
            for path in folder_entries(&cluster)? {
                if path.extension().is_some_and(|ending| ending == "removed") {
                    let text = std::fs::read(&path)?;
                    removed.extend(serde_json::from_slice::<RemovedRun>(&text).ok());
                }
            }
        }
        Ok(removed)
    }

    fn removed_file(&self, removed: &RemovedRun) -> PathBuf {
        let name = format!("{}.removed", removed.id);
        self.root.join(&removed.cluster).join(name)
    }

    /// All runs, the oldest first, repeats each for itself. A file that is no entry is passed over:
    /// it is not ours.
    ///
    /// # Errors
    /// What the system says.
    pub fn all(&self) -> io::Result<Vec<IndexEntry>> {
        let mut entries = Vec::new();
        for cluster in folder_entries(&self.root)? {
            for path in folder_entries(&cluster)? {
                if path
                    .extension()
                    .is_some_and(|extension| extension == "json")
                {
                    let text = std::fs::read(&path)?;
                    let entry = serde_json::from_slice::<IndexEntry>(&text).ok();
                    entries.extend(entry.into_iter().flat_map(IndexEntry::runs));
                }
            }
        }
        let order = |entry: &IndexEntry| (entry.created, entry.shared_id().to_owned());
        entries.sort_by_cached_key(|entry| (order(entry), entry.number()));
        Ok(entries)
    }

    /// The runs that a person can mean by `text`, the newest first: `@` is the newest of all; else
    /// the id, or else the name, or else the beginning of ids. It names all repeats, unless the
    /// number of one stands behind: `digits.3`, `@.3`.
    ///
    /// # Errors
    /// What the system says.
    pub fn find(&self, text: &str) -> io::Result<Vec<IndexEntry>> {
        let mut all = self.all()?;
        all.reverse();
        Ok(Index::choose(&all, text, Naming::OrBeginning))
    }

    /// As [`Index::find`], of runs that were read already, the newest first, if they may be named so.
    #[must_use]
    pub fn choose(newest_first: &[IndexEntry], text: &str, naming: Naming) -> Vec<IndexEntry> {
        let found = Index::named(newest_first, text, naming);
        if !found.is_empty() {
            return found;
        }
        let Some((text, number)) = text.rsplit_once('.') else {
            return found;
        };
        let Ok(number) = number.parse::<u32>() else {
            return found;
        };
        let mut of_all = Index::named(newest_first, text, naming);
        of_all.retain(|entry| number > 0 && entry.number() == number);
        of_all
    }

    fn named(newest_first: &[IndexEntry], text: &str, naming: Naming) -> Vec<IndexEntry> {
        if text == "@" {
            let newest = newest_first.first().map(IndexEntry::shared_id);
            let is_newest = |entry: &&IndexEntry| newest == Some(entry.shared_id());
            return newest_first.iter().filter(is_newest).cloned().collect();
        }
        let ways: [&dyn Fn(&IndexEntry) -> bool; 4] = [
            &|entry| entry.id == text,
            &|entry| entry.shared_id() == text,
            &|entry| entry.name == text,
            &|entry| naming == Naming::OrBeginning && entry.id.starts_with(text),
        ];
        for way in ways {
            let found: Vec<IndexEntry> = newest_first
                .iter()
                .filter(|entry| way(entry))
                .cloned()
                .collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }
}

/// How a person may name runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By the whole id or name, or `@`: where a slip of the hand would end or remove something.
    Whole,
    /// Also by the beginning of an id.
    OrBeginning,
}

/// Paths in a folder; none where it is not there or is no folder.
fn folder_entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, name: &str, created: i64) -> IndexEntry {
        IndexEntry {
            id: id.to_owned(),
            name: name.to_owned(),
            cluster: "local".to_owned(),
            folder: PathBuf::from("/scratch").join(id),
            created: Timestamp(created),
            repeats: None,
            of: None,
        }
    }

    #[test]
    fn a_removed_run_is_noted_and_no_entry() {
        let root = tempfile::tempdir().unwrap();
        let index = Index::new(root.path());
        let removed = |id: &str, at| RemovedRun {
            id: id.to_owned(),
            cluster: "local".to_owned(),
            jobs: vec![7, 9],
            at: Timestamp(at),
        };
        index.note_removed(&removed("old-aa11", 0)).unwrap();
        let new = removed("new-bb22", REMEMBERED_MS + 1);
        index.note_removed(&new).unwrap();
        assert_eq!(index.removed().unwrap(), [new]);
        assert_eq!(index.all().unwrap(), []);
    }

    #[test]
    fn repeats_are_found_together_and_each_by_its_number() {
        let root = tempfile::tempdir().unwrap();
        let index = Index::new(root.path());
        index.add(&entry("seeds-aa11", "seeds", 1)).unwrap();
        let several = IndexEntry {
            repeats: Some(11),
            ..entry("seeds-bb22", "seeds", 2)
        };
        index.add(&several).unwrap();
        let found = |text: &str| {
            let found = index.find(text).unwrap();
            let ids: Vec<&str> = found.iter().map(|entry| entry.id.as_str()).collect();
            match ids[..] {
                [first, .., last] => format!("{} {first} {last}", ids.len()),
                _ => ids.join(" "),
            }
        };
        assert_eq!(found("@"), "11 seeds-bb22.11 seeds-bb22.1");
        assert_eq!(found("seeds-bb22"), "11 seeds-bb22.11 seeds-bb22.1");
        assert_eq!(found("seeds"), "12 seeds-bb22.11 seeds-aa11");
        assert_eq!(found("seeds.2"), "seeds-bb22.2");
        assert_eq!(found("seeds-bb22.10"), "seeds-bb22.10");
        assert_eq!(found("seeds-b.10"), "seeds-bb22.10");
        assert_eq!(found("@.3"), "seeds-bb22.3");
        assert_eq!(found("seeds.12"), "");
        let third = &index.find("@.3").unwrap()[0];
        assert_eq!(third.folder, several.folder.join("seeds-bb22.3"));
        assert_eq!(third.whole(), several);
    }

    #[test]
    fn found_by_id_name_and_beginning() {
        let root = tempfile::tempdir().unwrap();
        let index = Index::new(&root.path().join("index"));
        assert_eq!(index.find("@").unwrap(), []);
        for run in [
            entry("digits-aa11", "digits", 1),
            entry("digits-bb22", "digits", 3),
            entry("digits2-cc33", "digits2", 2),
        ] {
            index.add(&run).unwrap();
        }
        std::fs::write(root.path().join("index/local/other.json"), "{").unwrap();
        let found = |text: &str| {
            let ids: Vec<String> = index
                .find(text)
                .unwrap()
                .into_iter()
                .map(|e| e.id)
                .collect();
            ids.join(" ")
        };
        assert_eq!(found("@"), "digits-bb22");
        assert_eq!(found("digits"), "digits-bb22 digits-aa11");
        assert_eq!(found("digits-a"), "digits-aa11");
        assert_eq!(found("digits2-cc33"), "digits2-cc33");
        assert_eq!(found("gan"), "");
        let all = index.all().unwrap();
        let whole = |text: &str| Index::choose(&all, text, Naming::Whole).len();
        assert_eq!(
            [whole("digits"), whole("digits-aa11"), whole("@")],
            [2, 1, 1]
        );
        assert_eq!([whole("digits-a"), whole("digit")], [0, 0]);
    }
}
