//! What a plan says, and why.

use super::*;

#[test]
fn digits_on_a_laptop() {
    check(
        DIGITS,
        &[],
        &laptop(2, vec![]),
        expect![[r#"
            digits · local (2 CPUs, 23 GiB, no GPU) · 2 ranks × 1 CPU · 25 s a job

              launcher        jax                           from yard.toml:1
              command         python train.py --read-checkpoints-from {resume} --write-checkpoints-to
                              {checkpoints}
                                                            from yard.toml:2
              command line    srun -N 1 -n 2 python train.py --read-checkpoints-from {resume}
                              --write-checkpoints-to {checkpoints}
                                                            what jax becomes
              gives           JAX_COORDINATOR_ADDRESS=FIRST_NODE:PORT JAX_COORDINATOR_PORT=PORT SLURM_JOB_ID=JOB
                              SLURM_LOCALID=0 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_NODELIST=NODE1
                                                            what jax gives the first task
              nodes           1                             default: 1 node
              ranks per node  2                             from yard.toml:4
              cpus per rank   1                             this machine's 2 CPUs for 2 ranks
              time a job      25 s                          from yard.toml:5
              python          made from /home/me/digits/requirements.txt  from yard.toml:7
              checkpoints     all are kept                  default: no checkpoint is deleted
              comes back on   timeout, preemption, node-failure  default: a run continues until it is done
              resumes with    --from {resume_file} added to the command  from yard.toml:9
              grace           4 s                           default: an eighth of the limit
        "#]],
    );
}

#[test]
fn flags_are_the_strongest_layer() {
    let flags = [
        ("--time", "time", "10m"),
        ("--nodes", "nodes", "2"),
        ("--ntasks-per-node", "ranks_per_node", "1"),
    ];
    check(
        DIGITS,
        &flags,
        &laptop(2, vec![]),
        expect![[r#"
            digits · local (2 CPUs, 23 GiB, no GPU) · 2 nodes × 1 rank = 2 ranks × 1 CPU · 10 min a job

              launcher        jax                           from yard.toml:1
              command         python train.py --read-checkpoints-from {resume} --write-checkpoints-to
                              {checkpoints}
                                                            from yard.toml:2
              command line    srun -N 2 -n 2 python train.py --read-checkpoints-from {resume}
                              --write-checkpoints-to {checkpoints}
                                                            what jax becomes
              gives           JAX_COORDINATOR_ADDRESS=FIRST_NODE:PORT JAX_COORDINATOR_PORT=PORT SLURM_JOB_ID=JOB
                              SLURM_LOCALID=0 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_NODELIST=NODE1,NODE2
                                                            what jax gives the first task
              nodes           2                             from --nodes
              ranks per node  1                             from --ntasks-per-node
              cpus per rank   1                             this machine's 2 CPUs for 2 ranks
              time a job      10 min                        from --time
              python          made from /home/me/digits/requirements.txt  from yard.toml:7
              checkpoints     all are kept                  default: no checkpoint is deleted
              comes back on   timeout, preemption, node-failure  default: a run continues until it is done
              resumes with    --from {resume_file} added to the command  from yard.toml:9
              grace           1 min 15 s                    default: an eighth of the limit
        "#]],
    );
}

#[test]
fn resnet_on_a_cluster() {
    check(
        RESNET,
        &[],
        &wilson(),
        expect![[r#"
            resnet50 · wilson · 2 nodes × 2 v100 = 4 ranks × 16 CPUs · partition gpu_gce · 1 h a job

              launcher        torchrun                      from yard.toml:2
              command         python train.py --data-dir {data}/imagenet  from yard.toml:3
              command line    srun -N 2 -n 2 python -m torch.distributed.run --nnodes=2 --nproc_per_node=2
                              --rdzv_backend=c10d --rdzv_endpoint=FIRST_NODE:PORT --rdzv_id=JOB.RESTART
                              --rdzv_conf=is_host=1 train.py --data-dir {data}/imagenet
                                                            what torchrun becomes
              gives           TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE=[${role_name}${local_rank}:${rank}]:
                                                            what torchrun gives the first task
              nodes           2                             from yard.toml:5
              gpus per node   2 v100                        from yard.toml:6
              ranks per node  2                             torchrun: one rank per GPU
              tasks per node  1                             torchrun starts 2 ranks in each task
              cpus per rank   16                            a node's 32 CPUs for its 2 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          187.5 GiB                     this share of a node's 187.5 GiB
              time a job      1 h                           default of wilson
              partition       gpu_gce                       from yard.toml:16, [cluster.wilson]
              sbatch          --reservation=x               from yard.toml:17, [cluster.wilson]
              modules         cuda/12.4                     from yard.toml:9
              python          conda /home/me/env            from yard.toml:10
              stage in        /home/me/digits/datasets/imagenet.tar  from yard.toml:12
              checkpoints     all are kept                  default: no checkpoint is deleted
              comes back on   timeout, preemption, node-failure  default: a run continues until it is done
              grace           2 min                         default: to save a last checkpoint before the limit
              cluster         wilson                        4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
        "#]],
    );
}

#[test]
fn gpu_memory_chooses_a_type() {
    let text = "command = [\"x\"]\n[resources]\ngpu_memory = \"48G\"\n";
    check(
        text,
        &[],
        &wilson(),
        expect![[r#"
            digits · wilson · 1 a100 = 1 rank × 16 CPUs · 1 h a job

              launcher        none                          one process needs no launcher
              command         x                             from yard.toml:1
              nodes           1                             default: 1 node
              gpus per node   1 a100                        a type or memory of GPUs is requested
              ranks per node  1                             launcher none starts one process
              cpus per rank   16                            a node's 64 CPUs for its 4 GPUs
              cpu binding     each rank at its GPU's socket  where the job has enough CPUs there
              memory          46.9 GiB                      this share of a node's 187.5 GiB
              time a job      1 h                           default of wilson
              python          from PATH                     default: no [environment] is set
              checkpoints     all are kept                  default: no checkpoint is deleted
              comes back on   timeout, preemption, node-failure  default: a run continues until it is done
              grace           2 min                         default: to save a last checkpoint before the limit
              cluster         wilson                        4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
        "#]],
    );
}

/// It was said that there is more than one rank, and that there are "1 ranks".
#[test]
fn one_rank_with_two_gpus_is_one_rank() {
    let flags = [
        ("--gpus-per-node", "gpus_per_node", "2"),
        ("--ntasks-per-node", "ranks_per_node", "1"),
    ];
    let shown = planned("command = [\"true\"]", &flags, &wilson()).map(|it| it.show(&wilson()));
    let shown = shown.unwrap();
    assert!(shown.contains("there is more than one GPU"), "{shown}");
    assert!(shown.contains("1 rank per node for 2 GPUs"), "{shown}");
}

#[test]
fn a_command_without_a_run_file() {
    let mut overrides = overrides(&[("--ntasks-per-node", "ranks_per_node", "2")]);
    overrides.set_command(vec!["hostname".to_owned()]).unwrap();
    let facts = laptop(4, vec![]);
    let input = PlanInput {
        user_config: None,
        run_file: None,
        variables: &Variables::default(),
        overrides: &overrides,
        facts: &facts,
        base: Path::new("/home/me"),
        default_name: "~my run!",
    };
    expect![[r#"
        my-run- · local (4 CPUs, 23 GiB, no GPU) · 2 ranks × 2 CPUs

          launcher        srun                          there is more than one rank
          command         hostname                      from command line
          command line    srun -N 1 -n 2 hostname       what srun becomes
          gives           LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=FIRST_NODE MASTER_PORT=PORT
                          NODE_RANK=0 RANK=0 WORLD_SIZE=2
                                                        what srun gives the first task
          nodes           1                             default: 1 node
          ranks per node  2                             from --ntasks-per-node
          cpus per rank   2                             this machine's 4 CPUs for 2 ranks
          time a job      no limit                      default of local
          python          from PATH                     default: no [environment] is set
          checkpoints     all are kept                  default: no checkpoint is deleted
          comes back on   timeout, preemption, node-failure  default: a run continues until it is done
          grace           2 min                         default: to save a last checkpoint before the limit
    "#]]
    .assert_eq(&plan(&input).unwrap().show(&facts));
}

#[test]
fn layers_lie_over_each_other() {
    let config = r#"
        [resources]
        account = "lab"
        qos = "regular"
        partition = "short"
        time = "1h"
        gpu_type = "v100"
        [notify]
        mail = "me@example.org"
        [environment]
        venv = "envs/torch"
        [cluster.wilson.resources]
        account = "mu2e"
        qos = "opp"
        time = "8h"
    "#;
    let (config, problems) = RunFile::parse_user_config(
        config,
        "config.toml",
        Path::new("/home/me/.config/trainyard"),
    );
    assert_eq!(problems, []);
    let text = r#"
        command = ["python", "train.py"]
        [resources]
        time = "2h"
        [cluster.wilson.resources]
        qos = "test"
    "#;
    let (run_file, problems) = RunFile::parse(text, "yard.toml");
    assert_eq!(problems, []);
    let set = [("SBATCH_PARTITION", "gpu_gce"), ("SBATCH_RESERVATION", "x")];
    let value = |name: &str| {
        let (_, value) = set.iter().find(|(known, _)| *known == name)?;
        Some((*value).to_owned())
    };
    let (variables, problems) = Variables::read(&value);
    assert_eq!(problems, []);
    let input = PlanInput {
        user_config: Some(&config),
        run_file: Some(&run_file),
        variables: &variables,
        overrides: &overrides(&[("--mem", "memory", "8G")]),
        facts: &wilson(),
        base: Path::new("/home/me/digits"),
        default_name: "digits",
    };
    expect![[r#"
        digits · wilson · 1 rank × 32 CPUs · partition gpu_gce · 2 h a job

          launcher        none                          one process needs no launcher
          command         python train.py               from yard.toml:2
          nodes           1                             default: 1 node
          ranks per node  1                             launcher none starts one process
          cpus per rank   32                            a node's 32 CPUs for its 1 rank
          memory          8 GiB                         from --mem
          time a job      2 h                           from yard.toml:4
          partition       gpu_gce                       from SBATCH_PARTITION
          account         mu2e                          from config.toml:13, [cluster.wilson]
          qos             test                          from yard.toml:6, [cluster.wilson]
          python          venv /home/me/.config/trainyard/envs/torch  from config.toml:11
          checkpoints     all are kept                  default: no checkpoint is deleted
          comes back on   timeout, preemption, node-failure  default: a run continues until it is done
          grace           2 min                         default: to save a last checkpoint before the limit
          cluster         wilson                        4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100

          note: SBATCH_RESERVATION is set, which a run leaves out: say it as [resources] sbatch = ["--…"]
    "#]].assert_eq(&plan(&input).unwrap().show(&wilson()));
    // A habit says which GPUs, and asks for none; two here are two v100.
    let with_gpus = overrides(&[("--gpus-per-node", "gpus_per_node", "2")]);
    let input = PlanInput {
        overrides: &with_gpus,
        ..input
    };
    let gpus = plan(&input).unwrap().gpu_type.unwrap();
    assert_eq!(
        (gpus.value.as_str(), gpus.source.is_habit()),
        ("v100", true)
    );
}

#[test]
fn a_plan_survives_its_file() {
    let plan = planned(RESNET, &[], &wilson()).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

proptest::proptest! {
    #[test]
    fn no_wish_panics(
        nodes in 1_u32..,
        ranks in 1_u32..,
        cpus in 1_u32..,
        gpus in proptest::prelude::any::<u32>(),
        launcher in 0_usize..5,
        small in proptest::prelude::any::<bool>(),
    ) {
        let clamp = |number: u32| if small { number % 4 + 1 } else { number };
        let word = crate::Launcher::ALL[launcher].word();
        let text = format!(
            "launcher = \"{word}\"\ncommand = [\"x\"]\n[resources]\nnodes = {}\nranks_per_node = {}\ncpus_per_rank = {}\ngpus_per_node = {}\n",
            clamp(nodes), clamp(ranks), clamp(cpus), if small { gpus % 3 } else { gpus },
        );
        for facts in [laptop(4, gpus_of_test()), wilson()] {
            if let Ok(plan) = planned(&text, &[], &facts) {
                // Never more than there is.
                let on_one = if facts.embedded { plan.nodes.value } else { 1 };
                let used = plan.cpus_per_rank.value * plan.ranks_per_node.value * on_one;
                let most = facts.nodes.iter().map(|group| group.cpus).max();
                proptest::prop_assert!(Some(used) <= most);
                let _ = (plan.show(&facts), plan.script(&place()));
            }
        }
    }
}

fn gpus_of_test() -> Vec<GpuGroup> {
    gpus("a100", 2, 81_920)
}

#[test]
fn a_key_that_says_its_default_changes_no_value() {
    let command = "command = [\"python\", \"train.py\"]\n";
    // What each value came from differs.
    let values = |text: &str| {
        let mut plan = serde_json::to_value(planned(text, &[], &wilson()).unwrap()).unwrap();
        forget_sources(&mut plan);
        plan
    };
    let without = values(command);
    let mut rows: Vec<(String, &crate::KeyRow)> = Vec::new();
    rows.extend(
        crate::top_keys()
            .into_iter()
            .map(|row| (String::new(), row)),
    );
    for section in crate::key_sections() {
        let head = format!("[{}]\n", section.name);
        rows.extend(section.keys.into_iter().map(|row| (head.clone(), row)));
    }
    for (head, row) in rows {
        let Some(value) = row.default.value() else {
            continue;
        };
        let text = format!("{command}{head}{} = {value}\n", row.name);
        assert_eq!(values(&text), without, "{text}");
    }
}

fn forget_sources(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            fields.remove("source");
            fields.values_mut().for_each(forget_sources);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(forget_sources),
        _ => {}
    }
}

#[test]
fn how_a_run_resumes_and_is_told_to_stop_has_rows() {
    let text = "command = [\"x\"]\n[resume]\nargs = [\"--resume\", \"{resume_file}\"]\nnotify = \"SIGUSR1\"\n";
    let facts = laptop(2, vec![]);
    let rows = planned(text, &[], &facts).unwrap().rows(&facts);
    let said = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map(|row| (row.value.as_str(), row.why.as_str()))
    };
    assert_eq!(
        said("resumes with"),
        Some((
            "--resume {resume_file} added to the command",
            "from yard.toml:3"
        ))
    );
    assert_eq!(
        said("told to stop by"),
        Some(("SIGUSR1", "from yard.toml:4"))
    );
}

/// By MPI it starts a daemon on each further node by ssh, and ranks by that.
#[test]
fn of_horovodrun_over_mpi_on_several_nodes_the_binding_is_that_of_the_first() {
    let check = |words: &str, want: &str| {
        let facts = ClusterFacts {
            embedded: true,
            ..wilson()
        };
        // By a program of one's own, which may start it on the first node alone.
        let text = format!(
            "command = [\"./on-first\", {words}, \"x\"]\n\
             [resources]\nnodes = 2\ngpus_per_node = 4\nranks_per_node = 1\n"
        );
        let rows = planned(&text, &[], &facts).unwrap().rows(&facts);
        let row = rows.iter().find(|row| row.name == "cpu binding").unwrap();
        assert_eq!(row.value, want);
    };
    check(
        "\"horovodrun\", \"--mpi\", \"-np\", \"8\"",
        "ranks that horovodrun starts on the first node each at its GPU's socket, others anywhere",
    );
    check(
        "\"horovodrun\", \"-np\", \"8\"",
        "ranks that horovodrun starts each at its GPU's socket",
    );
}

/// A command may start ranks of its own, of which those of `horovodrun` are known by their variables.
#[test]
fn where_a_rank_has_several_gpus_the_binding_says_what_of_its_own_ranks() {
    let check = |program: &str, text: &str, want: &str| {
        let facts = laptop(8, gpus("v100", 4, 32_768));
        let text = format!("command = [\"{program}\", \"-np\", \"4\", \"x\"]\n[resources]\n{text}");
        let rows = planned(&text, &[], &facts).unwrap().rows(&facts);
        let row = rows.iter().find(|row| row.name == "cpu binding").unwrap();
        assert_eq!(row.value, want);
    };
    let several = "gpus_per_node = 4\nranks_per_node = 1\n";
    check(
        "horovodrun",
        several,
        "ranks that horovodrun starts each at its GPU's socket",
    );
    check(
        "starter",
        several,
        "each rank at its GPUs' sockets, and ranks that it starts itself anywhere there",
    );
    check(
        "horovodrun",
        "gpus_per_node = 1\n",
        "each rank at its GPU's socket",
    );
}
