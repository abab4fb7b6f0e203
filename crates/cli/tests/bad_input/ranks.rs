//! Ranks that do not behave: each is survived, or ends the run with its cause.

use crate::house::{env, events, folder, state};
use std::fs;
use testkit::{TestEnv, wait_until};

fn run_file(env: &TestEnv, ranks: u32, script: &str) {
    env.write("rank.sh", script);
    let text = format!(
        "launcher = \"srun\"\ncommand = [\"sh\", \"rank.sh\"]\n[resources]\nnodes = {ranks}\n\
         cpus_per_rank = 1\ntime = \"5m\"\n"
    );
    env.write("yard.toml", &text);
}

#[test]
fn one_that_is_done_before_the_others_ends_nothing() {
    let env = env();
    run_file(&env, 2, "test $RANK = 0 || { sleep 1; echo later; }\n");
    let printed = env.yard(&["run"]).success();
    assert!(printed.contains("later"), "{printed}");
    assert_eq!(state(&env), "done");
}

#[test]
fn one_that_ignores_sigterm_is_killed_with_the_others() {
    let mut env = env();
    env.set_var("TRAINYARD_KILL_WAIT_MS", "500");
    let script = "if test $RANK = 0; then trap '' TERM; : > deaf; while :; do sleep 0.1; done; fi\n\
                  until test -e deaf; do sleep 0.05; done; echo gone; exit 7\n";
    run_file(&env, 2, script);
    let printed = env.yard(&["run"]).code(1).snapshot();
    assert!(printed.contains("exit code 7"), "{printed}");
    assert_eq!(state(&env), "failed");
}

#[test]
fn what_one_leaves_behind_as_a_daemon_ends_with_its_job() {
    let env = env();
    let daemon = "(setsid sh -c 'echo $$ > \"$1\"; while :; do sleep 0.1; done' sh \"$PLACE\" \
                  >/dev/null 2>&1 &)\nuntil test -s \"$PLACE\"; do sleep 0.05; done\n";
    let place = env.work().join("daemon");
    run_file(&env, 1, &format!("PLACE={place:?}\n{daemon}"));
    env.yard(&["run"]).success();
    assert_eq!(state(&env), "done");
    let pid = fs::read_to_string(place).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", pid.trim()));
    wait_until("the daemon is gone", || !process.exists());
}

/// 64 ranks that together write in a moment what many write in seconds: `cargo test --release -p
/// yard-cli --test bad_input -- --ignored ranks`.
#[test]
#[ignore = "writes and shows 64 MB, and takes 10 s"]
fn much_output_of_many_ranks_is_all_kept() {
    const BYTES: usize = 1_000_000;
    let env = env();
    let engine = [
        "engine",
        "start",
        "wide",
        "--nodes",
        "8",
        "--cpus-per-node",
        "8",
    ];
    env.yard(&engine).success();
    env.write("rank.sh", "yes \"of rank $RANK\" | head -c 1000000\n");
    let text = "launcher = \"srun\"\ncommand = [\"sh\", \"rank.sh\"]\n[resources]\nnodes = 8\n\
                ranks_per_node = 8\ncpus_per_rank = 1\ntime = \"5m\"\n";
    env.write("yard.toml", text);
    env.yard(&["run", "--on", "wide"]).success();
    assert!(events(&env, "failed").is_empty());
    let logs = folder(&env).join("logs");
    env.yard(&["engine", "stop", "wide"]).success();
    for rank in 0..64 {
        let mut logs = fs::read_dir(&logs).unwrap().flatten();
        let ending = format!(".0.{rank}");
        let log = logs.find(|log| log.file_name().to_string_lossy().ends_with(&ending));
        let text = fs::read_to_string(log.unwrap().path()).unwrap();
        assert_eq!(text.len(), BYTES, "rank {rank}");
        let own = format!("of rank {rank}");
        let mut lines = text.lines().take(1000);
        assert!(lines.all(|line| line == own), "rank {rank}");
    }
}
