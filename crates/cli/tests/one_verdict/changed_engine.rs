//! An engine that was changed since its cluster file was read.

use crate::doors::said;
use testkit::{TestEnv, wait_until};

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
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
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

/// It was noted of each account that a person made there.
#[test]
fn an_engine_of_alike_nodes_differs_from_no_file() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "rig", "--nodes", "2"])
        .success();
    for words in [&["add", "account", "chem"][..], &["add", "qos", "long"]] {
        let mut command = env.command(&["slurm", "sacctmgr", "-i"]);
        let done = command.args(words).env("TRAINYARD_ENGINE", "rig").output();
        let done = done.unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    }
    let plan = said(&env.yard(&["plan", "--on", "rig", "--", "true"]).code(0));
    assert!(!plan.contains("cluster file has it"), "{plan}");
    env.yard(&["engine", "stop", "rig"]).success();
}
