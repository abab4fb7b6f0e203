use super::*;
use folder::Attempt;

#[test]
fn what_is_used_is_not_removed() {
    let cache = tempfile::tempdir().unwrap();
    let image = cache.path().join("images/9f/image");
    fs::create_dir_all(&image).unwrap();
    fs::write(image.with_file_name(folder::MADE_MARKER), "docker://a").unwrap();
    let named = NamedContainer::new(cache.path(), "mine");
    fs::create_dir_all(named.place.join("etc")).unwrap();
    fs::create_dir_all(&named.half_made).unwrap();
    let all = kept(cache.path());
    let mut shown: Vec<_> = all.iter().map(|kept| kept.made_of.as_deref()).collect();
    shown.sort();
    assert_eq!(shown, [None, Some("docker://a"), Some("mine")]);
    let lock = lock_of(&image).unwrap();
    assert_eq!(lock_of(&named.place), None);
    for (lock, count) in [(lock, 1), (named.lock, 2)] {
        let held = [(); 2].map(|()| FileLock::share(&lock).unwrap());
        let removed = || {
            all.iter()
                .filter(|kept| kept.jobs_file() == Some(jobs_beside(&lock)))
        };
        assert!(removed().all(|kept| kept.take().is_none()));
        drop(held);
        let job = JobOfEngine {
            engine: "/a b/main".into(),
            job: JobId(7),
        };
        note_job(&lock, &job).unwrap();
        note_job(&lock, &job).unwrap();
        fs::write(jobs_beside(&lock), "7 /a b/main\n8 /a").unwrap();
        assert!(removed().all(|kept| kept.jobs() == BTreeSet::from([job.clone()])));
        let next = JobOfEngine {
            job: JobId(9),
            ..job.clone()
        };
        fs::write(jobs_beside(&lock), job.line() + &next.line()).unwrap();
        let one = removed().next().unwrap();
        let over = BTreeSet::from([job]);
        let used = FileLock::share(&lock).unwrap();
        one.forget_jobs(&over).unwrap();
        assert_eq!(one.jobs().len(), 2);
        drop(used);
        one.forget_jobs(&over).unwrap();
        assert_eq!(one.jobs(), BTreeSet::from([next]));
        let taken = removed().filter_map(Kept::take);
        assert_eq!(taken.map(|one| one.remove().unwrap()).count(), count);
    }
    assert_eq!(kept(cache.path()).len(), 0);
}

#[test]
fn what_became_whole_meanwhile_is_not_removed() {
    let cache = tempfile::tempdir().unwrap();
    let image = cache.path().join("images/9f");
    let named = NamedContainer::new(cache.path(), "mine");
    fs::create_dir_all(&image).unwrap();
    fs::create_dir_all(&named.half_made).unwrap();
    let listed = kept(cache.path());
    assert!(listed.iter().all(|one| one.take().is_some()));
    fs::write(image.join(folder::MADE_MARKER), "docker://a").unwrap();
    fs::rename(&named.half_made, &named.place).unwrap();
    assert!(listed.iter().all(|one| one.take().is_none()));
}

#[test]
fn what_is_removed_before_it_is_kept_is_not_kept() {
    let cache = tempfile::tempdir().unwrap();
    let image = cache.path().join("images/9f");
    fs::create_dir_all(&image).unwrap();
    fs::write(image.join(folder::MADE_MARKER), "docker://a").unwrap();
    let lock = lock_of(&image).unwrap();
    std::thread::scope(|scope| {
        let removing = FileLock::acquire(&lock).unwrap();
        let keeper = scope.spawn(|| keep_whole(&image));
        fs::remove_dir_all(&image).unwrap();
        drop(removing);
        assert!(!keeper.join().unwrap());
    });
    assert!(FileLock::try_acquire(&lock).unwrap().is_some());
}

#[test]
fn a_container_that_is_removed_before_it_is_kept_is_not_kept() {
    let cache = tempfile::tempdir().unwrap();
    let named = NamedContainer::new(cache.path(), "mine");
    assert!(!named.keep());
    fs::create_dir_all(&named.place).unwrap();
    std::thread::scope(|scope| {
        let removing = FileLock::acquire(&named.lock).unwrap();
        let keeper = scope.spawn(|| named.keep());
        fs::remove_dir_all(&named.place).unwrap();
        drop(removing);
        assert!(!keeper.join().unwrap());
    });
    assert!(FileLock::try_acquire(&named.lock).unwrap().is_some());
    fs::create_dir_all(&named.place).unwrap();
    assert!(named.keep());
    assert!(FileLock::try_acquire(&named.lock).unwrap().is_none());
}

#[test]
fn staged_data_goes_once_nothing_needs_it() {
    let disk = tempfile::tempdir().unwrap();
    assert!(staged(disk.path()).is_empty());
    let attempt = Attempt { job: 7, restart: 0 };
    let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
    let owned = local.make().unwrap();
    assert!(staged(disk.path()).is_empty());
    fs::write(local.data().join("set"), b"x").unwrap();
    let check = |goes: bool| {
        let all = staged(disk.path());
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!((one.kind, one.run()), (Kind::Data, Some("digits-k3f9")));
        assert_eq!(one.made_of.as_deref(), Some("set"));
        let taken = one.take();
        assert_eq!(taken.is_some(), goes);
        if let Some(taken) = taken {
            taken.remove().unwrap();
        }
        assert_eq!(local.data().exists(), !goes);
    };
    check(false);
    drop(owned);
    local.note_uncollected().unwrap();
    check(false);
    local.all_collected();
    check(true);
    assert!(local.checkpoints().exists());
}
