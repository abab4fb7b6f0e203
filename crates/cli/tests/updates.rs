//! Priorities order an engine's queue, and what `scontrol update` changes of jobs outlives the
//! engine.

use testkit::{VirtualCluster, wait_until};

const CLUSTER: &str = "\
[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\nmemory = \"8000M\"\nfeatures = [\"fast\"]\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n\
[partition.other]\nnodes = \"n1\"\nmax_time = \"1-0\"\n\
[qos.normal]\npriority = 10\n[qos.high]\npriority = 40\n\
[account.lab]\n[user.\"*\"]\naccounts = [\"lab\"]\n\
[priority]\nfair_share = 1000\nqos = 4000\nhalf_life = \"00:00:00\"\ncalc_period = \"00:00:01\"\n";

struct Twin(VirtualCluster);

impl Twin {
    fn start() -> Twin {
        Twin(VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), CLUSTER))
    }

    fn restart(&self) {
        self.0.yard(&["engine", "stop", "lab"]).success();
        self.0.yard(&["engine", "start", "lab"]).success();
    }

    #[track_caller]
    fn submit(&self, options: &[&str]) -> String {
        let mut args = vec!["--parsable", "-o", "/dev/null"];
        args.extend(options);
        args.extend(["--wrap", "sleep 1000"]);
        let outcome = self.0.slurm("sbatch", &args);
        outcome.success().trim().to_owned()
    }

    /// What `scontrol update` says, with its exit status where it isn't 0.
    fn update(&self, words: &str) -> String {
        let mut args = vec!["update"];
        args.extend(words.split(' '));
        let outcome = self.0.slurm("scontrol", &args);
        match outcome.status {
            0 => outcome.stderr.trim().to_owned(),
            status => format!("{} ({status})", outcome.stderr.trim()),
        }
    }

    fn shown(&self, job: &str, format: &str) -> String {
        let args = ["-h", "-t", "all", "-j", job, "-o", format];
        self.0.slurm("squeue", &args).success().trim().to_owned()
    }

    #[track_caller]
    fn is_soon(&self, job: &str, format: &str, want: &str) {
        wait_until(&format!("job {job} is {want}"), || {
            self.shown(job, format) == want
        });
    }
}

#[test]
fn a_higher_priority_goes_first_and_usage_outlives_the_engine() {
    let twin = Twin::start();
    let first = twin.submit(&["-n8", "-t60"]);
    twin.is_soon(&first, "%t", "R");
    let low = twin.submit(&["-n8", "-t60"]);
    let high = twin.submit(&["-n8", "-t60", "--qos=high"]);
    let order = || {
        let args = ["-h", "-t", "PD", "-S", "-p", "-o", "%i"];
        let printed = twin.0.slurm("squeue", &args).success();
        printed.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(order(), format!("{high} {low}"));
    twin.is_soon(&high, "%r", "Resources");
    let printed = twin.0.slurm("sprio", &["-h", "-o", "%i %Q %N"]).success();
    assert_eq!(printed, format!("{low} 1000 0\n{high} 4000 0\n"));
    assert_eq!(twin.update(&format!("jobid={low} nice=-5000")), "");
    assert_eq!(order(), format!("{low} {high}"));
    twin.restart();
    assert_eq!(order(), format!("{low} {high}"));
    // It goes before those of its own QOS alone.
    let last = twin.submit(&["-n8", "-t60"]);
    assert_eq!(order(), format!("{low} {high} {last}"));
    assert_eq!(twin.0.slurm("scontrol", &["top", &high]).success(), "");
    assert_eq!(order(), format!("{low} {high} {last}"));
    assert_eq!(twin.0.slurm("scontrol", &["top", &last]).success(), "");
    assert_eq!(order(), format!("{last} {low} {high}"));
    let running = twin.0.slurm("scontrol", &["top", &first]);
    assert_eq!(
        running.stderr,
        format!("Job is no longer pending execution for job {first}\n")
    );
    // A half-life of zero forgets nothing, an engine that ended neither.
    let used = || {
        let args = ["-a", "-hP", "-o", "Account,User,RawUsage"];
        let printed = twin.0.slurm("sshare", &args).success();
        let rows = printed.lines().filter(|row| row.contains("lab|"));
        let used = rows.filter_map(|row| row.rsplit('|').next()?.parse::<u64>().ok());
        used.max().unwrap_or(0)
    };
    wait_until("something is used", || used() >= 8);
    let _cancelled = twin.0.slurm("scancel", &["--me"]);
    wait_until("no job is left", || {
        twin.0.slurm("squeue", &["-h"]).stdout.is_empty()
    });
    let before = used();
    twin.restart();
    assert!(before >= 8 && used() == before, "{before} {}", used());
}

#[test]
fn what_is_changed_outlives_the_engine() {
    let twin = Twin::start();
    let runs = twin.submit(&["-n4", "-N1", "-t60"]);
    let waits = twin.submit(&["-n4", "-t60", "--begin=now+1day"]);
    twin.is_soon(&runs, "%t", "R");
    let change = format!(
        "jobid={waits} jobname=renamed comment=why nice=7 timelimit=+30 partition=other qos=high \
         numnodes=1 features=fast excnodelist=n2 dependency=afterany:{runs} minmemorynode=100"
    );
    assert_eq!(twin.update(&change), "");
    assert_eq!(twin.update(&format!("job {runs} timelimit=30")), "");
    assert_eq!(twin.update(&format!("job {runs} timelimit=+5")), "");
    let check = || {
        let format = "%j %k %l %P %q %D %f %E";
        let want = format!("renamed why 1:30:00 other high 1 fast afterany:{runs}(unfulfilled)");
        assert_eq!(twin.shown(&waits, format), want);
        assert_eq!(twin.shown(&runs, "%l"), "35:00");
        let shown = twin.0.slurm("scontrol", &["show", "job", &waits]).success();
        assert!(
            shown.contains("Nice=7 ") && shown.contains("ExcNodeList=n2"),
            "{shown}"
        );
    };
    check();
    twin.restart();
    check();
}

/// A limit that is cut to the past ends the job.
#[test]
fn a_running_job_ends_by_its_new_limit() {
    let twin = Twin::start();
    let job = twin.submit(&["-n1", "-t60"]);
    twin.is_soon(&job, "%t", "R");
    assert_eq!(twin.update(&format!("jobid={job} timelimit=0:01")), "");
    twin.is_soon(&job, "%t", "TO");
}

#[test]
fn refusals_change_nothing() {
    let twin = Twin::start();
    let runs = twin.submit(&["-n8", "-t60"]);
    let waits = twin.submit(&["-n8", "-t60"]);
    twin.is_soon(&runs, "%t", "R");
    for (words, want) in [
        ("partition=nosuch", "Invalid partition name specified"),
        ("qos=nosuch", "Invalid qos specification"),
        (
            "account=nosuch",
            "Invalid account or account/partition combination specified",
        ),
        ("reqnodelist=n9", "Invalid node name specified"),
        (
            "jobname=other features=nosuch",
            "Invalid feature specification",
        ),
    ] {
        let want = format!("{want} for job {waits} (1)");
        assert_eq!(twin.update(&format!("jobid={waits} {words}")), want);
    }
    assert_eq!(twin.shown(&waits, "%j"), "wrap");
    for (words, want) in [
        ("partition=other", "Job is no longer pending execution"),
        (
            "numnodes=9",
            "Requested operation not supported on this system",
        ),
    ] {
        let want = format!("{want} for job {runs} (1)");
        assert_eq!(twin.update(&format!("jobid={runs} {words}")), want);
    }
}

/// A deadline that a job can no longer meet ends it while it waits; the others are started with what is
/// left.
#[test]
fn deadlines_and_shortest_limits() {
    let twin = Twin::start();
    let runs = twin.submit(&["-n8", "-t60"]);
    twin.is_soon(&runs, "%t", "R");
    let misses = twin.submit(&["-n1", "-t2", "--deadline=now+121seconds"]);
    let dependent = twin.submit(&["-n1", &format!("-dafterok:{misses}")]);
    let waits = twin.submit(&["-n1", "-t60", "--time-min=5", "--deadline=now+1000seconds"]);
    twin.is_soon(&misses, "%T %r", "DEADLINE DeadLine");
    twin.is_soon(&dependent, "%r", "DependencyNeverSatisfied");
    let shown = |job: &str| twin.0.slurm("scontrol", &["show", "job", job]).success();
    let text = shown(&misses);
    assert!(
        text.contains("ExitCode=0:1") && text.contains("JobState=DEADLINE"),
        "{text}"
    );
    let args = [
        "-X",
        "-n",
        "-P",
        "-j",
        &misses,
        "-o",
        "State,ExitCode,Reason",
    ];
    assert_eq!(
        twin.0.slurm("sacct", &args).success(),
        "DEADLINE|1:0|None\n"
    );
    let args = ["-n1", "-t2", "--deadline=now+122seconds", "true"];
    let salloc = twin.0.slurm("salloc", &args);
    let said = salloc
        .stderr
        .replace(|letter: char| letter.is_ascii_digit(), "");
    let end = "salloc: Job has been cancelled\nsalloc: Job allocation  has been revoked.\n\
               salloc: error: Job submit/allocate failed: Job/step already completing or completed\n";
    assert!(said.ends_with(end) && salloc.status == 1, "{said}");
    let columns = |job: &str| {
        let args = ["-h", "-j", job, "-O", "mintime:8,timelimit:8"];
        twin.0.slurm("squeue", &args).success().trim().to_owned()
    };
    assert_eq!(columns(&waits), "5:00    1:00:00");
    for (words, want) in [
        (
            "timemin=90",
            "Invalid time-min specification (exceeds job's time or other limits)",
        ),
        ("deadline=2020-01-01", "Invalid time specified"),
    ] {
        let want = format!("{want} for job {waits} (1)");
        assert_eq!(twin.update(&format!("jobid={waits} {words}")), want);
    }
    assert_eq!(
        twin.update(&format!("jobid={waits} timemin=4 deadline=now+20minutes")),
        ""
    );
    twin.restart();
    assert_eq!(columns(&waits), "4:00    1:00:00");
    let why = twin.0.yard(&["why", &waits]).success();
    assert!(why.contains("ends"), "{why}");
    assert_eq!(twin.update(&format!("jobid={runs} timelimit=0:01")), "");
    twin.is_soon(&waits, "%t", "R");
    let limit = twin.shown(&waits, "%l");
    assert!(["20:00", "19:00"].contains(&limit.as_str()), "{limit}");
    assert_eq!(
        twin.update(&format!("jobid={waits} deadline=now+2hours")),
        ""
    );
}
