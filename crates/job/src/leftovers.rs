//! What ended runs left on this machine's own disks: node-local folders and half-made environments.

use crate::agent::{all_saved, has_newer, kept, unseen};
use crate::cache::{Kind, kept as kept_in};
use crate::local_folder::LocalFolder;
use crate::shell;
use folder::{Leftover, RunFolder, Standing, Verdict};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use sys::lock::FileLock;
use train::Complete;

/// The folder below `node_local` that holds this user's node-local folders.
#[must_use]
pub fn node_local_root(node_local: &Path) -> PathBuf {
    LocalFolder::root_in(node_local)
}

/// Goes through the node-local folders of this user below `node_local`, and removes what is of no use
/// unless it is only asked what would be (`dry_run`). `force`: also the only copies of checkpoints.
pub fn node_folders(
    node_local: &Path,
    standing: &dyn Fn(&str) -> Standing,
    dry_run: bool,
    force: bool,
) -> Vec<Leftover> {
    let root = LocalFolder::root_in(node_local);
    if fs::symlink_metadata(&root).is_err() {
        return Vec::new();
    }
    if let Err(error) = LocalFolder::check_root(&root) {
        let verdict = Verdict::Keep(error.to_string());
        return vec![Leftover {
            path: root,
            bytes: 0,
            verdict,
        }];
    }
    let mut left = Vec::new();
    for local in LocalFolder::all(&root) {
        // Held until it is removed, so that no job takes it meanwhile.
        let lock = local.take();
        let verdict = match &lock {
            Some(_) => judge(&local, standing),
            None => Verdict::Keep("node-local files of a job that runs".to_owned()),
        };
        let one = Leftover::new(local.path(), verdict);
        if one.goes(force) && !dry_run {
            let _left = local.remove();
        }
        left.push(one);
    }
    left
}

fn judge(local: &LocalFolder, standing: &dyn Fn(&str) -> Standing) -> Verdict {
    let what = "node-local files";
    let Some((run, _)) = local.owner() else {
        return Verdict::Keep("not a folder of a run".to_owned());
    };
    let standing = standing(run);
    let state = match standing {
        Standing::Live => return Verdict::Keep(format!("{what}; {run} is not over")),
        Standing::Unreachable => {
            return Verdict::Keep(format!(
                "{what}; the cluster of {run} does not answer, the run may not be over"
            ));
        }
        Standing::Over | Standing::Done => "is over",
        Standing::Unknown => "is not known here",
    };
    // With another TRAINYARD_HOME, say; here the run's name leads to nothing.
    let requeued = match standing {
        Standing::Unknown => format!("yard requeue {run}, where that run is known (not here),"),
        _ => format!("yard requeue {run}"),
    };
    if local.has_uncollected() {
        let data = local.data();
        let copies = match standing {
            Standing::Done => "copy them from there".to_owned(),
            _ => format!("{requeued} copies them"),
        };
        return Verdict::Force(format!(
            "files of {run} that [data] collect names and that were not copied, in {}: {copies}, yard clean --force removes them",
            data.display()
        ));
    }
    let goes_on = |from: &str| match standing {
        Standing::Done => format!("copy it from {}", local.path().display()),
        _ => format!("{requeued} goes on from {from}"),
    };
    let kept = kept::in_folder(local);
    let names: BTreeSet<String> = kept.into_iter().map(|kept| kept.record.name).collect();
    let mut unseen = unseen::may_be_complete(local);
    unseen.retain(|name| !names.contains(name));
    if !names.is_empty() {
        let names: Vec<String> = names.into_iter().chain(unseen).collect();
        return Verdict::Force(format!(
            "the only copy of {} of {run}: {}, yard clean --force removes it",
            names.join(", "),
            goes_on("it")
        ));
    }
    if !unseen.is_empty() {
        return Verdict::Force(format!(
            "what may be the only copy of {} of {run}, which was killed before it was looked at: {}, yard clean --force removes it",
            unseen.join(", "),
            goes_on("what is complete")
        ));
    }
    let unspeakable = unseen::unspeakable(local);
    if !unspeakable.is_empty() {
        return Verdict::Force(format!(
            "{} of {run} may be a checkpoint, and was not copied, as its name is not plain UTF-8 text: copy it from {}, yard clean --force removes it",
            unspeakable.join(", "),
            local.checkpoints().display()
        ));
    }
    Verdict::Remove(format!("{what}; {run} {state}"))
}

/// Removes the node-local folder of a run that is done where its agent was killed before or while it did so.
/// One with the only copy of anything stays, also of what the agent had not seen yet.
pub(crate) fn remove_saved(run: &RunFolder, local: &LocalFolder, rule: &Complete) {
    if let Some(_held) = local.take()
        && !local.has_uncollected()
        && all_saved(run, local)
        && !has_newer(run, local, rule)
        && unseen::unspeakable(local).is_empty()
    {
        // What can't be removed is `yard clean`'s.
        let _left = local.remove();
    }
}

/// Goes through what is half made in the user's cache, and removes what no process makes any more. Containers with
/// names stay, and are named.
pub fn half_made_in(cache: &Path, dry_run: bool) -> Vec<Leftover> {
    let mut left = Vec::new();
    for kept in kept_in(cache) {
        let what = kept.kind.word();
        let unused = kept.take();
        let verdict = match (&kept.made_of, &unused) {
            (Some(name), _) if kept.kind == Kind::Container => Verdict::Keep(format!(
                "what srun --container-name={name} keeps; yard cache prune --all removes it"
            )),
            (Some(_), _) => continue,
            (None, Some(_)) => Verdict::Remove(format!("a half-made {what}")),
            (None, None) => Verdict::Keep(format!("{what}: it is being made")),
        };
        let one = Leftover::new(kept.place.clone(), verdict);
        if let Some(unused) = unused.filter(|_| one.goes(false) && !dry_run) {
            let _ = unused.remove();
        }
        left.push(one);
    }
    left
}

/// Goes through the folders of shells below a user's scratch folder, and removes those whose shell was killed before
/// it ended: the values of its secrets may be in them.
pub fn shells_in(scratch: &Path, dry_run: bool, force: bool) -> Vec<Leftover> {
    let mut left = Vec::new();
    let entries = fs::read_dir(shell::folder_in(scratch))
        .into_iter()
        .flatten();
    for folder in entries.flatten().map(|entry| entry.path()) {
        let place = shell::lock_of(&folder);
        // Asked first, since trying makes it.
        let has_lock = place.exists();
        let lock = has_lock.then(|| FileLock::try_acquire(&place).ok().flatten());
        let lock = lock.flatten();
        let verdict = if !has_lock {
            let what = "of a yard shell of an earlier version, or of one that is just starting";
            Verdict::Force(format!("{what}: yard clean --force removes it"))
        } else if lock.is_some() {
            Verdict::Remove("what a killed yard shell left, secrets perhaps among it".to_owned())
        } else {
            Verdict::Keep("of a yard shell that is not over".to_owned())
        };
        let one = Leftover::new(folder, verdict);
        if one.goes(force) && !dry_run {
            let _left = fs::remove_dir_all(&one.path);
        }
        left.push(one);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::Attempt;

    /// One of the version before has no lock, and may be in use.
    #[test]
    fn the_folder_of_a_shell_without_a_lock_goes_by_force_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| shell::folder_in(scratch.path()).join(name);
        fs::create_dir_all(at("earlier")).unwrap();
        fs::create_dir_all(at("killed")).unwrap();
        fs::write(shell::lock_of(&at("killed")), "").unwrap();
        shells_in(scratch.path(), false, false);
        assert_eq!(
            [at("earlier"), at("killed")].map(|it| it.exists()),
            [true, false]
        );
        shells_in(scratch.path(), false, true);
        assert!(!at("earlier").exists());
    }

    #[track_caller]
    fn check(standing: Standing, has_checkpoint: bool, force: bool, stays: bool) {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let owned = local.make().unwrap();
        let clean = |dry_run| node_folders(disk.path(), &|_| standing, dry_run, force);
        if has_checkpoint {
            let held = local.held().join("1");
            fs::write(&held, b"weights").unwrap();
            let record = kept::Record::of("step-5", true, None, &held).unwrap();
            record.write(&held).unwrap();
        }
        assert!(!clean(false)[0].goes(force), "a job has it");
        drop(owned);
        let before = clean(true);
        assert_eq!(before[0].goes(force), !stays, "{before:?}");
        assert!(local.path().exists());
        assert_eq!(clean(false), before);
        assert_eq!(local.path().exists(), stays);
    }

    #[test]
    fn what_no_run_needs_goes() {
        check(Standing::Over, false, false, false);
        check(Standing::Unknown, false, false, false);
        check(Standing::Live, false, true, true);
        check(Standing::Unreachable, false, true, true);
    }

    #[test]
    fn the_only_copy_of_a_checkpoint_goes_by_force_alone() {
        check(Standing::Over, true, false, true);
        check(Standing::Over, true, true, false);
        check(Standing::Live, true, true, true);
    }

    /// A run that is done is not brought back.
    #[test]
    fn what_was_not_collected_is_copied_by_who_can() {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        drop(local.make().unwrap());
        local.note_uncollected().unwrap();
        for (standing, words) in [
            (Standing::Over, "yard requeue digits-k3f9 copies them"),
            (Standing::Done, "copy them from there"),
        ] {
            let left = node_folders(disk.path(), &|_| standing, true, false);
            let why = match &left[0].verdict {
                Verdict::Force(why) => why,
                other => panic!("{other:?}"),
            };
            assert!(why.contains(words), "{why}");
            assert!(why.contains(&*local.data().to_string_lossy()), "{why}");
            assert_eq!(why.contains("requeue"), standing == Standing::Over);
        }
    }

    #[test]
    fn what_no_agent_had_looked_at_goes_by_force_alone() {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let owned = local.make().unwrap();
        let settle = model::Seconds(10);
        unseen::note(&local, &Complete::Recognise { settle }).unwrap();
        fs::write(local.checkpoints().join("step-5.pkl"), b"weights").unwrap();
        drop(owned);
        let clean = |force| node_folders(disk.path(), &|_| Standing::Over, false, force);
        let left = clean(false);
        assert!(
            matches!(&left[0].verdict, Verdict::Force(why) if why.contains("step-5.pkl")),
            "{left:?}"
        );
        assert!(local.path().exists());
        clean(true);
        assert!(!local.path().exists());
    }

    #[test]
    fn what_a_killed_agent_left_of_a_done_run_goes_unless_it_is_the_only_copy() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let owned = local.make().unwrap();
        remove_saved(&run, &local, &Complete::Rename);
        assert!(local.path().exists(), "its agent lives");
        drop(owned);
        let held = local.held().join("1");
        fs::write(&held, b"weights").unwrap();
        let record = kept::Record::of("step-5", true, None, &held).unwrap();
        record.write(&held).unwrap();
        remove_saved(&run, &local, &Complete::Rename);
        assert!(held.exists(), "it is the only copy");
        let unseen = local.checkpoints().join("step-10");
        fs::write(&unseen, b"weights").unwrap();
        ended_well(&run, attempt);
        fs::rename(&held, local.data().join("elsewhere")).unwrap();
        remove_saved(&run, &local, &Complete::Rename);
        assert!(unseen.exists(), "no agent has seen it");
        fs::rename(local.data().join("elsewhere"), &held).unwrap();
        fs::remove_file(&unseen).unwrap();
        // Killed while it removed its folder.
        fs::remove_file(&held).unwrap();
        fs::remove_dir(local.resume()).unwrap();
        remove_saved(&run, &local, &Complete::Rename);
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    }

    fn ended_well(run: &RunFolder, attempt: Attempt) {
        fs::create_dir_all(run.links()).unwrap();
        let launch = folder::LaunchFile {
            attempt,
            cwd: run.path().to_owned(),
            preludes: Vec::new(),
            container: None,
            count: 1,
            secrets: Vec::new(),
            head: None,
            ranks: Vec::new(),
        };
        run.write_launch(&launch).unwrap();
        let exit = folder::RankExit {
            rank: 0,
            status: 0,
            signal: None,
            at: model::Timestamp(5),
            host: "n1".to_owned(),
            told_to_end: false,
        };
        run.write_exit(attempt, &exit).unwrap();
    }

    #[test]
    fn another_users_folder_is_left_alone() {
        let disk = tempfile::tempdir().unwrap();
        let root = LocalFolder::root_in(disk.path());
        fs::create_dir_all(root.join("x.1.0")).unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&root, open).unwrap();
        let left = node_folders(disk.path(), &|_| Standing::Over, false, true);
        assert!(!left[0].goes(true) && root.join("x.1.0").exists());
    }

    #[test]
    fn a_half_made_environment_goes_unless_it_is_being_made() {
        let cache = tempfile::tempdir().unwrap();
        let all = cache.path().join("environments");
        for name in ["half", "made", "busy"] {
            fs::create_dir_all(all.join(name)).unwrap();
        }
        fs::write(all.join("made/trainyard-made"), b"").unwrap();
        let busy = sys::lock::FileLock::acquire(&all.join("busy.lock")).unwrap();
        assert_eq!(half_made_in(cache.path(), false).len(), 2);
        drop(busy);
        assert!(!all.join("half").exists());
        assert!(all.join("made").exists() && all.join("busy").exists());
    }
}
