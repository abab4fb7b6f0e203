//! `[watch] hang`: ranks of which one waits for ever.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use testkit::TestEnv;

/// Two ranks: 1 sleeps, and 0 waits for it at a socket.
const RANKS: &str = "import os, socket, time\n\
    print('up', flush=True)\n\
    if os.environ['SLURM_PROCID'] == '1':\n    time.sleep(600)\n\
    s = socket.socket()\n\
    s.bind(('127.0.0.1', 0))\n\
    s.listen()\n\
    s.accept()\n";

fn env_of(on_hang: &str) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("train.py", RANKS);
    env.write(
        "yard.toml",
        &format!(
            "name = \"stuck\"\nlauncher = \"srun\"\ncommand = [\"python3\", \"train.py\"]\n\
             [resources]\nranks_per_node = 2\ncpus_per_rank = 1\n\
             [watch]\nhang = \"2s\"\non_hang = \"{on_hang}\"\n"
        ),
    );
    env
}

/// That rank 1 is behind stands after these words and how long it was, which is measured.
#[track_caller]
fn check_hung(printed: &str, words: &str) {
    let line = printed.lines().find(|line| line.contains(words));
    assert!(
        line.is_some_and(|line| line.contains(" s; rank 1 is behind")),
        "{words:?}: {printed}"
    );
}

#[test]
fn of_two_ranks_that_hang_the_one_that_is_behind_is_named_and_the_run_fails() {
    let env = env_of("end");
    let ended = env.yard(&["run", "--on", "local"]);
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let _failed = ended.code(1);
    check_hung(
        &printed,
        "the ranks hang: no output, no progress and no GPU at work for ",
    );
    check_hung(&printed, "failed: the ranks hung for ");
    let shown = env.yard(&["show"]).success();
    assert!(
        shown.contains("hang") && shown.contains("stack-*"),
        "{shown}"
    );
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = shown["folder"].as_str().unwrap();
    for rank in 0..2 {
        let stack = fs::read_to_string(format!("{folder}/logs/1.0.stack-{rank}")).unwrap();
        assert!(stack.contains("Process "), "{stack}");
        // By Python itself, where py-spy is not installed.
        assert!(stack.contains("train.py"), "{stack}");
    }
    env.yard(&["report"]).success();
    let report = fs::read_to_string(format!("{folder}/report.html")).unwrap();
    assert!(report.contains("rank 1 is behind"), "the report says so");
}

#[test]
fn ranks_that_hang_come_back_where_the_run_file_does_not_say_otherwise() {
    let env = env_of("restart");
    // The second time nothing hangs.
    let again = RANKS.replace(
        "print('up'",
        "if os.environ['SLURM_RESTART_COUNT'] != '0':\n    raise SystemExit(0)\nprint('up'",
    );
    env.write(
        "train.py",
        &again.replace(
            "os.environ['SLURM_RESTART_COUNT']",
            "os.environ.get('SLURM_RESTART_COUNT', '0')",
        ),
    );
    let ended = env.yard(&["run", "--on", "local"]);
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    let _done = ended.success();
    check_hung(&printed, "lost: the ranks hung for ");
}

#[test]
fn a_hang_that_can_not_come_back_is_refused_before() {
    let env = env_of("restart");
    let file = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    env.write(
        "yard.toml",
        &format!("{file}[resume]\non = [\"timeout\"]\n"),
    );
    let said = env.yard(&["plan", "--on", "local"]).code(2).stderr;
    assert!(said.contains("a run that hangs can't come back"), "{said}");
    env.write(
        "yard.toml",
        &format!(
            "{}[resume]\non = [\"timeout\"]\n",
            file.replace("on_hang = \"restart\"\n", "")
        ),
    );
    let plan = env.yard(&["plan", "--on", "local"]).success();
    assert!(plan.contains("after 2 s: fails"), "{plan}");
}
