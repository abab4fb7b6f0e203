//! Folders that can't be written or read.

use crate::house::{env, small_disk};
use expect_test::expect;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use testkit::{Outcome, TestEnv};

/// Standard error.
fn said(env: &TestEnv, outcome: Outcome) -> String {
    env.normalise(&outcome.stderr)
}

#[test]
fn scratch_that_is_no_folder() {
    let env = env();
    fs::write(env.trainyard_home().join("scratch"), "").unwrap();
    let refused = said(&env, env.yard(&["run", "--", "true"]).code(5));
    expect![[r#"
        error: $TEST/yard/scratch/.yard can't be used: Not a directory (os error 20)
          do      make room or give yourself the right, or set TRAINYARD_HOME to another folder
    "#]]
    .assert_eq(&refused);
    assert_eq!(env.slurm("squeue", &["-h", "-t", "all"]).success(), "");
}

#[test]
fn a_place_below_a_file() {
    let mut env = env();
    let file = env.write("file", "");
    let home = env.trainyard_home();
    env.set_var("TRAINYARD_HOME", file.join("below"));
    let refused = env.yard(&["run", "--", "true"]).code(4);
    expect![[r#"
        status 4
        -- stdout
        -- stderr
        error: local can't be reached
          there   engine folder $TEST/work/file/below/state/$HOST/main can't be used: Not a
                  directory (os error 20)
          do      set TRAINYARD_HOME to a folder on a local disk that you may write
    "#]]
    .assert_eq(&env.normalise(&refused.snapshot()));
    env.set_var("TRAINYARD_HOME", home);
}

#[test]
fn scratch_that_is_read_only() {
    let env = env();
    let scratch = env.trainyard_home().join("scratch");
    let name = "folders::scratch_that_is_read_only";
    let Some(disk) = small_disk(name, &scratch, "size=200m,ro") else {
        return;
    };
    let refused = said(&env, env.yard(&["run", "--", "true"]).code(5));
    expect![[r#"
        error: $TEST/yard/scratch/.yard can't be used: Read-only file system (os error 30)
          do      make room or give yourself the right, or set TRAINYARD_HOME to another folder
    "#]]
    .assert_eq(&refused);
    assert_eq!(env.slurm("squeue", &["-h", "-t", "all"]).success(), "");
    disk.remount("rw");
    env.yard(&["run", "--", "true"]).success();
}

/// Nobody's number, so that its place under /var/tmp is the test's alone.
const STRANGER: u32 = 54_321;

/// `yard` as that user, with this HOME and without TRAINYARD_HOME.
fn as_stranger(env: &TestEnv, yard: &PathBuf, home: &str, args: &[&str]) -> (Option<i32>, String) {
    let mut command = env.program(yard, args);
    for ours in ["TRAINYARD_HOME", "TMPDIR"] {
        command.env_remove(ours);
    }
    command.env("HOME", home);
    let output = command.uid(STRANGER).gid(STRANGER).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// The fallback of that user, which goes with the test.
struct Fallback(PathBuf);

impl Drop for Fallback {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_home_that_cannot_be_read() {
    let env = env();
    let name = "folders::a_home_that_cannot_be_read";
    // Another user must be able to reach the place of the test and the program.
    let yard = env.root().join("bin-yard");
    // By another process: a test beside this one may fork while the copy is open for writing, and
    // what is open for writing can't be executed.
    let copied = std::process::Command::new("cp")
        .args([env!("CARGO_BIN_EXE_yard").as_ref(), yard.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    fs::set_permissions(env.root(), PermissionsExt::from_mode(0o755)).unwrap();
    if chown(env.work(), Some(STRANGER), Some(STRANGER)).is_err() {
        return testkit::skip(name, "this user may not become another");
    }
    let closed = env.root().join("home");
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let fallback = Fallback(PathBuf::from(format!("/var/tmp/trainyard-{STRANGER}")));
    for home in [closed.to_str().unwrap(), "/nonexistent", ""] {
        let (code, said) = as_stranger(&env, &yard, home, &["run", "--", "echo", "at home"]);
        assert_eq!(code, Some(0), "HOME={home}: {said}");
        assert!(said.contains("[0] at home"), "{said}");
        let (_, listed) = as_stranger(&env, &yard, home, &["ls"]);
        assert!(listed.contains("done"), "{listed}");
        assert!(!PathBuf::from("/nonexistent").exists());
    }
    let mode = fs::metadata(&fallback.0).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let (code, said) = as_stranger(&env, &yard, "", &["engine", "stop"]);
    assert_eq!(code, Some(0), "{said}");
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
}
