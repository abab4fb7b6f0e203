//! What the guides of the sites rule holds on their virtual twins.

use expect_test::{Expect, expect};
use testkit::{VirtualCluster, wait_until};

struct Twin(VirtualCluster);

impl Twin {
    fn start(site: &str) -> Twin {
        Twin(VirtualCluster::of_site(env!("CARGO_BIN_EXE_yard"), site))
    }

    /// Submits a job that sleeps, and returns what is not its number of the first line that is said.
    fn submit(&self, options: &str) -> String {
        let mut args = vec!["--parsable", "--output=/dev/null", "--wrap=sleep 1000"];
        args.extend(options.split(' '));
        let outcome = self.0.slurm("sbatch", &args);
        let said = outcome.stderr.lines().next().unwrap_or_default();
        said.to_owned()
    }

    /// The jobs in the order of their priority, once all have been looked at.
    #[track_caller]
    fn check(&self, want: Expect) {
        let show = |format: &str| {
            let args = ["-h", "--sort=-t,-p,i", "-o", format];
            self.0.slurm("squeue", &args).success()
        };
        wait_until("every job was looked at", || {
            !show("%t %r").contains("PD None")
        });
        want.assert_eq(&show("%j %q %t %r"));
    }
}

/// Wilson: opp, regular, test and admin, with priorities, maxRun and maxSubmit.
#[test]
fn wilsons_table_of_qos() {
    let twin = Twin::start("wilson");
    let node = "-p gpu_gce_ppc -A wc_test -w wcibmpower01 --exclusive -t 60";
    let of = |name: &str, qos: &str| twin.submit(&format!("-J {name} --qos={qos} {node}"));
    for (name, qos) in [
        ("holds", "regular"),
        ("first", "opp"),
        ("second", "regular"),
        ("third", "test"),
    ] {
        assert_eq!(of(name, qos), "");
    }
    twin.check(expect![[r#"
        holds regular R None
        third test PD Resources
        second regular PD ReqNodeNotAvail, UnavailableNodes:wcibmpower01
        first opp PD ReqNodeNotAvail, UnavailableNodes:wcibmpower01
    "#]]);
    // Of admin are those alone who test the cluster.
    expect!["sbatch: error: Batch job submission failed: Invalid qos specification"]
        .assert_eq(&of("fourth", "admin"));
    // Of test one runs and three are submitted.
    let elsewhere = |name: &str| {
        twin.submit(&format!(
            "-J {name} --qos=test -p cpu_gce_test -A wc_test -t 60"
        ))
    };
    assert_eq!(elsewhere("fifth"), "");
    assert_eq!(elsewhere("sixth"), "");
    expect!["sbatch: error: QOSMaxSubmitJobPerUserLimit"].assert_eq(&elsewhere("seventh"));
    twin.check(expect![[r#"
        fifth test R None
        holds regular R None
        third test PD QOSMaxJobsPerUserLimit
        sixth test PD QOSMaxJobsPerUserLimit
        second regular PD Resources
        first opp PD ReqNodeNotAvail, UnavailableNodes:wcibmpower01
    "#]]);
    let why = twin.0.yard(&["why", "sixth"]).success();
    let limit = why.lines().find(|line| line.starts_with("  limit"));
    assert_eq!(
        limit,
        Some("  limit        QOS test allows a user 1 running job; with this job it would be 2")
    );
    let held = why.lines().find(|line| line.starts_with("  held by"));
    assert!(held.is_some_and(|line| line.contains("job 5 of ")), "{why}");
    // What is changed of one QOS changes nothing of who may use which account.
    let changed = ["-i", "modify", "qos", "regular", "set", "maxjobsperuser=5"];
    twin.0.slurm("sacctmgr", &changed).success();
    // Each QOS has its longest time.
    let long = |qos: &str, time: &str| {
        twin.submit(&format!(
            "-J long --qos={qos} -p cpu_gce -A wc_test -t {time}"
        ))
    };
    assert_eq!(long("opp", "8:00:00"), "");
    assert_eq!(long("opp", "8:01:00"), "");
    twin.check(expect![[r#"
        fifth test R None
        holds regular R None
        long opp R None
        third test PD QOSMaxJobsPerUserLimit
        sixth test PD QOSMaxJobsPerUserLimit
        second regular PD Resources
        first opp PD ReqNodeNotAvail, UnavailableNodes:wcibmpower01
        long opp PD QOSMaxWallDurationPerJobLimit
    "#]]);
}

/// Satori: one running job a user in the default queue, ended after 12 hours.
#[test]
fn satoris_default_queue() {
    let twin = Twin::start("satori");
    assert_eq!(twin.submit("-J first -t 24:00:00"), "");
    assert_eq!(twin.submit("-J second -t 60"), "");
    twin.check(expect![[r#"
        first normal R None
        second normal PD QOSMaxJobsPerUserLimit
    "#]]);
    let limit = ["-h", "-n", "first", "-o", "%l"];
    assert_eq!(twin.0.slurm("squeue", &limit).success(), "12:00:00\n");
    // A plan names both; what sbatch tests is what runs alone, as in Slurm.
    twin.0
        .write("day.sh", "#!/bin/sh\n#SBATCH -t 24:00:00\nsleep 1\n");
    let plan = twin.0.yard(&["plan", "day.sh", "--on", "lab"]).success();
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    // Behind the second, which runs for an hour once the first has ended.
    let plan = plan.replace("in 12 h 59", "in 13 h");
    for said in [
        "start in 13 h",
        "QOS normal allows a user 1 running job; with this job it would be 2 (QOSMaxJobsPerUserLimit)",
        "would be started, and ended at the limit",
        "partition normal allows 12:00:00",
    ] {
        assert!(plan.contains(said), "{plan}");
    }
    let tested = twin.0.slurm("sbatch", &["--test-only", "day.sh"]).code(0);
    assert!(tested.stderr.contains("to start at"), "{tested:?}");
}

/// PLAI: two partitions without a time limit, GPUs without a type, sweeps as arrays of ten elements at once.
#[test]
fn plais_partitions_and_sweeps() {
    let twin = Twin::start("plai");
    let gpus = "-t 1:00:00 -c 2 --mem=10G --gres=gpu:1";
    for options in [
        &format!("-J sweep --array=1-12%10 {gpus}")[..],
        "-J nodes -N 2 -c 10 --gres=gpu:4 -t 00-01:00:00 --mem=40G",
        "-J weeks -t 100-0 -p plai_towers -N 4 --gres=gpu:2",
        "-J either -p plai_towers,plai --gres=gpu:2",
        "-J later -p plai_towers --gres=gpu:1",
    ] {
        assert_eq!(twin.submit(options), "");
    }
    twin.check(expect![[r#"
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        sweep normal R None
        nodes normal R None
        weeks normal R None
        either normal R None
        sweep normal PD JobArrayTaskLimit
        later normal PD Resources
    "#]]);
    // A tower has two GPUs, another machine eight of one kind.
    let never =
        "sbatch: error: Batch job submission failed: Requested node configuration is not available";
    for options in [
        "-p plai_towers --gres=gpu:3",
        "-p plai --gres=gpu:9",
        "-p plai --gres=gpu:v100l:1",
    ] {
        assert_eq!(twin.submit(options), never, "{options}");
    }
    // One that asks for more nodes than its partition has waits for more of them.
    assert_eq!(twin.submit("-p plai_towers -N 5 --gres=gpu:2"), "");
    let partitions = ["-h", "-o", "%P %l %D %G"];
    expect![[r#"
        plai* infinite 8 gpu:8
        plai_towers infinite 4 gpu:2
    "#]]
    .assert_eq(&twin.0.slurm("sinfo", &partitions).success());
    // No job names how long it may run.
    let limit = ["-h", "-n", "either", "-o", "%l"];
    assert_eq!(twin.0.slurm("squeue", &limit).success(), "UNLIMITED\n");
}
