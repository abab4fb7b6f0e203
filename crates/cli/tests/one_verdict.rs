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
[partition.others]
nodes = "ALL"
"#;

/// The same names, where nothing is refused.
const FROM: &str = r#"
[nodes.all]
names = "n[1-2]"
cpus = 4
memory = "16G"
[partition.main]
default = true
nodes = "ALL"
max_time = "UNLIMITED"
[partition.hour]
nodes = "ALL"
max_time = "UNLIMITED"
[partition.brief]
nodes = "ALL"
max_time = "UNLIMITED"
[partition.others]
nodes = "ALL"
max_time = "UNLIMITED"
[qos.normal]
[qos.short]
[account.own]
[account.walled]
[account.other]
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
        r#"{NODES}allow_accounts = ["other"]
[partition.hour]
nodes = "ALL"
max_time = "8:00:00"
default_time = "1:00:00"
[partition.brief]
nodes = "ALL"
max_time = "10:00"
[limits]
enforce = ["associations", "limits", "qos"]
[qos.normal]
[qos.short]
max_wall = "30:00"
[account.own]
[account.walled]
max_wall = "40:00"
[account.other]
[user.{user}]
accounts = ["own", "walled"]
default_account = "own"
qos = ["normal", "short"]
default_qos = "normal"
"#
    )
}

#[test]
fn plan_lint_run_and_port_give_one_verdict_on_a_script() {
    let doors = Doors::of(&accounts(), FROM);
    for (options, refused) in [
        ("--time=10", None),
        ("--time=9:00:00", Some("8:00:00")),
        ("--time=10 --account=own", None),
        ("--time=10 --account=other", Some("account")),
        (
            "--time=10 --partition=others",
            Some("not permitted to use this partition (others allows other not own)"),
        ),
        // A job without a time gets what limits give it, where its partition has no default.
        ("--ntasks=1", None),
        ("--qos=short", None),
        ("--account=walled", None),
        ("--qos=short --account=walled", None),
        ("--qos=short --time=20", None),
        ("--qos=short --time=60", Some("00:30:00")),
        ("--qos=short --partition=hour", Some("which is 01:00:00")),
        ("--qos=short --partition=brief", Some("which is 00:30:00")),
        ("--partition=brief", None),
    ] {
        doors.check(options, refused);
    }
    // A run whose time nobody said has that time too.
    for on in [&doors.file, "twin"] {
        let args = ["plan", "--on", on, "--qos=short", "--", "true"];
        let plan = said(&doors.env.yard(&args).code(0));
        assert!(
            plan.contains("time a job 30 min qos.short.max_wall"),
            "{plan}"
        );
    }
}

/// The lab of which the answers below were recorded.
fn lab() -> String {
    let user = this_user();
    format!(
        r#"[nodes.n]
names = "node[1-4]"
cpus = 8
memory = "16000M"
[partition.gpu]
default = true
nodes = "ALL"
max_time = "7-00:00:00"
default_time = "1:00:00"
[partition.cpu]
nodes = "ALL"
max_time = "2-00:00:00"
default_time = "30:00"
[partition.nodef]
nodes = "ALL"
max_time = "2:00:00"
[partition.nodefq]
nodes = "ALL"
max_time = "2:00:00"
qos = "pq"
[partition.inf]
nodes = "ALL"
max_time = "UNLIMITED"
[partition.short]
nodes = "ALL"
max_time = "10:00"
[limits]
enforce = ["associations", "limits", "qos"]
[qos.normal]
[qos.pq]
max_wall = "70:00"
[qos.wall]
max_wall = "30:00"
[qos.gwall]
group_wall = "40:00"
[qos.both]
max_wall = "50:00"
group_wall = "40:00"
[qos.mins]
max_tres_minutes_per_job = "cpu=25"
[qos.wallmins]
max_tres_minutes_per_job = "cpu=25"
max_wall = "20:00"
group_wall = "10:00"
[qos.strict]
max_wall = "30:00"
flags = ["DenyOnLimit"]
[qos.strictg]
group_wall = "40:00"
flags = ["DenyOnLimit"]
[qos.strictboth]
max_wall = "50:00"
group_wall = "40:00"
flags = ["DenyOnLimit"]
[qos.strictm]
max_tres_minutes_per_job = "cpu=60"
group_tres_minutes = "cpu=50"
flags = ["DenyOnLimit"]
[account.proj1]
[account.proj2]
[account.sub]
parent = "proj1"
max_wall = "45:00"
group_wall = "42:00"
[user.{user}]
accounts = ["proj1", "proj2", "sub"]
default_account = "proj1"
default_qos = "normal"
[user.{user}.account.proj2]
max_wall = "35:00"
"#
    )
}

/// The time limit of jobs that name none, as a Slurm 22.05.8 gave it; none where it refused the job.
const RECORDED_TIMES: &str = "
-p gpu                        01:00:00
-p nodef                      02:00:00
-p inf                        UNLIMITED
-p nodefq                     01:10:00
-p gpu -q wall                01:00:00
-p nodef -q wall              00:30:00
-p inf -q wall                00:30:00
-p nodefq -q wall             01:10:00
-p short -q wall              00:30:00
-p nodef -q gwall             00:40:00
-p gpu -q gwall               01:00:00
-p nodef -q both              00:40:00
-p nodef -q mins -c 5         02:00:00
-p nodef -q wallmins          00:10:00
-p nodef -q strict            00:30:00
-p gpu -q strict              -
-p gpu -q strictg             -
-p cpu -q strict              00:30:00
-p short -q strict            00:30:00
-p nodef -q strictboth        00:40:00
-p nodef -q strictm           00:50:00
-p nodef -q strictm -c 2      00:25:00
-p inf -q strictm -c 7        00:07:00
-p nodef -A proj2             00:35:00
-p gpu -A proj2               01:00:00
-p nodef -A proj2 -q wall     00:30:00
-p nodef -A proj2 -q gwall    00:40:00
-p nodef -A proj2 -q mins     00:35:00
-p nodef -A proj2 -q strictg  00:35:00
-p nodef -A proj2 -q strictm  00:35:00
-p nodef -A sub               00:45:00
-p nodef -A sub -q gwall      00:40:00
-p nodef -A sub -q strictg    00:40:00
-p nodef -A sub -q strict     00:30:00
-p nodef,gpu -q wall          00:30:00
-p gpu,nodef -q wall          01:00:00
-p short,nodef -q wall        00:30:00
-p nodefq,nodef -q wall       00:30:00
-p nodef,nodefq -q wall       00:30:00
-p inf,nodefq                 01:10:00
-p nodef,inf                  02:00:00
-t 60 -p nodef -q wall        01:00:00
";

/// `sbatch` of the engine, and `plan` by the file, give the recorded limit.
#[test]
fn a_job_without_a_time_gets_that_of_a_real_slurm() {
    let doors = Doors::of(&lab(), NODES);
    doors.env.write("job.sh", "#!/bin/sh\ntrue\n");
    let (mut wrong, mut rows) = (Vec::new(), 0);
    for row in RECORDED_TIMES.trim().lines() {
        let (options, want) = row.rsplit_once(' ').unwrap();
        let options: Vec<&str> = options.split_whitespace().collect();
        let mut sbatch = doors
            .env
            .command(&["slurm", "sbatch", "--parsable", "--hold"]);
        sbatch.args(&options).arg("job.sh");
        let job = Outcome::of(&sbatch.env("TRAINYARD_ENGINE", "twin").output().unwrap());
        let mut show = doors.env.command(&["slurm", "scontrol", "show", "job"]);
        let show = show.arg(job.stdout.trim()).env("TRAINYARD_ENGINE", "twin");
        let shown = Outcome::of(&show.output().unwrap()).stdout;
        let mut words = shown.split_whitespace();
        let limit = words.find_map(|word| word.strip_prefix("TimeLimit="));
        let by_engine = limit.filter(|_| job.status == 0).unwrap_or("-");

        let text = format!("#!/bin/sh\n#SBATCH {}\ntrue\n", options.join(" "));
        let script = doors.env.write("planned.sh", &text).display().to_string();
        let plan = doors
            .env
            .yard(&["plan", &script, "--on", &doors.file, "--json"]);
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        let is_refused = plan["refusals"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["waits"] == false);
        let by_file = match &plan["allocation"]["time_s"] {
            _ if is_refused => "-".to_owned(),
            Value::Number(time) => {
                let time = time.as_u64().unwrap();
                format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
            }
            Value::String(word) => word.to_uppercase(),
            none => none.to_string(),
        };
        rows += 1;
        if [by_engine, &by_file] != [want, want] {
            wrong.push(format!(
                "{row}: {by_engine} by the engine, {by_file} by its file {}",
                job.stderr
            ));
        }
    }
    assert_eq!(rows, 42);
    assert_eq!(wrong, [""; 0]);
}

/// A job of cron or of `docker exec` has no `USER`, and any name may stand in it.
#[test]
fn who_asks_is_the_user_whatever_a_variable_says() {
    let mut doors = Doors::of(&accounts(), FROM);
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
            // All say where the cluster is not as its file has it.
            let differs = "partition main: MaxTime: 09:00:00 in the file, 01:00:00 reported";
            let is_other = cluster == "fake" && file.exists();
            assert_eq!(
                said.contains(differs),
                is_other,
                "{args:?} {options}: {said}"
            );
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
    // This machine has all that its engine says of it, and may be several nodes of one job.
    for (options, refused) in [
        ("", None),
        ("--cpus-per-task=100000", Some("100000 CPUs")),
        ("--ntasks=100000", Some("this machine")),
        ("--mem=9999999G", Some("this machine has")),
        ("--gpus=99", Some("99 GPUs")),
        ("--partition=nosuch", Some("nosuch")),
        ("--constraint=z", Some("have no features")),
        ("--nodelist=nosuch", Some("node nosuch")),
        ("--licenses=foo", Some("licences")),
        ("--array=0-2000", Some("2000")),
        ("--nodes=2", None),
        ("--nodes=2 --ntasks=100000", Some("virtual nodes")),
    ] {
        check("local", options, refused);
        let text = format!("#!/bin/sh\n#SBATCH --time=10 {options}\ntrue\n");
        let script = env.write("job.sh", &text).display().to_string();
        let args = ["port", &script, "--from", own, "--to", "local", "--json"];
        let answer: Value = serde_json::from_str(&env.yard(&args).code(0).stdout).unwrap();
        let parts = ["changes", "questions"].map(|part| answer[part].as_array().unwrap());
        let is_free = parts.iter().all(|part| part.is_empty());
        // A partition of the other cluster is left out.
        assert_eq!(is_free, refused.is_none(), "port {options}: {answer}");
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

const CHANGED_FILE: &str = r#"
[nodes.all]
names = "n[1-2]"
cpus = 4
memory = "16000M"
[partition.main]
default = true
nodes = "n[1-2]"
max_time = "1:00:00"
[partition.big]
nodes = "n[1-2]"
[qos.normal]
[qos.test]
"#;

/// What `scontrol` and `sacctmgr` changed since counts for all who judge a job before it is submitted.
#[test]
fn a_changed_engine_is_judged_as_it_is_now() {
    let env = env();
    let own = env.write("twin.toml", CHANGED_FILE);
    let own = own.to_str().unwrap();
    env.yard(&["engine", "start", "twin", "--cluster", own])
        .success();
    let script = env.write("job.sh", "#!/bin/sh\ntrue\n");
    let script = script.to_str().unwrap();
    // Plan and run of a script and of a run, and lint: each with its way to say no, all with the note `noted`.
    let check = |options: &[&str], refused: Option<&str>, noted: Option<&str>| {
        for (before, code) in [
            (&["plan", script][..], 3),
            (&["lint", script], 1),
            (&["run", "--detach", script], 3),
            (&["plan"], 3),
            (&["run", "--detach"], 3),
        ] {
            let mut args = [before, &["--on", "twin"]].concat();
            let text = format!("#!/bin/sh\n#SBATCH {}\ntrue\n", options.join(" "));
            env.write("job.sh", &text);
            if !before.contains(&script) {
                args.extend(options);
                args.extend(["--", "true"]);
            }
            let outcome = env.yard(&args).code(refused.map_or(0, |_| code));
            let said = said(&outcome);
            // A rule of lint has words of its own.
            let no = |words: &str| words.split('|').any(|words| said.contains(words));
            assert!(refused.is_none_or(no), "{args:?} {options:?}: {said}");
            assert!(noted.is_none_or(no), "{args:?} {options:?}: {said}");
            let is_new = said.contains("not as its cluster file has it");
            assert_eq!(is_new, noted.is_some(), "{args:?} {options:?}: {said}");
            let starts = refused.is_some() && said.contains("at once");
            assert!(!starts, "{args:?} {options:?}: {said}");
        }
    };
    let change = |name: &str, words: &[&str]| {
        let mut command = env.command(&["slurm", name]);
        let done = command.args(words).env("TRAINYARD_ENGINE", "twin").output();
        let done = done.unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        done.stdout
    };
    // It starts again where a job of it ends.
    let stop = || {
        wait_until("no job is left", || change("squeue", &["-h"]).is_empty());
        env.yard(&["engine", "stop", "twin"]).success();
    };
    // Of a run a plan chooses the partition.
    const MAIN: &str = "--partition=main";
    let too_long = Some("PartitionTimeLimit|partition main allows|partition new allows");
    check(&[MAIN, "--time=3:00:00"], too_long, None);
    let note = |now: &str| format!("partition main: MaxTime: 01:00:00 in the file, {now} reported");
    let update = |words: &str| change("scontrol", &["update", "PartitionName=main", words]);
    update("MaxTime=9:00:00");
    check(&[MAIN, "--time=3:00:00"], None, Some(&note("09:00:00")));
    update("MaxTime=30:00");
    let noted = note("00:30:00");
    check(&[MAIN, "--time=45:00"], too_long, Some(&noted));
    update("MaxTime=1:00:00");
    check(&[MAIN, "--time=45:00"], None, None);
    update("AllowQos=test");
    let noted = "partition main: AllowQos: ALL in the file, test reported";
    let denied = "Job's QOS not permitted to use this partition (main allows test not normal)";
    check(
        &[MAIN, "--time=10:00", "--qos=normal"],
        Some(denied),
        Some(noted),
    );
    check(&[MAIN, "--time=10:00", "--qos=test"], None, Some(noted));
    change("sacctmgr", &["-i", "add", "qos", "long"]);
    let noted = "QOS long: not there in the file, there reported";
    let long = ["--time=10:00", "--partition=big", "--qos=long"];
    let invalid = "Invalid qos specification|the cluster refuses it";
    check(&long, Some(invalid), Some(noted));
    let lets = ["-i", "modify", "account", "root", "set", "qos+=long"];
    change("sacctmgr", &lets);
    check(&long, None, Some(noted));
    let create = ["create", "PartitionName=new", "Nodes=n1", "MaxTime=10:00"];
    change("scontrol", &create);
    let noted = "partition new: not there in the file, there reported";
    let asked = |time| [time, "--partition=new"];
    check(&asked("--time=10:00"), None, Some(noted));
    check(&asked("--time=20:00"), too_long, Some(noted));
    // The engine that comes back goes by it too, and what is read anew from the file stands over it.
    stop();
    let lint = env.yard(&["lint", script, "--on", "twin"]).code(1);
    assert!(
        lint.stdout.contains("partition new allows"),
        "{}",
        lint.stdout
    );
    env.yard(&["engine", "start", "twin"]).success();
    check(&asked("--time=10:00"), None, Some(noted));
    change("scontrol", &["reconfigure"]);
    check(
        &[MAIN, "--time=45:00", "--qos=normal"],
        None,
        Some("QOS long: not there in the file, there reported"),
    );
    // Jobs of one that is down wait until somebody brings it up: that is noted, and no run is sent there unasked.
    update("State=DOWN");
    for command in ["plan", "lint"] {
        let waits = said(&env.yard(&[command, script, "--on", "twin"]).code(0));
        assert!(waits.contains("PartitionDown"), "{command}: {waits}");
        assert!(!waits.contains("at once"), "{command}: {waits}");
    }
    let plan = said(&env.yard(&["plan", "--on", "twin", "--time", "10m", "--", "true"]));
    let elsewhere = "is up and takes the job, and main is down";
    assert!(plan.contains(elsewhere), "{plan}");
    stop();
}

/// A held job is taken, whatever it asks of nodes or which limit it is over, and looked at once it is released.
#[test]
fn what_stands_against_a_held_job_is_a_warning() {
    let doors = Doors::of(NODES, NODES);
    let check = |options: &str, reason: &str, clusters: &[&str]| {
        let text = format!("#!/bin/sh\n#SBATCH --hold {options}\ntrue\n");
        let script = doors.env.write("job.sh", &text).display().to_string();
        for cluster in clusters {
            for command in [&["plan"][..], &["lint"], &["run", "--detach"]] {
                // Nothing answers for a file alone.
                if command[0] == "run" && *cluster == doors.file {
                    continue;
                }
                let args = [command, &[&script, "--on", cluster]].concat();
                let outcome = doors.env.yard(&args);
                let said = said(&outcome);
                assert_eq!(outcome.status, 0, "{args:?} {options}: {said}");
                // Before it submits a script `run` says of each finding what is wrong, in a line.
                let words = match command[0] {
                    // This machine's own engine is asked by the submission itself.
                    "run" if *cluster == "local" => ["", ""],
                    "run" => ["warning[", ""],
                    _ => ["once released", reason],
                };
                let is_said = words.iter().all(|words| said.contains(words));
                assert!(is_said, "{args:?} {options}: {said}");
                assert!(!said.contains("at once"), "{args:?} {options}: {said}");
            }
        }
    };
    let [nodes, time] = ["BadConstraints", "PartitionTimeLimit"];
    let both = [doors.file.as_str(), "twin"];
    for (options, reason) in [
        ("--time=10 --cpus-per-task=5", nodes),
        ("--time=10 --mem=17G", nodes),
        ("--time=10 --gpus=20", nodes),
        ("--time=9:00:00", time),
    ] {
        check(options, reason, &both);
    }
    check("--time=10 --gpus=1000", nodes, &["local"]);
    // The engine says so too then.
    let slurm = |engine: Option<&str>, name: &str, args: &[&str]| {
        let mut command = doors.env.command(&["slurm", name]);
        if let Some(engine) = engine {
            command.env("TRAINYARD_ENGINE", engine);
        }
        let done = command.args(args).output().unwrap();
        assert!(done.status.success(), "{name} {args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    for (engine, want) in [
        (Some("twin"), &[nodes, nodes, nodes, time][..]),
        (None, &[nodes]),
    ] {
        let all = || slurm(engine, "squeue", &["-h", "-S", "i", "-o", "%r"]);
        let held = vec!["JobHeldUser"; want.len()];
        assert_eq!(all().lines().collect::<Vec<_>>(), held);
        for job in slurm(engine, "squeue", &["-h", "-o", "%i"]).lines() {
            slurm(engine, "scontrol", &["release", job]);
        }
        wait_until("they say why they wait", || {
            all().lines().collect::<Vec<_>>() == want
        });
        slurm(engine, "scancel", &["--state=PENDING"]);
    }
    doors.env.yard(&["engine", "stop"]).success();
}
