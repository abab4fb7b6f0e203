//! Runs whose submission got no answer, because who submitted was killed or the answer was lost, and of which the
//! cluster has the job: they are found, and neither sent again nor taken for runs that never were.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use testkit::{FakeSlurm, TestEnv, wait_until};

/// The link of the run's first job, in the folder that the run is kept in.
fn link_of(env: &TestEnv, run: &str) -> PathBuf {
    let shown = env.yard(&["show", run, "--json"]).success();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    PathBuf::from(shown["folder"].as_str().unwrap()).join("links/1.json")
}

/// Makes it what a command leaves that was killed before the answer came.
fn forget_the_answer(link: &PathBuf) {
    let mut json: Value = serde_json::from_str(&fs::read_to_string(link).unwrap()).unwrap();
    let at = json["state"]["at"].clone();
    json["state"] = serde_json::json!({ "state": "intent", "at": at });
    fs::write(link, json.to_string()).unwrap();
}

#[test]
fn a_run_whose_submission_was_not_answered_is_found_by_its_token() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let start = ["engine", "start", "rig", "--nodes", "1"];
    env.yard(&start).success();
    let run = |name: &str| {
        let options = [
            "run",
            "--on",
            "rig",
            "--exclusive",
            "--name",
            name,
            "--detach",
        ];
        let command = ["--", "sleep", "600"];
        env.yard(&[&options[..], &command[..]].concat()).success();
    };
    run("first");
    wait_until("the first one runs", || {
        let listed = env.yard(&["ls"]).stdout;
        listed
            .lines()
            .any(|line| line.contains("first") && line.contains("running"))
    });
    for change in ["ls", "requeue", "rm", "cancel"] {
        let name = format!("waits-{change}");
        run(&name);
        let link = link_of(&env, &name);
        let before = fs::read_to_string(&link).unwrap();
        forget_the_answer(&link);
        match change {
            "ls" => {
                let listed = env.yard(&["ls"]).success();
                let lines = listed.lines().filter(|line| line.contains(&name));
                let lines: Vec<&str> = lines.collect();
                assert!(lines.len() == 1 && lines[0].contains("waiting"), "{listed}");
            }
            "requeue" => {
                let said = env.yard(&["requeue", &name]);
                let said = said.stdout + &said.stderr;
                assert!(!said.contains("never submitted"), "{said}");
            }
            "rm" => {
                let said = env.yard(&["rm", "--yes", &name]).stderr;
                assert!(said.contains("it waits or runs"), "{said}");
            }
            _ => {
                env.yard(&["cancel", &name]).success();
            }
        }
        let job = |text: &str| serde_json::from_str::<Value>(text).unwrap()["state"]["job"].clone();
        assert_eq!(
            job(&fs::read_to_string(&link).unwrap()),
            job(&before),
            "{change}"
        );
        env.yard(&["cancel", &name]).success();
    }
    env.yard(&["cancel", "first"]).success();
    wait_until("no job is left", || {
        let mut squeue = env.command(&["slurm", "squeue", "-h"]);
        squeue.env("TRAINYARD_ENGINE", "rig");
        squeue.output().unwrap().stdout.is_empty()
    });
    env.yard(&["engine", "stop", "rig"]).success();
}

/// Whether its cluster has the job is not known while that does not answer: the run is shown, and stays.
#[test]
fn a_run_whose_submission_was_not_answered_is_shown_and_kept_during_an_outage() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let slurm = FakeSlurm::start(&mut env);
    slurm.set_jobs(&[(17, "PENDING", "waits")]);
    let run = [
        "run", "--on", "fake", "--name", "waits", "--detach", "--", "true",
    ];
    env.yard(&run).success();
    let link = link_of(&env, "waits");
    forget_the_answer(&link);
    slurm.set_down(true);
    let shown = env.yard(&["show", "waits"]);
    assert!(shown.success().contains("not submitted"));
    let said = env.yard(&["rm", "--yes", "waits"]).stderr;
    assert!(said.contains("does not answer"), "{said}");
    assert!(link.exists());
}

/// It was asked for by each `yard ls`, for ever.
#[test]
fn a_run_that_the_cluster_surely_never_took_is_not_asked_for_again() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let slurm = FakeSlurm::start(&mut env);
    let run = [
        "run", "--on", "fake", "--name", "lost", "--detach", "--", "true",
    ];
    env.yard(&run).success();
    slurm.set_jobs(&[]);
    let link = link_of(&env, "lost");
    forget_the_answer(&link);
    let state = || {
        let json = fs::read_to_string(&link).unwrap();
        serde_json::from_str::<Value>(&json).unwrap()["state"].clone()
    };
    let questions = || {
        let before = slurm.asked("squeue");
        let listed = env.yard(&["ls", "--all"]).success();
        assert!(listed.contains("not submitted"), "{listed}");
        slurm.asked("squeue") - before
    };
    // Who submits it may still be at it.
    let at_first = questions();
    assert_eq!(state()["given_up"], Value::Null);
    let mut json: Value = serde_json::from_str(&fs::read_to_string(&link).unwrap()).unwrap();
    let long_ago = json["state"]["at"].as_i64().unwrap() - 600_000;
    json["state"]["at"] = long_ago.into();
    fs::write(&link, json.to_string()).unwrap();
    assert_eq!(questions(), at_first);
    assert_eq!(state()["given_up"], true);
    assert!(questions() < at_first);
}
