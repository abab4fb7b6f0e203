//! What a Slurm reports, and what an engine or this machine is.

use crate::doors::{ported, said};
use std::fs;
use testkit::{FakeSlurm, TestEnv, wait_until};

#[test]
fn what_a_slurm_reports_and_an_engine_was_changed_to_gives_one_verdict() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let _slurm = FakeSlurm::start(&mut env);
    let own = env.write("twin.toml", FakeSlurm::CLUSTER_FILE);
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
            let said = said(&outcome);
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
    fs::write(&file, FakeSlurm::CLUSTER_FILE.replace("1:00:00", "9:00:00")).unwrap();
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
        let (is_free, answer) = ported(&env, &script, own, "local");
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
