//! What these tests share: a sealed place, programs that wait for a file, runs and how they stand.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use testkit::{TestEnv, wait_until};

pub fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// Begins `yard` with both outputs kept.
pub fn start(env: &TestEnv, args: &[&str]) -> Child {
    env.command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Both outputs and the exit code of a command that has ended.
pub fn ended(child: Child) -> (Option<i32>, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    let text = [stdout, stderr].concat();
    (status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// `sh -c` of a command that makes the file `begun` in the working folder and waits for `go`.
pub fn waiting_command(env: &TestEnv) -> String {
    let work = env.work();
    format!(
        "touch {0}/begun; while [ ! -e {0}/go ]; do sleep 0.02; done; echo through",
        work.display()
    )
}

/// Waits until a file of the working folder is there.
#[track_caller]
pub fn wait_for_file(env: &TestEnv, name: &str) {
    let path = env.work().join(name);
    wait_until(&format!("{name} is there"), || path.exists());
}

/// Waits until so many tasks have each written a line into a file of the working folder.
#[track_caller]
pub fn until_it_writes(env: &TestEnv, file: &str, lines: usize) {
    wait_until("its tasks run", || {
        fs::read_to_string(env.work().join(file)).is_ok_and(|text| text.lines().count() == lines)
    });
}

/// Lets the waiting commands go on.
pub fn go(env: &TestEnv) {
    env.write("go", "");
}

/// The newest run, as `yard show --json` has it.
#[track_caller]
pub fn shown(env: &TestEnv) -> Value {
    let text = env.yard(&["show", "@", "--json"]).success();
    serde_json::from_str(&text).unwrap()
}

/// Its state in one word.
#[track_caller]
pub fn state(env: &TestEnv) -> String {
    shown(env)["state"]["state"].as_str().unwrap().to_owned()
}

/// Its folder.
#[track_caller]
pub fn folder(env: &TestEnv) -> PathBuf {
    PathBuf::from(shown(env)["folder"].as_str().unwrap())
}

/// Its events of that kind, in order.
#[track_caller]
pub fn events(env: &TestEnv, kind: &str) -> Vec<Value> {
    let shown = shown(env);
    let starts = shown["starts"].as_array().unwrap().iter();
    starts
        .flat_map(|start| start["events"].as_array().unwrap().clone())
        .filter(|event| event["event"] == kind)
        .collect()
}

/// Ends a process as the kernel would that has run out of memory.
pub fn kill(pid: u32) {
    sys::process::signal(pid, 9).unwrap();
    wait_until("it is dead", || sys::process::start_time(pid).is_none());
}

/// Mounts a file system of that many bytes in memory on a folder of the test, which it makes.
/// `None`, with the reason said: this user may not.
pub fn small_disk(test: &str, at: &Path, options: &str) -> Option<SmallDisk> {
    fs::create_dir_all(at).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "none"])
        .arg(at)
        .stderr(Stdio::null())
        .status();
    if mounted.is_ok_and(|status| status.success()) {
        return Some(SmallDisk { at: at.to_owned() });
    }
    testkit::skip(test, "this user may not mount a small disk");
    None
}

/// A small disk that goes with its test.
pub struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    /// Mounts it again with other options.
    pub fn remount(&self, options: &str) {
        let status = std::process::Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.at)
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: what still stands in it ends with the test's place.
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.at)
            .status();
    }
}
