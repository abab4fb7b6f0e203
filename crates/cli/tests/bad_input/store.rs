//! State files that can't be used: refused with words, never replaced.

use crate::house::{env, kill};
use expect_test::{Expect, expect};
use std::fs;
use std::path::Path;
use testkit::TestEnv;

/// Spoils the store of an engine that knows a job, and compares what is said then. The store put
/// back, the job is there again.
#[track_caller]
fn check(spoil: impl Fn(&Path), said: Expect) {
    let env = env();
    let held = ["--hold", "--wrap", "true"];
    env.slurm("sbatch", &held).success();
    env.yard(&["engine", "stop"]).success();
    let store = env.engine_folder().join("store.sqlite");
    let good = fs::read(&store).unwrap();
    spoil(&store);
    let spoilt = fs::read(&store).unwrap();
    let refused = env.yard(&["run", "--", "true"]).code(4);
    said.assert_eq(&env.normalise(&refused.snapshot()));
    let _refused = env.slurm("sbatch", &["--wrap", "true"]).code(1);
    let _refused = env.yard(&["engine", "start"]).code(4);
    assert!(fs::read(&store).unwrap() == spoilt, "it was left as it was");
    fs::write(&store, good).unwrap();
    assert_eq!(jobs(&env), "1\n");
    env.slurm("scancel", &["1"]).success();
}

fn jobs(env: &TestEnv) -> String {
    env.slurm("squeue", &["-h", "-o", "%i"]).success()
}

#[test]
fn garbage() {
    check(
        |store| fs::write(store, "garbage, and nothing but garbage").unwrap(),
        expect![[r#"
            status 4
            -- stdout
            -- stderr
            error: local can't be reached
              there   engine in $TEST/yard/state/$HOST/main:
                      $TEST/yard/state/$HOST/main/store.sqlite can't be read as a store: it is no SQLite
                      file
              do      restore it from a backup, or move it away to begin anew without the jobs that it knew: mv $TEST/yard/state/$HOST/main/store.sqlite $TEST/yard/state/$HOST/main/store.sqlite.damaged
        "#]],
    );
}

#[test]
fn garbage_inside() {
    check(
        |store| {
            let mut bytes = fs::read(store).unwrap();
            bytes[200..].fill(0xa5);
            fs::write(store, bytes).unwrap();
        },
        expect![[r#"
            status 4
            -- stdout
            -- stderr
            error: local can't be reached
              there   engine in $TEST/yard/state/$HOST/main:
                      $TEST/yard/state/$HOST/main/store.sqlite can't be read as a store: database disk
                      image is malformed
              do      restore it from a backup, or move it away to begin anew without the jobs that it knew: mv $TEST/yard/state/$HOST/main/store.sqlite $TEST/yard/state/$HOST/main/store.sqlite.damaged
        "#]],
    );
}

#[test]
fn cut_in_half() {
    check(
        |store| {
            let bytes = fs::read(store).unwrap();
            fs::write(store, &bytes[..bytes.len() / 2]).unwrap();
        },
        expect![[r#"
            status 4
            -- stdout
            -- stderr
            error: local can't be reached
              there   engine in $TEST/yard/state/$HOST/main:
                      $TEST/yard/state/$HOST/main/store.sqlite can't be read as a store: database disk
                      image is malformed
              do      restore it from a backup, or move it away to begin anew without the jobs that it knew: mv $TEST/yard/state/$HOST/main/store.sqlite $TEST/yard/state/$HOST/main/store.sqlite.damaged
        "#]],
    );
}

/// Its commands as they stand, run one after the other: with the log that a killed engine leaves.
#[test]
fn the_advice_for_a_damaged_store_can_be_followed() {
    let env = env();
    env.slurm("sbatch", &["--hold", "--wrap", "true"]).success();
    let engine = env.engine_pid("local");
    // Stopped, so that it starts no other one when its fork server goes.
    sys::process::signal(engine, 19).unwrap();
    for process in sys::process::children(engine).into_iter().chain([engine]) {
        kill(process);
    }
    let store = env.engine_folder().join("store.sqlite");
    let log = env.engine_folder().join("store.sqlite-wal");
    assert!(log.exists());
    let garbage = b"garbage, and nothing but garbage";
    fs::write(&store, garbage).unwrap();
    let refused = env.yard(&["run", "--", "true"]).code(4);
    let advice = refused
        .stderr
        .lines()
        .find(|line| line.starts_with("  do "));
    let advice = advice.unwrap();
    let commands: Vec<&str> = advice
        .split("mv ")
        .skip(1)
        .map(|rest| rest.split(')').next().unwrap())
        .collect();
    assert_eq!(commands.len(), 2, "{advice}");
    for command in commands {
        let done = env
            .program("sh", &["-c", &format!("mv {command}")])
            .status();
        assert!(done.unwrap().success(), "mv {command}");
    }
    let next = env.slurm("sbatch", &["--hold", "--wrap", "true"]);
    assert_eq!(next.success(), "Submitted batch job 2\n", "no id twice");
    let kept = fs::read(store.with_extension("sqlite.damaged")).unwrap();
    assert_eq!(kept, garbage);
}

#[test]
fn of_a_newer_version() {
    check(
        |store| {
            let mut bytes = fs::read(store).unwrap();
            // `user_version` of the file's header.
            bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
            fs::write(store, bytes).unwrap();
        },
        expect![[r#"
            status 4
            -- stdout
            -- stderr
            error: local can't be reached
              there   engine in $TEST/yard/state/$HOST/main:
                      $TEST/yard/state/$HOST/main/store.sqlite was written by a newer yard (schema 99,
                      known up to 21)
              do      use the newer yard; nothing was changed in the file
        "#]],
    );
}

#[test]
fn of_another_program() {
    check(
        |store| {
            fs::remove_file(store).unwrap();
            let made = std::process::Command::new("python3")
                .args(["-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('create table books (title)'); c.commit()"])
                .arg(store)
                .status();
            assert!(made.unwrap().success());
        },
        expect![[r#"
            status 4
            -- stdout
            -- stderr
            error: local can't be reached
              there   engine in $TEST/yard/state/$HOST/main:
                      $TEST/yard/state/$HOST/main/store.sqlite can't be read as a store: it holds
                      another program's tables
              do      restore it from a backup, or move it away to begin anew without the jobs that it knew: mv $TEST/yard/state/$HOST/main/store.sqlite $TEST/yard/state/$HOST/main/store.sqlite.damaged
        "#]],
    );
}

#[test]
fn on_a_network_file_system() {
    let mut env = env();
    let pretended = format!("nfs:{}", env.trainyard_home().display());
    env.set_var("TRAINYARD_TEST_FS", pretended);
    let refused = env.yard(&["run", "--", "true"]).code(4);
    expect![[r#"
        status 4
        -- stdout
        -- stderr
        error: local can't be reached
          there   engine in $TEST/yard/state/$HOST/main: $TEST/yard/state/$HOST/main lies on
                  a network file system (nfs)
          do      set TRAINYARD_HOME to a folder on a local disk: locks and the store are not safe on a network file system
    "#]].assert_eq(&env.normalise(&refused.snapshot()));
    assert!(!env.engine_folder().join("store.sqlite").exists());
}
