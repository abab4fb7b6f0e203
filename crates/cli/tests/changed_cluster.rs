//! Nodes and partitions that are changed while a pretended cluster runs, and what keeps jobs from them.

use testkit::{VirtualCluster, wait_until};

const CLUSTER: &str = "\
[nodes.n]\nnames = \"n[1-3]\"\ncpus = 2\nmemory = \"4000M\"\nfeatures = [\"fast\"]\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n\
[partition.other]\nnodes = [\"n\"]\nmax_time = \"1-0\"\n";

struct Twin(VirtualCluster);

impl Twin {
    fn start() -> Twin {
        Twin(VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), CLUSTER))
    }

    fn restart(&self) {
        for verb in ["stop", "start"] {
            self.0.yard(&["engine", verb, "lab"]).success();
        }
    }

    /// What `scontrol` says, with its exit status where it isn't 0.
    fn scontrol(&self, words: &str) -> String {
        let words: Vec<&str> = words.split(' ').collect();
        let outcome = self.0.slurm("scontrol", &words);
        let said = format!("{}{}", outcome.stdout, outcome.stderr);
        match outcome.status {
            0 => said,
            status => format!("{said}({status})"),
        }
    }

    fn nodes(&self) -> String {
        let format = ["-h", "-N", "-p", "main", "-o", "%N %T %w %f %b"];
        self.0.slurm("sinfo", &format).success()
    }

    fn partitions(&self) -> String {
        let format = ["-h", "-o", "%P %a %l %N"];
        self.0.slurm("sinfo", &format).success()
    }
}

#[test]
fn what_is_changed_outlives_the_engine_and_not_a_reconfigure() {
    let lab = Twin::start();
    let (nodes, partitions) = (lab.nodes(), lab.partitions());
    for change in [
        "update NodeName=n2 Weight=7 AvailableFeatures=fast,new ActiveFeatures=new",
        "update NodeName=n1 State=drain Reason=disk",
        "update PartitionName=other Nodes=n[1-2] MaxTime=10 State=drain",
        "create PartitionName=made Nodes=n3 Default=YES",
        "delete NodeName=n3",
    ] {
        assert_eq!(lab.scontrol(change), "", "{change}");
    }
    let (now, parts) = (lab.nodes(), lab.partitions());
    assert_eq!(now, "n1 drained 1 fast fast\nn2 idle 7 fast,new new\n");
    assert_eq!(
        parts,
        "main up 1-00:00:00 n[1-2]\nother drain 10:00 n[1-2]\nmade* up infinite \n"
    );
    lab.restart();
    assert_eq!((lab.nodes(), lab.partitions()), (now, parts));
    assert_eq!(lab.scontrol("reconfigure"), "");
    // What was said of a node's state stays.
    let drained = nodes.replacen("idle", "drained", 1);
    assert_eq!((lab.nodes(), lab.partitions()), (drained, partitions));
    // A real Slurm gives up here; nothing of it is left after the next start, either.
    lab.restart();
    assert_eq!(lab.nodes(), nodes.replacen("idle", "drained", 1));
}

#[test]
fn what_can_not_be_changed_says_why_and_changes_nothing() {
    let lab = Twin::start();
    let before = (lab.nodes(), lab.partitions());
    for (change, want) in [
        (
            "update NodeName=n[1-9] Weight=5",
            "Invalid node name specified",
        ),
        (
            "update NodeName=n1 State=resume",
            "Invalid node state specified",
        ),
        (
            "update NodeName=n1 ActiveFeatures=slow",
            "not subset of available",
        ),
        (
            "update NodeName=n1 Weight=x State=drain Reason=y",
            "not a valid number",
        ),
        (
            "update PartitionName=nosuch State=down",
            "Invalid partition name",
        ),
        (
            "update PartitionName=main Nodes=n[1-9]",
            "Invalid node name specified",
        ),
        (
            "update PartitionName=main QOS=nosuch",
            "Invalid qos specification",
        ),
        (
            "update PartitionName=main State=down OverTimeLimit=x",
            "Invalid OverTimeLimit value",
        ),
        ("create PartitionName=main", "Invalid partition name"),
        (
            "create PartitionName=new Nodes=n9",
            "Invalid node name specified",
        ),
        ("delete PartitionName=nosuch", "Invalid partition name"),
        ("delete NodeName=n[1-3]", "last node can't be removed"),
        ("delete NodeName=n9", "Invalid node name specified"),
    ] {
        let said = lab.scontrol(change);
        assert!(
            said.contains(want) && said.ends_with("(1)"),
            "{change}: {said}"
        );
    }
    assert_eq!((lab.nodes(), lab.partitions()), before);
    assert_eq!(lab.scontrol("delete PartitionName=other"), "");
    let last = lab.scontrol("delete PartitionName=main");
    assert!(last.contains("only partition"), "{last}");
    // This machine has no cluster file that could be changed.
    let own = |args: &[&str]| {
        let mut command = lab.0.command(args);
        let output = command.env_remove("TRAINYARD_ENGINE").output();
        output.expect("yard can be started")
    };
    let refused = own(&[
        "slurm",
        "scontrol",
        "update",
        "PartitionName=local",
        "MaxTime=5",
    ]);
    let _stopped = own(&["engine", "stop"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("are the machine itself"), "{said}");
}

/// A node less, a limit lower, an account gone, then a file that is broken: what runs goes on, and nothing
/// that waits is lost.
#[test]
fn a_cluster_file_that_changes_under_running_jobs() {
    let lab = Twin::start();
    let accounts = "[account.lab]\n[user.root]\naccounts = [\"lab\"]\n[qos.normal]\n";
    let file = |text: &str| {
        lab.0.write("lab.toml", text);
    };
    file(&format!("{CLUSTER}{accounts}"));
    assert_eq!(lab.scontrol("reconfigure"), "");
    let submit = |node: &str| {
        let args = ["--parsable", "-t60", "-n2", "-w", node, "-Alab", "-qnormal"];
        let args = [&args[..], &["-o", "/dev/null", "--wrap", "sleep 1000"]].concat();
        lab.0.slurm("sbatch", &args).success().trim().to_owned()
    };
    let jobs: Vec<String> = ["n1", "n3", "n3"].map(submit).into();
    let states = || lab.0.slurm("squeue", &["-h", "-S", "i", "-o", "%t"]).stdout;
    wait_until("those that fit run", || states() == "R\nR\nPD\n");
    let smaller = CLUSTER.replace("n[1-3]", "n[1-2]");
    file(&format!("{smaller}[qos.normal]\nmax_jobs_per_user = 1\n"));
    assert_eq!(lab.scontrol("reconfigure"), "");
    assert_eq!(states(), "R\nR\nPD\n");
    file("[nodes.n]\ncpus = many\n");
    let broken = lab.scontrol("reconfigure");
    assert!(broken.contains("nothing was changed"), "{broken}");
    assert!(!broken.contains("--> cluster.toml"), "{broken}");
    assert_eq!(states(), "R\nR\nPD\n");
    // One that can be read, and names nodes that are not there.
    file(&format!("{smaller}[partition.more]\nnodes = [\"zzz\"]\n"));
    let broken = lab.scontrol("reconfigure");
    assert!(broken.contains("zzz"), "{broken}");
    assert!(broken.contains("nothing was changed"), "{broken}");
    let partitions = lab.0.slurm("sinfo", &["-h", "-o", "%R"]).stdout;
    assert!(!partitions.contains("more"), "{partitions}");
    // So it is after a restart: the job on the node that is gone is known, and can be ended.
    lab.restart();
    wait_until("both are there again", || states() == "R\nR\nPD\n");
    lab.0.slurm("scancel", &[&jobs[1]]).success();
    wait_until("it is gone", || states() == "R\nPD\n");
    file(&format!("{CLUSTER}{accounts}"));
    assert_eq!(lab.scontrol("reconfigure"), "");
    wait_until("the node is back", || states() == "R\nR\n");
}

/// What `sacctmgr` keeps is known, though the file doesn't have it; nor must the file lie elsewhere.
#[test]
fn a_reconfigure_knows_what_sacctmgr_keeps() {
    let lab = Twin::start();
    for kept in [["qos", "fast"], ["account", "lab"]] {
        let add = ["-i", "add", kept[0], kept[1]];
        lab.0.slurm("sacctmgr", &add).success();
    }
    let more = "[partition.more]\nnodes = \"ALL\"\nallow_qos = [\"fast\"]\nallow_accounts = [\"lab\"]\n[qos.normal]\n[account.other]\n";
    let with = |more: &str| lab.0.write("lab.toml", &format!("{CLUSTER}{more}"));
    with(more);
    assert_eq!(lab.scontrol("reconfigure"), "");
    let partitions = lab.0.slurm("sinfo", &["-h", "-o", "%R"]).stdout;
    assert!(partitions.contains("more"), "{partitions}");
    with(&more.replace("fast", "nosuch"));
    let unknown = lab.scontrol("reconfigure");
    assert!(unknown.contains("nosuch"), "{unknown}");
    assert!(unknown.contains("nothing was changed"), "{unknown}");
}

#[test]
fn a_reservation_over_running_jobs_is_refused_unless_it_ignores_them() {
    let lab = Twin::start();
    let args = ["--parsable", "-t60", "-w", "n1", "-o", "/dev/null"];
    let args = [&args[..], &["--wrap", "sleep 1000"]].concat();
    let job = lab.0.slurm("sbatch", &args).success();
    let state = || {
        let args = ["-h", "-j", job.trim(), "-o", "%t"];
        lab.0.slurm("squeue", &args).stdout
    };
    wait_until("it runs", || state() == "R\n");
    let asked =
        "create reservation ReservationName=over StartTime=now Duration=10 Nodes=n1 Users=root";
    let refused = lab.scontrol(asked);
    assert!(
        refused.contains("Error creating the reservation: Requested nodes are busy"),
        "{refused}"
    );
    let none = lab.scontrol("show reservation");
    assert!(none.contains("No reservations in the system"), "{none}");
    let made = lab.scontrol(&format!("{asked} Flags=IGNORE_JOBS"));
    assert_eq!(made, "Reservation created: over\n");
    assert_eq!(state(), "R\n");
    assert_eq!(lab.scontrol("delete reservation=over"), "");
}

/// As in Slurm: what runs goes on, what waits does so until the account is there again, and no limit of it is
/// lifted by that.
#[test]
fn jobs_of_an_account_that_is_gone_run_on_or_wait() {
    let lab = Twin::start();
    let file = |accounts: &str| {
        let text = format!(
            "{CLUSTER}[limits]\nenforce = [\"associations\", \"limits\"]\n[account.other]\n{accounts}"
        );
        lab.0.write("lab.toml", &text);
        assert_eq!(lab.scontrol("reconfigure"), "");
    };
    let with = "[account.lab]\ngroup_jobs = 1\n[user.\"*\"]\naccounts = [\"other\", \"lab\"]\ndefault_account = \"other\"\n";
    file(with);
    for _ in 0..2 {
        let args = ["-Alab", "-t60", "-o", "/dev/null", "--wrap", "sleep 1000"];
        lab.0.slurm("sbatch", &args).success();
    }
    let states = || {
        lab.0
            .slurm("squeue", &["-h", "-S", "i", "-o", "%a %t %r"])
            .stdout
    };
    let limited = "lab R None\nlab PD AssocGrpJobsLimit\n";
    wait_until("one runs", || states() == limited);
    file("[user.\"*\"]\naccounts = [\"other\"]\n");
    let gone = "lab R None\nlab PD InvalidAccount\n";
    wait_until("its account is gone", || states() == gone);
    lab.restart();
    wait_until("it is so after a restart", || states() == gone);
    let refused = lab.0.slurm("sbatch", &["-Alab", "--wrap", "true"]);
    assert!(
        refused.stderr.contains("Invalid account"),
        "{}",
        refused.stderr
    );
    file(with);
    wait_until("it is there again", || states() == limited);
    // Its user may no more charge it, though it is there.
    file("[account.lab]\n[user.\"*\"]\naccounts = [\"other\"]\n");
    wait_until("it is another's account", || states() == gone);
    file(with);
    wait_until("its user may charge it again", || states() == limited);
    // The accounting lets none go whose jobs are there.
    let args = ["-i", "delete", "account", "lab"];
    let refused = lab.0.slurm("sacctmgr", &args);
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("Job(s) active"), "{said}");
    assert_eq!(states(), limited);
}
