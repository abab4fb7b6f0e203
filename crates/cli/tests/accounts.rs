//! What `sacctmgr` changes holds at once.

use testkit::{TestEnv, wait_until};

const CLUSTER: &str = "\
[nodes.n]\ncount = 2\ncpus = 8\nmemory = \"16000M\"\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\ndefault_time = \"00:10:00\"\n\
[qos.normal]\npriority = 5\n\
[qos.short]\nmax_wall = \"00:30:00\"\nflags = [\"DenyOnLimit\"]\n\
[account.lab]\nqos = [\"normal\", \"short\"]\n\
[user.\"*\"]\naccounts = [\"lab\"]\n";

struct Twin(TestEnv);

impl Twin {
    fn start() -> Twin {
        Twin::with(CLUSTER)
    }

    fn with(file: &str) -> Twin {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let file = env.write("twin.toml", file).display().to_string();
        env.yard(&["engine", "start", "twin", "--cluster", &file])
            .success();
        env.set_var("TRAINYARD_ENGINE", "twin");
        Twin(env)
    }

    #[track_caller]
    fn manage(&self, words: &str) -> String {
        let mut args = vec!["-i"];
        args.extend(words.split(' '));
        self.0.slurm("sacctmgr", &args).success()
    }

    /// A job that sleeps, or why there is none.
    fn submit(&self, options: &[&str]) -> String {
        let mut args = vec!["--parsable"];
        args.extend(options);
        args.extend(["--wrap", "sleep 1000"]);
        let outcome = self.0.slurm("sbatch", &args);
        match outcome.status {
            0 => outcome.success().trim().to_owned(),
            _ => {
                // Slurm says which limit it is on a line of its own, before.
                let mut lines = outcome.stderr.lines();
                let said = lines.find(|line| line.contains("submission failed"));
                said.unwrap_or_default().to_owned()
            }
        }
    }

    fn shown(&self, job: &str, format: &str) -> String {
        let args = ["-h", "-t", "all", "-j", job, "-o", format];
        self.0.slurm("squeue", &args).success().trim().to_owned()
    }

    #[track_caller]
    fn is_soon(&self, job: &str, state: &str) {
        wait_until(&format!("job {job} is {state}"), || {
            self.shown(job, "%t %r") == state
        });
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _cancelled = self.0.slurm("scancel", &["--me"]);
        wait_until("no job is left", || {
            self.0.slurm("squeue", &["-h"]).stdout.is_empty()
        });
        let _stopped = self.0.yard(&["engine", "stop", "twin"]);
    }
}

#[test]
fn a_limit_that_is_set_holds_at_once_and_a_job_that_waits_for_it_goes_on_without_it() {
    let twin = Twin::start();
    // The cluster's own come first.
    let qos = twin.0.slurm(
        "sacctmgr",
        &["-nP", "show", "qos", "format=name,priority,maxwall"],
    );
    assert_eq!(qos.success(), "normal|5|\nshort|0|00:30:00\n");
    let first = twin.submit(&[]);
    twin.is_soon(&first, "R None");
    assert_eq!(twin.shown(&first, "%a %q"), "lab normal");
    twin.manage("modify qos normal set maxjobsperuser=1");
    let second = twin.submit(&[]);
    twin.is_soon(&second, "PD QOSMaxJobsPerUserLimit");
    // Another engine of the same folder knows it too.
    twin.0.yard(&["engine", "stop", "twin"]).success();
    twin.0.yard(&["engine", "start", "twin"]).success();
    twin.is_soon(&second, "PD QOSMaxJobsPerUserLimit");
    twin.manage("modify qos normal set maxjobsperuser=-1");
    twin.is_soon(&second, "R None");
    // A limit of the account counts beside that of a QOS.
    twin.manage("modify account lab set grptres=cpu=2");
    let third = twin.submit(&[]);
    twin.is_soon(&third, "PD AssocGrpCpuLimit");
    twin.manage("modify account lab set grptres=cpu=3");
    twin.is_soon(&third, "R None");
}

#[test]
fn accounts_and_qos_that_are_added_can_be_used_and_others_are_refused() {
    let twin = Twin::start();
    let account = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified";
    let qos = "sbatch: error: Batch job submission failed: Invalid qos specification";
    twin.manage("add account other");
    assert_eq!(twin.submit(&["-A", "other"]), account);
    let me = twin
        .0
        .slurm("sacctmgr", &["-nP", "show", "user", "format=user"]);
    let me = me.success().trim().to_owned();
    twin.manage(&format!("add user {me} account=other"));
    let job = twin.submit(&["-A", "other", "-H"]);
    assert_eq!(twin.shown(&job, "%a"), "other");
    twin.manage("add qos long priority=7");
    assert_eq!(twin.submit(&["-q", "long"]), qos);
    twin.manage("modify account lab set qos+=long");
    let job = twin.submit(&["-q", "long", "-H"]);
    assert_eq!(twin.shown(&job, "%q"), "long");
    // A job over a limit of a QOS that denies is refused; without the limit it is taken.
    let policy = "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
    assert_eq!(twin.submit(&["-q", "short", "-t", "60"]), policy);
    twin.manage("modify qos short set maxwall=2:00:00");
    let job = twin.submit(&["-q", "short", "-t", "60", "-H"]);
    assert_eq!(twin.shown(&job, "%q"), "short");
}

#[test]
fn a_job_of_one_in_no_account_has_the_account_that_is_shown_as_the_users_default() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "w", "--cluster", "wilson"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "w");
    let twin = Twin(env);
    let user = twin
        .0
        .program("id", &["-un"])
        .output()
        .expect("id can be started")
        .stdout;
    let user = String::from_utf8(user).expect("a name is text");
    let words = [
        "-nP",
        "list",
        "user",
        "withassoc",
        "format=defaultaccount,account,qos,defaultqos",
        &format!("name={}", user.trim()),
    ];
    let shown = twin.0.slurm("sacctmgr", &words);
    let shown = shown.success();
    let rows: Vec<&str> = shown.lines().collect();
    assert!(rows.contains(&"root|root|opp,regular,test|opp"), "{shown}");
    assert!(
        rows.contains(&"root|wc_test|opp,regular,test|opp"),
        "{shown}"
    );
    let job = twin.submit(&["-H", "-t", "5", "-p", "cpu_gce"]);
    assert_eq!(twin.shown(&job, "%a %q"), "root opp");
    let said = twin.0.slurm("scontrol", &["show", "job", &job]);
    assert!(said.success().contains(" Account=root QOS=opp"));
    let job = twin.submit(&["-H", "-A", "nosuch", "-t", "5", "-p", "cpu_gce"]);
    assert!(job.contains("Invalid account"), "{job}");
}

#[test]
fn an_association_of_a_partition_counts_there_alone() {
    let file = CLUSTER.to_owned()
        + "[priority]\ntype = \"priority/multifactor\"\n"
        + "[partition.other]\nnodes = \"ALL\"\n[partition.third]\nnodes = \"ALL\"\n";
    let twin = Twin::with(&file);
    let me = twin
        .0
        .slurm("sacctmgr", &["-nP", "show", "user", "format=user"]);
    let me = me.success().trim().to_owned();
    twin.manage("add account q3");
    twin.manage(&format!(
        "add user {me} account=q3 partition=main MaxJobs=1"
    ));
    let first = twin.submit(&["-A", "q3", "-p", "main"]);
    twin.is_soon(&first, "R None");
    let second = twin.submit(&["-A", "q3", "-p", "main"]);
    twin.is_soon(&second, "PD AssocMaxJobsLimit");
    let why = twin.0.yard(&["why", &second]).success();
    let limit = "account q3 allows this user in partition main 1 running job";
    assert!(why.contains(limit), "{why}");
    // In another partition there is none, until one is for all of them.
    let none = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified";
    assert_eq!(twin.submit(&["-A", "q3", "-p", "other"]), none);
    twin.manage(&format!("add user {me} account=q3 MaxJobs=2"));
    let others: Vec<String> = ["other", "third"]
        .iter()
        .map(|name| twin.submit(&["-A", "q3", "-p", name]))
        .collect();
    others.iter().for_each(|job| twin.is_soon(job, "R None"));
    twin.is_soon(&second, "PD AssocMaxJobsLimit");
    let third = twin.submit(&["-A", "q3", "-p", "third,other"]);
    twin.is_soon(&third, "PD AssocMaxJobsLimit");
    let several = "sbatch: error: Batch job submission failed: Multiple partition job request not supported when a partition is set in the association";
    assert_eq!(twin.submit(&["-A", "q3", "-p", "other,main"]), several);
    // So do those who go by the document that the engine hands out.
    let script = twin
        .0
        .write("job.sh", "#!/bin/sh\n#SBATCH -A q3 -p other,main\n");
    let script = script.display().to_string();
    let planned = twin.0.yard(&["plan", &script, "--on", "twin"]).code(3);
    assert!(
        planned.stdout.contains("Multiple partition job request"),
        "{planned:?}"
    );
    // Each is changed by itself.
    let wider = [
        "-i",
        "modify",
        "user",
        &me,
        "where",
        "account=q3",
        "partition=main",
        "set",
        "MaxWall=7",
    ];
    twin.0.slurm("sacctmgr", &wider).success();
    let asked = [
        "-nP",
        "show",
        "assoc",
        "where",
        "account=q3",
        &format!("user={me}"),
        "format=partition,maxwall",
    ];
    let rows = twin.0.slurm("sacctmgr", &asked).success();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.sort_unstable();
    assert_eq!(rows, ["main|00:07:00", "|"]);
    // Each has shares of its own, and a job's use counts for one of them, also after a restart.
    let shares = |engine: &Twin| {
        let format = ["-A", "q3", "-nmaP", "-o", "user,partition,rawusage"];
        let rows = engine.0.slurm("sshare", &format).success();
        let rows = rows.lines().filter_map(|row| row.rsplit_once('|'));
        let of_users = rows.filter(|(name, _)| name.starts_with(&me));
        let used = of_users.map(|(name, usage)| (name.to_owned(), usage != "0"));
        used.collect::<Vec<_>>()
    };
    let named = |partition: &str, used: bool| (format!("{me}|{partition}"), used);
    twin.0.slurm("scancel", &[&second, &third]).success();
    wait_until("it is counted", || {
        shares(&twin) == [named("", true), named("main", true)]
    });
    twin.0.slurm("scancel", &["--me"]).success();
    wait_until("no job is left", || {
        twin.0.slurm("squeue", &["-h"]).stdout.is_empty()
    });
    twin.0.yard(&["engine", "stop", "twin"]).success();
    twin.0.yard(&["engine", "start", "twin"]).success();
    assert_eq!(shares(&twin), [named("", true), named("main", true)]);
}

#[test]
fn an_engine_that_there_is_not_is_said_in_three_parts() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("TRAINYARD_ENGINE", "nosuch");
    let said = env.slurm::<&str>("sinfo", &[]);
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(lines[0], "sinfo: error: no engine is called nosuch");
    assert!(lines[1].starts_with("sinfo:   there   "), "{lines:?}");
    assert!(
        lines[2].starts_with("sinfo:   do      yard engine start nosuch "),
        "{lines:?}"
    );
}

#[test]
fn what_holds_of_accounts_is_what_the_configuration_says() {
    let enforced = |env: &TestEnv| {
        let said = env.slurm("scontrol", &["show", "config"]).success();
        let row = said
            .lines()
            .find(|row| row.starts_with("AccountingStorageEnforce"));
        row.map(str::to_owned)
    };
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "a", "--nodes", "2"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "a");
    // Any account and QOS is taken there.
    let row = "AccountingStorageEnforce = none";
    assert_eq!(enforced(&env).as_deref(), Some(row));
    let row = "AccountingStorageEnforce = associations,limits,qos";
    assert_eq!(enforced(&Twin::start().0).as_deref(), Some(row));
}

#[test]
fn who_is_deleted_coordinates_no_account_when_added_again() {
    let twin = Twin::start();
    twin.manage("add account other");
    twin.manage("add user ann account=other");
    twin.manage("add coordinator account=other names=ann");
    let coordinators = || {
        let args = [
            "-nP",
            "show",
            "account",
            "other",
            "withcoord",
            "format=coord",
        ];
        twin.0.slurm("sacctmgr", &args).success().trim().to_owned()
    };
    assert_eq!(coordinators(), "ann");
    twin.manage("delete user ann");
    twin.manage("add user ann account=other");
    assert_eq!(coordinators(), "");
}
