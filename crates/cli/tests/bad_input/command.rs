//! Commands that can't run or don't run well, and runs that are ended from outside.

use crate::house::{ended, env, events, folder, go, start, state, wait_for_file, waiting_command};
use expect_test::{Expect, expect};
use model::WIDEST;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use testkit::{TestEnv, wait_until};

/// Runs a command that fails, and compares the cause that `yard show` gives.
#[track_caller]
fn check(command: &[&str], cause: Expect) {
    let env = env();
    fs::write(env.work().join("plain.txt"), "no program\n").unwrap();
    let args = [&["run", "--"], command].concat();
    let outcome = env.yard(&args).code(1);
    assert_eq!(state(&env), "failed");
    let failed = events(&env, "failed");
    let said = failed[0]["cause"].as_str().unwrap();
    let known = [
        (folder(&env).display().to_string(), "$RUN"),
        (sys::host_name(), "$HOST"),
    ];
    let text = known.iter().fold(said.to_owned(), |text, (value, name)| {
        text.replace(value, name)
    });
    // What PATH was differs from machine to machine.
    let text = text.split(" (PATH is ").next().unwrap();
    cause.assert_eq(text);
    // Not only there: it is the answer to the one who waits.
    assert!(
        outcome.stdout.contains("failed: "),
        "{}",
        outcome.snapshot()
    );
    assert!(
        outcome.stdout.contains(" failed after "),
        "{}",
        outcome.snapshot()
    );
}

#[test]
fn no_such_command() {
    check(
        &["trian", "--fast"],
        expect![[
            r#"rank 0 on $HOST ended with exit code 127: error: command "trian" can't be run: no folder of PATH has it; correct the command, or name the environment that has it in [environment]"#
        ]],
    );
}

#[test]
fn a_file_that_is_no_program() {
    check(
        &["./plain.txt"],
        expect![[
            r#"rank 0 on $HOST ended with exit code 126: error: command "./plain.txt" can't be run: "$RUN/code/./plain.txt" is not executable; `chmod +x` it and give it a `#!` line, or start it with its interpreter"#
        ]],
    );
}

#[test]
fn a_command_that_fails_at_once() {
    check(
        &["sh", "-c", "echo the data is not there >&2; exit 3"],
        expect![[
            r#"rank 0 on $HOST ended with exit code 3; its last line is "the data is not there""#
        ]],
    );
}

#[test]
fn a_command_that_is_killed_at_once() {
    check(
        &["sh", "-c", "kill -9 $$"],
        expect!["rank 0 on $HOST was ended by signal 9"],
    );
}

/// How many `x` the longest word of them in a text has.
fn longest(text: &str) -> usize {
    let words = text.split(|c| c != 'x').map(str::len);
    words.max().unwrap_or_default()
}

/// A dump of some kilobytes filled the terminal, twice.
#[test]
fn a_long_last_line_stands_whole_where_it_was_said_and_is_cut_elsewhere() {
    const LENGTH: usize = 4000;
    const LINES: usize = 3 * WIDEST;
    let env = env();
    let line = format!("printf 'x%.0s' $(seq {LENGTH}); echo; exit ");
    let run = |code: &str| {
        let line = format!("{line}{code}");
        env.yard(&["run", "--", "bash", "-c", &line])
    };
    let failed = run("3").code(1);
    let (said, about) = failed.stdout.split_once("failed: ").unwrap();
    assert_eq!(longest(said), LENGTH, "{}", failed.snapshot());
    // What was shown just before is not quoted.
    assert_eq!(longest(about), 1, "{}", failed.snapshot());
    let cause = events(&env, "failed")[0]["cause"].to_string();
    assert!((100..=LINES).contains(&longest(&cause)), "{cause}");
    let shown = env.yard(&["show"]).success();
    assert!((100..=LINES).contains(&longest(&shown)), "{shown}");
    assert_eq!(longest(&env.yard(&["logs"]).success()), LENGTH);
    let blank = env.yard(&["run", "--", "echo", "  trained  "]).success();
    assert!(blank.contains(" · trained · yard show"), "{blank}");
    let done = run("0");
    assert_eq!(done.status, 0, "{}", done.snapshot());
    let (said, about) = done.stdout.split_once(" done ").unwrap();
    assert_eq!(longest(said), LENGTH, "{}", done.snapshot());
    assert!(
        (24..WIDEST).contains(&longest(about)),
        "{}",
        done.snapshot()
    );
}

#[test]
fn a_rank_that_does_not_exist_is_refused() {
    let env = env();
    env.yard(&["run", "--", "echo", "trained"]).success();
    assert_eq!(
        env.yard(&["logs", "-r", "0"]).success().trim_end(),
        "trained"
    );
    for follow in [&["logs", "-r", "7"][..], &["logs", "-f", "-r", "7"]] {
        let refused = env.yard(follow).code(2);
        assert!(refused.stderr.contains("has no rank 7"), "{refused:?}");
        assert!(refused.stderr.contains("rank 0 alone"), "{refused:?}");
        assert_eq!(refused.stdout, "");
    }
}

/// One that was done ran again without a word, and could turn into one that failed.
#[test]
fn a_run_that_is_done_is_not_requeued_and_one_that_failed_says_which_code_runs() {
    let env = env();
    env.yard(&["run", "--name", "good", "--", "true"]).success();
    let refused = env.yard(&["requeue", "good"]);
    assert_ne!(refused.status, 0, "{}", refused.snapshot());
    assert!(refused.stderr.contains("is done"), "{}", refused.snapshot());
    assert!(
        refused.stderr.contains("yard run --from good"),
        "{}",
        refused.snapshot()
    );
    let _ = env.yard(&["run", "--name", "bad", "--", "false"]).code(1);
    let again = env.yard(&["requeue", "bad"]).success();
    assert!(again.contains("code         as first submitted"), "{again}");
    let _ = env.yard(&["wait", "bad"]).code(1);
}

/// Its program goes on until there is a file `go`.
fn with_a_run_that_is_being_cancelled() -> TestEnv {
    let env = env();
    let script = "trap '' TERM; : > \"$0/begun\"; until [ -e \"$0/go\" ]; do sleep 0.1; done";
    let work = env.work().display().to_string();
    env.yard(&["run", "--detach", "--", "sh", "-c", script, &work])
        .success();
    wait_for_file(&env, "begun");
    env.yard(&["cancel", "@"]).success();
    env
}

/// It was called running, with no word of that, until its program had given in.
#[test]
fn a_run_whose_program_goes_on_after_a_cancel_is_being_cancelled() {
    let env = with_a_run_that_is_being_cancelled();
    let listed = env.yard(&["ls"]).success();
    assert!(listed.contains("being cancelled"), "{listed}");
    let shown = env.yard(&["show", "@"]).success();
    assert!(shown.contains("note         being cancelled"), "{shown}");
    env.write("go", "");
    let _ = env.yard(&["wait", "@"]).code(1);
    let listed = env.yard(&["ls"]).success();
    assert!(!listed.contains("being cancelled"), "{listed}");
}

/// It was said to go back into the queue, and ended as cancelled.
#[test]
fn a_run_that_is_being_cancelled_is_not_requeued() {
    let env = with_a_run_that_is_being_cancelled();
    let said = env.yard(&["requeue", "@"]);
    assert_ne!(said.status, 0, "{said:?}");
    assert!(
        said.stderr.contains("is being cancelled and has not ended"),
        "{said:?}"
    );
    let listed = env.yard(&["ls"]).success();
    assert!(listed.contains("being cancelled"), "{listed}");
    env.write("go", "");
    let _ = env.yard(&["wait", "@"]).code(1);
}

#[test]
fn a_cancelled_run_is_no_failure_and_no_success() {
    let env = env();
    let run = start(&env, &["run", "--", "sh", "-c", &waiting_command(&env)]);
    wait_for_file(&env, "begun");
    env.yard(&["cancel", "@"]).success();
    let (code, said) = ended(run);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cancelled after"), "{said}");
    assert_eq!(state(&env), "cancelled");
    // Asked twice, it is still what was wanted.
    let again = env.yard(&["cancel", "@"]).success();
    assert!(again.contains("has already ended"), "{again}");
}

#[test]
fn attach_without_a_terminal_is_beside_the_ranks_and_ends_with_its_input() {
    let env = env();
    env.yard(&["run", "-d", "--", "sh", "-c", &waiting_command(&env)])
        .success();
    wait_for_file(&env, "begun");
    // The harness gives no input: a shell ends at once.
    assert_eq!(env.yard(&["attach", "@"]).success(), "");
    let said = env.yard(&["attach", "@", "--", "sh", "-c", "pwd; echo $YARD_RUN"]);
    let folder = folder(&env);
    let run = folder.file_name().unwrap().display();
    let want = format!("{}\n{run}\n", folder.join("code").display());
    assert_eq!(said.success(), want);
    go(&env);
    env.yard(&["wait", "@"]).success();
}

#[test]
fn ctrl_c_leaves_a_run_alone_and_says_how_to_come_back() {
    let env = env();
    let run = start(&env, &["run", "--", "sh", "-c", &waiting_command(&env)]);
    wait_for_file(&env, "begun");
    sys::process::signal(run.id(), 2).unwrap();
    let (code, said) = ended(run);
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "continues without this terminal",
        "yard logs -f sh-",
        "yard cancel sh-",
    ] {
        assert!(said.contains(words), "{said}");
    }
    go(&env);
    env.yard(&["wait", "@"]).success();
    assert_eq!(state(&env), "done");
    let log = env.yard(&["logs", "@"]).success();
    assert!(log.contains("through"), "{log}");
}

#[test]
fn ctrl_c_before_the_submission_leaves_nothing_behind() {
    let env = env();
    fs::write(env.work().join("yard.toml"), "command = [\"true\"]\n").unwrap();
    // A git that waits for somebody to write into a pipe holds the command where the code is listed.
    let tools = env.trainyard_home().join("tools");
    fs::create_dir_all(&tools).unwrap();
    let pipe = tools.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let hold = fs::File::options()
        .read(true)
        .write(true)
        .open(&pipe)
        .unwrap();
    let (git, place) = (tools.join("git"), tools.display());
    let text = format!(
        "#!/bin/sh\ncase $3 in\nrev-parse) echo \"$2\"; exit 0;;\n\
         ls-files) [ -e {place}/went ] || {{ >{place}/went; cat {place}/pipe; }}; exit 0;;\nesac\nexit 1\n"
    );
    fs::write(&git, text).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let run = env
        .command(&["run"])
        .env("PATH", format!("{place}:{path}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("its signals are watched", || catches_sigint(run.id()));
    sys::process::signal(run.id(), 2).unwrap();
    // Whoever reads it comes to its end, and nobody begins to.
    fs::remove_file(&pipe).unwrap();
    drop(hold);
    let (code, said) = ended(run);
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("interrupted; nothing was submitted"),
        "{said}"
    );
    let listed = env.yard(&["ls"]).success();
    assert_eq!(listed, "no runs yet; yard run FILE starts one\n");
}

/// By the kernel's word on the process: bit 14 of the mask is signal 15, which is watched once all
/// is done for signal 2.
fn catches_sigint(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << 14) != 0)
}

#[test]
fn nodes_and_jobs_that_an_engine_does_not_have() {
    let env = env();
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    let said = env
        .yard(&["engine", "fail-node", "node[2-3]", "two"])
        .code(2);
    for part in ["this engine has no node node3", "its nodes: node[1-2]"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
    let said = env.yard(&["engine", "preempt", "99999", "--on", "two"]);
    assert_eq!(said.status, 1, "{}", said.stderr);
    for part in ["there is no job 99999", "squeue -t running"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
    env.yard(&["engine", "stop", "two"]).success();
}
