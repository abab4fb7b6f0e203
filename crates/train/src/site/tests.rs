//! Small run files on the shipped clusters.

use super::plan_for;
use crate::{Overrides, PlanInput, RunFile, Variables};
use expect_test::{Expect, expect};
use std::path::Path;

/// What a run file with these resources gets there, but for what every run has.
#[track_caller]
fn check(cluster: &str, resources: &str, want: Expect) {
    let file = cluster_file::find(cluster).unwrap().unwrap();
    let text = format!("command = [\"python\", \"train.py\"]\n[resources]\n{resources}");
    let (run_file, problems) = RunFile::parse(&text, "yard.toml");
    assert_eq!(problems, []);
    let input = PlanInput {
        user_config: None,
        run_file: Some(&run_file),
        variables: &Variables::default(),
        overrides: &Overrides::default(),
        facts: &file.facts(None),
        base: Path::new("/home/me/digits"),
        default_name: "digits",
    };
    let shown = match plan_for(&input, &file, Some("me"), "x86_64") {
        Ok(plan) => plan.show(),
        Err(refusal) => format!("error: {refusal}\n"),
    };
    let of_the_site = |line: &&str| {
        let begins = |row: &&str| {
            line.strip_prefix("  ")
                .is_some_and(|line| line.starts_with(*row))
        };
        !OF_EVERY_RUN.iter().any(begins)
    };
    let shown: Vec<&str> = shown.lines().filter(of_the_site).collect();
    want.assert_eq(&format!("{}\n", shown.join("\n")));
}

/// Rows that say nothing of the site.
const OF_EVERY_RUN: [&str; 6] = [
    "launcher",
    "command",
    "python",
    "checkpoints",
    "comes back on",
    "grace",
];

#[test]
fn ibex_by_feature_and_policy() {
    check(
        "ibex",
        "nodes = 2\ngpus_per_node = 4\ngpu_type = \"v100\"\ntime = \"24:00:00\"\nconstraint = \"cpu_intel_platinum_8260\"",
        expect![[r#"
            digits · ibex · 2 nodes × 4 v100 = 8 ranks × 6 CPUs · 24 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=8
                                                            what srun gives the first task
              nodes           2                             from yard.toml:3
              gpus per node   4 v100                        from yard.toml:4
              ranks per node  4                             srun: one rank per GPU
              cpus per rank   6                             ibex: 5-6 CPUs a v100 (policy)
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          360 GiB                       ibex: 64G-90G a v100 (policy), the upper end
              time a job      24 h                          from yard.toml:6
              partition       batch                         ibex's default: not named in the script
              constraint      v100&cpu_intel_platinum_8260  ibex's v100 have no type to ask for, nodes have a
                                                            feature; cpu_intel_platinum_8260 from yard.toml:7
              in the queue    1 job                         the same job is requeued; no limit known

              note: rests on what ibex is assumed to have: nodes.v100_8.memory, nodes.v100_8.names,
                    partition.batch.nodes and 1 more (yard cluster show ibex)
        "#]],
    );
}

/// Slurm takes `normal` of several without a default, or none: nothing is chosen for it.
#[test]
fn no_qos_is_chosen_where_the_file_names_no_default() {
    let qos = |names: [&str; 2]| {
        let text = format!(
            "[nodes.n]\ncount = 2\ncpus = 8\n[partition.p]\nnodes = \"ALL\"\ndefault = true\n\
             [qos.{}]\npriority = 1\n[qos.{}]\npriority = 9\nmax_wall = \"1:00:00\"\n",
            names[0], names[1]
        );
        let file = cluster_file::ClusterFile::parse("lab", &text).unwrap();
        let text = "command = [\"true\"]\nlauncher = \"none\"\n[resources]\ntime = \"30m\"\n";
        let (run_file, problems) = RunFile::parse(text, "yard.toml");
        assert_eq!(problems, []);
        let input = PlanInput {
            user_config: None,
            run_file: Some(&run_file),
            variables: &Variables::default(),
            overrides: &Overrides::default(),
            facts: &file.facts(None),
            base: Path::new("/home/me/digits"),
            default_name: "digits",
        };
        let plan = plan_for(&input, &file, Some("me"), "x86_64").unwrap();
        let asked = plan.plan.qos.as_ref().map(|qos| qos.value.clone());
        let shown = plan.show();
        let row = shown
            .lines()
            .find(|line| line.trim_start().starts_with("qos"));
        (
            asked,
            row.map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")),
        )
    };
    assert_eq!(qos(["slow", "fast"]), (None, None));
    let normal = "qos normal Slurm's own default: lab names none of yours";
    assert_eq!(qos(["normal", "fast"]), (None, Some(normal.to_owned())));
}

#[test]
fn wilson_by_type_and_the_qos_that_allows_the_time() {
    check(
        "wilson",
        "gpus_per_node = 2\ngpu_type = \"v100\"\ntime = \"24h\"",
        expect![[r#"
            digits · wilson · 2 v100 = 2 ranks × 20 CPUs · partition gpu_gce · 24 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   2 v100                        from yard.toml:3
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   20                            a node's 40 CPUs for its 2 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          188 GiB                       this share of a node's 188 GiB
              time a job      24 h                          from yard.toml:5
              partition       gpu_gce                       wilson has no default; takes the job, up to 24 h
              qos             regular                       the only one of yours that allows 24 h (opp: 8 h,
                                                            test: 4 h)
              in the queue    1 job                         the same job is requeued; no limit known

              note: rests on what wilson is assumed to have: user.*.qos (yard cluster show wilson)
        "#]],
    );
    check(
        "wilson",
        "gpus_per_node = 2\ntime = \"2h\"",
        expect![[r#"
            digits · wilson · 2 GPUs = 2 ranks × 2 CPUs · partition gpu_gce · 2 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   2                             from yard.toml:3
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   2                             a node's 16 CPUs for its 8 GPUs: the least of what
                                                            could be given
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          188 GiB                       this share of a node's 188 GiB: the least of what
                                                            could be given
              time a job      2 h                           from yard.toml:4
              partition       gpu_gce                       wilson has no default; takes the job, up to 24 h
              qos             opp                           wilson names opp and regular as its default; named,
                                                            to be sure
              in the queue    1 job                         the same job is requeued; 50 may
                                                            (qos.opp.max_submit_per_user)

              note: no type of GPUs is requested: the job may get a100, v100, p100 or p100nvlink
              note: rests on what wilson is assumed to have: user.*.qos (yard cluster show wilson)
        "#]],
    );
    check(
        "wilson",
        "gpus_per_node = 8\ngpu_type = \"v100\"\ntime = \"2h\"",
        expect![[r#"
            error: wilson has no node with 8 v100
              asked   gpus_per_node = 8, gpu_type = "v100"   (yard.toml:3)
              there   4 nodes with 2 v100; this yard can't run on power9 (ppc64le)
              do      nodes = 4 with gpus_per_node = 2
        "#]],
    );
    check(
        "wilson",
        "nodes = 60\ntime = \"30h\"",
        expect![[r#"
            digits · wilson · 60 nodes × 1 rank = 60 ranks × 16 CPUs · partition cpu_gce · 1 day 6 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=60
                                                            what srun gives the first task
              nodes           60                            from yard.toml:3
              ranks per node  1                             srun: 1 per node by default
              cpus per rank   16                            a node's 16 CPUs for its 1 rank
              memory          all                           wilson allocates whole nodes in partition cpu_gce
              time a job      1 day 6 h                     from yard.toml:4
              partition       cpu_gce                       wilson has no default; takes the job, up to 24 h
              qos             opp                           your default on wilson
              in the queue    1 job                         the same job is requeued; 50 may
                                                            (qos.opp.max_submit_per_user)

              would wait for ever: PartitionNodeLimit
                asked   --nodes=60
                there   partition cpu_gce gives at most 50 nodes a job (partition.cpu_gce.max_nodes)
                do      --nodes=50

              would wait for ever: PartitionTimeLimit, QOSMaxWallDurationPerJobLimit
                asked   --time=1-06:00:00
                there   partition cpu_gce allows 1-00:00:00 (partition.cpu_gce.max_time)
                        QOS opp allows 08:00:00 (qos.opp.max_wall)
                do      --time=08:00:00

              note: rests on what wilson is assumed to have: nodes.cpu.memory (yard cluster show wilson)
        "#]],
    );
}

#[test]
fn a_partition_of_another_architecture_is_refused() {
    let four = "gpus_per_node = 4\ngpu_type = \"v100\"\ntime = \"2h\"";
    check(
        "wilson",
        four,
        expect![[r#"
            error: wilson has no node with 4 v100
              asked   gpus_per_node = 4, gpu_type = "v100"   (yard.toml:3)
              there   4 nodes with 2 v100; this yard can't run on power9 (ppc64le)
              do      nodes = 2 with gpus_per_node = 2
        "#]],
    );
    let named = format!("{four}\npartition = \"gpu_gce_ppc\"");
    check(
        "wilson",
        &named,
        expect![[r#"
            error: wilson has only nodes of another architecture for it
              asked   a run of this yard, which is built for x86_64
              there   power9 (ppc64le)
              do      choose another partition, or plan with a yard that is built for those nodes
        "#]],
    );
}

#[test]
fn satori_beyond_its_default_queue() {
    check(
        "satori",
        "gpus_per_node = 4\ntime = \"24h\"\nexclusive = true",
        expect![[r#"
            digits · satori · 4 GPUs = 4 ranks × 40 CPUs · 24 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=4
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   4                             from yard.toml:3
              ranks per node  4                             srun: one rank per GPU
              cpus per rank   40                            a node's 160 CPUs for its 4 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          all                           the node is the job's alone
              time a job      24 h                          from yard.toml:4
              partition       normal                        satori's default: not named in the script
              qos             normal                        your default on satori
              exclusive       yes                           from yard.toml:5
              comes back by   a successor job               satori: its nodes can't talk to the scheduler
              in the queue    2 jobs                        the next one waits while one runs; no limit known

              would be started, and ended at the limit (limits.cut_at_max_time)
                asked   --time=1-00:00:00
                there   partition normal allows 12:00:00 (partition.normal.max_time)
                        QOS normal allows 12:00:00 (qos.normal.max_wall)
                do      --time=12:00:00, and come back from a checkpoint

              note: satori's file assumes that nodes ac922 are ppc64le; this yard is built for x86_64
              note: rests on what satori is assumed to have: nodes.ac922.cpus, nodes.ac922.memory,
                    nodes.ac922.names and 1 more (yard cluster show satori)
        "#]],
    );
}

#[test]
fn cedar_and_plai_and_technion() {
    check(
        "cedar",
        "gpus_per_node = 2\ngpu_type = \"v100\"\ntime = \"1h\"",
        expect![[r#"
            digits · cedar · 2 v100l = 2 ranks × 8 CPUs · 1 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   2 v100l                       from yard.toml:3
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   8                             cedar: 1-8 CPUs a v100 (policy)
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          92 GiB                        cedar: 1G-46G a v100 (policy), the upper end
              time a job      1 h                           from yard.toml:5
              partition       gpubase                       cedar's default: not named in the script
              account         rrg-kevinlb                   your default on cedar: not named in the script
              in the queue    1 job                         the same job is requeued; no limit known

              note: rests on what cedar is assumed to have: nodes.v100l.cpus, nodes.v100l.memory,
                    nodes.v100l.names and 6 more (yard cluster show cedar)
        "#]],
    );
    // Of no type: what holds for each that could be given.
    check(
        "cedar",
        "gpus_per_node = 2\ntime = \"1h\"",
        expect![[r#"
            digits · cedar · 2 GPUs = 2 ranks × 6 CPUs · 1 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   2                             from yard.toml:3
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   6                             cedar: 1-6 CPUs a p100 (policy): the least of what
                                                            could be given
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          92 GiB                        cedar: 1G-46G a v100 (policy), the upper end: the
                                                            least of what could be given
              time a job      1 h                           from yard.toml:4
              partition       gpubase                       cedar's default: not named in the script
              account         rrg-kevinlb                   your default on cedar: not named in the script
              in the queue    1 job                         the same job is requeued; no limit known

              note: no type of GPUs is requested: the job may get p100, p100l or v100l; cedar may have others
              note: rests on what cedar is assumed to have: nodes.v100l.cpus, nodes.v100l.memory,
                    nodes.v100l.names and 14 more (yard cluster show cedar)
        "#]],
    );
    // A type that its file doesn't have may be there all the same, as it may for a script.
    check(
        "cedar",
        "gpus_per_node = 2\ngpu_type = \"h100\"\ntime = \"1h\"",
        expect![[r#"
            digits · cedar · 2 h100 = 2 ranks × 8 CPUs · 1 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   2 h100                        from yard.toml:3
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   8                             a node's 32 CPUs for its 4 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          93.5 GiB                      this share of a node's 187 GiB
              time a job      1 h                           from yard.toml:5
              partition       gpubase                       cedar's default: not named in the script
              account         rrg-kevinlb                   your default on cedar: not named in the script
              in the queue    1 job                         the same job is requeued; no limit known

              might be refused: Requested node configuration is not available
                asked   1 node, 2 tasks, 2 h100 a node, 16 CPUs a node, 95744M a node
                there   partition gpubase has 114 nodes of 24 CPUs, 125G, 4 p100; 32 nodes of 24 CPUs, 250G, 4
                        p100l; 192 nodes of 32 CPUs, 187G, 4 v100l (partition.gpubase.nodes)
                do      ask for one of its GPU types: p100, p100l, v100l

              note: cedar's file knows no h100: other values are planned as for its other nodes
              note: rests on what cedar is assumed to have: nodes.v100l.cpus, nodes.v100l.memory,
                    nodes.v100l.names and 4 more (yard cluster show cedar)
        "#]],
    );
    check(
        "plai",
        "gpus_per_node = 2\ntime = \"1h\"",
        expect![[r#"
            digits · plai · 2 GPUs = 2 ranks × 8 CPUs · 1 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                            what srun gives the first task
              nodes           1                             default: 1 node
              gpus per node   2                             from yard.toml:3
              ranks per node  2                             srun: one rank per GPU
              cpus per rank   8                             a node's 64 CPUs for its 8 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          62.5 GiB                      this share of a node's 250 GiB
              time a job      1 h                           from yard.toml:4
              partition       plai                          plai's default: not named in the script
              in the queue    1 job                         the same job is requeued; no limit known

              note: rests on what plai is assumed to have: nodes.plai.cpus, nodes.plai.memory, nodes.plai.names
                    and 2 more (yard cluster show plai)
        "#]],
    );
    check(
        "technion",
        "nodes = 2\ngpus_per_node = 8\ngpu_memory = \"32G\"\ntime = \"1h\"",
        expect![[r#"
            digits · technion · 2 nodes × 8 a100 = 16 ranks × 32 CPUs · 1 h a job

              gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=8 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                              NODE_RANK=0 RANK=0 WORLD_SIZE=16
                                                            what srun gives the first task
              nodes           2                             from yard.toml:3
              gpus per node   8 a100                        from yard.toml:4
              ranks per node  8                             srun: one rank per GPU
              cpus per rank   32                            a node's 256 CPUs for its 8 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          1000 GiB                      this share of a node's 1000 GiB
              time a job      1 h                           from yard.toml:6
              partition       work                          technion's default: not named in the script
              in the queue    1 job                         the same job is requeued; no limit known

              note: rests on what technion is assumed to have: nodes.dgx.cpus, nodes.dgx.memory, nodes.dgx.names
                    and 2 more (yard cluster show technion)
        "#]],
    );
}

/// No share of a node, and no `--mem`: the cluster's default.
#[test]
fn memory_may_be_left_to_the_cluster() {
    check(
        "wilson",
        "gpus_per_node = 1\ngpu_type = \"v100\"\nmemory = \"default\"\ntime = \"1h\"",
        expect![[r#"
            digits · wilson · 1 v100 = 1 rank × 20 CPUs · partition gpu_gce · 1 h a job

              nodes           1                             default: 1 node
              gpus per node   1 v100                        from yard.toml:3
              ranks per node  1                             launcher none starts one process
              cpus per rank   20                            a node's 40 CPUs for its 2 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          default                       from yard.toml:5; wilson's default, which is not
                                                            known
              time a job      1 h                           from yard.toml:6
              partition       gpu_gce                       wilson has no default; takes the job, up to 24 h
              qos             opp                           wilson names opp and regular as its default; named,
                                                            to be sure
              in the queue    1 job                         the same job is requeued; 50 may
                                                            (qos.opp.max_submit_per_user)

              note: rests on what wilson is assumed to have: user.*.qos (yard cluster show wilson)
        "#]],
    );
    check(
        "cedar",
        "gpus_per_node = 1\nmemory = \"default\"\ntime = \"1h\"",
        expect![[r#"
            digits · cedar · 1 GPU = 1 rank × 6 CPUs · 1 h a job

              nodes           1                             default: 1 node
              gpus per node   1                             from yard.toml:3
              ranks per node  1                             launcher none starts one process
              cpus per rank   6                             cedar: 1-6 CPUs a p100 (policy): the least of what
                                                            could be given
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          default                       from yard.toml:4; cedar's default, which is not
                                                            known
              time a job      1 h                           from yard.toml:5
              partition       gpubase                       cedar's default: not named in the script
              account         rrg-kevinlb                   your default on cedar: not named in the script
              in the queue    1 job                         the same job is requeued; no limit known

              note: no type of GPUs is requested: the job may get p100, p100l or v100l; cedar may have others
              note: rests on what cedar is assumed to have: nodes.v100l.cpus, nodes.v100l.memory,
                    nodes.v100l.names and 13 more (yard cluster show cedar)
        "#]],
    );
}
