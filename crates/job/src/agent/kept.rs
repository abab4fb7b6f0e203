//! What a node-local folder says of its complete checkpoints, for whoever finds it later: which of
//! them are held there and not out yet, and which are out.

use super::ranks::any_lives;
use super::recognise::{Recognised, recognise};
use super::scan::{FolderInside, fingerprint, scan};
use super::watcher::{Fingerprint, Found, Watcher};
use crate::local_folder::LocalFolder;
use crate::trained;
use folder::{Attempt, RunFolder};
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
    /// Which start wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Attempt>,
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
    pub fn of(name: &str, proven: bool, start: Option<Attempt>, path: &Path) -> io::Result<Record> {
        let Fingerprint { bytes, digest } = fingerprint(path)?;
        Ok(Record {
            name: name.to_owned(),
            proven,
            bytes,
            start,
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

/// The complete checkpoints that a folder has and that were not known to be out, the newest version of each
/// name: what its agent held, and what says by its own bytes that it is whole. One whose files have
/// changed since it was complete is not among them.
#[must_use]
pub fn in_folder(local: &LocalFolder) -> Vec<Kept> {
    let mut kept = held_in(local);
    let out = read_out(local);
    let there = scan(&local.checkpoints()).map_or(Vec::new(), |there| there.entries);
    for (name, Fingerprint { bytes, digest }) in there {
        let path = local.checkpoints().join(&name);
        let is_out = out.get(&name) == Some(&digest);
        // It was written after what is held. A folder says so little of its files that it may be of two versions.
        let is_newer = |held: &Kept| held.record.digest != digest && path.is_file();
        let is_known = kept.get(&name).is_some_and(|held| !is_newer(held));
        if is_out || is_known {
            continue;
        }
        if let Ok(Recognised::Whole(_)) = recognise(&path) {
            let record = Record {
                name: name.clone(),
                proven: true,
                bytes,
                start: owner_of(local),
                digest,
            };
            kept.insert(name, Kept { path, record });
        }
    }
    kept.into_values().collect()
}

/// What the agent of a folder holds that was not out, the newest version of each name.
pub fn held_in(local: &LocalFolder) -> BTreeMap<String, Kept> {
    let mut kept: BTreeMap<String, Kept> = BTreeMap::new();
    let mut held = entries(&local.held());
    // What a program writes again under one name is held more than once while it is copied: by ascending numbers.
    held.sort_by_key(|path| number(path));
    for entry in held {
        if entry.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let path = entry.with_extension("");
        let record = fs::read(&entry)
            .ok()
            .and_then(|text| serde_json::from_slice::<Record>(&text).ok());
        if let Some(record) = record
            && Record::of(&record.name, record.proven, record.start, &path)
                .is_ok_and(|now| now == record)
        {
            // An earlier version did not write it down.
            let start = record.start.or(owner_of(local));
            let record = Record { start, ..record };
            kept.insert(record.name.clone(), Kept { path, record });
        }
    }
    kept
}

/// Adds what stands in `{checkpoints}`. `is_newer`: it is whole for certain, and takes the place of another version
/// that its agent held before.
pub fn add_standing(kept: &mut Vec<Kept>, standing: Vec<Kept>, is_newer: bool) {
    for one in standing {
        let same = |other: &&mut Kept| other.record.name == one.record.name;
        match kept.iter_mut().find(same) {
            None => kept.push(one),
            Some(held) if is_newer && held.record.digest != one.record.digest => *held = one,
            Some(_) => {}
        }
    }
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
    /// The names of others that may be.
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
        let record = Record::of(&name, proven, owner_of(local), &path).ok()?;
        (out.get(&name) != Some(&record.digest)).then_some(Kept { path, record })
    });
    let is_out = |name: &String| {
        let print = there.iter().find(|(there, _)| there == name);
        print.is_some_and(|(_, print)| out.get(name) == Some(&print.digest))
    };
    let left = watcher.left().into_iter();
    let doubtful = left.filter(|left| left.may_be_whole).map(|left| left.name);
    Dead {
        whole: whole.collect(),
        doubtful: doubtful.filter(|name| !is_out(name)).collect(),
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

/// The start whose folder it is.
fn owner_of(local: &LocalFolder) -> Option<Attempt> {
    local.owner().map(|(_, attempt)| attempt)
}

/// The number under which an entry, or its record, is held.
pub fn number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::hold::hold;
    use super::*;

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
        let record = Record::of("step-5", false, None, &held).unwrap();
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

    /// Versions of `last.pt` that are held under these numbers, each with its number as its bytes; `standing`
    /// in `{checkpoints}` afterwards, left by ranks that ended well. Which is kept.
    #[track_caller]
    fn check_versions(held: &[u32], standing: Option<&[u8]>, want: &[u8]) {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let _owned = local.make().unwrap();
        let entry = local.checkpoints().join("last.pt");
        let write = |bytes: &[u8]| {
            fs::write(local.path().join("new"), bytes).unwrap();
            fs::rename(local.path().join("new"), &entry).unwrap();
        };
        for number in held {
            write(number.to_string().as_bytes());
            let held = local.held().join(number.to_string());
            hold(&entry, &held).unwrap();
            let record = Record::of("last.pt", false, None, &held).unwrap();
            record.write(&held).unwrap();
        }
        if let Some(bytes) = standing {
            write(bytes);
        }
        let mut kept = in_folder(&local);
        let settle = model::Seconds(10);
        let left = finished(&local, Complete::Recognise { settle });
        add_standing(&mut kept, left, true);
        let [kept] = &kept[..] else {
            panic!("one version: {kept:?}")
        };
        assert_eq!(fs::read(&kept.path).unwrap(), want, "{kept:?}");
    }

    /// While one version was copied the next was held; the older one was gone on from.
    #[test]
    fn of_a_name_that_was_written_again_the_newest_version_is_kept() {
        check_versions(&[7, 8, 9, 10, 11, 12, 100], None, b"100");
        // Saved at the end, when no agent looked any more.
        check_versions(&[1, 2], Some(b"3"), b"3");
        check_versions(&[], Some(b"1"), b"1");
        check_versions(&[1], Some(&whole_file()), &whole_file());
    }

    /// Of what nothing tells that it is whole the version that was complete stays.
    #[test]
    fn a_version_that_may_be_half_takes_the_place_of_none() {
        let of = |digest, path: &str| Kept {
            path: path.into(),
            record: Record {
                name: "last".to_owned(),
                proven: true,
                bytes: 1,
                start: None,
                digest,
            },
        };
        for (digest, is_newer, want) in [(2, false, "held"), (2, true, "new"), (1, true, "held")] {
            let mut kept = vec![of(1, "held")];
            add_standing(&mut kept, vec![of(digest, "new")], is_newer);
            assert_eq!(kept, [of(if want == "new" { digest } else { 1 }, want)]);
        }
    }

    /// Of safetensors, whole.
    fn whole_file() -> Vec<u8> {
        let mut whole = 8u64.to_le_bytes().to_vec();
        whole.extend(br#"{}      "#);
        whole
    }

    /// The version that an agent had held before was gone on from.
    #[test]
    fn what_is_whole_by_its_bytes_is_newer_than_what_is_held_of_its_name() {
        let entry = |local: &LocalFolder| local.checkpoints().join("a.safetensors");
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let _owned = local.make().unwrap();
        fs::write(entry(&local), whole_file()).unwrap();
        let held = local.held().join("1");
        hold(&entry(&local), &held).unwrap();
        let record = Record::of("a.safetensors", false, None, &held).unwrap();
        record.write(&held).unwrap();
        assert_eq!(in_folder(&local)[0].path, held);
        for (bytes, want) in [(&whole_file()[..], entry(&local)), (b"half", held)] {
            fs::remove_file(entry(&local)).unwrap();
            fs::write(entry(&local), bytes).unwrap();
            assert_eq!(in_folder(&local)[0].path, want);
        }
    }

    #[test]
    fn what_says_itself_that_it_is_whole_is_kept() {
        let whole = whole_file();
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
