//! Folders on a node: whose they are, and what goes of them.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn of(disk: &Path, restart: u32) -> LocalFolder {
    LocalFolder::new(disk, "digits-k3f9", Attempt { job: 7, restart })
}

#[test]
fn private_shared_by_agents_and_gone_at_the_end() {
    let disk = tempfile::tempdir().unwrap();
    let local = of(disk.path(), 0);
    let first = local.make().unwrap();
    let second = local.make().unwrap();
    assert!(first._lock.is_some() && second._lock.is_none());
    assert!(has_agent(&local.path()));
    drop(first);
    assert!(!has_agent(&local.path()));
    let mode = fs::metadata(local.path()).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o700);
    local.remove().unwrap();
    local.remove().unwrap();
    assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
}

#[test]
fn a_lock_whose_folder_is_gone_is_removed_by_the_next_start_of_its_run() {
    let disk = tempfile::tempdir().unwrap();
    let (first, second, third) = (of(disk.path(), 0), of(disk.path(), 1), of(disk.path(), 2));
    let other = LocalFolder::new(disk.path(), "other", Attempt { job: 9, restart: 0 });
    let held = second.make().unwrap();
    let _own = third.make().unwrap();
    for lock in [&first, &other] {
        fs::write(lock.lock_of(&lock.name), b"").unwrap();
    }
    // Killed over the removal of its folder.
    fs::remove_dir_all(second.path()).unwrap();
    third.remove_earlier_locks();
    let there = |one: &LocalFolder| one.lock_of(&one.name).exists();
    assert_eq!(
        [&first, &second, &third, &other].map(there),
        [false, true, true, true]
    );
    drop(held);
    third.remove_earlier_locks();
    assert!(!there(&second));
}

#[test]
fn only_what_the_dead_left_is_removed() {
    let disk = tempfile::tempdir().unwrap();
    let of = |run: &str| LocalFolder::new(disk.path(), run, Attempt { job: 7, restart: 0 });
    let (dead, living, new) = (of("dead"), of("living"), of("new"));
    drop(dead.make().unwrap());
    let held = living.make().unwrap();
    let _new = new.make().unwrap();
    assert!(!dead.path().exists());
    assert!(living.path().exists() && new.path().exists());
    drop(held);
}

#[test]
fn the_only_copy_of_a_checkpoint_is_no_other_runs_to_remove() {
    let disk = tempfile::tempdir().unwrap();
    let (full, other) = (
        of(disk.path(), 0),
        LocalFolder::new(disk.path(), "other", Attempt { job: 9, restart: 0 }),
    );
    let owned = full.make().unwrap();
    let held = full.held().join("1");
    fs::write(&held, b"weights").unwrap();
    let record = kept::Record::of("step-5", true, None, &held).unwrap();
    record.write(&held).unwrap();
    fs::write(full.data().join("set"), b"x").unwrap();
    drop(owned);
    let _other = other.make().unwrap();
    assert!(held.exists() && !full.data().exists());
    fs::remove_dir_all(full.held()).unwrap();
    unseen::note(&full, &train::Complete::Rename).unwrap();
    let unseen = full.checkpoints().join("step-6");
    fs::write(&unseen, b"weights").unwrap();
    let _other = other.make().unwrap();
    assert!(unseen.exists(), "no agent had looked at it");
    let next = of(disk.path(), 1);
    assert_eq!(next.earlier(), std::slice::from_ref(&full));
    assert_eq!(full.earlier(), []);
}

#[test]
fn a_name_says_whose_it_is() {
    let disk = Path::new("/d");
    let local = of(disk, 3);
    let attempt = Attempt { job: 7, restart: 3 };
    assert_eq!(local.owner(), Some(("digits-k3f9", attempt)));
    let dotted = LocalFolder::new(disk, "v1.2-abcd", attempt);
    assert_eq!(dotted.owner(), Some(("v1.2-abcd", attempt)));
}

#[test]
fn a_folder_that_others_can_enter_is_not_used() {
    let disk = tempfile::tempdir().unwrap();
    let local = of(disk.path(), 0);
    fs::create_dir(&local.root).unwrap();
    fs::set_permissions(&local.root, PermissionsExt::from_mode(0o755)).unwrap();
    let error = local.make().unwrap_err();
    assert!(error.to_string().contains("mode 755"), "{error}");
    fs::remove_dir(&local.root).unwrap();
    std::os::unix::fs::symlink(disk.path(), &local.root).unwrap();
    assert!(local.make().is_err());
}

#[test]
fn a_name_that_another_user_took_is_passed_over() {
    let disk = tempfile::tempdir().unwrap();
    let first = of(disk.path(), 0).root;
    // A link, which no user may make for another, stands for a folder of another user.
    std::os::unix::fs::symlink(disk.path(), &first).unwrap();
    let local = of(disk.path(), 0);
    assert_ne!(local.root, first);
    let _owned = local.make().unwrap();
    // Each process of the run finds the same one.
    assert_eq!(of(disk.path(), 0), local);
}
