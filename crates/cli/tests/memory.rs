//! Memory does not grow with a log.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::process::Stdio;
use std::time::Duration;
use testkit::TestEnv;

/// Bytes of the log: several times what may be in memory.
const LOG: u64 = 96 << 20;
/// Most KiB of resident memory.
const MOST: u64 = 32 << 10;

/// Peak of a process's resident memory in KiB.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().strip_suffix(" kB")?.parse().ok()
}

/// Runs it to its end, its output thrown away; returns its peak.
fn peak_of(env: &TestEnv, args: &[&str]) -> u64 {
    let mut command = env.command(args);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut highest = 0;
    loop {
        highest = highest.max(peak(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{args:?}: {status}");
            return highest;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
#[ignore = "reads a large log three times; ./test --full runs it"]
fn a_large_log_takes_less_than_32_mib() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let lines = format!("yes 'a line of a training that prints a lot' | head -c {LOG}");
    let no_line = format!("head -c {LOG} /dev/zero | tr '\\0' x");
    for writes in [lines, no_line] {
        let commands: [&[&str]; 4] = [
            &["run", "--", "sh", "-c", &writes],
            &["logs", "@"],
            &["logs", "@", "-r", "0"],
            &["show", "@"],
        ];
        for args in commands {
            let peak = peak_of(&env, args);
            assert!(peak > 0 && peak < MOST, "{args:?}: {peak} KiB");
        }
    }
}
