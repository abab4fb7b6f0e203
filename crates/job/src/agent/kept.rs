//! What a node-local folder says of its complete checkpoints, for whoever finds it later: which of
//! them are held there and not out yet, and which are out.

use super::ranks::any_lives;
use super::recognise::{Recognised, recognise};
use super::scan::{FolderInside, fingerprint, scan};
use super::watcher::{Fingerprint, Found, Watcher};
use crate::local_folder::LocalFolder;
use crate::trained;
use folder::RunFolder;
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use train::Complete;

/// A complete entry that is held and not out: the file `<held>.json` beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name in `{checkpoints}`.
    pub name: String,
    /// Whether its completeness was seen, and not only waited for.
    pub proven: bool,
    /// Its size.
    pub bytes: u64,
    /// What its files were when it was complete.
    digest: u64,
}

/// A complete checkpoint that stands on this node alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where its bytes stand.
    pub path: PathBuf,
    /// What is known of it.
    pub record: Record,
}

impl Record {
    /// Of what stands at `path`.
    ///
    /// # Errors
    /// It can't be read.
    pub fn of(name: &str, proven: bool, path: &Path) -> io::Result<Record> {
        let Fingerprint { bytes, digest } = fingerprint(path)?;
        Ok(Record {
            name: name.to_owned(),
            proven,
            bytes,
            digest,
        })
    }

    /// Writes it down beside the held entry.
    ///
    /// # Errors
    /// The node's disk can't be written.
    pub fn write(&self, held: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).expect("invariant: text and numbers only");
        sys::atomic::write_relaxed(&record_of(held), &text)
    }
}

/// Removes a held entry's record; one that is not there is fine.
pub fn remove_record(held: &Path) {
    let _ = fs::remove_file(record_of(held));
}

fn record_of(held: &Path) -> PathBuf {
    let mut name = held.file_name().map(OsString::from).unwrap_or_default();
    name.push(".json");
    held.with_file_name(name)
}

/// The complete checkpoints that a folder has and that were not known to be out, each name once:
/// what its agent held, and what says by its own bytes that it is whole. One whose files have
/// changed since it was complete is not among them.
#[must_use]
pub fn in_folder(local: &LocalFolder) -> Vec<Kept> {
    let mut kept: BTreeMap<String, Kept> = BTreeMap::new();
    for entry in entries(&local.held()) {
        if entry.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let path = entry.with_extension("");
        let record = fs::read(&entry)
            .ok()
            .and_then(|text| serde_json::from_slice::<Record>(&text).ok());
        if let Some(record) = record
            && Record::of(&record.name, record.proven, &path).is_ok_and(|now| now == record)
        {
            kept.insert(record.name.clone(), Kept { path, record });
        }
    }
    let out = read_out(local);
    let there = scan(&local.checkpoints()).map_or(Vec::new(), |there| there.entries);
    for (name, Fingerprint { bytes, digest }) in there {
        let path = local.checkpoints().join(&name);
        let is_out = out.get(&name) == Some(&digest);
        if is_out || kept.contains_key(&name) || name == "latest" {
            continue;
        }
        if let Ok(Recognised::Whole(_)) = recognise(&path) {
            let record = Record {
                name: name.clone(),
                proven: true,
                bytes,
                digest,
            };
            kept.insert(name, Kept { path, record });
        }
    }
    kept.into_values().collect()
}

/// What the ranks of a folder's start left there that have all ended well, and is not known to be out:
/// no agent may have looked since.
#[must_use]
pub fn of_done(run: &RunFolder, local: &LocalFolder, rule: &Complete) -> Vec<Kept> {
    let is_done = |attempt| trained::is_done(run, attempt) && !any_lives(&local.path());
    if local.owner().is_some_and(|(_, attempt)| is_done(attempt)) {
        finished(local, rule.clone())
    } else {
        Vec::new()
    }
}

/// What stands in `{checkpoints}` of a start whose ranks have ended well, and is not known to be
/// out: nothing has to stand still before it counts.
fn finished(local: &LocalFolder, rule: Complete) -> Vec<Kept> {
    look_at_dead(local, rule, true).whole
}

/// What stands in a `{checkpoints}` that no process writes to any more, and is not known to be out.
#[derive(Debug)]
pub struct Dead {
    /// What is complete.
    pub whole: Vec<Kept>,
    /// The names of all others but of those that say themselves that they are unfinished.
    pub doubtful: Vec<String>,
}

/// Looks at a folder without an agent and ranks. `finished`: its ranks had ended well.
pub fn look_at_dead(local: &LocalFolder, rule: Complete, finished: bool) -> Dead {
    let folder = local.checkpoints();
    let there = scan(&folder).unwrap_or_default().entries;
    let now = Timestamp(sys::now());
    let mut watcher = Watcher::new(rule);
    watcher.drain(now, true, finished);
    let mut inside = FolderInside::new(&folder);
    // At the second look an entry stands still.
    let mut found = watcher.look(&there, now, &mut inside);
    found.extend(watcher.look(&there, now, &mut inside));
    let out = read_out(local);
    let whole = found.into_iter().filter_map(|Found { name, proven }| {
        let path = folder.join(&name);
        let record = Record::of(&name, proven, &path).ok()?;
        (out.get(&name) != Some(&record.digest)).then_some(Kept { path, record })
    });
    let is_out = |name: &String| {
        let print = there.iter().find(|(there, _)| there == name);
        print.is_some_and(|(_, print)| out.get(name) == Some(&print.digest))
    };
    let left = watcher.left().into_iter().map(|(name, _)| name);
    Dead {
        whole: whole.collect(),
        doubtful: left.filter(|name| !is_out(name)).collect(),
    }
}

/// Notes that what was held at `held` is out.
pub fn note_out(local: &LocalFolder, name: &str, held: &Path) {
    let Ok(Fingerprint { digest, .. }) = fingerprint(held) else {
        return;
    };
    let mut out = read_out(local);
    // Of what the program has removed nothing needs to be known.
    out.retain(|name, _| local.checkpoints().join(name).exists());
    out.insert(name.to_owned(), digest);
    if let Ok(text) = serde_json::to_vec(&out) {
        // Without the note the checkpoint is only kept for longer.
        let _ = sys::atomic::write_relaxed(&local.out_list(), &text);
    }
}

fn read_out(local: &LocalFolder) -> BTreeMap<String, u64> {
    let text = fs::read(local.out_list()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::hold::hold;
    use super::*;
    use folder::Attempt;

    /// A folder with one entry that is held; what `change` does to it; the names that are kept.
    #[track_caller]
    fn check(change: impl Fn(&LocalFolder, &Path), want: &[&str]) {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let _owned = local.make().unwrap();
        let entry = local.checkpoints().join("step-5");
        fs::write(&entry, b"weights").unwrap();
        let held = local.held().join("1");
        hold(&entry, &held).unwrap();
        let record = Record::of("step-5", false, &held).unwrap();
        record.write(&held).unwrap();
        change(&local, &held);
        let kept = in_folder(&local);
        let names: Vec<&str> = kept.iter().map(|kept| kept.record.name.as_str()).collect();
        assert_eq!(names, want);
    }

    #[test]
    fn what_is_held_and_not_out_is_kept() {
        check(|_, _| (), &["step-5"]);
        // Rotated by the program.
        check(
            |local, _| fs::remove_file(local.checkpoints().join("step-5")).unwrap(),
            &["step-5"],
        );
        // Out.
        check(
            |local, held| {
                note_out(local, "step-5", held);
                fs::remove_file(held).unwrap();
                remove_record(held);
            },
            &[],
        );
        // Written into after it was complete.
        check(
            |local, _| fs::write(local.checkpoints().join("step-5"), b"half").unwrap(),
            &[],
        );
    }

    #[test]
    fn what_ranks_that_ended_well_left_is_kept_though_no_agent_had_looked() {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let _owned = local.make().unwrap();
        for name in ["step-85", "step-90", ".part-95"] {
            fs::write(local.checkpoints().join(name), b"weights").unwrap();
        }
        note_out(&local, "step-85", &local.checkpoints().join("step-85"));
        for rule in [
            Complete::Rename,
            Complete::Recognise {
                settle: model::Seconds(10),
            },
        ] {
            let kept = finished(&local, rule);
            let names: Vec<&str> = kept.iter().map(|kept| kept.record.name.as_str()).collect();
            assert_eq!(names, ["step-90"]);
        }
    }

    #[test]
    fn what_says_itself_that_it_is_whole_is_kept() {
        let header = br#"{}      "#;
        let mut whole = 8u64.to_le_bytes().to_vec();
        whole.extend(header);
        check(
            |local, _| {
                fs::write(local.checkpoints().join("a.safetensors"), &whole).unwrap();
                fs::write(local.checkpoints().join("b.safetensors"), &whole[..10]).unwrap();
                fs::write(local.checkpoints().join("c.bin"), b"x").unwrap();
            },
            &["a.safetensors", "step-5"],
        );
        check(
            |local, _| {
                let entry = local.checkpoints().join("a.safetensors");
                fs::write(&entry, &whole).unwrap();
                note_out(local, "a.safetensors", &entry);
            },
            &["step-5"],
        );
    }
}
