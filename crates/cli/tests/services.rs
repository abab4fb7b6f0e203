//! Programs beside the ranks of a real run.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use testkit::{RealSlurm, SlurmShape, TestEnv, skip};

#[test]
fn a_service_is_reached_and_ends_with_the_run_and_one_that_dies_ends_nothing() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        r#"name = "beside"
command = ["sh", "-c", """until cat $YARD_LOGS/../links/*.events > seen; [ -s child ] &&
    grep -q '"name":"web","address":"http' seen &&
    grep -q '"name":"gone","status":3' seen; do sleep 0.1; done"""]
[services.web]
command = ["python3", "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", "{logs}"]
[services.tree]
command = ["sh", "-c", "env > environment; cat /proc/$PPID/cmdline > parent; sleep 1000 & echo $! > child; wait"]
[services.gone]
command = ["sh", "-c", "exit 3"]
[services.missing]
command = ["no-such-program"]
"#,
    );
    let printed = env.yard(&["run", "--on", "local"]);
    let printed = format!("{}{}", printed.stdout, printed.stderr);
    let after = printed.split("http://127.0.0.1:").nth(1).expect(&printed);
    let port: u16 = after.split(' ').next().unwrap().parse().unwrap();
    assert!(
        printed.contains(&format!("ssh -N -L {port}:127.0.0.1:{port} ")),
        "{printed}"
    );
    assert!(
        printed.contains("service missing ended with 127"),
        "{printed}"
    );
    assert!(
        TcpStream::connect(("127.0.0.1", port)).is_err(),
        "it ended with the run"
    );
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = Path::new(shown["folder"].as_str().unwrap());
    let log = fs::read_to_string(folder.join("logs/1.0.service-missing")).unwrap();
    assert!(log.contains("no folder of PATH has it"), "{log}");
    // An agent runs it, and it is none of the agents' tasks.
    let wrote = |name: &str| fs::read_to_string(folder.join("code").join(name)).unwrap();
    let parent = wrote("parent");
    assert!(parent.contains("\0job\0agent\0"), "{parent:?}");
    let environment = wrote("environment");
    let has = |name: &str| environment.lines().any(|line| line.starts_with(name));
    assert!(has("SLURM_JOB_ID=1"), "{environment}");
    assert!(!has("SLURM_PROCID=") && !has("SLURM_STEP"), "{environment}");
    let child = format!("/proc/{}", wrote("child").trim());
    assert!(!Path::new(&child).exists(), "what it started ended with it");
}

/// What a node is given before its ranks start, and what runs beside them, is an agent's there too, with
/// all CPUs of the job.
#[test]
#[ignore = "brings up a real Slurm: cargo test -p yard-cli --test services -- --ignored"]
fn data_is_staged_and_a_service_runs_on_a_real_slurm() {
    if let Some(reason) = RealSlurm::missing() {
        let test = "data_is_staged_and_a_service_runs_on_a_real_slurm";
        return skip(test, &reason);
    }
    let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).unwrap();
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("SLURM_CONF", slurm.conf());
    env.write("words/one", "staged-word\n");
    env.write(
        "yard.toml",
        r#"name = "beside"
launcher = "srun"
command = ["sh", "-c", "cat {data}/words/one; until [ -s child ]; do sleep 0.1; done"]
[resources]
nodes = 2
ranks_per_node = 1
cpus_per_rank = 2
[data]
stage = ["words"]
[services.tree]
command = ["sh", "-c", "env > environment; cat /proc/$PPID/cmdline > parent; sleep 1000 & echo $! > child; wait"]
"#,
    );
    let ended = env.yard(&["run", "--on", "rig"]);
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let _done = ended.success();
    assert!(
        printed.contains("[0] staged-word") && printed.contains("[1] staged-word"),
        "{printed}"
    );
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let code = Path::new(shown["folder"].as_str().unwrap()).join("code");
    let wrote = |name: &str| fs::read_to_string(code.join(name)).unwrap();
    assert!(wrote("parent").contains("\0job\0agent\0"));
    let environment = wrote("environment");
    assert!(
        environment.contains("SLURM_JOB_ID=") && !environment.contains("SLURM_STEP"),
        "{environment}"
    );
    let child = format!("/proc/{}", wrote("child").trim());
    assert!(!Path::new(&child).exists(), "what it started ended with it");
}

#[test]
fn tensorboard_of_a_run_is_the_one_that_is_found() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("yard.toml", "name = \"quick\"\ncommand = [\"true\"]\n");
    env.yard(&["run", "--on", "local"]).success();
    env.set_var("PATH", "/usr/bin:/bin");
    let said = env.yard(&["tensorboard"]).code(1).stderr;
    assert!(said.contains("pip install tensorboard"), "{said}");
    let bin = env.write("bin/tensorboard", "#!/bin/sh\necho \"$@\"\n");
    fs::set_permissions(&bin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    env.set_var(
        "PATH",
        format!("{}:/usr/bin:/bin", env.work().join("bin").display()),
    );
    let ended = env.yard(&["tensorboard", "quick", "--port", "6007"]);
    assert!(
        ended.stderr.contains("http://127.0.0.1:6007"),
        "{}",
        ended.stderr
    );
    let words = ended.success();
    assert!(
        words.contains("--logdir") && words.contains("/tensorboard --host 127.0.0.1"),
        "{words}"
    );
}
