//! `plan`, `lint`, `run` and `port` give one verdict: a table of scripts, each through all doors.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use serde_json::Value;
use std::fs;
use testkit::{FakeSlurm, Outcome, TestEnv, wait_until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// What was printed, without ends of lines where it was folded.
fn said(outcome: &Outcome) -> String {
    let all = format!("{} {}", outcome.stdout, outcome.stderr);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A cluster that is known by its file alone, and an engine that pretends it.
struct Doors {
    env: TestEnv,
    file: String,
    /// A cluster of the same names that refuses nothing, from which scripts are ported.
    from: String,
}

impl Doors {
    /// The engine `twin` of that file.
    fn of(file: &str, from: &str) -> Doors {
        let env = env();
        let write = |name: &str, text: &str| env.write(name, text).display().to_string();
        let (file, from) = (write("lab.toml", file), write("from.toml", from));
        env.yard(&["engine", "start", "twin", "--cluster", &file])
            .success();
        Doors { env, file, from }
    }

    /// Asks all doors about a script with these options; `refused` is a word of what stands against it.
    #[track_caller]
    fn check(&self, options: &str, refused: Option<&str>) {
        let text = format!("#!/bin/sh\n#SBATCH {options}\ntrue\n");
        let script = self.env.write("job.sh", &text).display().to_string();
        let (script, file) = (script.as_str(), self.file.as_str());
        for (args, refusal) in [
            (&["plan", script, "--on", file][..], 3),
            (&["plan", script, "--on", "twin"], 3),
            (&["lint", script, "--on", file], 1),
            (&["lint", script, "--on", "twin"], 1),
            (&["run", "--detach", script, "--on", "twin"], 3),
        ] {
            let outcome = self.env.yard(args);
            let said = said(&outcome);
            let code = refused.map_or(0, |_| refusal);
            assert_eq!(outcome.status, code, "{args:?} {options}: {said}");
            if let Some(refused) = refused {
                assert!(said.contains(refused), "{args:?} {options}: {said}");
            }
        }
        for to in [file, "twin"] {
            let args = ["port", script, "--from", &self.from, "--to", to, "--json"];
            let answer = self.env.yard(&args).code(0);
            let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
            let parts = ["changes", "questions"].map(|part| answer[part].as_array().unwrap());
            let is_free = parts.iter().all(|part| part.is_empty());
            assert_eq!(is_free, refused.is_none(), "port {to} {options}: {answer}");
        }
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        let _ = self.env.yard(&["engine", "stop", "twin"]);
    }
}

/// What both clusters of the table have.
const NODES: &str = r#"
[nodes.all]
names = "n[1-2]"
cpus = 4
memory = "16G"
[partition.main]
default = true
nodes = "ALL"
max_time = "8:00:00"
"#;

/// Who this test is, as the system knows them.
fn this_user() -> String {
    let entry = sys::users::user_by_id(sys::process::user()).unwrap();
    // Where it has no name, what the test's environment says counts.
    entry.map_or_else(|| "tester".to_owned(), |entry| entry.name)
}

/// A cluster whose accounts and QOS are for this user.
fn accounts() -> String {
    let user = this_user();
    format!(
        r#"{NODES}
[limits]
enforce = ["associations", "limits", "qos"]
[qos.normal]
[account.own]
[account.other]
[user.{user}]
accounts = ["own"]
default_account = "own"
qos = ["normal"]
default_qos = "normal"
"#
    )
}

#[test]
fn plan_lint_run_and_port_give_one_verdict_on_a_script() {
    let doors = Doors::of(&accounts(), NODES);
    for (options, refused) in [
        ("--time=10", None),
        ("--time=9:00:00", Some("8:00:00")),
        ("--time=10 --account=own", None),
        ("--time=10 --account=other", Some("account")),
    ] {
        doors.check(options, refused);
    }
}

/// A job of cron or of `docker exec` has no `USER`, and any name may stand in it.
#[test]
fn who_asks_is_the_user_whatever_a_variable_says() {
    let mut doors = Doors::of(&accounts(), NODES);
    for user in ["", "somebody-else"] {
        doors.env.set_var("USER", user);
        doors.check("--time=10", None);
        doors.check("--time=10 --account=other", Some("account"));
    }
}

/// The stand-in's nodes as a cluster file has them.
const FAKE_FILE: &str = r#"
[nodes.all]
names = "node1"
cpus = 4
memory = "16000M"
[partition.main]
default = true
nodes = "node1"
max_time = "1:00:00"
"#;

#[test]
fn what_a_slurm_reports_and_an_engine_was_changed_to_gives_one_verdict() {
    let mut env = env();
    let _slurm = FakeSlurm::start(&mut env);
    let own = env.write("twin.toml", FAKE_FILE);
    let own = own.to_str().unwrap();
    env.yard(&["engine", "start", "twin", "--cluster", own])
        .success();
    let file = env.trainyard_home().join("config/clusters/fake.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let check = |cluster: &str, options: &str, refused: Option<&str>| {
        let text = format!("#!/bin/sh\n#SBATCH --time=10 {options}\ntrue\n");
        let script = env.write("job.sh", &text);
        let script = script.to_str().unwrap();
        let code = |refusal| if refused.is_some() { refusal } else { 0 };
        for (args, refusal) in [
            (&["plan", script, "--on", cluster][..], 3),
            (&["lint", script, "--on", cluster], 1),
            (&["run", "--detach", script, "--on", cluster], 3),
        ] {
            let outcome = env.yard(args).code(code(refusal));
            let said = format!("{}{}", outcome.stdout, outcome.stderr);
            let said: Vec<&str> = said.split_whitespace().collect();
            let said = said.join(" ");
            if let Some(refused) = refused {
                assert!(said.contains(refused), "{args:?} {options}: {said}");
            }
        }
    };
    let table = [
        ("", None),
        ("--time=2:00:00", Some("1:00:00")),
        ("--nodes=2", Some("node")),
        ("--partition=other", Some("other")),
        ("--partition=main --ntasks=2", None),
    ];
    // By what it reports alone it isn't sure how many nodes there are.
    for (options, refused) in table
        .iter()
        .filter(|(options, _)| !options.contains("nodes"))
    {
        check("fake", options, *refused);
    }
    fs::write(&file, FAKE_FILE.replace("1:00:00", "9:00:00")).unwrap();
    for (options, refused) in table {
        check("fake", options, refused);
        check("twin", options, refused);
    }
    // An engine takes what was changed since: its file alone doesn't decide.
    let update = ["update", "PartitionName=main", "MaxTime=9:00:00"];
    let mut scontrol = env.command(&["slurm", "scontrol"]);
    let changed = scontrol
        .args(update)
        .env("TRAINYARD_ENGINE", "twin")
        .status();
    assert!(changed.unwrap().success());
    let script = env.write("job.sh", "#!/bin/sh\n#SBATCH --time=2:00:00\ntrue\n");
    for command in [&["plan"][..], &["run", "--detach"]] {
        let script = script.to_str().unwrap();
        env.yard(&[command, &[script, "--on", "twin"]].concat())
            .success();
    }
    for (options, refused) in [("", None), ("--cpus-per-task=100000", Some("CPU"))] {
        check("local", options, refused);
    }
    let script = env.write("job.sh", "#!/bin/sh\n#SBATCH --time=10\ntrue\n");
    let script = script.to_str().unwrap();
    // A look starts no engine that was stopped: its waiting jobs would run. One does start when a job of it ends.
    wait_until("no job is left", || {
        env.slurm("squeue", &["-h"]).success().is_empty()
    });
    env.yard(&["engine", "stop"]).success();
    env.yard(&["port", script, "--from", "fake", "--to", "local"])
        .success();
    env.yard(&["lint", script, "--on", "local"]).success();
    let running = api::Client::connect_running(&env.engine_folder()).unwrap();
    assert!(running.is_none());
    env.yard(&["engine", "stop", "twin"]).success();
}
