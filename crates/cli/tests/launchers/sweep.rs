//! A sweep's trials with W&B's own client, against a local server.

use super::{CLUSTER, Case};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use testkit::VirtualCluster;

const TRAIN: &str = "\
import os, sys
print('run', os.environ['WANDB_RUN_ID'], 'of', os.environ['WANDB_SWEEP_ID'], sys.argv[1], flush=True)
";

#[test]
#[ignore = "needs W&B's client, and takes 20 s"]
fn wandbs_own_agents_take_a_trial_each() {
    let Some(venv) = Case::new("wandb", "wandb", TRAIN)
        .of_venv("current")
        .installed()
    else {
        return;
    };
    let mut lab = VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), CLUSTER);
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/launchers/wandb_server.py"
    );
    let mut server = Command::new("python3")
        .arg(server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let mut port = String::new();
    let output = server.stdout.take().expect("it is piped");
    BufReader::new(output)
        .read_line(&mut port)
        .expect("it prints its port");
    lab.set_var(
        "WANDB_BASE_URL",
        format!("http://127.0.0.1:{}", port.trim()),
    );
    lab.set_var("WANDB_API_KEY", "0123456789".repeat(4));
    lab.write("train.py", TRAIN);
    lab.write(
        "sweep.toml",
        &format!(
            "name = \"sweep\"\ncommand = [\"wandb\", \"agent\"]\n[resources]\ntime = \"5m\"\nmemory = \"1G\"\n\
             [environment]\nvenv = {venv:?}\n"
        ),
    );
    let words = [
        "sweep",
        "sweep.toml",
        "--wandb",
        "user/line/a1b2c3",
        "--trials",
        "2",
    ];
    lab.yard(&[&words[..], &["--on", "lab"]].concat()).success();
    let logs = [1, 2].map(|trial| lab.yard(&["logs", &format!("sweep.{trial}")]).success());
    for run in [1, 2] {
        let line = format!("run r{run} of a1b2c3 --learning_rate=0.{run}");
        assert!(logs.iter().any(|log| log.contains(&line)), "{logs:?}");
    }
    drop(server.stdin.take());
    let _ended = server.wait();
}
