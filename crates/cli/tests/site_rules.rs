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
}
