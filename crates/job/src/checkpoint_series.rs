//! At which of the checkpoints of a folder a run starts, where the folder alone is named.

use crate::agent::{Recognised, Scanned, looks_temporary, recognise, tree};
use folder::{Candidate, KnownCheckpoint, Pointer, Position, WholeCheckpoints, is_of_data, series};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What stands in a folder that is no checkpoint of a known format.
#[derive(Debug)]
pub enum InFolder {
    /// It is one checkpoint, as far as names tell.
    One,
    /// It holds checkpoints: the whole ones with the best first, and the names of those that are not whole.
    Several {
        /// What may be started from.
        best: Vec<Candidate>,
        /// What misses something.
        partial: Vec<String>,
        /// What names the newest of them.
        pointers: Vec<Pointer>,
    },
    /// It may be one, of numbered parts, or hold those.
    Unclear(Vec<String>),
}

/// Tells by the names in it, and by what its entries consist of.
pub fn in_folder(folder: &Path, there: Scanned) -> io::Result<InFolder> {
    let own = folder.file_name().and_then(|name| name.to_str());
    if own.is_some_and(is_surely_one) {
        return Ok(InFolder::One);
    }
    let names = there.entries.iter().map(|(name, _)| name.as_str());
    let names = names.filter(|name| !looks_temporary(name) && !is_of_data(name));
    let (mut known, mut partial) = (Vec::new(), Vec::new());
    let mut numbered: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut is_series = false;
    for name in names {
        let path = folder.join(name);
        let recognised = recognise(&path)?;
        let has_number = Position::of(name).is_some();
        if !has_number && !matches!(recognised, Recognised::Whole(_)) {
            continue;
        }
        is_series |= is_surely_one(name);
        if has_number {
            let same = numbered.entry(series(name)).or_default();
            same.push(name.to_owned());
        }
        if matches!(recognised, Recognised::Partial(_)) {
            partial.push(name.to_owned());
            continue;
        }
        let tree = tree(&path)?;
        known.push(KnownCheckpoint {
            written: tree.written(),
            bytes: Some(tree.files.iter().map(|(_, facts)| facts.len()).sum()),
            proven: matches!(recognised, Recognised::Whole(_)),
            ..KnownCheckpoint::named(name)
        });
    }
    if is_series {
        return Ok(InFolder::Several {
            best: WholeCheckpoints::new(known).candidates(Vec::new()),
            partial,
            pointers: there.pointers,
        });
    }
    // A pipeline of Diffusers has folders such as `text_encoder_2`.
    let is_pipeline = folder.join("model_index.json").exists();
    let several = numbered.into_values().find(|same| same.len() > 1);
    Ok(match several {
        Some(same) if !is_pipeline => InFolder::Unclear(same),
        _ => InFolder::One,
    })
}

/// Whether words say that a name is that of a checkpoint: `step-100`, `epoch=3.ckpt`, `checkpoint-500`.
fn is_surely_one(name: &str) -> bool {
    let says = |start: &str| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphabetic()))
    };
    Position::of(name)
        .is_some_and(|position| position.is_named() || says("checkpoint") || says("ckpt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::scan;
    use std::fs;

    /// What stands in a folder of that name with those files, which are of no known format, in words.
    #[track_caller]
    fn check(folder: &str, files: &[&str], want: &str) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(folder);
        for file in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "weights").unwrap();
        }
        let shown = match in_folder(&folder, scan(&folder).unwrap()).unwrap() {
            InFolder::One => "one".to_owned(),
            InFolder::Several { best, partial, .. } => {
                let members = best[0].members().map(|one| one.name);
                let members: Vec<String> = members.chain(partial).collect();
                members.join(" + ")
            }
            InFolder::Unclear(names) => format!("unclear: {}", names.join(" ")),
        };
        assert_eq!(shown, want);
    }

    #[test]
    fn a_folder_of_checkpoints_is_not_one() {
        check(
            "out",
            &["step-9.pt", "step-100.pt", "log.txt"],
            "step-100.pt",
        );
        check("out", &["epoch=3.ckpt"], "epoch=3.ckpt");
        check(
            "checkpoints",
            &["checkpoint-500/weights", "checkpoint-1000/weights"],
            "checkpoint-1000",
        );
        check(
            "out",
            &["model_step9.pt", "optim_step9.pt", ".step-10.pt.tmp"],
            "model_step9.pt + optim_step9.pt",
        );
        check(
            "out",
            &["step-9.pt", "step-20/__0_0.distcp"],
            "step-9.pt + step-20",
        );
        check("out", &["10.pt", "20.pt"], "unclear: 10.pt 20.pt");
        check("out", &["model.pt", "optim.pt"], "one");
        check("out", &["rank0.pt", "rank1.pt"], "one");
        check("step-100", &["model_step100.pt", "part_1", "part_2"], "one");
        check("checkpoint-7", &["expert0.pt", "expert1.pt"], "one");
        let pipeline = ["model_index.json", "text_encoder_2/a", "text_encoder_3/a"];
        check("sd", &pipeline, "one");
    }
}
