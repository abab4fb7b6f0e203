//! Ranks that do not behave: each is survived, or ends the run with its cause.

use crate::house::{ended, env, events, folder, start, state};
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

/// The other waits at a socket, as ranks wait in a reduction for one that left its loop early.
#[test]
fn one_that_is_done_while_the_other_waits_for_it_is_a_hang() {
    let env = env();
    env.write(
        "train.py",
        "import os, socket\nif os.environ['RANK'] == '1':\n    s = socket.create_server(('127.0.0.1', 0))\n\
         \x20   print('waits', flush=True)\n    s.accept()\n",
    );
    let text = "launcher = \"srun\"\ncommand = [\"train.py\"]\n[resources]\nranks_per_node = 2\n\
                cpus_per_rank = 1\ntime = \"5m\"\n[watch]\nhang = \"2s\"\non_hang = \"end\"\n";
    env.write("yard.toml", text);
    let printed = env.yard(&["run"]).code(1).snapshot();
    assert!(printed.contains("failed: the ranks hung for "), "{printed}");
    assert_eq!(state(&env), "failed");
}

/// The port was free until the ranks started: rank 1 is the stranger who takes it then.
#[test]
fn a_rendezvous_port_that_was_taken_is_the_cause_that_is_given() {
    let env = env();
    env.write(
        "train.py",
        "import os, pathlib, socket, time\nat = ('', int(os.environ['MASTER_PORT']))\n\
         taken = pathlib.Path('taken')\nwhile os.environ['RANK'] == '0' and not taken.exists():\n    time.sleep(0.01)\n\
         s = socket.create_server(at)\ntaken.touch()\ntime.sleep(60)\n",
    );
    let text = "launcher = \"srun\"\ncommand = [\"train.py\"]\n[resources]\nranks_per_node = 2\n\
                cpus_per_rank = 1\ntime = \"5m\"\n";
    env.write("yard.toml", text);
    let printed = env.yard(&["run"]).code(1).snapshot();
    assert!(printed.contains("failed: rank 0 on "), "{printed}");
    assert!(printed.contains("Address already in use"), "{printed}");
}

/// The ranks meet at an address that yard gives them; this program asks for a name instead.
#[test]
fn a_host_name_that_does_not_resolve_is_the_cause_that_is_given() {
    let env = env();
    env.write(
        "train.py",
        "import os, socket\nprint('meets at', os.environ['MASTER_ADDR'], flush=True)\n\
         socket.create_connection(('n01.invalid', int(os.environ['MASTER_PORT'])))\n",
    );
    let text = "launcher = \"srun\"\ncommand = [\"train.py\"]\n[resources]\nranks_per_node = 2\n\
                cpus_per_rank = 1\ntime = \"5m\"\n[environment]\n\
                variables = { RES_OPTIONS = \"timeout:1 attempts:1\" }\n";
    env.write("yard.toml", text);
    let printed = env.yard(&["run"]).code(1).snapshot();
    assert!(printed.contains("meets at 127.0.0.1"), "{printed}");
    assert!(printed.contains("failed: rank "), "{printed}");
    assert!(printed.contains("socket.gaierror"), "{printed}");
    assert!(printed.contains("YARD_COORDINATOR has"), "{printed}");
}

#[test]
fn two_runs_on_one_node_meet_at_different_ports() {
    let env = env();
    env.write(
        "train.py",
        "import os, pathlib, socket, time\ns = socket.create_server(('', int(os.environ['MASTER_PORT'])))\n\
         here = pathlib.Path(os.environ['MEETS_IN'])\n(here / os.environ['YARD_RUN']).touch()\n\
         while len(list(here.iterdir())) < 2:\n    time.sleep(0.01)\n",
    );
    std::fs::create_dir(env.work().join("both")).unwrap();
    let text = format!(
        "launcher = \"srun\"\ncommand = [\"train.py\"]\n[resources]\ncpus_per_rank = 1\ntime = \"5m\"\n\
         [environment]\nvariables = {{ MEETS_IN = {:?} }}\n",
        env.work().join("both")
    );
    env.write("yard.toml", &text);
    let first = start(&env, &["run"]);
    let second = start(&env, &["run"]);
    for run in [first, second] {
        let (code, said) = ended(run);
        assert_eq!(code, Some(0), "{said}");
    }
}

#[test]
fn a_secret_with_a_line_end_comes_whole_to_the_ranks() {
    let mut env = env();
    env.set_var("HF_TOKEN", "two\nlines'\" $x");
    let script =
        "test \"$HF_TOKEN\" = \"$(printf 'two\\nlines%s' \"'\\\" \\$x\")\" && echo whole\n";
    run_file(&env, 1, script);
    let text = std::fs::read_to_string(env.work().join("yard.toml")).unwrap();
    let text = format!("{text}[environment]\nsecrets = [\"HF_TOKEN\"]\n");
    env.write("yard.toml", &text);
    let printed = env.yard(&["run"]).success();
    assert!(printed.contains("whole"), "{printed}");
}

#[test]
fn the_secrets_of_a_run_that_is_over_are_removed_and_read_again_when_it_comes_back() {
    let mut env = env();
    env.set_var("HF_TOKEN", "t0ken");
    let script = format!(
        "test -e {:?} || exit 3; echo \"has $HF_TOKEN\"\n",
        env.work().join("go")
    );
    run_file(&env, 1, &script);
    let text = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    env.write(
        "yard.toml",
        &format!("{text}[environment]\nsecrets = [\"HF_TOKEN\"]\n"),
    );
    let _ = env.yard(&["run"]).code(1);
    let file = folder(&env).join("secrets.json");
    assert!(!file.exists(), "the run failed for good");
    let mut without = env.command(&["requeue", "@"]);
    let refused = without.env_remove("HF_TOKEN").output().unwrap();
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        words.contains("the secret HF_TOKEN is not known"),
        "{words}"
    );
    env.write("go", "");
    env.yard(&["requeue", "@"]).success();
    env.yard(&["wait", "@"]).success();
    let printed = env.yard(&["logs", "@"]).success();
    assert!(printed.contains("has t0ken"), "{printed}");
    assert!(!file.exists(), "the run is done");
}

#[test]
fn one_that_ignores_sigterm_is_killed_with_the_others() {
    let mut env = env();
    // Its own wrapper kills it, long before the cluster would.
    env.set_var("TRAINYARD_KILL_WAIT_MS", "600000");
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
    check_output_of_64_ranks(1_000_000);
}

#[test]
fn output_of_many_ranks_is_all_kept() {
    check_output_of_64_ranks(50_000);
}

#[track_caller]
fn check_output_of_64_ranks(bytes: usize) {
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
    env.write(
        "rank.sh",
        &format!("yes \"of rank $RANK\" | head -c {bytes}\n"),
    );
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
        assert_eq!(text.len(), bytes, "rank {rank}");
        let own = format!("of rank {rank}");
        let mut lines = text.lines().take(1000);
        assert!(lines.all(|line| line == own), "rank {rank}");
    }
}
