//! Programs beside the ranks of a real run.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use testkit::TestEnv;

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
