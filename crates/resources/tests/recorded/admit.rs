//! What the recorded cluster answered to jobs that it would not take, and what its cluster file
//! makes of the same command lines.
use cluster_file::ClusterFile;
use model::{Surroundings, Timestamp, sbatch};
use std::path::Path;
use yard_resources as resources;
use yard_resources::Fate;

fn golden() -> ClusterFile {
    ClusterFile::parse("golden", include_str!("../data/golden.toml")).unwrap()
}

fn request(line: &str) -> model::Request {
    read(line).unwrap_or_else(|| panic!("{line}"))
}

/// The request of a line; none where sbatch itself refuses it.
fn read(line: &str) -> Option<model::Request> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let zone = jiff::tz::TimeZone::UTC;
    let mut surroundings = Surroundings::embedded(Timestamp(0), &zone, Path::new("/home/dave"));
    surroundings.embedded = false;
    let (sbatch, diagnostics) = sbatch::resolve(&args, &|_| None, None, &surroundings);
    model::first_error(&diagnostics)
        .is_none()
        .then_some(sbatch.request)
}

/// The lines that `sbatch` prints; a reason in brackets for a job that waits for ever.
#[track_caller]
fn check(line: &str, want: &str) {
    let got = match resources::admit(
        &golden(),
        &request(&format!("{line} --wrap true")),
        Some("dave"),
    ) {
        Ok(()) => String::new(),
        Err(refusal) => match &refusal.fate {
            Fate::Waits(reason) => format!("({reason})"),
            _ => refusal.printed(),
        },
    };
    assert_eq!(got, want, "{line}");
}

/// As recorded, each with `-H`: the job is held.
#[test]
fn answers_that_were_recorded() {
    let failed = |words: &str| format!("sbatch: error: Batch job submission failed: {words}\n");
    check("-H -w nosuch", &failed("Invalid node name specified"));
    check("-H -x nosuch", &failed("Invalid node name specified"));
    check("-H -C nosuch", &failed("Invalid feature specification"));
    check("-H -C v100|a100", "");
    check(
        "-H -p nosuch",
        &format!(
            "sbatch: error: invalid partition specified: nosuch\n{}",
            failed("Invalid partition name specified")
        ),
    );
    check(
        "-H -A nosuch",
        &failed("Invalid account or account/partition combination specified"),
    );
    check(
        "-H -q test",
        &format!(
            "sbatch: error: QOSMaxWallDurationPerJobLimit\n{}",
            failed(
                "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
            )
        ),
    );
    // What a held job asks of nodes is not looked at.
    for taken in [
        "-H -c 9",
        "-H --gres=gpu:nosuch:1",
        "-H -p cpu",
        "-H -w node[1-2]",
    ] {
        check(taken, "");
    }
    // What `squeue` shows once it is released, as recorded with `scontrol release`.
    for (line, reason) in [
        ("-H -c 9", "BadConstraints"),
        ("-H --gres=gpu:v100:5", "BadConstraints"),
        ("-H --mem=17000", "BadConstraints"),
        ("-H -G 20", "BadConstraints"),
        ("-H --gres=gpu:nosuch:1", "BadConstraints"),
        ("-H -C v100&a100", "BadConstraints"),
        ("-H -x node[1-4]", "BadConstraints"),
        ("-H -p cpu -N 3", "PartitionNodeLimit"),
        ("-H -p cpu -n 100", "PartitionConfig"),
        ("-H -p test -t 60", "PartitionTimeLimit"),
    ] {
        check(line, "");
        let request = request(&format!("{line} --wrap true"));
        let found = resources::findings(&golden(), &request, Some("dave"));
        let fates: Vec<&Fate> = found.iter().map(|found| &found.fate).collect();
        assert_eq!(fates, [&Fate::WaitsOnceReleased(reason.into())], "{line}");
    }
}

/// From `job_mgr.c` of 22.05 and the manual pages.
#[test]
fn answers_that_follow_from_the_rules() {
    let failed = |words: &str| format!("sbatch: error: Batch job submission failed: {words}\n");
    let config = failed("Requested node configuration is not available");
    check("-c 9", &config);
    check("--gres=gpu:nosuch:1", &config);
    check("--gres=gpu:5", &config);
    check("--gpus=17", &config);
    check("--gpus=16", "");
    check("--gpus=v100:12", "");
    check("--gpus=v100:13", &config);
    check("-N1 --gpus=5", &config);
    check("-N4 --gres=gpu:v100:1", &config);
    check("--mem=20G", &config);
    check("-C v100&a100", &config);
    check("-q nosuch", &failed("Invalid qos specification"));
    check("-t 2-0", "(QOSMaxWallDurationPerJobLimit)");
    check("-p test -t 1:00:00", "(PartitionTimeLimit)");
    check("-p cpu -N3", "(PartitionNodeLimit)");
    check("-p cpu -n 100", "(PartitionConfig)");
    check("-x node[1-4]", &config);
    check("-x node[1-3] --gres=gpu:v100:1", &config);
    check("-p cpu -x node[1-2]", &config);
    check("-p cpu -x node[2-4]", "");
    check("-p cpu -x node1 -N2", &config);
    check("-q gpu2 --gpus=4", "(QOSMaxGRESPerUser)");
    check("-a 0-10001", &failed("Invalid job array specification"));
    check(
        "-q test -t 5 -a 1-5",
        &format!(
            "sbatch: error: QOSMaxSubmitJobPerUserLimit\n{}",
            failed(
                "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
            )
        ),
    );
    check("-q test -t 5 -a 1-4", "");
}

/// What `sbatch` prints before the refusal, of nodes that have too little of something (`_set_err_msg` of 22.05).
#[test]
fn what_no_node_has_is_said_first() {
    let text = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 8\nsockets = 1\ncores_per_socket = 8\n\
                threads_per_core = 1\nmemory = \"16G\"\ntmp_disk = \"0M\"\n[partition.p]\nnodes = \"ALL\"\n\
                default = true\n";
    let file = ClusterFile::parse("lab", text).unwrap();
    #[track_caller]
    fn check(file: &ClusterFile, line: &str, want: Option<&str>) {
        let refusal = resources::admit(file, &request(&format!("{line} --wrap true")), None);
        let refusal = refusal.unwrap_err();
        assert_eq!(refusal.fate, Fate::Refused, "{line}");
        let want = want.map(|what| format!("{what} can not be satisfied"));
        assert_eq!(refusal.detail_line(), want, "{line}");
    }
    let cpus = Some("CPU count per node");
    check(&file, "--mincpus=9", cpus);
    check(&file, "-N1 --ntasks-per-node=9", cpus);
    check(&file, "-c 9", cpus);
    check(&file, "--mem=20G", Some("Memory specification"));
    check(&file, "--tmp=1T", Some("Temporary disk specification"));
    let sockets = Some("Socket, core and/or thread specification");
    check(&file, "-B 2:4:1", sockets);
    check(&file, "--sockets-per-node=2", sockets);
    check(&file, "--threads-per-core=2", sockets);
}

/// What is refused on grounds that nobody said is marked.
#[test]
fn assumptions_are_marked() {
    let wilson = cluster_file::find("wilson").unwrap().unwrap();
    let mut job = request("-p gpu_gce --gres=gpu:v100:3 --wrap true");
    let refusal = resources::admit(&wilson, &job, None).unwrap_err();
    assert!(!refusal.assumed, "{refusal}");
    job = request("-w nosuch -p gpu_gce --wrap true");
    assert!(resources::admit(&wilson, &job, None).unwrap_err().assumed);
    // Cedar's document lists its author's accounts, and names no partition.
    let cedar = cluster_file::find("cedar").unwrap().unwrap();
    for line in ["-A def-other --wrap true", "-p other --wrap true"] {
        assert!(
            resources::admit(&cedar, &request(line), None)
                .unwrap_err()
                .assumed,
            "{line}"
        );
    }
    job = request("-p nosuch --wrap true");
    assert!(!resources::admit(&wilson, &job, None).unwrap_err().assumed);
    // The default QOS is one of two: `opp` would let it wait, `regular` would not.
    job = request("-p gpu_gce -t 12:00:00 --wrap true");
    let refusal = resources::admit(&wilson, &job, None).unwrap_err();
    assert_eq!(
        refusal.fate,
        Fate::Waits("QOSMaxWallDurationPerJobLimit".into())
    );
    assert!(refusal.assumed);
    job = request("-p gpu_gce -t 12:00:00 -q opp --wrap true");
    assert!(!resources::admit(&wilson, &job, None).unwrap_err().assumed);
}

/// A file that has only some of a cluster's names refuses no other for sure.
#[test]
fn what_only_some_are_known_of_is_no_error() {
    let refusal = |cluster: &str, line: &str| {
        let file = cluster_file::find(cluster).unwrap().unwrap();
        let job = request(&format!("{line} --wrap true"));
        *resources::admit(&file, &job, None).unwrap_err()
    };
    for (cluster, line) in [
        ("ibex", "-p other"),
        ("ibex", "--gres=gpu:a100:1"),
        ("ibex", "-C other"),
        ("satori", "-q other"),
        ("satori", "--gres=gpu:v100:1"),
        ("wilson", "-p gpu_gce -A other"),
        ("wilson", "-p gpu_gce -C other"),
        // Its tables give that partition 11 nodes in one place and 7 in the other.
        ("wilson", "-p gpu_gce -N 9"),
    ] {
        assert!(refusal(cluster, line).assumed, "{cluster} {line}");
    }
    for (cluster, line) in [
        ("wilson", "-p other"),
        ("wilson", "-p gpu_gce -q other"),
        ("wilson", "-p gpu_gce --gres=gpu:h100:1"),
        ("wilson", "-p gpu_gce -N 12"),
        ("satori", "--gres=gpu:5"),
    ] {
        assert!(!refusal(cluster, line).assumed, "{cluster} {line}");
    }
    let words = refusal("cedar", "-p other").there();
    assert_eq!(words, "cedar's file knows only some partitions: gpubase");
}

/// What a refusal says to do is what would be taken.
#[test]
fn what_to_do_would_be_taken() {
    #[track_caller]
    fn check(cluster: &str, line: &str, want: &str) {
        let file = cluster_file::find(cluster).unwrap().unwrap();
        let admit =
            |line: &str| resources::admit(&file, &request(&format!("{line} --wrap true")), None);
        let todo = admit(line).unwrap_err().todo();
        assert_eq!(todo, want, "{line}");
        for option in todo.split(", or ").filter(|part| part.starts_with("--")) {
            // What sbatch itself refuses of it fails in the reading.
            assert_eq!(
                admit(&format!("{line} {option}")),
                Ok(()),
                "{line} {option}"
            );
        }
    }
    check("plai", "--mem=720G", "--mem=250G");
    check("plai", "-c 300", "--cpus-per-task=64");
    check("plai", "--gpus=9 -N1", "--gpus=8");
    check(
        "plai",
        "-N2 --gpus=8 --mem-per-gpu=90G",
        "--nodes=4, or --gpus=4",
    );
    check(
        "plai",
        "-N1 -n 64 -c 2",
        "--cpus-per-task=1, or --ntasks=32",
    );
    check(
        "plai",
        "-p plai_towers --gres=gpu:4",
        "2 GPUs a node, or --partition=plai",
    );
    let full = "-N2 --gpus=8 --gpus-per-task=1 --ntasks-per-node=4 --mem-per-gpu=90G";
    check("plai", full, "--mem-per-gpu=64000M");
    check("wilson", "-p cpu_gce --gres=gpu:2", "--partition=gpu_gce");
    check(
        "wilson",
        "-p gpu_gce --gres=gpu:v10:2",
        "ask for one of its GPU types: a100, v100, p100, p100nvlink",
    );
    // Fewer tasks a node would be refused by sbatch itself: there is one for each of the GPUs.
    check(
        "wilson",
        "-p gpu_gce --gpus=8 --gpus-per-task=1 --ntasks-per-node=8 --cpus-per-gpu=6 --mem-per-gpu=20G",
        "--cpus-per-gpu=5",
    );
    check(
        "wilson",
        "-p gpu_gce -t 12:00:00 -q opp",
        "--time=08:00:00, or --qos=regular",
    );
    check(
        "wilson",
        "-p gpu_gce -q foo",
        "leave --qos out, or --qos=opp",
    );
    check(
        "satori",
        "-q priority1 -N2",
        "leave --qos out, or --qos=normal",
    );
}

/// Satori's page says that a job which asks for more is ended at its queue's limit.
#[test]
fn a_time_over_the_limit_is_cut_where_the_site_says_so() {
    let satori = cluster_file::find("satori").unwrap().unwrap();
    let job = request("-t 24:00:00 --wrap true");
    assert_eq!(resources::admit(&satori, &job, None), Ok(()));
    let refusals = resources::findings(&satori, &job, None);
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    for refusal in refusals {
        assert_eq!((&refusal.fate, refusal.assumed), (&Fate::Cut, true));
        assert_eq!(refusal.most, Some(12 * 3600));
    }
}

/// Wilson's tutorial: Slurm will not permit mixing different specifications within a job.
#[test]
fn gpus_of_several_types_where_a_site_gives_one() {
    let refusal = |cluster: &str, line: &str| {
        let file = cluster_file::find(cluster).unwrap().unwrap();
        let job = request(&format!("-p gpu_gce {line} --wrap true"));
        let refusal = resources::admit(&file, &job, None).err();
        refusal.map(|refusal| (refusal.at.key().unwrap_or_default(), refusal.assumed))
    };
    let rule = "limits.one_gpu_type".to_owned();
    assert_eq!(
        refusal("wilson", "--gpus=v100:8,p100:8"),
        Some((rule, false))
    );
    for taken in ["--gpus=v100:8", "--gres=gpu:2 -N4", "--gres=gpu:4"] {
        assert_eq!(refusal("wilson", taken), None, "{taken}");
    }
}

/// Of GPUs without a type every type could be given.
#[test]
fn types_that_could_be_given() {
    #[track_caller]
    fn check(cluster: &str, line: &str, serving: &[&str], refusing: &[&str]) {
        let file = cluster_file::find(cluster).unwrap().unwrap();
        let job = request(&format!("{line} --wrap true"));
        let partition = resources::verdict(&file, &job, None).partition;
        let types = resources::gpu_types(&file, partition, &job);
        assert_eq!(
            (&types.serving[..], &types.refusing[..]),
            (serving, refusing),
            "{line}"
        );
    }
    check("cedar", "--gres=gpu:2", &["p100", "p100l", "v100l"], &[]);
    check(
        "cedar",
        "--gres=gpu:2 -c 30",
        &["v100l"],
        &["p100", "p100l"],
    );
    check("cedar", "--gres=gpu:p100:2", &[], &[]);
    check("cedar", "-c 4", &[], &[]);
    check("technion", "--gpus=2", &["a100"], &[]);
    check("ibex", "--gpus=2 -C v100", &[], &[]);
    check(
        "wilson",
        "-p gpu_gce_ppc --gres=gpu:1",
        &["v100nvlinkppc64"],
        &[],
    );
}

/// Options of which several together are refused in many ways.
const WORDS: &[&str] = &[
    "-p cpu",
    "-p test",
    "-p nosuch",
    "-q test",
    "-q opp",
    "-q nosuch",
    "-A proj1",
    "-A nosuch",
    "-t 1:00:00",
    "-t 9-0",
    "-N 2",
    "-N 3",
    "-N 9",
    "-n 40",
    "-c 9",
    "--mem=20G",
    "-C a100",
    "-C nosuch",
    "-w node4",
    "-w nosuch",
    "-x node1",
    "--gpus=3",
    "--gpus-per-node=v100:5",
    "-L nosuch:1",
    "--array=0-5",
];

/// An option is proposed only where the same would not be said again with it.
#[test]
fn what_is_proposed_is_taken() {
    let file = golden();
    let mut tried = 0;
    for (at, one) in WORDS.iter().enumerate() {
        for other in WORDS[at..].iter().chain([&""]) {
            for third in ["", "-p cpu", "-q test"] {
                let line = format!("{one} {other} {third}");
                let Some(asked) = read(&wrapped(&line)) else {
                    continue;
                };
                for finding in resources::findings(&file, &asked, Some("dave")) {
                    let options = finding.instead.iter().filter_map(|change| match change {
                        resources::Change::Set(_, _) => Some(change.to_string()),
                        _ => None,
                    });
                    for option in options {
                        let Some(changed) = read(&wrapped(&format!("{line} {option}"))) else {
                            continue;
                        };
                        tried += 1;
                        let again = resources::findings(&file, &changed, Some("dave"));
                        let same = again.iter().find(|it| {
                            (it.denial, &it.at) == (finding.denial, &finding.at)
                                && it.fate == Fate::Refused
                                && !it.assumed
                        });
                        assert_eq!(same.map(ToString::to_string), None, "{line} {option}");
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

fn wrapped(line: &str) -> String {
    format!("{line} --wrap true")
}

/// As if it weren't given.
#[test]
fn an_empty_reservation_is_none() {
    let asked = request("--reservation= --wrap true");
    assert_eq!(asked.rare.reservation, None);
}

/// Beside the root an engine has no account until `sacctmgr` makes one: its owner alone is in that.
#[test]
fn where_there_is_the_root_alone_all_may_submit() {
    let check = |more: &str, want: bool| {
        let text = format!(
            "[nodes.n]\ncpus = 1\n[partition.p]\ndefault = true\nnodes = \"ALL\"\n[account.root]\n\
             [user.ann]\naccounts = [\"root\"]\n{more}"
        );
        let file = ClusterFile::parse("lab", &text).unwrap();
        let job = request("--wrap true");
        let taken = resources::admit(&file, &job, Some("bob")).is_ok();
        assert_eq!(taken, want, "{more}");
    };
    check("", true);
    check("[account.lab]\n", false);
}

/// Jobs of a partition that is down wait until somebody brings it up: that is said, and none is sent there.
#[test]
fn a_partition_that_is_down_is_noted_and_never_proposed() {
    let text = "[nodes.n]\nnames = \"n1\"\ncpus = 1\n\
                [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1:00:00\"\n\
                [partition.down]\nnodes = \"ALL\"\nstate = \"down\"\n[partition.long]\nnodes = \"ALL\"\n";
    let file = ClusterFile::parse("lab", text).unwrap();
    let found = |line: &str| resources::findings(&file, &request(line), None);
    let down = found("-p down --wrap true");
    let said: Vec<_> = down.iter().map(|it| (&it.fate, it.assumed)).collect();
    assert_eq!(said, [(&Fate::Waits("PartitionDown".into()), true)]);
    assert!(down[0].todo().contains("main"), "{}", down[0].todo());
    // Nor would a cluster refuse them that enforces limits of partitions.
    let enforced = format!("{text}[limits]\nenforce_partition_limits = \"all\"\n");
    let enforced = ClusterFile::parse("lab", &enforced).unwrap();
    let job = request("-p down --wrap true");
    let fates = resources::findings(&enforced, &job, None);
    assert_eq!(fates[0].fate, Fate::Waits("PartitionDown".into()));
    let long = found("-p main -t 2:00:00 --wrap true");
    let todo: Vec<String> = long.iter().map(resources::Finding::todo).collect();
    assert!(
        !todo.is_empty() && !todo.concat().contains("down"),
        "{todo:?}"
    );
}
