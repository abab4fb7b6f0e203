//! Tells from its own bytes whether a checkpoint is whole, for the formats that say so.
//!
//! Nothing here is guessed from how long a thing stood still: a format is either recognised, and then it
//! says itself whether it is whole, or it is unknown and the watcher falls back to waiting. What a format
//! writes last proves only what is no newer than it: programs write the next checkpoint over the one before,
//! file by file, and the mark of the former one is there until the end.

use super::recognise_file::file;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use sys::named_file::open_regular;

/// What an entry's bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// Of a known format, and whole.
    Whole(Format),
    /// Of a known format, and something is still missing.
    Partial(Format),
    /// Of a known format and all there, but changed after what the format writes last: the next one is being
    /// written over it, or a rank came late, or it is a copy whose times say nothing.
    Overtaken(Format),
    /// Of no format that is known here.
    Unknown,
}

/// The formats that tell by themselves whether they are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A zip archive: `torch.save`, Lightning's `.ckpt`, NumPy's `.npz`. Its directory is last.
    Zip,
    /// safetensors: the header names how long the file is.
    Safetensors,
    /// A folder of Hugging Face's `Trainer` or `save_pretrained`.
    HuggingFace,
    /// PyTorch's distributed checkpoint: `.metadata` is written last, and after it Lightning's `meta.pt`.
    Distributed,
    /// DeepSpeed: the file `latest` beside the folder is written last and names it.
    DeepSpeed,
    /// Orbax: renamed into place with its metadata.
    Orbax,
}

/// Looks at a top-level entry of the checkpoints folder.
///
/// # Errors
/// What the system says; an entry that was removed meanwhile is `NotFound`.
pub fn recognise(path: &Path) -> io::Result<Recognised> {
    if fs::metadata(path)?.is_dir() {
        folder(path)
    } else {
        file(path)
    }
}

fn folder(path: &Path) -> io::Result<Recognised> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(path)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.insert(name);
        }
    }
    let has = |name: &str| names.contains(name);
    let ends = |end: &str| names.iter().any(|name| name.ends_with(end));
    if has("_CHECKPOINT_METADATA") || has("commit_success.txt") {
        return Ok(Recognised::Whole(Format::Orbax));
    }
    let shards = |is_one: fn(&str) -> bool| names.iter().filter(move |name| is_one(name));
    if ends("_model_states.pt") || ends("_optim_states.pt") {
        let latest = path.with_file_name("latest");
        let shards = shards(|name| name.ends_with("_states.pt"));
        return if named_by_latest(path) {
            marked(Format::DeepSpeed, &latest, path, shards)
        } else {
            Ok(Recognised::Partial(Format::DeepSpeed))
        };
    }
    if has(".metadata") {
        return distributed(path, &names);
    }
    if ends(".distcp") {
        return Ok(Recognised::Partial(Format::Distributed));
    }
    if has("config.json") || has("trainer_state.json") || has("adapter_config.json") {
        return hugging_face(path, &names);
    }
    Ok(Recognised::Unknown)
}

/// What Lightning writes beside PyTorch's own, after it: the rest of its state.
const LIGHTNINGS: &str = "meta.pt";

/// PyTorch's distributed checkpoint, of which `.metadata` is there.
fn distributed(path: &Path, names: &BTreeSet<String>) -> io::Result<Recognised> {
    let is_shard = |name: &&String| name.ends_with(".distcp");
    if names.contains(LIGHTNINGS) {
        let meta = path.join(LIGHTNINGS);
        if matches!(file(&meta)?, Recognised::Partial(_)) {
            return Ok(Recognised::Partial(Format::Distributed));
        }
        let before = |name: &&String| is_shard(name) || *name == ".metadata";
        return marked(
            Format::Distributed,
            &meta,
            path,
            names.iter().filter(before),
        );
    }
    // As its callback names them: it may be still to come, and a program of another kind writes none.
    if path.extension().is_some_and(|end| end == "ckpt") {
        return Ok(Recognised::Overtaken(Format::Distributed));
    }
    let shards = names.iter().filter(is_shard);
    marked(Format::Distributed, &path.join(".metadata"), path, shards)
}

pub(super) fn verdict(format: Format, whole: bool) -> Recognised {
    if whole {
        Recognised::Whole(format)
    } else {
        Recognised::Partial(format)
    }
}

/// What the last file of a format says of the others.
fn marked<'a>(
    format: Format,
    mark: &Path,
    folder: &Path,
    names: impl Iterator<Item = &'a String>,
) -> io::Result<Recognised> {
    Ok(if is_newest(mark, folder, names)? {
        Recognised::Whole(format)
    } else {
        Recognised::Overtaken(format)
    })
}

/// Whether no file of `names` in a folder was changed after `mark`.
fn is_newest<'a>(
    mark: &Path,
    folder: &Path,
    names: impl Iterator<Item = &'a String>,
) -> io::Result<bool> {
    let changed = |path: &Path| fs::metadata(path)?.modified();
    let mark = changed(mark)?;
    for name in names {
        if changed(&folder.join(name))? > mark {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first rank of DeepSpeed writes `latest` behind its own shards. The ranks meet only after that: the shards of
/// others may be newer.
fn named_by_latest(path: &Path) -> bool {
    let latest = path.with_file_name("latest");
    let (Ok(text), Some(name)) = (sys::named_file::read_text(&latest, 4096), path.file_name())
    else {
        return false;
    };
    name.to_str() == Some(text.trim())
}

/// `Trainer` writes the weights, then the optimizer, and `trainer_state.json` at the end;
/// `save_pretrained` alone has no such file. Weights must be there and each be whole.
fn hugging_face(path: &Path, names: &BTreeSet<String>) -> io::Result<Recognised> {
    let is_weights = |name: &str| {
        name.ends_with(".safetensors") || (name.ends_with(".bin") && name.contains("model"))
    };
    let mut weights = 0;
    for name in names {
        let whole = match file(&path.join(name)) {
            Ok(whole) => whole,
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => continue,
            Err(error) => return Err(error),
        };
        if matches!(whole, Recognised::Partial(_)) {
            return Ok(Recognised::Partial(Format::HuggingFace));
        }
        if name.ends_with(".json") && json(&path.join(name)).is_none() {
            return Ok(Recognised::Partial(Format::HuggingFace));
        }
        weights += u32::from(is_weights(name));
    }
    let mut overtaken = false;
    for name in names.iter().filter(|name| name.ends_with(".index.json")) {
        let shards = json(&path.join(name));
        let shards = shards
            .as_ref()
            .and_then(|index| index["weight_map"].as_object());
        let there =
            |shard: &serde_json::Value| shard.as_str().is_some_and(|shard| names.contains(shard));
        let Some(shards) = shards.filter(|shards| shards.values().all(there)) else {
            return Ok(Recognised::Partial(Format::HuggingFace));
        };
        let of_it = |shard: &&String| shards.values().any(|own| own.as_str() == Some(shard));
        if !is_newest(&path.join(name), path, names.iter().filter(of_it))? {
            overtaken = true;
        }
    }
    let trainer = names
        .iter()
        .any(|name| name == "optimizer.pt" || name == "rng_state.pth");
    let state = "trainer_state.json";
    if weights == 0 || (trainer && !names.contains(state)) {
        return Ok(Recognised::Partial(Format::HuggingFace));
    }
    if trainer {
        // Ranks other than the first may write their random state after it.
        let before = |name: &&String| is_weights(name) || *name == "optimizer.pt";
        overtaken |= !is_newest(&path.join(state), path, names.iter().filter(before))?;
    }
    Ok(if overtaken {
        Recognised::Overtaken(Format::HuggingFace)
    } else {
        Recognised::Whole(Format::HuggingFace)
    })
}

fn json(path: &Path) -> Option<serde_json::Value> {
    let mut text = Vec::new();
    let mut file = open_regular(File::options().read(true), path).ok()?;
    file.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Format::*;
    use Recognised::*;

    /// The smallest zip: one empty directory record.
    fn zip() -> Vec<u8> {
        let mut bytes = b"PK\x03\x04 and some data".to_vec();
        let place = u8::try_from(bytes.len()).unwrap();
        bytes.extend(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend([place, 0, 0, 0, 0, 0]);
        bytes
    }

    fn safetensors() -> Vec<u8> {
        let header = br#"{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header);
        bytes.extend([1, 2, 3, 4]);
        bytes
    }

    #[track_caller]
    fn check(entry: &str, files: &[(&str, &[u8])], want: Recognised) {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        assert_eq!(
            recognise(&folder.path().join(entry)).unwrap(),
            want,
            "{entry} of {files:?}"
        );
    }

    #[test]
    fn single_files() {
        check("a.pt", &[("a.pt", &zip())], Whole(Zip));
        for cut in [zip().len() - 1, 20, 8, 4] {
            check("a.pt", &[("a.pt", &zip()[..cut])], Partial(Zip));
        }
        let mut grown = zip();
        grown.extend(b"more data behind the directory of an archive that is being appended to");
        check("a.pt", &[("a.pt", &grown)], Partial(Zip));
        check("a.npz", &[("a.npz", b"")], Partial(Zip));
        check("a.pkl", &[("a.pkl", b"\x80\x04")], Unknown);
        check(
            "m.safetensors",
            &[("m.safetensors", &safetensors())],
            Whole(Safetensors),
        );
        check(
            "m.safetensors",
            &[("m.safetensors", &safetensors()[..60])],
            Partial(Safetensors),
        );
        check(
            "m.safetensors",
            &[("m.safetensors", b"ab")],
            Partial(Safetensors),
        );
    }

    #[test]
    fn hugging_face_folders() {
        let weights = safetensors();
        let model: (&str, &[u8]) = ("c-5/model.safetensors", &weights);
        let config: (&str, &[u8]) = ("c-5/config.json", b"{}");
        check("c-5", &[config], Partial(HuggingFace));
        check("c-5", &[config, model], Whole(HuggingFace));
        check(
            "c-5",
            &[config, ("c-5/model.safetensors", &weights[..50])],
            Partial(HuggingFace),
        );
        let optimizer: (&str, &[u8]) = ("c-5/optimizer.pt", &zip());
        check("c-5", &[config, model, optimizer], Partial(HuggingFace));
        let state: (&str, &[u8]) = ("c-5/trainer_state.json", b"{}");
        check(
            "c-5",
            &[config, model, optimizer, state],
            Whole(HuggingFace),
        );
        let cut: (&str, &[u8]) = ("c-5/trainer_state.json", b"{");
        check(
            "c-5",
            &[config, model, optimizer, cut],
            Partial(HuggingFace),
        );
        let index: (&str, &[u8]) = (
            "c-5/model.safetensors.index.json",
            br#"{"weight_map":{"a":"model.safetensors","b":"two.safetensors"}}"#,
        );
        check("c-5", &[config, model, index], Partial(HuggingFace));
        let two: (&str, &[u8]) = ("c-5/two.safetensors", &weights);
        check("c-5", &[config, model, two, index], Whole(HuggingFace));
    }

    #[test]
    fn folders_with_a_last_file() {
        check("9", &[("9/__0_0.distcp", b"x")], Partial(Distributed));
        check(
            "9",
            &[("9/__0_0.distcp", b"x"), ("9/.metadata", b"x")],
            Whole(Distributed),
        );
        check("9", &[("9/_CHECKPOINT_METADATA", b"{}")], Whole(Orbax));
        // Lightning's `meta.pt` is still to come, or comes.
        let of_lightning: [(&str, &[u8]); 2] =
            [("9.ckpt/0.distcp", b"x"), ("9.ckpt/.metadata", b"x")];
        check("9.ckpt", &of_lightning, Overtaken(Distributed));
        let with = |meta: &[u8], want| {
            let [shard, mark] = of_lightning;
            check("9.ckpt", &[shard, mark, ("9.ckpt/meta.pt", meta)], want);
        };
        with(&zip()[..12], Partial(Distributed));
        with(&zip(), Whole(Distributed));
        let shard: (&str, &[u8]) = ("global_step9/mp_rank_00_model_states.pt", &zip());
        check("global_step9", &[shard], Partial(DeepSpeed));
        check(
            "global_step9",
            &[shard, ("latest", b"global_step8")],
            Partial(DeepSpeed),
        );
        check(
            "global_step9",
            &[shard, ("latest", b"global_step9\n")],
            Whole(DeepSpeed),
        );
        check("x", &[("x/model.pkl", b"x")], Unknown);
    }

    /// A shard of the next checkpoint stood beside the mark of the one before, and counted as whole.
    #[test]
    fn what_is_being_written_over_an_earlier_one_is_not_whole() {
        let weights = safetensors();
        let index = br#"{"weight_map":{"a":"1.safetensors","b":"2.safetensors"}}"#;
        type Files<'a> = &'a [(&'a str, &'a [u8])];
        let cases: [(Format, &str, Files<'_>); 5] = [
            (
                Distributed,
                "last/.metadata",
                &[("last/__0_0.distcp", b"x"), ("last/__1_0.distcp", b"x")],
            ),
            (
                DeepSpeed,
                "latest",
                &[("last/zero_pp_rank_0_mp_rank_00_optim_states.pt", b"x")],
            ),
            (
                HuggingFace,
                "last/model.safetensors.index.json",
                &[
                    ("last/config.json", b"{}"),
                    ("last/1.safetensors", &weights),
                    ("last/2.safetensors", &weights),
                ],
            ),
            // It was whole while Lightning still had the former one's.
            (
                Distributed,
                "last/meta.pt",
                &[("last/0.distcp", b"x"), ("last/.metadata", b"x")],
            ),
            (
                HuggingFace,
                "last/trainer_state.json",
                &[
                    ("last/config.json", b"{}"),
                    ("last/model.safetensors", &weights),
                    ("last/optimizer.pt", b"x"),
                ],
            ),
        ];
        for (format, mark, shards) in cases {
            let folder = tempfile::tempdir().unwrap();
            let text: &[u8] = match mark {
                "latest" => b"last",
                "last/trainer_state.json" => b"{}",
                _ => index,
            };
            fs::create_dir(folder.path().join("last")).unwrap();
            let start = std::time::SystemTime::now();
            let write = |name: &str, bytes: &[u8], second: u64| {
                let file = File::create(folder.path().join(name)).unwrap();
                io::Write::write_all(&mut &file, bytes).unwrap();
                file.set_modified(start + std::time::Duration::from_secs(second))
                    .unwrap();
            };
            let see = || recognise(&folder.path().join("last")).unwrap();
            shards
                .iter()
                .for_each(|(name, bytes)| write(name, bytes, 1));
            write(mark, text, 1);
            assert_eq!(see(), Whole(format), "{mark}: all of one moment");
            let (name, bytes) = shards.last().unwrap();
            write(name, bytes, 2);
            assert_eq!(
                see(),
                Overtaken(format),
                "{mark}: {name} is of the next one"
            );
            write(mark, text, 3);
            assert_eq!(see(), Whole(format), "{mark} of the next one");
        }
    }
}
