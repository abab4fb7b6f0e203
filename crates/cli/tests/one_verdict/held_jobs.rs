//! What is said of a job that is held.

use crate::doors::{Doors, NODES, said};
use testkit::wait_until;

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
