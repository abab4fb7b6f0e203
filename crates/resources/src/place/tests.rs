//! Which nodes a job gets, by its command line.

use crate::{
    Cluster, Compiled, Demand, Free, NodeId, Order, Pick, Share, SingleNode, Trust, place,
};
use cluster_file::ClusterFile;
use expect_test::{Expect, expect};
use model::{GresTypes, NodeName, Request, Surroundings, Timestamp, sbatch};
use std::path::Path;

const FILE: &str = r#"
[nodes.v100]
names = "a[1-3]"
cpus = 8
memory = "16000M"
features = ["v100", "rack1"]
gres = ["nvme:1"]
gpu = { type = "v100", count = 4 }

[nodes.mixed]
names = "b[1-2]"
cpus = 16
memory = "32000M"
features = ["mixed", "rack2"]
tmp_disk = "100G"
gpu = [{ type = "a100", count = 2 }, { type = "v100", count = 2 }]

[nodes.plain]
names = "c[1-2]"
cpus = 32
memory = "64000M"
features = ["rack2"]

[nodes.sockets]
names = "s1"
cpus = 8
sockets = 2
cores_per_socket = 4
memory = "16000M"

[partition.all]
default = true
nodes = ["v100", "mixed", "plain"]

[partition.sockets]
nodes = ["sockets"]

[partition.whole]
nodes = ["plain"]
exclusive = true

[partition.shared]
nodes = ["plain"]
oversubscribe = "FORCE:2"
"#;

pub(crate) fn request(line: &str) -> Request {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let zone = jiff::tz::TimeZone::UTC;
    let mut surroundings = Surroundings::embedded(Timestamp(0), &zone, Path::new("/home/dave"));
    surroundings.embedded = false;
    surroundings.gres_types = GresTypes::Only(&["gpu", "nvme"]);
    let args: Vec<String> = args
        .into_iter()
        .chain(["--wrap".into(), "true".into()])
        .collect();
    let (sbatch, diagnostics) = sbatch::resolve(&args, &|_| None, None, &surroundings);
    assert_eq!(model::first_error(&diagnostics), None, "{line}");
    sbatch.request
}

fn cluster() -> Cluster {
    let file = ClusterFile::parse("test", FILE).unwrap_or_else(|problems| panic!("{problems:?}"));
    Cluster::build(&file, Trust::All)
}

fn compiled(cluster: &Cluster, line: &str) -> Compiled {
    let request = request(line);
    let name = request.partition.as_deref().unwrap_or("all");
    let partition = cluster.find_partition(name);
    assert!(partition.is_some(), "{name}");
    Compiled::new(
        cluster,
        partition,
        Demand::of(&request, cluster.defaults(partition)),
    )
}

fn shown(cluster: &Cluster, shares: Option<&[Share]>) -> String {
    let Some(shares) = shares else {
        return "no place".to_owned();
    };
    let each = shares.iter().map(|share| {
        let gpus = (0..64).filter(|index| share.gpus & 1 << index != 0);
        let gpus: Vec<String> = gpus.map(|index| index.to_string()).collect();
        let class = cluster.class(share.node);
        let sockets = class.sockets.map_or(0, |there| there.sockets as usize);
        let of_sockets: Vec<String> = share.sockets.each().map(|cpus| cpus.to_string()).collect();
        let of_sockets = match sockets {
            0 => String::new(),
            sockets => format!(" of {}", of_sockets[..sockets].join(",")),
        };
        format!(
            "{} {}t {}c {}M{}{}{of_sockets}",
            cluster.node_name(share.node),
            share.tasks,
            share.cpus(),
            share.mem_mib(),
            if gpus.is_empty() { "" } else { " gpus " },
            gpus.join(",")
        )
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Each line is a job; those before the last are placed and stay.
#[track_caller]
fn check(lines: &str, want: Expect) {
    let cluster = cluster();
    let mut free = Free::idle(&cluster);
    let mut last = String::new();
    for line in lines.lines() {
        // A line may begin with the user.
        let (user, line) = match line.split_once(": ") {
            Some((user, line)) => (user.parse().unwrap_or(0), line),
            None => (0, line),
        };
        let compiled = compiled(&cluster, line);
        let pick = Pick {
            user,
            ..Pick::default()
        };
        let shares = place(&cluster, &compiled, &free, pick);
        last = shown(&cluster, shares.as_deref());
        if let Some(shares) = shares {
            free.take(&cluster, &shares, compiled.demand.sharing, user);
        }
    }
    want.assert_eq(&last);
}

#[test]
fn tasks_and_cpus() {
    check("-n 1", expect!["a1 1t 1c 0M"]);
    check("-n 8 -c 2", expect!["b1 8t 16c 0M"]);
    check("-N 2 -n 5", expect!["a1 4t 4c 0M; a2 1t 1c 0M"]);
    check(
        "-N 2 --ntasks-per-node=3",
        expect!["a1 3t 3c 0M; a2 3t 3c 0M"],
    );
    check(
        "-n 6 --ntasks-per-node=2",
        expect!["a1 2t 2c 0M; a2 2t 2c 0M; a3 2t 2c 0M"],
    );
    check("-N 2-3", expect!["a1 1t 1c 0M; a2 1t 1c 0M; a3 1t 1c 0M"]);
    check(
        "-N 2-3 --use-min-nodes",
        expect!["a1 1t 1c 0M; a2 1t 1c 0M"],
    );
    check(
        "-N 1-3 -n 20 --use-min-nodes -C v100",
        expect!["a1 8t 8c 0M; a2 8t 8c 0M; a3 4t 4c 0M"],
    );
    check("-N 1 -n 20", expect!["c1 20t 20c 0M"]);
    check("-N 2 -n 60", expect!["c1 32t 32c 0M; c2 28t 28c 0M"]);
    check("-n 121", expect!["no place"]);
    check("-N 8", expect!["no place"]);
    check("--mincpus=20", expect!["c1 1t 20c 0M"]);
    check("-n 4 --overcommit -N 1", expect!["a1 4t 1c 0M"]);
}

#[test]
fn sockets() {
    let of = |lines: &str| {
        let lines: Vec<String> = lines.lines().map(|it| format!("-p sockets {it}")).collect();
        lines.join("\n")
    };
    let check = |lines: &str, want: Expect| check(&of(lines), want);
    check("-n 3", expect!["s1 3t 3c 0M of 3,0"]);
    // A socket with fewer free cores than asked gives none of them.
    check("-n 3\n-n 1", expect!["s1 1t 1c 0M of 1,0"]);
    check(
        "-n 3\n-n 1 --cores-per-socket=4",
        expect!["s1 1t 1c 0M of 0,1"],
    );
    check(
        "-n 3\n-n 2 --cores-per-socket=4",
        expect!["s1 2t 2c 0M of 0,2"],
    );
    check("-n 3\n-n 5 --cores-per-socket=2", expect!["no place"]);
    check(
        "-n 3\n-n 4 --cores-per-socket=2",
        expect!["s1 4t 4c 0M of 0,4"],
    );
    check("-n 5\n-n 1 --cores-per-socket=4", expect!["no place"]);
    // So many sockets must have some.
    check(
        "-n 3\n-n 1 --sockets-per-node=2",
        expect!["s1 1t 1c 0M of 1,0"],
    );
    check("-n 4\n-n 1 --sockets-per-node=2", expect!["no place"]);
    check("-n 3\n-n 1 -B 2:2", expect!["no place"]);
    check("-n 2 -B 2:2", expect!["s1 2t 2c 0M of 2,0"]);
    // So many tasks of each.
    check("-n 4 --ntasks-per-socket=2", expect!["s1 4t 4c 0M of 2,2"]);
    check("-n 3\n-n 4 --ntasks-per-socket=2", expect!["no place"]);
    check(
        "-n 3\n-n 3 --ntasks-per-socket=2",
        expect!["s1 3t 3c 0M of 1,2"],
    );
    check("-n 1 --exclusive", expect!["s1 1t 8c 0M of 4,4"]);
    check("-n 1 --sockets-per-node=3", expect!["no place"]);
}

#[test]
fn memory() {
    check("--mem=20G", expect!["b1 1t 1c 20480M"]);
    check("-n 4 --mem-per-cpu=1G", expect!["a1 4t 4c 4096M"]);
    check("-n 20 --mem-per-cpu=1G", expect!["c1 20t 20c 20480M"]);
    check("--mem=0 -w c1", expect!["c1 1t 1c 64000M"]);
    check("--mem=0 -w c1\n-w c1 --mem=1", expect!["no place"]);
    check("--mem=65000M", expect!["no place"]);
}

#[test]
fn gpus() {
    check("--gpus=2", expect!["a1 1t 1c 0M gpus 0,1"]);
    check("--gpus=a100:2", expect!["b1 1t 1c 0M gpus 0,1"]);
    check("--gres=gpu:v100:3", expect!["a1 1t 1c 0M gpus 0,1,2"]);
    check(
        "-p all --gpus=6",
        expect!["a1 1t 1c 0M gpus 0,1,2,3; a2 1t 1c 0M gpus 0,1"],
    );
    check(
        "--gpus-per-node=a100:1,v100:2",
        expect!["b1 1t 1c 0M gpus 0,2,3"],
    );
    check(
        "-n 3 --gpus-per-task=2",
        expect![[r#"
        a1 2t 2c 0M gpus 0,1,2,3; a2 1t 1c 0M gpus 0,1"#]],
    );
    check(
        "--gpus=4 --gpus-per-node=2",
        expect!["a1 1t 1c 0M gpus 0,1; a2 1t 1c 0M gpus 0,1"],
    );
    check("--gpus=2 --cpus-per-gpu=3", expect!["a1 1t 6c 0M gpus 0,1"]);
    check(
        "--gres=gpu:4 --cpus-per-gpu=3",
        expect!["b1 1t 12c 0M gpus 0,1,2,3"],
    );
    check(
        "--gpus=1 --mem-per-gpu=5G",
        expect!["a1 1t 1c 5120M gpus 0"],
    );
    check("--gpus=21", expect!["no place"]);
    check("--gres=gpu:k80:1", expect!["no place"]);
    check(
        "--gres=gpu:v100:2\n--gres=gpu:v100:3",
        expect!["a2 1t 1c 0M gpus 0,1,2"],
    );
    check(
        "--gpus=v100:1 -w b1\n--gpus=3 -w b1 -N 1",
        expect!["b1 1t 1c 0M gpus 0,1,3"],
    );
    check("--gres=nvme:1\n--gres=nvme:1", expect!["a2 1t 1c 0M"]);
    check(
        "--ntasks-per-gpu=2 --gpus=2",
        expect!["a1 4t 4c 0M gpus 0,1"],
    );
    check(
        "-N2 -n8 --ntasks-per-gpu=2",
        expect!["a1 4t 4c 0M gpus 0,1; a2 4t 4c 0M gpus 0,1"],
    );
}

#[test]
fn names_and_features() {
    check("-w b2", expect!["b2 1t 1c 0M"]);
    check("-w a2 -N 2", expect!["a2 1t 1c 0M; a3 1t 1c 0M"]);
    check("-x a[1-3]", expect!["b1 1t 1c 0M"]);
    check("-C rack2", expect!["b1 1t 1c 0M"]);
    check("-C rack2&mixed -N 2", expect!["b1 1t 1c 0M; b2 1t 1c 0M"]);
    check(
        "-C v100|mixed -N 5",
        expect![[r#"
        a1 1t 1c 0M; a2 1t 1c 0M; a3 1t 1c 0M; b1 1t 1c 0M; b2 1t 1c 0M"#]],
    );
    check(
        "-C [rack1|rack2] -N 4",
        expect!["b1 1t 1c 0M; b2 1t 1c 0M; c1 1t 1c 0M; c2 1t 1c 0M"],
    );
    check(
        "-C [rack1*1&rack2*2] -N 3",
        expect!["a1 1t 1c 0M; b1 1t 1c 0M; b2 1t 1c 0M"],
    );
    // As recorded of a real one (`rest/commands.txt`): numbers raise those of the job.
    check("-C rack1*2", expect!["a1 1t 1c 0M; a2 1t 1c 0M"]);
    check("-n1 -C rack1*2", expect!["a1 1t 1c 0M; a2 1t 1c 0M"]);
    check("-N1 -C rack1*2", expect!["no place"]);
    check("-N1-2 -C rack1*2", expect!["a1 1t 1c 0M; a2 1t 1c 0M"]);
    check("-C rack1*4", expect!["no place"]);
    check("-C rack1*1&rack2*1", expect!["no place"]);
    check(
        "-n1 -C [rack1*1&rack2*2]",
        expect!["a1 1t 1c 0M; b1 1t 1c 0M; b2 1t 1c 0M"],
    );
    check("-N2 -C [rack1*1&rack2*2]", expect!["no place"]);
    check("-C nosuch", expect!["no place"]);
    check("--tmp=50G", expect!["a1 1t 1c 0M"]);
    check("-w b1 --tmp=200G", expect!["no place"]);
    check(
        "-w a2\n--exclusive --contiguous -N 2",
        expect!["a3 1t 8c 0M gpus 0,1,2,3; b1 1t 16c 0M gpus 0,1,2,3"],
    );
}

#[test]
fn sharing() {
    check(
        "--exclusive -w a1 --mem=1G",
        expect!["a1 1t 8c 1024M gpus 0,1,2,3"],
    );
    check("-w a1\n--exclusive -w a1", expect!["no place"]);
    check("--exclusive -w a1\n-w a1", expect!["no place"]);
    check("-p whole", expect!["c1 1t 32c 0M"]);
    check(
        "1: --exclusive=user -w a1\n1: -w a1",
        expect!["a1 1t 1c 0M"],
    );
    check("1: --exclusive=user -w a1\n2: -w a1", expect!["no place"]);
    check("1: -w a1\n2: --exclusive=user -w a1", expect!["no place"]);
    check(
        "-p shared -w c1 -c 32\n-p shared -w c1 -c 32",
        expect!["c1 1t 32c 0M"],
    );
    check(
        "-p shared -w c1 -c 32\n-p shared -w c1 -c 32\n-p shared -w c1",
        expect!["no place"],
    );
}

#[test]
fn the_order_of_nodes() {
    let cluster = cluster();
    let mut free = Free::idle(&cluster);
    let first = |free: &Free, order| {
        let pick = Pick {
            order,
            ..Pick::default()
        };
        let shares = place(&cluster, &compiled(&cluster, "--gpus=1 -N 1"), free, pick);
        shares.and_then(|shares| Some(cluster.node_name(shares.first()?.node).to_string()))
    };
    let taken = compiled(&cluster, "-w b2 --gpus=2 -N 1");
    let shares = place(&cluster, &taken, &free, Pick::default()).unwrap_or_default();
    free.take(&cluster, &shares, taken.demand.sharing, 0);
    let got = [Order::Named, Order::Pack, Order::Largest].map(|order| first(&free, order));
    assert_eq!(got.map(Option::unwrap_or_default), ["a1", "b2", "b1"]);
    free.set_up(NodeId(0), false);
    assert_eq!(first(&free, Order::Named).as_deref(), Some("a2"));
    free.bar_gpus(&cluster, NodeId(1), 0b1111);
    assert_eq!(first(&free, Order::Named).as_deref(), Some("a3"));
}

/// This machine, whose virtual nodes share it.
#[track_caller]
fn check_machine(line: &str, want: Expect) {
    let host = NodeName::new("box");
    let cluster = Cluster::single(&SingleNode {
        host: &host,
        partition: "all",
        cpus: 8,
        mem_mib: Some(8000),
        gpus: vec![(0, "NVIDIA H200"), (2, "NVIDIA H200"), (3, "Tesla T4")],
    });
    let compiled = compiled(&cluster, line);
    let shares = place(&cluster, &compiled, &Free::idle(&cluster), Pick::default());
    want.assert_eq(&shown(&cluster, shares.as_deref()));
}

#[test]
fn several_shares_of_one_node() {
    check_machine("-n 3", expect!["box 3t 3c 3000M"]);
    check_machine("-N 2 -n 3", expect!["box 2t 2c 2000M; box 1t 1c 1000M"]);
    check_machine(
        "-N 2 --exclusive",
        expect!["box 1t 4c 4000M; box 1t 4c 4000M"],
    );
    check_machine(
        "-N 3 --mem=0",
        expect!["box 1t 1c 2666M; box 1t 1c 2666M; box 1t 1c 2666M"],
    );
    check_machine(
        "-N 2 --gpus=3",
        expect!["box 1t 1c 1000M gpus 0,2; box 1t 1c 1000M gpus 3"],
    );
    check_machine("--gpus=h200:2", expect!["box 1t 1c 1000M gpus 0,2"]);
    check_machine("--gpus=t4:1", expect!["box 1t 1c 1000M gpus 3"]);
    check_machine("--gpus=t4:2", expect!["no place"]);
    check_machine("-N 9", expect!["no place"]);
    check_machine("-N 2 --mem=5000", expect!["no place"]);
}

/// What is held and what is free are all that there is, whatever comes and goes; what ran to its
/// end leaves no trace, and who starts again from the jobs that hold something knows the same.
/// Whether a job may fit beside others that run, and whether it has a place there.
#[test]
fn what_surely_has_no_place() {
    let cluster = cluster();
    let check = |others: &[&str], line: &str, want: bool| {
        let mut free = Free::idle(&cluster);
        for other in others {
            let other = compiled(&cluster, other);
            let shares = place(&cluster, &other, &free, Pick::default()).expect("it fits");
            free.take(&cluster, &shares, other.demand.sharing, 0);
        }
        let compiled = compiled(&cluster, line);
        let servers = compiled.servers(&cluster);
        assert_eq!(compiled.may_fit(&cluster, &servers, &free), want, "{line}");
        let found = place(&cluster, &compiled, &free, Pick::default());
        assert_eq!(found.is_some(), want, "{line}");
    };
    check(&["--gpus=a100:2 -N 1"], "--gpus=a100:2 -N 1", true);
    check(&["--gpus=a100:2 -N 1"; 2], "--gpus=a100:1", false);
    check(&["--gpus=a100:2 -N 1"; 2], "--gpus=v100:2", true);
    check(
        &["-N 1 -w a1 --gpus=4"],
        "-N 3 --gpus-per-node=v100:4",
        false,
    );
    check(&["-N 2 -w c[1-2] -c 30"], "-n 61", false);
    check(&["-p shared -c 32"], "-p shared -c 32", true);
}

mod any_history {
    use super::*;
    use proptest::prelude::*;

    const LINES: [&str; 12] = [
        "-n 1",
        "-N 2 -n 5 -c 2",
        "--gpus=3",
        "--gpus=v100:1",
        "--gres=gpu:a100:1 --mem=1G",
        "--gpus-per-node=2 -N 2",
        "--exclusive",
        "--exclusive=user -n 2",
        "-p shared -c 20",
        "-p shared -c 7 -N 2",
        "--mem=0",
        "-n 9 --gpus-per-task=1",
    ];

    proptest! {
        #[test]
        fn holds(steps in prop::collection::vec((0_usize..LINES.len(), 0_u32..3, 0_usize..6), 1..40)) {
            let cluster = cluster();
            let compiled = LINES.map(|line| compiled(&cluster, line));
            let mut free = Free::idle(&cluster);
            let mut running: Vec<(usize, u32, Vec<Share>)> = Vec::new();
            for (line, user, ends) in steps {
                if ends < running.len() && ends > 2 {
                    let (line, user, shares) = running.swap_remove(ends);
                    free.give(&cluster, &shares, compiled[line].demand.sharing, user);
                }
                let pick = Pick { user, ..Pick::default() };
                let servers = compiled[line].servers(&cluster);
                let may_fit = compiled[line].may_fit(&cluster, &servers, &free);
                // What it can't be given makes no difference.
                let mut of_servers = Free::idle(&cluster);
                of_servers.keep_of(&cluster, &servers, &free);
                let found = place(&cluster, &compiled[line], &free, pick);
                prop_assert_eq!(&place(&cluster, &compiled[line], &of_servers, pick), &found);
                if let Some(shares) = found {
                    prop_assert!(may_fit, "{} has a place", LINES[line]);
                    free.take(&cluster, &shares, compiled[line].demand.sharing, user);
                    running.push((line, user, shares));
                }
                let mut again = Free::idle(&cluster);
                let mut gpus = vec![0_u64; cluster.node_count() as usize];
                for (line, user, shares) in running.iter().rev() {
                    again.take(&cluster, shares, compiled[*line].demand.sharing, *user);
                    for share in shares {
                        let held = &mut gpus[share.node.0 as usize];
                        prop_assert_eq!(*held & share.gpus, 0, "a GPU is held twice");
                        *held |= share.gpus;
                    }
                }
                prop_assert_eq!(&again, &free);
            }
            for (line, user, shares) in running {
                free.give(&cluster, &shares, compiled[line].demand.sharing, user);
            }
            prop_assert_eq!(free, Free::idle(&cluster));
        }
    }
}

/// On which nodes a job without a GPU type is, where a site gives all of a job's GPUs one type.
#[track_caller]
fn check_one_type(file: &ClusterFile, partition: &str, taken: &[&str], line: &str, want: &str) {
    let cluster = Cluster::build(file, Trust::All);
    let partition = cluster.find_partition(partition).expect("it is there");
    let demand = Demand::of(&request(line), cluster.defaults(Some(partition)));
    let compiled = Compiled::new(&cluster, Some(partition), demand);
    let taken = taken
        .iter()
        .filter_map(|name| cluster.node(&NodeName::new(name)));
    let without: crate::NodeSet = taken.collect();
    let pick = Pick {
        without: Some(&without),
        ..Pick::default()
    };
    let shares = place(&cluster, &compiled, &Free::idle(&cluster), pick);
    let shares = shares.unwrap_or_default();
    let each = shares.iter().map(|share| {
        let name = cluster.node_name(share.node);
        format!("{name} gpus {:b}", share.gpus)
    });
    assert_eq!(each.collect::<Vec<_>>().join("; "), want, "{line}");
}

#[test]
fn gpus_of_a_job_have_one_type_where_a_site_says_so() {
    let text = format!("{FILE}\n[limits]\none_gpu_type = true\n");
    let file = ClusterFile::parse("test", &text).expect("it is one");
    let check = |line, want| check_one_type(&file, "all", &[], line, want);
    check(
        "-N4 --gpus-per-node=1",
        "a1 gpus 1; a2 gpus 1; a3 gpus 1; b1 gpus 100",
    );
    check(
        "-N5 --gpus-per-node=2",
        "a1 gpus 11; a2 gpus 11; a3 gpus 11; b1 gpus 1100; b2 gpus 1100",
    );
    check("-N5 --gpus-per-node=3", "");
    check("-n1 --gres=gpu:a100:1", "b1 gpus 1");
    // Who names types gets those, where the rule lets it by.
    let wilson = cluster_file::find("wilson")
        .expect("it is shipped")
        .expect("it is right");
    let check = |taken: &[&str], line, want| check_one_type(&wilson, "gpu_gce", taken, line, want);
    check(
        &[],
        "-N2 --gpus-per-node=1",
        "wcgpu02 gpus 1; wcgpu03 gpus 1",
    );
    check(
        &["wcgpu02", "wcgpu03", "wcgpu04"],
        "-N2 --gpus-per-node=1",
        "",
    );
    check(&["wcgpu02"], "-n1 --gpus=1", "wcgpu01 gpus 1");
    check(&[], "-N5 --gpus-per-node=1", "");
}
