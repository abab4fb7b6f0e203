//! From GPUs in all, and amounts for each GPU or CPU, to nodes, ranks, CPUs and memory.

use super::*;

/// Nodes, GPUs, ranks, CPUs of a rank and memory of a node, each with its source; or the refusal.
#[track_caller]
fn shaped(rows: &[&str], facts: &ClusterFacts, want: Expect) {
    shaped_for("torchrun", rows, facts, want);
}

#[track_caller]
fn shaped_for(launcher: &str, rows: &[&str], facts: &ClusterFacts, want: Expect) {
    let mut shown = String::new();
    for resources in rows {
        shown.push_str(&format!("{}\n", resources.replace('\n', ", ")));
        let text =
            format!("launcher = {launcher:?}\ncommand = [\"t.py\"]\n[resources]\n{resources}\n");
        match planned(&text, &[], facts) {
            Ok(plan) => {
                let row = |name: &str, value: u64, source: &crate::Source| {
                    format!("  {name} {value} ({source})\n")
                };
                for (name, value) in [
                    ("nodes", &plan.nodes),
                    ("GPUs", &plan.gpus_per_node),
                    ("ranks", &plan.ranks_per_node),
                    ("CPUs", &plan.cpus_per_rank),
                ] {
                    shown.push_str(&row(name, u64::from(value.value), &value.source));
                }
                if let Some(all) = &plan.uneven {
                    shown.push_str(&row("in all", u64::from(all.value), &all.source));
                }
                if let Some(memory) = &plan.memory {
                    shown.push_str(&row("MiB", memory.value, &memory.source));
                }
            }
            Err(refusal) => shown.push_str(&format!("{refusal}\n")),
        }
    }
    want.assert_eq(&shown);
}

#[test]
fn nodes_follow_from_gpus_in_all() {
    shaped(
        &[
            "gpus = 8",
            "gpus = 6",
            "gpus = \"v100:8\"",
            "gpus = 8\nnodes = 2",
            "gpus = 4\ngpus_per_node = 1",
            "gpus = 4\nnodes = 2\ngpus_per_node = 2",
            "gpus = 0",
        ],
        &wilson(),
        expect![[r#"
            gpus = 8
              nodes 1 (a node has 8 GPUs)
              GPUs 8 (yard.toml:4: 8 on 1 node)
              ranks 8 (torchrun: one rank per GPU)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs)
              MiB 192000 (this share of a node's 187.5 GiB)
            gpus = 6
              nodes 1 (a node has 6 GPUs)
              GPUs 6 (yard.toml:4: 6 on 1 node)
              ranks 6 (torchrun: one rank per GPU)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs)
              MiB 144000 (this share of a node's 187.5 GiB)
            gpus = "v100:8"
              nodes 4 (the fewest that have 8 GPUs in equal parts)
              GPUs 2 (yard.toml:4: 8 on 4 nodes)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 16 (a node's 32 CPUs for its 2 GPUs)
              MiB 192000 (this share of a node's 187.5 GiB)
            gpus = 8, nodes = 2
              nodes 2 (yard.toml:5)
              GPUs 4 (yard.toml:4: 8 on 2 nodes)
              ranks 4 (torchrun: one rank per GPU)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs: the least of what could be given)
              MiB 96000 (this share of a node's 187.5 GiB: the least of what could be given)
            gpus = 4, gpus_per_node = 1
              nodes 4 (yard.toml:4: 4 with 1 on each node)
              GPUs 1 (yard.toml:5)
              ranks 1 (torchrun: 1 per node by default)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs: the least of what could be given)
              MiB 24000 (this share of a node's 187.5 GiB: the least of what could be given)
            gpus = 4, nodes = 2, gpus_per_node = 2
              nodes 2 (yard.toml:5)
              GPUs 2 (yard.toml:6)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs: the least of what could be given)
              MiB 48000 (this share of a node's 187.5 GiB: the least of what could be given)
            gpus = 0
              nodes 1 (default: 1 node)
              GPUs 0 (yard.toml:4)
              ranks 1 (torchrun: 1 per node by default)
              CPUs 32 (a node's 32 CPUs for its 1 rank)
              MiB 192000 (this share of a node's 187.5 GiB)
        "#]],
    );
}

/// As the smallest case of Technion's tutorial.
#[test]
fn uneven_counts_are_served_where_the_launcher_takes_them() {
    let rows = [
        "gpus = 3\nnodes = 2\ncpus_per_gpu = 6\nmemory_per_gpu = \"16G\"",
        "gpus = 7\nnodes = 4",
        "gpus = 1\nnodes = 2",
        "gpus = 9\nnodes = 4",
        "gpus = 3\nnodes = 2\nranks_per_node = 1",
    ];
    shaped(
        &rows,
        &wilson(),
        expect![[r#"
            gpus = 3, nodes = 2, cpus_per_gpu = 6, memory_per_gpu = "16G"
              nodes 2 (yard.toml:5)
              GPUs 2 (yard.toml:4: 3 on 2 nodes)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 6 (yard.toml:6: 6 a GPU, 2 GPUs for 2 ranks)
              in all 3 (yard.toml:4)
              MiB 32768 (yard.toml:7: 16 GiB a GPU, 2 GPUs a node)
            gpus = 7, nodes = 4
              nodes 4 (yard.toml:5)
              GPUs 2 (yard.toml:4: 7 on 4 nodes)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs: the least of what could be given)
              in all 7 (yard.toml:4)
              MiB 48000 (this share of a node's 187.5 GiB: the least of what could be given)
            gpus = 1, nodes = 2
            1 GPU is not enough for 2 nodes
              asked   gpus = 1 (yard.toml:4), nodes = 2 (yard.toml:5)
              there   each node of a run has at least one GPU
              do      gpus = 2 or nodes = 1
            gpus = 9, nodes = 4
            9 GPUs do not divide evenly among 4 nodes
              asked   gpus = 9 (yard.toml:4), nodes = 4 (yard.toml:5)
              there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
              do      gpus = 8
            gpus = 3, nodes = 2, ranks_per_node = 1
            ranks_per_node is set, and the nodes have different numbers of GPUs
              asked   ranks_per_node = 1 (yard.toml:6), gpus = 3 (yard.toml:4), nodes = 2 (yard.toml:5)
              there   where the GPUs do not divide evenly each of them has a rank
              do      leave ranks_per_node out
        "#]],
    );
    let row = ["gpus = 3\nnodes = 2"];
    for launcher in ["srun", "jax", "horovod"] {
        let text = format!(
            "launcher = {launcher:?}\ncommand = [\"t.py\"]\n[resources]\n{}",
            row[0]
        );
        let plan = planned(&text, &[], &wilson()).unwrap();
        assert_eq!((plan.world_size(), plan.tasks()), (3, 3), "{launcher}");
        assert_eq!(plan.gpus_of_nodes(), [2, 1]);
    }
    for launcher in ["lightning", "mpi", "deepspeed"] {
        let text = format!(
            "launcher = {launcher:?}\ncommand = [\"t.py\"]\n[resources]\n{}",
            row[0]
        );
        let refused = planned(&text, &[], &wilson()).unwrap_err();
        let why = format!("launcher {launcher} starts the same number of ranks on every node");
        assert!(refused.contains(&why), "{refused}");
    }
}

#[test]
fn uneven_counts_are_refused_with_what_would_do() {
    shaped_for(
        "accelerate",
        &[
            "gpus = 3\nnodes = 2",
            "gpus = 5\ngpus_per_node = 2",
            "gpus = 4\ngpus_per_node = 0",
            "gpus = 4\nnodes = 2\ngpus_per_node = 4",
            "gpus = \"v100:7\"",
            "gpus = \"h100:2\"",
            "gpus = 64",
        ],
        &wilson(),
        expect![[r#"
            gpus = 3, nodes = 2
            3 GPUs do not divide evenly among 2 nodes
              asked   gpus = 3 (yard.toml:4), nodes = 2 (yard.toml:5)
              there   launcher accelerate starts the same number of ranks on every node
              do      gpus = 2, gpus = 4, nodes = 1 or nodes = 3
            gpus = 5, gpus_per_node = 2
            5 GPUs are no whole number of nodes with 2
              asked   gpus = 5 (yard.toml:4), gpus_per_node = 2 (yard.toml:5)
              there   every node of a run has the same number of GPUs
              do      gpus = 4, gpus = 6 or leave gpus_per_node out
            gpus = 4, gpus_per_node = 0
            4 GPUs are no whole number of nodes with 0
              asked   gpus = 4 (yard.toml:4), gpus_per_node = 0 (yard.toml:5)
              there   every node of a run has the same number of GPUs
              do      leave gpus_per_node out
            gpus = 4, nodes = 2, gpus_per_node = 4
            2 nodes with 4 GPUs each have 8, not 4
              asked   gpus = 4 (yard.toml:4), nodes = 2 (yard.toml:5), gpus_per_node = 4 (yard.toml:6)
              there   each of the three follows from the other two
              do      leave one of them out
            gpus = "v100:7"
            wilson has no nodes that have 7 v100 in equal parts
              asked   gpus = 7 (yard.toml:4)
              there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
              do      gpus = 6
            gpus = "h100:2"
            wilson has no h100
              asked   gpus = 2 (yard.toml:4)
              there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
              do      another gpu_type
            gpus = 64
            wilson has no nodes that have 64 GPUs in equal parts
              asked   gpus = 64 (yard.toml:4)
              there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
              do      gpus = 12
        "#]],
    );
    shaped_for(
        "accelerate",
        &["gpus = 4", "gpus = 2\nnodes = 2", "gpus = 3\nnodes = 2"],
        &laptop(8, gpus("a100", 3, 81_920)),
        expect![[r#"
            gpus = 4
            local has no nodes that have 4 GPUs in equal parts
              asked   gpus = 4 (yard.toml:4)
              there   8 CPUs, 23 GiB, 3 a100
              do      gpus = 3
            gpus = 2, nodes = 2
              nodes 2 (yard.toml:5)
              GPUs 1 (yard.toml:4: 2 on 2 nodes)
              ranks 1 (accelerate: 1 per node by default)
              CPUs 2 (a node's 8 CPUs for its 3 GPUs)
            gpus = 3, nodes = 2
            3 GPUs do not divide evenly among 2 nodes
              asked   gpus = 3 (yard.toml:4), nodes = 2 (yard.toml:5)
              there   launcher accelerate starts the same number of ranks on every node
              do      gpus = 2, nodes = 1 or nodes = 3
        "#]],
    );
}

#[test]
fn amounts_for_each_gpu_and_cpu() {
    shaped(
        &[
            "gpus = 4\nnodes = 2\ncpus_per_gpu = 6\nmemory_per_gpu = \"64G\"",
            "gpus_per_node = 4\nranks_per_node = 3\ncpus_per_gpu = 5",
            "gpus_per_node = 2\ncpus_per_rank = 4\nmemory_per_cpu = \"4G\"",
            "gpus_per_node = 2\nmemory_per_cpu = \"16G\"",
            "nodes = 2\nranks_per_node = 4\nmemory_per_cpu = \"2G\"",
            "cpus_per_gpu = 6",
            "memory_per_gpu = \"6G\"",
            "gpus_per_node = 1\ncpus_per_gpu = 6\ncpus_per_rank = 6",
            "gpus_per_node = 1\nmemory_per_gpu = \"6G\"\nmemory = \"8G\"",
            "gpus_per_node = 2\nmemory_per_gpu = \"800G\"",
        ],
        &wilson(),
        expect![[r#"
            gpus = 4, nodes = 2, cpus_per_gpu = 6, memory_per_gpu = "64G"
              nodes 2 (yard.toml:5)
              GPUs 2 (yard.toml:4: 4 on 2 nodes)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 6 (yard.toml:6: 6 a GPU, 2 GPUs for 2 ranks)
              MiB 131072 (yard.toml:7: 64 GiB a GPU, 2 GPUs a node)
            gpus_per_node = 4, ranks_per_node = 3, cpus_per_gpu = 5
              nodes 1 (default: 1 node)
              GPUs 4 (yard.toml:4)
              ranks 3 (yard.toml:5)
              CPUs 7 (yard.toml:6: 5 a GPU, 4 GPUs for 3 ranks)
              MiB 126000 (this share of a node's 187.5 GiB: the least of what could be given)
            gpus_per_node = 2, cpus_per_rank = 4, memory_per_cpu = "4G"
              nodes 1 (default: 1 node)
              GPUs 2 (yard.toml:4)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 4 (yard.toml:5)
              MiB 32768 (yard.toml:6: 4 GiB a CPU, 8 a node)
            gpus_per_node = 2, memory_per_cpu = "16G"
              nodes 1 (default: 1 node)
              GPUs 2 (yard.toml:4)
              ranks 2 (torchrun: one rank per GPU)
              CPUs 4 (a node's 32 CPUs for its 8 GPUs: the least of what could be given)
              MiB 131072 (yard.toml:5: 16 GiB a CPU, 8 a node)
            nodes = 2, ranks_per_node = 4, memory_per_cpu = "2G"
              nodes 2 (yard.toml:4)
              GPUs 0 (default: none)
              ranks 4 (yard.toml:5)
              CPUs 8 (a node's 32 CPUs for its 4 ranks)
              MiB 65536 (yard.toml:6: 2 GiB a CPU, 32 a node)
            cpus_per_gpu = 6
            cpus_per_gpu is set for a run without GPUs
              asked   cpus_per_gpu (yard.toml:4)
              there   the run asks for no GPU
              do      gpus or gpus_per_node, or cpus_per_rank in its place
            memory_per_gpu = "6G"
            memory_per_gpu is set for a run without GPUs
              asked   memory_per_gpu (yard.toml:4)
              there   the run asks for no GPU
              do      gpus or gpus_per_node, or memory or memory_per_cpu in its place
            gpus_per_node = 1, cpus_per_gpu = 6, cpus_per_rank = 6
            cpus_per_rank and cpus_per_gpu are both set
              asked   cpus_per_rank (yard.toml:6), cpus_per_gpu (yard.toml:5)
              there   both say how much a node gives to the job
              do      leave cpus_per_rank or cpus_per_gpu out
            gpus_per_node = 1, memory_per_gpu = "6G", memory = "8G"
            memory and memory_per_gpu are both set
              asked   memory (yard.toml:6), memory_per_gpu (yard.toml:5)
              there   both say how much a node gives to the job
              do      leave memory or memory_per_gpu out
            gpus_per_node = 2, memory_per_gpu = "800G"
            wilson has no node with 1.6 TiB of memory
              asked   memory = 1.6 TiB   (yard.toml:5: 800 GiB a GPU, 2 GPUs a node)
              there   4 nodes with 187.5 GiB, 1 with 187.5 GiB, 1 with 187.5 GiB
              do      memory = "192000M" or less
        "#]],
    );
}

#[test]
fn an_upper_layer_replaces_another_way_to_say_the_same() {
    let text = "command = [\"t.py\"]\n[resources]\ngpus_per_node = 2\ncpus_per_rank = 3\nmemory = \"8G\"\n\
                [cluster.wilson.resources]\ncpus_per_gpu = 6\nmemory_per_gpu = \"16G\"\n";
    let flags = [("--mem-per-cpu", "memory_per_cpu", "2G")];
    let plan = planned(text, &flags, &wilson()).unwrap();
    assert_eq!(plan.cpus_per_rank.value, 6);
    assert_eq!(plan.memory.map(|memory| memory.value), Some(2 * 6 * 2048));
}
