//! Jobs lose their places to others, and to an operator, as seen from outside.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::path::PathBuf;
use testkit::{VirtualCluster, wait_until};

/// Nodes of two CPUs; any job may be in any QOS.
const NODES: &str = "\
[nodes.n]\nnames = \"n[1-3]\"\ncpus = 2\nmemory = \"4000M\"\n\
[account.lab]\n[user.\"*\"]\naccounts = [\"lab\"]\n\
[scheduling]\nrequeue_delay = \"00:00:01\"\n";

/// What a job of QOS `high` takes the place of is queued again, ended or stopped.
const BY_QOS: &str = "\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n\
[preemption]\ntype = \"qos\"\nmode = \"requeue\"\n\
[qos.normal]\npriority = 5\n\
[qos.high]\npriority = 100\npreempt = [\"back\", \"ends\", \"stops\"]\n\
[qos.back]\npriority = 1\n\
[qos.ends]\npriority = 1\npreempt_mode = \"cancel\"\n\
[qos.stops]\npriority = 1\npreempt_mode = \"suspend\"\n";

/// What a job of the upper partition takes the place of is asked to end, and has a minute for it.
const BY_TIER: &str = "\
[partition.lower]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\npriority_tier = 1\n\
preempt_mode = \"cancel\"\ngrace_time = \"00:01:00\"\n\
[partition.upper]\nnodes = \"ALL\"\nmax_time = \"1-0\"\npriority_tier = 2\npreempt_mode = \"off\"\n\
[preemption]\ntype = \"partition\"\nmode = \"requeue\"\n";

/// What a job of the upper partition takes the place of is stopped in one partition, and queued again in another.
const BY_TIER_OTHERWISE: &str = "\
[partition.stops]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\npriority_tier = 1\n\
[partition.back]\nnodes = \"ALL\"\nmax_time = \"1-0\"\npriority_tier = 1\npreempt_mode = \"requeue\"\n\
[partition.upper]\nnodes = \"ALL\"\nmax_time = \"1-0\"\npriority_tier = 2\npreempt_mode = \"off\"\n\
[preemption]\ntype = \"partition\"\nmode = \"suspend\"\n";

/// Jobs that end when they are told to run on reserved nodes, and lose their places to those of the reservation.
const BORROWED: &str = "\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n\
[preemption]\ntype = \"partition\"\nmode = \"requeue\"\n";

/// Both CPUs of a node, until a file is there.
const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.05; done";

struct Twin(VirtualCluster);

impl Twin {
    fn start(rules: &str) -> Twin {
        Twin(VirtualCluster::start(
            env!("CARGO_BIN_EXE_yard"),
            &format!("{NODES}{rules}"),
        ))
    }

    #[track_caller]
    fn submit(&self, options: &[&str], command: &str) -> String {
        let mut args = vec!["--parsable", "-o", "/dev/null", "-c2", "--mem=100", "-t60"];
        args.extend(options);
        args.extend(["--wrap", command]);
        let job = self.0.slurm("sbatch", &args).success();
        job.trim().to_owned()
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

    /// What `sacct` says of a job, each of its starts with `-D`.
    fn sacct(&self, job: &str, all_starts: bool) -> String {
        let mut args = vec!["-n", "-P", "-X", "-j", job, "-o", "jobid,state,exitcode"];
        if all_starts {
            args.push("-D");
        }
        self.0.slurm("sacct", &args).success()
    }

    fn is_there(&self, name: &str) -> bool {
        self.0.work().join(name).exists()
    }

    /// What `yard engine preempt` prints, with its exit code.
    fn preempt(&self, words: &str) -> (String, u8) {
        let mut args = vec!["engine", "preempt"];
        args.extend(words.split(' '));
        let outcome = self.0.yard(&args);
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        (said, u8::try_from(outcome.status).unwrap())
    }
}

#[test]
fn a_job_of_a_higher_qos_has_others_queued_again_ended_and_stopped() {
    let lab = Twin::start(BY_QOS);
    let jobs = ["back", "ends", "stops"].map(|qos| lab.submit(&["-q", qos], UNTIL_GO));
    for job in &jobs {
        lab.is_soon(job, "%t", "R");
    }
    let [back, ends, stops] = &jobs;
    let high = lab.submit(&["-q", "high", "-N3", "--ntasks-per-node=1"], UNTIL_GO);
    lab.is_soon(&high, "%t %D", "R 3");
    lab.is_soon(back, "%t", "PD");
    lab.is_soon(ends, "%t", "PR");
    lab.is_soon(stops, "%t", "S");
    // It keeps its node, and stays stopped over a change of engines.
    lab.0.yard(&["engine", "stop", "lab"]).success();
    lab.0.yard(&["engine", "start", "lab"]).success();
    assert_eq!(lab.shown(stops, "%t"), "S");
    let ended = lab.sacct(ends, false);
    assert!(ended.starts_with(&format!("{ends}|PREEMPTED|")), "{ended}");
    let both = lab.sacct(back, true);
    let first = both.lines().next().unwrap();
    assert!(first.starts_with(&format!("{back}|PREEMPTED|")), "{both}");
    assert_eq!(lab.sacct(back, false), format!("{back}|PENDING|0:0\n"));
    // The others have their places back once it is over.
    lab.0.write("go", "");
    for job in [&high, stops, back] {
        lab.is_soon(job, "%t", "CD");
    }
    let both = lab.sacct(back, true);
    let states: Vec<&str> = both
        .lines()
        .filter_map(|row| row.split('|').nth(1))
        .collect();
    assert_eq!(states, ["PREEMPTED", "COMPLETED"], "{both}");
}

#[test]
fn a_job_of_a_higher_partition_lets_another_end_by_itself() {
    let lab = Twin::start(BY_TIER);
    let saves = "srun sh -c 'trap \"touch saved; exit 3\" TERM; touch began; \
                 while :; do sleep 0.05; done'";
    let low = lab.submit(&["-w", "n1"], saves);
    wait_until("its task runs", || lab.is_there("began"));
    let high = lab.submit(&["-p", "upper", "-w", "n1"], UNTIL_GO);
    lab.is_soon(&low, "%t", "PR");
    assert!(
        lab.is_there("saved"),
        "it was asked to end before it was ended"
    );
    lab.is_soon(&high, "%t", "R");
    assert!(
        lab.sacct(&low, false)
            .starts_with(&format!("{low}|PREEMPTED|")),
        "{}",
        lab.sacct(&low, false)
    );
    // No job of the upper partition loses its place to another.
    let beside = lab.submit(&["-p", "upper", "-w", "n1"], "true");
    lab.is_soon(&beside, "%t", "PD");
    assert_eq!(lab.shown(&high, "%t"), "R");
}

#[test]
fn a_job_of_a_higher_partition_stops_others_and_has_them_queued_again() {
    let lab = Twin::start(BY_TIER_OTHERWISE);
    let stops = lab.submit(&["-w", "n1"], UNTIL_GO);
    let says = format!("echo start $SLURM_RESTART_COUNT; touch began; {UNTIL_GO}");
    let args = [
        "-p",
        "back",
        "-w",
        "n2",
        "-o",
        "back.out",
        "--open-mode=append",
    ];
    let back = lab.submit(&args, &says);
    for job in [&stops, &back] {
        lab.is_soon(job, "%t", "R");
    }
    wait_until("its script runs", || lab.is_there("began"));
    let upper = ["-p", "upper", "-w", "n[1-2]", "-N2", "--ntasks-per-node=1"];
    let high = lab.submit(&upper, "until [ -e first ]; do sleep 0.05; done");
    lab.is_soon(&high, "%t %N", "R n[1-2]");
    assert_eq!(lab.shown(&stops, "%t %N"), "S n1");
    assert_eq!(lab.shown(&back, "%t"), "PD");
    // One that is stopped keeps its memory, and none of its own partition stops it.
    let beside = lab.submit(&["-w", "n1", "--mem=3950"], "true");
    lab.is_soon(&beside, "%t %r", "PD Resources");
    lab.0.write("first", "");
    lab.is_soon(&high, "%t", "CD");
    lab.is_soon(&stops, "%t", "R");
    lab.is_soon(&back, "%t", "R");
    lab.0.write("go", "");
    for job in [&stops, &back, &beside] {
        lab.is_soon(job, "%t", "CD");
    }
    let both = lab.sacct(&back, true);
    assert_eq!(both.lines().count(), 2, "{both}");
    assert!(both.starts_with(&format!("{back}|PREEMPTED|")), "{both}");
    assert_eq!(lab.sacct(&stops, false), format!("{stops}|COMPLETED|0:0\n"));
    let output = lab.0.work().join("back.out");
    let output = std::fs::read_to_string(output).unwrap();
    let mut lines = output.lines();
    assert_eq!(lines.next(), Some("start"));
    let said = lines.next().unwrap();
    let begins = format!("slurmstepd: error: *** JOB {back} ON n2 CANCELLED AT ");
    assert!(said.starts_with(&begins), "{said}");
    assert!(said.ends_with(" DUE TO PREEMPTION ***"), "{said}");
    assert_eq!(lines.next(), Some("start 1"));
}

#[test]
fn jobs_that_end_when_they_are_told_run_on_reserved_nodes() {
    let lab = Twin::start(BORROWED);
    let user = sys::users::user_by_id(sys::process::user()).unwrap();
    let user = user.unwrap().name;
    let words = "create reservation ReservationName=r Nodes=n[1-2] StartTime=now Duration=120 MaxStartDelay=00:01:00";
    let mut args: Vec<&str> = words.split(' ').collect();
    let users = format!("Users={user}");
    args.push(&users);
    lab.0.slurm("scontrol", &args).success();
    let shown = lab.0.slurm("scontrol", &["show", "reservation", "r"]);
    assert!(shown.success().contains("MaxStartDelay=00:01:00"));
    let told = format!(
        "srun sh -c 'trap \"touch told; exit\" TERM; touch began; while :; do sleep 0.05; done'; {UNTIL_GO}"
    );
    let lent = lab.submit(&["-w", "n1", "--signal=R:USR1@3"], &told);
    // One would end too late, the other without being told.
    let late = lab.submit(&["-w", "n2", "--signal=R:USR1@120"], "true");
    let plain = lab.submit(&["-w", "n2"], "true");
    wait_until("its task runs", || lab.is_there("began"));
    for job in [&late, &plain] {
        lab.is_soon(job, "%t", "PD");
    }
    let own = lab.submit(&["--reservation=r", "-N2", "--ntasks-per-node=1"], "true");
    // A real 22.05 sends SIGTERM and not the signal of `--signal`, which gives the time alone.
    wait_until("it was told", || lab.is_there("told"));
    lab.is_soon(&own, "%t", "CD");
    let starts = lab.sacct(&lent, true);
    assert!(
        starts.starts_with(&format!("{lent}|PREEMPTED|")),
        "{starts}"
    );
    // It borrows them again.
    lab.is_soon(&lent, "%t %N", "R n1");
    assert_eq!(lab.shown(&late, "%t"), "PD");
}

#[test]
fn an_operator_preempts_by_hand() {
    let lab = Twin::start(BY_QOS);
    let job = lab.submit(&["-q", "back"], UNTIL_GO);
    lab.is_soon(&job, "%t", "R");
    // What its QOS says.
    let said = format!("job {job} goes back to the queue\n");
    assert_eq!(lab.preempt(&job), (said, 0));
    lab.is_soon(&job, "%t", "R");
    let both = lab.sacct(&job, true);
    assert!(both.contains(&format!("{job}|PREEMPTED|")), "{both}");
    let (said, code) = lab.preempt(&format!("{job} --mode suspend --on lab"));
    assert_eq!(
        said,
        format!("job {job} is suspended; scontrol resume {job} lets it go on\n")
    );
    assert_eq!(code, 0);
    lab.is_soon(&job, "%t", "S");
    let (said, code) = lab.preempt(&format!("{job} --mode suspend"));
    assert!(said.contains("is suspended already"), "{said}");
    assert_eq!(code, 1);
    lab.0.slurm("scontrol", &["resume", &job]).success();
    lab.is_soon(&job, "%t", "R");
    assert_eq!(
        lab.preempt(&format!("{job} --mode cancel")),
        (format!("job {job} is ended\n"), 0)
    );
    lab.is_soon(&job, "%t", "PR");
    // One element of an array, and all of them.
    let array = lab.submit(&["-q", "back", "-a", "1-3"], UNTIL_GO);
    lab.is_soon(&array, "%t", "R\nR\nR");
    let second = format!("{array}_2");
    assert_eq!(lab.preempt(&format!("{second} --mode cancel")).1, 0);
    lab.is_soon(&second, "%t", "PR");
    let (said, code) = lab.preempt(&format!("lab:{array}_3 --mode cancel"));
    assert_eq!((said.lines().count(), code), (1, 0), "{said}");
    lab.is_soon(&format!("{array}_3"), "%t", "PR");
    let (said, code) = lab.preempt(&format!("{array} --mode cancel"));
    assert_eq!((said.lines().count(), code), (1, 0), "{said}");
    // By its name, as other commands of yard take it.
    let named = lab.submit(&["-q", "back", "-J", "sweeps"], UNTIL_GO);
    lab.is_soon(&named, "%t", "R");
    let said = format!("job {named} is ended\n");
    assert_eq!(lab.preempt("sweeps --mode cancel"), (said, 0));
    lab.is_soon(&named, "%t", "PR");
}

#[test]
fn what_can_not_be_preempted_says_why() {
    let lab = Twin::start(BY_QOS);
    let stays = lab.submit(&["--no-requeue"], UNTIL_GO);
    lab.is_soon(&stays, "%t", "R");
    let held = lab.submit(&["-H"], "true");
    let over = lab.submit(&[], "true");
    lab.is_soon(&over, "%t", "CD");
    for (words, want, code) in [
        (format!("{stays} --mode requeue"), "can't be requeued", 1),
        (held, "is not running", 1),
        (over, "has already ended", 1),
        ("99999".to_owned(), "there is no job 99999", 1),
        (format!("{stays}_1 --mode cancel"), "no element 1", 1),
        ("x".to_owned(), "no run or job has the name or id x", 1),
        (format!("{stays},2"), "no run or job has the name", 1),
        (
            format!("{stays} --mode nothing"),
            "requeue, cancel, suspend",
            2,
        ),
        (format!("{stays} --on nowhere"), "nowhere", 2),
        (
            format!("lab:{stays} --on local"),
            "is on lab, not on local",
            2,
        ),
    ] {
        let (said, is) = lab.preempt(&words);
        assert!(said.contains(want), "{words}: {said}");
        assert_eq!(is, code, "{words}: {said}");
    }
    assert_eq!(lab.shown(&stays, "%t"), "R");
    // Without a mode it is ended, since it can't be queued again.
    let said = format!("job {stays} is ended\n");
    assert_eq!(lab.preempt(&stays), (said, 0));
    lab.is_soon(&stays, "%t", "PR");
}

/// Adds up to its first argument, saves every tenth sum, and goes on from the newest.
const TRAIN: &str = r#"n=$(ls "$YARD_RESUME" | sed 's/.*-//' | sort -n | tail -1)
sum=0; if [ -n "$n" ]; then sum=$(cat "$YARD_RESUME/step-$n"); else n=0; fi
echo "from $n"
while [ "$n" -lt "$1" ]; do
    n=$((n + 1)); sum=$(((sum * 31 + n) % 1000003)); sleep 0.02
    if [ $((n % 10)) = 0 ]; then
        echo "$sum" > "$YARD_CHECKPOINTS/.part"
        mv "$YARD_CHECKPOINTS/.part" "$YARD_CHECKPOINTS/step-$n"
    fi
done
echo "sum $sum"
"#;

#[test]
fn a_run_that_loses_its_place_ends_with_the_same_result() {
    let lab = Twin::start(BY_QOS);
    lab.0.write("train.sh", TRAIN);
    lab.0.write(
        "yard.toml",
        "name = \"adds\"\ncommand = [\"sh\", \"train.sh\", \"300\"]\n\
         checkpoints = { complete = \"rename\" }\n\
         [resources]\ncpus_per_rank = 2\nmemory = \"100M\"\ntime = \"10m\"\nqos = \"back\"\n",
    );
    lab.0.yard(&["run", "--on", "lab", "--detach"]).success();
    let shown = || -> serde_json::Value {
        serde_json::from_str(&lab.0.yard(&["show", "adds", "--json"]).success()).unwrap()
    };
    let folder = PathBuf::from(shown()["folder"].as_str().unwrap());
    wait_until("a checkpoint is out", || {
        let manifests = std::fs::read_dir(folder.join("checkpoints/.manifests"));
        manifests.is_ok_and(|mut entries| entries.next().is_some())
    });
    let high = lab.submit(&["-q", "high", "-N3", "--ntasks-per-node=1"], UNTIL_GO);
    lab.is_soon(&high, "%t", "R");
    lab.0.write("go", "");
    lab.0.yard(&["wait", "adds"]).success();
    let starts = shown()["starts"].as_array().unwrap().len();
    assert_eq!(starts, 2, "it was queued again");
    let printed = lab.0.yard(&["logs", "adds"]).success();
    let sum = (1..=300).fold(0_u64, |sum, n| (sum * 31 + n) % 1_000_003);
    assert!(printed.contains(&format!("sum {sum}")), "{printed}");
    let begins: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("from "))
        .collect();
    assert_eq!(begins.len(), 2, "{printed}");
    assert!(!begins[1].ends_with("from 0"), "it went on: {printed}");
    let story = lab.0.yard(&["show", "adds"]).success();
    assert!(story.to_lowercase().contains("preempt"), "{story}");
}
