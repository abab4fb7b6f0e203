//! `yard top` of the built program, into a pipe and on a terminal.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use testkit::{TestEnv, wait_until};

#[test]
fn a_run_is_watched_cancelled_and_removed_on_a_terminal() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        "name = \"slow\"\ncommand = [\"sh\", \"-c\", \"echo printed-line; sleep 600\"]\n",
    );
    env.yard(&["run", "--on", "local", "--detach"]).success();
    wait_until("it runs", || {
        env.yard(&["top"]).success().contains("running")
    });

    let pair = sys::terminal::open().unwrap();
    let (rows, columns) = (24, 80);
    sys::terminal::set_size(&pair.ours, sys::terminal::Size { rows, columns }).unwrap();
    let theirs = || Stdio::from(pair.theirs.try_clone().unwrap());
    let mut command = env.command(&["top"]);
    command.env("TERM", "xterm");
    command.stdin(theirs()).stdout(theirs()).stderr(theirs());
    let mut top = command.spawn().unwrap();
    drop(command);
    let mut keys = File::from(pair.ours.try_clone().unwrap());
    let shown = Arc::new(Mutex::new(String::new()));
    let (screen, into) = (File::from(pair.ours), Arc::clone(&shown));
    drop(pair.theirs);
    std::thread::spawn(move || {
        let mut portion = [0; 4096];
        let mut screen = screen;
        while let Ok(length @ 1..) = screen.read(&mut portion) {
            let text = String::from_utf8_lossy(&portion[..length]).into_owned();
            into.lock().unwrap().push_str(&text);
        }
    });
    // Blanks that were there before are not drawn: single words are looked for.
    let sees = |text: &str| shown.lock().unwrap().contains(text);
    wait_until("the run and its line are shown", || {
        sees("slow-") && sees("printed-line")
    });
    keys.write_all(b"cn").unwrap();
    wait_until("it is asked", || sees("checkpoints"));
    keys.write_all(b"cy").unwrap();
    wait_until("it is cancelled", || sees("cancelled"));
    let _over = env.yard(&["wait"]).code(1);
    // Its folder may go while it is watched.
    env.yard(&["rm", "--yes", "slow"]).success();
    keys.write_all(b"a").unwrap();
    wait_until("the removal is seen", || sees("removed"));
    keys.write_all(b"q").unwrap();
    assert!(top.wait().unwrap().success());
    wait_until("the terminal is given back", || sees("\x1b[?1049l"));
    let listed = env.yard(&["ls"]).success();
    assert!(
        listed.contains("(slow)") && listed.contains("was removed"),
        "{listed}"
    );
}

/// Jobs of all engines stand in one list, each with the name of its engine, and one that is stopped takes
/// its own along only.
#[test]
fn several_engines_at_once() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("job.sh", "#!/bin/sh\nsleep 600\n");
    for engine in ["left", "right"] {
        let shape = ["--nodes", "2", "--gpus-per-node", "2"];
        env.yard(&[&["engine", "start", engine], &shape[..]].concat())
            .success();
        for gpus in ["--gpus-per-node=2", "--gpus=2"] {
            let mut command = env.command(&["slurm", "sbatch", "--nodes=2", gpus, "job.sh"]);
            command.env("TRAINYARD_ENGINE", engine);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }
    let all = |engine: &str, word: &str| {
        let shown = env.yard(&["top"]).success();
        let lines = shown.lines();
        lines
            .filter(|line| line.contains(engine) && line.contains(word))
            .count()
    };
    for engine in ["left", "right"] {
        wait_until("one of its jobs runs and one waits", || {
            all(engine, "running") == 1 && all(engine, "waiting") == 1
        });
    }
    let end = |engine: &str| {
        for job in [2, 1] {
            env.yard(&["cancel", &format!("{engine}:{job}")]).success();
            let _over = env.yard(&["wait", &format!("{engine}:{job}")]);
        }
        env.yard(&["engine", "stop", engine]).success();
    };
    end("left");
    wait_until("the other's jobs stay alone", || {
        all("left", "running") == 0 && all("right", "running") == 1
    });
    end("right");
}
