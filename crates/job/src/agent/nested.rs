//! Which folders in `{checkpoints}` hold checkpoints and are none themselves: `lightning_logs/version_0/checkpoints/`,
//! an `output_dir` with `checkpoint-500/` and logs beside. Pure.

use super::watcher::looks_temporary;
use folder::{last_part, names_a_step};

/// So many folders above a checkpoint are looked through.
const DEEPEST: usize = 4;
/// The names of folders whose files with a step are one checkpoint each.
const OF_FILES: [&str; 3] = ["checkpoints", "ckpts", "snapshots"];
/// How the names of checkpoints end that are folders, whatever stands in them.
const OF_ONE: [&str; 5] = [".ckpt", ".pt", ".pth", ".bin", ".distcp"];

/// Something in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub name: String,
    /// Whether it is a folder, and no link to one.
    pub is_folder: bool,
}

/// Whether the folder of that name, a path below `{checkpoints}`, holds checkpoints that are to be saved one by one.
/// `list` tells what stands in a folder. A folder that is a checkpoint by its name is one as a whole.
pub fn holds_checkpoints(name: &str, list: &mut dyn FnMut(&str) -> Vec<Child>) -> bool {
    let own = last_part(name);
    let is_one = names_a_step(own) || OF_ONE.iter().any(|end| own.ends_with(end));
    if is_one || looks_temporary(own) || name.split('/').count() > DEEPEST {
        return false;
    }
    list(name).iter().any(|child| {
        let is_named = !looks_temporary(&child.name) && names_a_step(&child.name);
        if child.is_folder {
            is_named || holds_checkpoints(&format!("{name}/{}", child.name), list)
        } else {
            is_named && OF_FILES.contains(&own)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands in `{checkpoints}`: paths of files. Which folders at the top hold checkpoints.
    #[track_caller]
    fn check(files: &[&str], want: &[&str]) {
        let mut list = |folder: &str| {
            let below = files
                .iter()
                .filter_map(|file| file.strip_prefix(folder)?.strip_prefix('/'));
            let children = below.map(|rest| {
                let (name, is_folder) = match rest.split_once('/') {
                    Some((name, _)) => (name, true),
                    None => (rest, false),
                };
                let name = name.to_owned();
                Child { name, is_folder }
            });
            children.collect()
        };
        let mut tops: Vec<&str> = files
            .iter()
            .filter_map(|file| Some(file.split_once('/')?.0))
            .collect();
        tops.dedup();
        tops.retain(|top| holds_checkpoints(top, &mut list));
        assert_eq!(tops, want, "{files:?}");
    }

    /// Nothing was saved of them: a log beside them changed all the time.
    #[test]
    fn folders_of_checkpoints_and_logs() {
        check(
            &[
                "lightning_logs/version_0/metrics.csv",
                "lightning_logs/version_0/checkpoints/epoch=1-step=20.ckpt",
            ],
            &["lightning_logs"],
        );
        check(
            &["out/checkpoint-500/model.safetensors", "out/runs/events"],
            &["out"],
        );
        check(
            &["exp3/iter_0000100/mp_rank_00/model.pt", "exp3/log.txt"],
            &["exp3"],
        );
        check(&["ds/global_step5/mp_rank_00.pt", "ds/latest"], &["ds"]);
    }

    #[test]
    fn a_checkpoint_that_is_a_folder_is_one_as_a_whole() {
        check(&["checkpoint-500/global_step500/zero.pt"], &[]);
        check(&["iter_0000100/mp_rank_00/model.pt"], &[]);
        check(&["last/model_step500.pt", "last/config.json"], &[]);
        check(&["last.ckpt/global_step5/zero.pt"], &[]);
        check(&["final/model-1.safetensors", "final/config.json"], &[]);
        check(&["ep3-ba500/.metadata", "ep3-ba500/__0_0.distcp"], &[]);
    }

    #[test]
    fn logs_alone_and_what_is_not_finished_make_none() {
        check(&["lightning_logs/version_0/metrics.csv"], &[]);
        check(&["out/tmp-checkpoint-500/model.bin"], &[]);
        check(&[".trash/checkpoint-500/model.bin"], &[]);
        check(&["a/b/c/d/e/checkpoint-5/model.bin"], &[]);
    }
}
