//! What a real Slurm 22.05.8 counted of held jobs: `squeue -o %D`, `NumCPUs`, `NumTasks`, `MinCPUsNode`
//! and `TRES` of `scontrol show job`, on nodes of 8 CPUs and 16000 MiB.

use crate::{Defaults, Demand, LargestNode, recorded};
use model::{MemoryRequest, Surroundings, Timestamp, mebibytes_text, sbatch};
use std::path::Path;

#[track_caller]
fn check(line: &str, want: &str) {
    let args = line.split_whitespace().chain(["-H", "--wrap", "true"]);
    let args: Vec<String> = args.map(str::to_owned).collect();
    let zone = jiff::tz::TimeZone::UTC;
    let mut surroundings = Surroundings::embedded(Timestamp(0), &zone, Path::new("/tmp"));
    surroundings.embedded = false;
    let (job, said) = sbatch::resolve(&args, &|_| None, None, &surroundings);
    assert_eq!(model::first_error(&said), None, "{line}");
    let defaults = Defaults {
        memory: Some(MemoryRequest::PerCpu(100)),
        ..Defaults::default()
    };
    let largest = LargestNode {
        cpus: 8,
        mem_mib: 16_000,
    };
    let counts = recorded(&Demand::of(&job.request, &defaults), largest, true);
    let got = format!(
        "{} nodes, {cpus} CPUs, {} tasks, {} CPUs a node, cpu={cpus},mem={},node={},billing={cpus}",
        counts.nodes,
        counts.tasks,
        counts.min_cpus_per_node,
        mebibytes_text(counts.mem_mib),
        counts.least_nodes,
        cpus = counts.cpus,
    );
    assert_eq!(got, want, "{line}");
}

#[test]
fn of_held_jobs() {
    check(
        "-c 2",
        "1 nodes, 2 CPUs, 1 tasks, 2 CPUs a node, cpu=2,mem=200M,node=1,billing=2",
    );
    check(
        "-c 4",
        "1 nodes, 4 CPUs, 1 tasks, 4 CPUs a node, cpu=4,mem=400M,node=1,billing=4",
    );
    check(
        "-n 2 -c 2",
        "2 nodes, 4 CPUs, 2 tasks, 2 CPUs a node, cpu=4,mem=400M,node=1,billing=4",
    );
    check(
        "-N1 -n2 -c2",
        "2 nodes, 4 CPUs, 2 tasks, 2 CPUs a node, cpu=4,mem=400M,node=1,billing=4",
    );
    check(
        "-n 3 -c 2",
        "2 nodes, 6 CPUs, 3 tasks, 2 CPUs a node, cpu=6,mem=600M,node=1,billing=6",
    );
    check(
        "-n 4 -c 2",
        "1 nodes, 8 CPUs, 4 tasks, 2 CPUs a node, cpu=8,mem=800M,node=1,billing=8",
    );
    check(
        "-n 5 -c 2",
        "2 nodes, 10 CPUs, 5 tasks, 2 CPUs a node, cpu=10,mem=1000M,node=1,billing=10",
    );
    check(
        "-n 5 -c 4",
        "3 nodes, 20 CPUs, 5 tasks, 4 CPUs a node, cpu=20,mem=2000M,node=1,billing=20",
    );
    check(
        "-N2 -n5 -c4",
        "3 nodes, 20 CPUs, 5 tasks, 4 CPUs a node, cpu=20,mem=2000M,node=2,billing=20",
    );
    check(
        "-c 9",
        "1 nodes, 9 CPUs, 1 tasks, 9 CPUs a node, cpu=9,mem=900M,node=1,billing=9",
    );
    check(
        "-N2 -c 2",
        "2 nodes, 4 CPUs, 2 tasks, 2 CPUs a node, cpu=4,mem=400M,node=2,billing=4",
    );
    check(
        "-n 9",
        "2 nodes, 9 CPUs, 9 tasks, 1 CPUs a node, cpu=9,mem=900M,node=1,billing=9",
    );
    check(
        "-n 17",
        "3 nodes, 17 CPUs, 17 tasks, 1 CPUs a node, cpu=17,mem=1700M,node=1,billing=17",
    );
    check(
        "-N 2 -n 9",
        "2 nodes, 9 CPUs, 9 tasks, 1 CPUs a node, cpu=9,mem=900M,node=2,billing=9",
    );
    check(
        "-n 8 --ntasks-per-node=4",
        "2 nodes, 8 CPUs, 8 tasks, 4 CPUs a node, cpu=8,mem=800M,node=1,billing=8",
    );
    check(
        "-n 8 --ntasks-per-node=4 -c 2",
        "2 nodes, 16 CPUs, 8 tasks, 8 CPUs a node, cpu=16,mem=1600M,node=1,billing=16",
    );
    check(
        "-n 9 --ntasks-per-node=4",
        "2 nodes, 9 CPUs, 9 tasks, 4 CPUs a node, cpu=9,mem=900M,node=1,billing=9",
    );
    check(
        "--ntasks-per-node=2",
        "1 nodes, 2 CPUs, 2 tasks, 2 CPUs a node, cpu=2,mem=200M,node=1,billing=2",
    );
    check(
        "-N 2-4",
        "2 nodes, 1 CPUs, 2 tasks, 1 CPUs a node, cpu=1,mem=100M,node=2,billing=1",
    );
    check(
        "-N2-4 -n 8",
        "2 nodes, 8 CPUs, 8 tasks, 1 CPUs a node, cpu=8,mem=800M,node=2,billing=8",
    );
    check(
        "--gpus=4 --cpus-per-gpu=2",
        "1 nodes, 1 CPUs, 1 tasks, 1 CPUs a node, cpu=1,mem=100M,node=1,billing=1",
    );
    check(
        "-n 4 --gpus-per-task=1 --cpus-per-gpu=2",
        "1 nodes, 4 CPUs, 4 tasks, 2 CPUs a node, cpu=4,mem=400M,node=1,billing=4",
    );
    check(
        "--gpus=8 --gpus-per-node=4",
        "2 nodes, 1 CPUs, 2 tasks, 1 CPUs a node, cpu=1,mem=100M,node=2,billing=1",
    );
    check(
        "-N2 --gpus-per-node=4 --mem-per-gpu=1G",
        "2 nodes, 2 CPUs, 2 tasks, 1 CPUs a node, cpu=2,mem=8G,node=2,billing=2",
    );
    check(
        "-n4 -O",
        "1 nodes, 1 CPUs, 4 tasks, 1 CPUs a node, cpu=1,mem=100M,node=1,billing=1",
    );
    check(
        "-N2 -n8 -O -c2",
        "2 nodes, 2 CPUs, 8 tasks, 2 CPUs a node, cpu=2,mem=200M,node=2,billing=2",
    );
    check(
        "--exclusive",
        "1 nodes, 1 CPUs, 1 tasks, 1 CPUs a node, cpu=1,mem=100M,node=1,billing=1",
    );
    check(
        "-w node[1-3] -c 2",
        "3 nodes, 6 CPUs, 3 tasks, 2 CPUs a node, cpu=6,mem=600M,node=3,billing=6",
    );
    check(
        "-N3 -n 3 --ntasks-per-node=1 -c 2",
        "3 nodes, 6 CPUs, 3 tasks, 2 CPUs a node, cpu=6,mem=600M,node=3,billing=6",
    );
    check(
        "-n 16 -c 1 --mincpus=4",
        "2 nodes, 16 CPUs, 16 tasks, 4 CPUs a node, cpu=16,mem=1600M,node=1,billing=16",
    );
}
