//! `yard cluster` and `yard port` from outside.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// Every line of a table fits a terminal of 100 columns.
#[track_caller]
fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn clusters_are_listed_and_shown() {
    let env = env();
    let listed = env.yard(&["cluster", "ls"]).success();
    fits(&listed);
    for name in [
        "local", "satori", "ibex", "cedar", "plai", "technion", "wilson",
    ] {
        assert!(
            listed.lines().any(|line| line.starts_with(name)),
            "{listed}"
        );
        if name != "local" {
            let shown = env.yard(&["cluster", "show", name]).success();
            fits(&shown);
            assert!(shown.contains("values assumed"), "{shown}");
            fits(&env.yard(&["cluster", "show", name, "--sources"]).success());
        }
    }
}

#[test]
fn ones_own_file_goes_before_a_shipped_one() {
    let env = env();
    let folder = env.trainyard_home().join("config/clusters");
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = "about = \"mine\"\n[nodes.a]\nnames = \"n[1-2]\"\ncpus = 4\n";
    std::fs::write(folder.join("wilson.toml"), text).expect("a file");
    let shown = env.yard(&["cluster", "show", "wilson"]).success();
    assert!(shown.starts_with("wilson: mine\n"), "{shown}");
    let listed = env.yard(&["cluster", "ls"]).success();
    assert!(listed.contains("wilson    yours"), "{listed}");
}

#[test]
fn what_cannot_be_is_found() {
    let env = env();
    let bad = env.work().join("bad.toml");
    std::fs::write(
        &bad,
        "[partition.p]\nnodes = \"n[1-2]\"\nmaxtime = \"1:00:00\"\n",
    )
    .expect("a file");
    let path = bad.to_str().expect("a path of letters");
    let outcome = env.yard(&["cluster", "check", path]);
    // What can't be read is told as what can't be so is.
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(
        outcome.stdout.contains("error[syntax]")
            && outcome.stdout.contains("bad.toml:3:1")
            && outcome.stdout.contains("did you mean max_time?")
            && outcome.stdout.contains("1 error,"),
        "{outcome:?}"
    );
    let json = env.yard(&["cluster", "check", path, "--json"]).stdout;
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["found"][0]["code"], "syntax", "{json}");
    assert!(found["found"][0]["span"][1].as_u64() > Some(0), "{json}");
    std::fs::write(&bad, "[partition.p]\nnodes = \"n[1-2]\"\n").expect("a file");
    let outcome = env.yard(&["cluster", "check", path]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(
        outcome.stdout.contains("error[unknown-nodes]"),
        "{outcome:?}"
    );
    assert!(
        env.yard(&["cluster", "check", "satori"])
            .success()
            .contains("0 errors")
    );
    assert_eq!(env.yard(&["cluster", "show", "nosuch"]).status, 2);
    assert_eq!(env.yard(&["cluster", "show", "./nosuch.toml"]).status, 5);
}

#[test]
fn a_script_is_rewritten_and_the_rest_is_asked() {
    let env = env();
    let script = env.work().join("job.sh");
    let text = "#!/bin/bash\n#SBATCH --partition=gpu_gce\n#SBATCH --gres=gpu:v100:2\n#SBATCH --mail-type=END\ncd /work1/ann\nsrun python t.py\n";
    std::fs::write(&script, text).expect("a file");
    let path = script.to_str().expect("a path of letters");
    let outcome = env.yard(&["port", path, "--to", "cedar"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert!(
        outcome.stdout.contains("#SBATCH --gres=gpu:v100l:2\n"),
        "{outcome:?}"
    );
    assert!(!outcome.stdout.contains("--partition"), "{outcome:?}");
    // Where the script is from was found, and said.
    assert!(outcome.stderr.contains("from wilson"), "{outcome:?}");
    assert!(
        outcome
            .stderr
            .contains("/work1/ann is the project's folder of wilson"),
        "{outcome:?}"
    );
    let patch = env
        .yard(&["port", path, "--from", "wilson", "--to", "cedar", "--diff"])
        .success();
    assert!(
        patch.contains("-#SBATCH --gres=gpu:v100:2\n+#SBATCH --gres=gpu:v100l:2\n"),
        "{patch}"
    );
    let same = env
        .yard(&["port", path, "--from", "wilson", "--to", "wilson"])
        .success();
    assert_eq!(same, text);
    std::fs::write(&script, "#!/bin/sh\ntrue\n").expect("a file");
    assert_eq!(env.yard(&["port", path, "--to", "cedar"]).status, 2);
}

#[test]
fn a_port_keeps_bytes_and_files() {
    let env = env();
    let script = env.work().join("job.sh");
    let path = script.to_str().expect("a path of letters");
    let bytes = b"#!/bin/bash\n#SBATCH -p gpu_gce --gres=gpu:v100:1 -t 1:00:00\n# caf\xe9 \xff\xfe\nsrun a\n";
    std::fs::write(&script, bytes).expect("a file");
    let there = env.work().join("there.sh");
    let output = there.to_str().expect("a path of letters");
    let args = [
        "port", path, "--from", "wilson", "--to", "cedar", "-o", output,
    ];
    let outcome = env.yard(&args);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let want = b"#!/bin/bash\n#SBATCH --gres=gpu:v100l:1 -t 1:00:00\n# caf\xe9 \xff\xfe\nsrun a\n";
    assert_eq!(std::fs::read(&there).expect("a file"), want);
    // What is there stays, unless it is asked otherwise.
    std::fs::write(&there, "mine").expect("a file");
    let outcome = env.yard(&args);
    assert_eq!(outcome.status, 5, "{outcome:?}");
    assert!(outcome.stderr.contains("--force"), "{outcome:?}");
    assert_eq!(std::fs::read(&there).expect("a file"), b"mine");
    let outcome = env.yard(&[&args[..], &["--force"]].concat());
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert_eq!(std::fs::read(&there).expect("a file"), want);
    // What sbatch refuses anyway comes first.
    std::fs::write(&script, "#!/bin/bash\n#SBATCH --nodez=2\n").expect("a file");
    let outcome = env.yard(&["port", path, "--from", "wilson", "--to", "cedar"]);
    let said = outcome.stderr.find("unrecognized option '--nodez=2'");
    assert!(said < outcome.stderr.find("wilson to cedar"), "{outcome:?}");
    assert!(
        said.is_some() && outcome.stderr.contains("0 changes, 0 questions"),
        "{outcome:?}"
    );
}

#[test]
fn names_of_files_that_cannot_be_clusters() {
    let env = env();
    let folder = env.trainyard_home().join("config/clusters");
    std::fs::create_dir_all(folder.join("afolder.toml")).expect("a folder");
    std::fs::write(folder.join("local.toml"), "").expect("a file");
    std::os::unix::fs::symlink("nowhere", folder.join("alink.toml")).expect("a link");
    let outcome = env.yard(&["cluster", "ls"]);
    let locals = outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("local "));
    assert_eq!(locals.count(), 1, "{outcome:?}");
    let said = outcome.stderr.replace("\n    ", " ");
    assert!(said.contains("is this machine"), "{outcome:?}");
    assert!(
        said.contains("is not a regular file; a folder"),
        "{outcome:?}"
    );
    assert!(said.contains("it is a link to nowhere"), "{outcome:?}");
    assert_eq!(env.yard(&["cluster", "show", "local"]).status, 2);
    let outcome = env.yard(&["cluster", "check", "alink"]);
    assert!(
        outcome.stderr.contains("it is a link to nowhere"),
        "{outcome:?}"
    );
}

#[test]
fn lines_stay_within_100_columns() {
    let env = env();
    let mut args = vec![vec!["cluster", "ls"]];
    for name in ["cedar", "ibex", "plai", "satori", "technion", "wilson"] {
        args.push(vec!["cluster", "show", name]);
        args.push(vec!["cluster", "show", name, "--sources"]);
        args.push(vec!["cluster", "check", name]);
    }
    for args in args {
        let outcome = env.yard(&args);
        for line in outcome.stdout.lines().chain(outcome.stderr.lines()) {
            // What is quoted of the file is as wide as it stands there.
            let quoted = line.contains('│');
            assert!(quoted || line.chars().count() <= 100, "{args:?}: {line}");
        }
    }
}

#[test]
fn an_import_names_its_files_and_what_slurm_refuses() {
    let env = env();
    let conf = env.work().join("lab.conf");
    let path = conf.to_str().expect("a path of letters");
    std::fs::write(
        &conf,
        "ClusterName=my/lab\nNodeName=n CPUs=x\nPartitionName=p Nodes=n MaxTime=-5\n",
    )
    .expect("a file");
    let outcome = env.yard(&["cluster", "import", "--slurm-conf", path]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
    assert!(outcome.stdout.contains("from = \"lab.conf:2\"") && !outcome.stdout.contains("cpus ="));
    for said in [
        "error: lab.conf:2 CPUs=x",
        "error: lab.conf:3 MaxTime=-5",
        "with --name",
    ] {
        assert!(outcome.stderr.contains(said), "{outcome:?}");
    }
}

/// The page about cluster files.
const PAGE: &str = include_str!("../../../docs/cluster-files.md");

/// `max_{a,b}` stands for two keys.
fn keys_of(cell: &str) -> Vec<String> {
    let mut keys = Vec::new();
    for word in cell.split_whitespace() {
        match word
            .split_once('{')
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            None => keys.push(word.to_owned()),
            Some((before, (choices, after))) => {
                keys.extend(
                    choices
                        .split(',')
                        .map(|choice| format!("{before}{choice}{after}")),
                );
            }
        }
    }
    keys.sort();
    keys
}

#[test]
fn the_page_names_every_key_and_its_examples_are_read() {
    use cluster_file::{
        Account, Gpu, Limits, Nodes, Partition, Paths, Priority, Qos, Scheduling, Section, User,
    };
    fn check<S: Section>(table: &str) {
        let start = format!("| `{table}` | `");
        let row = PAGE
            .lines()
            .find_map(|line| line.strip_prefix(start.as_str()));
        let row = row.unwrap_or_else(|| panic!("{table} has a row"));
        let mut known: Vec<String> = S::KEYS.iter().map(|key| key.name.to_owned()).collect();
        known.sort();
        assert_eq!(
            keys_of(row.split('`').next().unwrap_or_default()),
            known,
            "{table}"
        );
    }
    check::<Nodes>("[nodes.NAME]");
    check::<Gpu>("[[nodes.NAME.gpu]]");
    check::<Partition>("[partition.NAME]");
    check::<Qos>("[qos.NAME]");
    check::<Account>("[account.NAME]");
    check::<User>("[user.NAME]");
    check::<cluster_file::Lists>("[lists]");
    check::<Limits>("[limits]");
    check::<Scheduling>("[scheduling]");
    check::<Priority>("[priority]");
    check::<Paths>("[paths]");
    let examples = PAGE
        .split("```toml\n")
        .skip(1)
        .filter_map(|part| part.split("```").next());
    let mut read = 0;
    for example in examples {
        let file = cluster_file::ClusterFile::parse("x", example);
        assert!(file.is_ok(), "{file:?}");
        // The first is a whole file.
        if read == 0 {
            assert_eq!(file.unwrap_or_default().check(), []);
        }
        read += 1;
    }
    assert_eq!(read, 3);
}

mod slow {
    use super::env;
    use std::collections::BTreeMap;
    use testkit::{RealSlurm, skip};

    /// Lines as a controller of Slurm 22.05 takes them.
    const LINES: &str = "GresTypes=gpu\nMaxArraySize=501\n\
        NodeName=DEFAULT RealMemory=64000 State=UNKNOWN\n\
        NodeName=v[1-3] NodeAddr=127.0.0.1 Port=11 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 Gres=gpu:v100:4 Feature=v100,ib Weight=3\n\
        NodeName=a1 NodeAddr=127.0.0.1 Port=12 CPUs=16 Sockets=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=128000 Gres=gpu:a100:2 Feature=a100\n\
        NodeName=c[01-10] NodeAddr=127.0.0.1 Port=13 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 TmpDisk=1000\n\
        PartitionName=DEFAULT State=UP MaxTime=1-00:00:00\n\
        PartitionName=gpu Nodes=v[1-3],a1 Default=YES DefaultTime=60 MaxNodes=2 PriorityTier=5\n\
        PartitionName=cpu Nodes=c[01-10] MaxTime=INFINITE OverSubscribe=EXCLUSIVE AllowAccounts=x,y\n\
        PartitionName=all Nodes=ALL DefMemPerCPU=50\n";

    /// `Key=value` words of one record.
    fn words(record: &str) -> BTreeMap<&str, &str> {
        record
            .split_whitespace()
            .filter_map(|word| word.split_once('='))
            .collect()
    }

    #[test]
    fn an_import_says_what_the_controller_says() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("an_import_says_what_the_controller_says", &reason);
        }
        let slurm = RealSlurm::controller(LINES).expect("a controller comes up");
        let env = env();
        let conf = slurm.conf();
        let conf = conf.to_str().expect("a path of letters");
        let outcome = env.yard(&["cluster", "import", "--slurm-conf", conf, "--name", "lab"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let file =
            cluster_file::ClusterFile::parse("lab", &outcome.stdout).expect("a cluster file");

        let nodes = slurm.run("scontrol", &["-o", "show", "node"]).success();
        let mut seen = 0;
        for record in nodes.lines() {
            let said = words(record);
            let name = said["NodeName"];
            let group = file
                .nodes
                .iter()
                .find(|group| file.names_of(group).iter().any(|own| own.as_str() == name))
                .unwrap_or_else(|| panic!("{name} is in no group"));
            let number = |key: &str| said[key].parse::<u32>().ok();
            let ours = |value: &Option<cluster_file::Sourced<u32>>| {
                value.as_ref().map(|value| value.value)
            };
            assert_eq!(ours(&group.cpus), number("CPUTot"), "{name}");
            assert_eq!(ours(&group.sockets), number("Sockets"), "{name}");
            assert_eq!(
                ours(&group.cores_per_socket),
                number("CoresPerSocket"),
                "{name}"
            );
            assert_eq!(
                ours(&group.threads_per_core),
                number("ThreadsPerCore"),
                "{name}"
            );
            let memory = group
                .memory
                .as_ref()
                .map(|memory| memory.value.0.to_string());
            assert_eq!(memory.as_deref(), Some(said["RealMemory"]), "{name}");
            let gpus: Vec<String> = group
                .gpus
                .iter()
                .map(|gpu| {
                    let kind = gpu
                        .kind
                        .as_ref()
                        .map_or(String::new(), |kind| format!("{}:", kind.value));
                    format!("gpu:{kind}{}", ours(&gpu.count).unwrap_or(1))
                })
                .collect();
            let gres = if gpus.is_empty() {
                "(null)".to_owned()
            } else {
                gpus.join(",")
            };
            assert_eq!(gres, said["Gres"], "{name}");
            let features = group
                .features
                .as_ref()
                .map_or("(null)".to_owned(), |own| own.value.join(","));
            assert_eq!(features, said["AvailableFeatures"], "{name}");
            seen += 1;
        }
        assert_eq!(seen, 14);

        let partitions = slurm
            .run("scontrol", &["-o", "show", "partition"])
            .success();
        let mut seen = 0;
        for record in partitions.lines() {
            let said = words(record);
            let partition = file
                .partition(said["PartitionName"])
                .expect("a partition of that name");
            let count: u32 = file.nodes_of(partition).iter().map(|set| set.count).sum();
            assert_eq!(count.to_string(), said["TotalNodes"]);
            let is_default = partition
                .default
                .as_ref()
                .is_some_and(|default| default.value);
            assert_eq!(is_default, said["Default"] == "YES");
            let time = |value: &Option<cluster_file::Sourced<model::TimeLimitRequest>>| {
                value
                    .as_ref()
                    .map_or("NONE".to_owned(), |time| time.value.to_string())
            };
            assert_eq!(time(&partition.max_time), said["MaxTime"]);
            assert_eq!(time(&partition.default_time), said["DefaultTime"]);
            let most = partition
                .max_nodes
                .as_ref()
                .map_or("UNLIMITED".to_owned(), |most| most.value.to_string());
            assert_eq!(most, said["MaxNodes"]);
            let exclusive = partition
                .exclusive
                .as_ref()
                .is_some_and(|exclusive| exclusive.value);
            assert_eq!(exclusive, said["OverSubscribe"] == "EXCLUSIVE");
            let accounts = partition
                .allow_accounts
                .as_ref()
                .map_or("ALL".to_owned(), |own| own.value.join(","));
            assert_eq!(accounts, said["AllowAccounts"]);
            let tier = partition
                .priority_tier
                .as_ref()
                .map_or(1, |tier| tier.value);
            assert_eq!(tier.to_string(), said["PriorityTier"]);
            seen += 1;
        }
        assert_eq!(seen, 3);
    }
}
