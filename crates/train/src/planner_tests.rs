//! Plans, requests, scripts and launches of small run files.

use crate::{
    EnvChange, JobPlace, JobShape, Overrides, Plan, PlanInput, Rendezvous, RunFile, Values,
    Variables, launch, plan,
};
use expect_test::{Expect, expect};
use model::{ClusterFacts, GpuGroup, Internet, NodeGroup, NodeName, Seconds};
use std::path::{Path, PathBuf};

fn gpus(kind: &str, count: u32, memory_mib: u64) -> Vec<GpuGroup> {
    vec![GpuGroup {
        kind: Some(kind.to_owned()),
        count,
        memory_mib: Some(memory_mib),
    }]
}

fn laptop(cpus: u32, gpus: Vec<GpuGroup>) -> ClusterFacts {
    ClusterFacts {
        name: "local".to_owned(),
        embedded: true,
        nodes: vec![NodeGroup {
            count: 1,
            cpus,
            memory_mib: 23_552,
            gpus,
        }],
        node_local: PathBuf::from("/tmp"),
        internet: Internet::Compute,
        default_time: None,
        time_granularity: Seconds(1),
        comeback: model::Comeback::default(),
    }
}

fn wilson() -> ClusterFacts {
    let group = |count, cpus, gpus| NodeGroup {
        count,
        cpus,
        memory_mib: 192_000,
        gpus,
    };
    ClusterFacts {
        name: "wilson".to_owned(),
        embedded: false,
        nodes: vec![
            group(4, 32, gpus("v100", 2, 32_768)),
            group(1, 64, gpus("a100", 4, 81_920)),
            group(1, 32, gpus("p100", 8, 16_384)),
        ],
        node_local: PathBuf::from("/scratch"),
        internet: Internet::Login,
        default_time: Some(model::TimeLimitRequest::Limit(Seconds(3600))),
        time_granularity: Seconds(60),
        comeback: model::Comeback::default(),
    }
}

fn overrides(flags: &[(&str, &str, &str)]) -> Overrides {
    let mut overrides = Overrides::default();
    for (flag, key, text) in flags {
        overrides.set(flag, key, text).unwrap();
    }
    overrides
}

fn planned(text: &str, flags: &[(&str, &str, &str)], facts: &ClusterFacts) -> Result<Plan, String> {
    let (run_file, problems) = RunFile::parse(text, "yard.toml");
    assert_eq!(problems, []);
    let input = PlanInput {
        user_config: None,
        run_file: Some(&run_file),
        variables: &Variables::default(),
        overrides: &overrides(flags),
        facts,
        base: Path::new("/home/me/digits"),
        default_name: "digits",
    };
    plan(&input).map_err(|refusal| refusal.to_string())
}

#[track_caller]
fn check(text: &str, flags: &[(&str, &str, &str)], facts: &ClusterFacts, want: Expect) {
    let shown = match planned(text, flags, facts) {
        Ok(plan) => plan.show(facts),
        Err(refusal) => format!("error: {refusal}\n"),
    };
    want.assert_eq(&shown);
}

const DIGITS: &str = r#"launcher = "jax"
command = ["python", "train.py", "--read-checkpoints-from", "{resume}", "--write-checkpoints-to", "{checkpoints}"]
[resources]
ranks_per_node = 2
time = "25s"
[environment]
requirements = "./../digits/requirements.txt"
[resume]
args = ["--from", "{resume_file}"]
"#;

const RESNET: &str = r#"name = "resnet50"
launcher = "torchrun"
command = ["python", "train.py", "--data-dir", "{data}/imagenet"]
[resources]
nodes = 2
gpus_per_node = 2
gpu_type = "V100"
[environment]
modules = ["cuda/12.4"]
conda = "../env"
[data]
stage = ["datasets/imagenet.tar"]
[notify]
mail = "me@example.org"
[cluster.wilson]
resources.partition = "gpu_gce"
resources.sbatch = ["--reservation=x"]
"#;

#[test]
fn digits_on_a_laptop() {
    check(
        DIGITS,
        &[],
        &laptop(2, vec![]),
        expect![[r#"
            digits · local (2 CPUs, 23 GiB, no GPU) · 2 ranks × 1 CPU · 25 s a job

              launcher        jax                           asked: yard.toml:1
              command         python train.py --read-checkpoints-from {resume} --write-checkpoints-to
                              {checkpoints}
                                                            asked: yard.toml:2
              nodes           1                             one unless asked
              ranks per node  2                             asked: yard.toml:4
              cpus per rank   1                             2 CPUs for 2 ranks
              time a job      25 s                          asked: yard.toml:5
              python          made of /home/me/digits/requirements.txt  asked: yard.toml:7
              checkpoints     all are kept                  deleting is asked for
              comes back on   timeout, preemption, node-failure  a run goes on to its end
              grace           5 s                           a fifth of the limit
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

              launcher        jax                           asked: yard.toml:1
              command         python train.py --read-checkpoints-from {resume} --write-checkpoints-to
                              {checkpoints}
                                                            asked: yard.toml:2
              nodes           2                             asked: --nodes
              ranks per node  1                             asked: --ntasks-per-node
              cpus per rank   1                             2 CPUs for 2 ranks
              time a job      10 min                        asked: --time
              python          made of /home/me/digits/requirements.txt  asked: yard.toml:7
              checkpoints     all are kept                  deleting is asked for
              comes back on   timeout, preemption, node-failure  a run goes on to its end
              grace           2 min                         before the limit, for the last checkpoint
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

          launcher        torchrun                      asked: yard.toml:2
          command         python train.py --data-dir {data}/imagenet  asked: yard.toml:3
          nodes           2                             asked: yard.toml:5
          gpus per node   2 v100                        asked: yard.toml:6
          ranks per node  2                             torchrun: a rank a GPU
          tasks per node  1                             torchrun starts its own 2
          cpus per rank   16                            a node's 32 CPUs for its 2 GPUs
          memory          187.5 GiB                     this share of a node's 187.5 GiB
          time a job      1 h                           wilson: the default
          partition       gpu_gce                       asked: yard.toml:16, [cluster.wilson]
          sbatch          --reservation=x               asked: yard.toml:17, [cluster.wilson]
          modules         cuda/12.4                     asked: yard.toml:9
          python          conda /home/me/env            asked: yard.toml:10
          stage in        /home/me/digits/datasets/imagenet.tar  asked: yard.toml:12
          checkpoints     all are kept                  deleting is asked for
          comes back on   timeout, preemption, node-failure  a run goes on to its end
          grace           2 min                         before the limit, for the last checkpoint
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

          launcher        none                          one process
          command         x                             asked: yard.toml:1
          nodes           1                             one unless asked
          gpus per node   1 a100                        a kind of GPU is asked
          ranks per node  1                             none is one process
          cpus per rank   16                            a node's 64 CPUs for its 4 GPUs
          memory          46.9 GiB                      this share of a node's 187.5 GiB
          time a job      1 h                           wilson: the default
          python          as it is                      what the job finds
          checkpoints     all are kept                  deleting is asked for
          comes back on   timeout, preemption, node-failure  a run goes on to its end
          grace           2 min                         before the limit, for the last checkpoint
          cluster         wilson                        4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
    "#]],
    );
}

#[test]
fn refusals() {
    let local = laptop(2, vec![]);
    let one = laptop(8, gpus("a100", 1, 81_920));
    let wilson = wilson();
    let rows = [
        (
            "launcher = \"srun\"\ncommand = [\"x\"]\n[resources]\ngpus_per_node = 8\ngpu_type = \"v100\"\n",
            &wilson,
        ),
        (
            "command = [\"x\"]\n[resources]\ngpus_per_node = 1\n",
            &local,
        ),
        ("command = [\"x\"]\n[resources]\ngpus_per_node = 2\n", &one),
        (
            "command = [\"x\"]\n[resources]\ngpus_per_node = 1\ngpu_type = \"h100\"\n",
            &one,
        ),
        ("command = [\"x\"]\n[resources]\nnodes = 3\n", &local),
        (
            "command = [\"x\"]\n[resources]\nranks_per_node = 2\ncpus_per_rank = 2\n",
            &local,
        ),
        ("command = [\"x\"]\n[resources]\nmemory = \"1T\"\n", &local),
        ("command = [\"x\"]\n[resources]\nnodes = 9\n", &wilson),
        (
            "launcher = \"none\"\ncommand = [\"x\"]\n[resources]\nnodes = 2\n",
            &local,
        ),
        ("launcher = \"srun\"\n[resources]\nnodes = 2\n", &local),
        (
            "command = [\"x\"]\n[resources]\ntime = \"1m\"\n[resume]\ngrace = \"2m\"\n",
            &local,
        ),
        (
            "name = \"bash\"\nlauncher = \"lightning\"\ncommand = [\"x\"]\n",
            &local,
        ),
    ];
    let shown = rows.map(|(text, facts)| planned(text, &[], facts).unwrap_err());
    expect![[r#"
        wilson has no node with 8 v100
          asked   gpus_per_node = 8, gpu_type = "v100"   (yard.toml:4)
          there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
          do      nodes = 4 with gpus_per_node = 2

        local has no GPU
          asked   gpus_per_node = 1   (yard.toml:3)
          there   2 CPUs, 23 GiB, no GPU
          do      leave gpus_per_node out, or name a cluster that has some with --on

        local has fewer than 2 GPUs
          asked   gpus_per_node = 2   (yard.toml:3)
          there   8 CPUs, 23 GiB, 1 a100
          do      gpus_per_node = 1

        local has fewer than 1 h100
          asked   gpus_per_node = 1, gpu_type = "h100"   (yard.toml:3)
          there   8 CPUs, 23 GiB, 1 a100
          do      gpu_type is one of a100

        local has fewer than 3 CPUs
          asked   nodes = 3, ranks_per_node = 1   (srun: one a node unless asked)
          there   2 CPUs, 23 GiB, no GPU
          do      at most 2 ranks over all virtual nodes

        local has fewer than 4 CPUs
          asked   cpus_per_rank = 2 (yard.toml:4), ranks_per_node = 2   (yard.toml:3)
          there   2 CPUs, 23 GiB, no GPU
          do      cpus_per_rank = 1

        local has no node with 1 TiB of memory
          asked   memory = 1 TiB   (yard.toml:3)
          there   2 CPUs, 23 GiB, no GPU
          do      memory = "23552M" or less

        wilson has 6 such nodes
          asked   nodes = 9   (yard.toml:3)
          there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
          do      nodes = 6

        launcher none is one process, and nodes is 2
          asked   launcher = "none" (yard.toml:1), nodes = 2 (yard.toml:4)
          there   srun, torchrun, lightning and jax start several
          do      launcher = "srun" for a rank a GPU, or one node and one rank

        there is no command to run
          asked   a run file that sets launcher (yard.toml:1)
          there   no command in it, and none after -- on the command line
          do      add command = ["python", "train.py"] above its first [section]

        the grace is as long as the job
          asked   grace = 2 min (yard.toml:5)
          there   time = 1 min (yard.toml:3)
          do      a shorter grace, or a longer time

        Lightning takes a job named bash for an interactive one
          asked   name = "bash" (yard.toml:1)
          there   Lightning's Slurm mode is off in jobs named bash or interactive
          do      give the run another name"#]]
    .assert_eq(&shown.join("\n\n"));
}

#[test]
fn flags_that_are_not_understood() {
    let mut overrides = Overrides::default();
    let problems = [
        overrides.set("--time", "time", "25").unwrap_err(),
        overrides
            .set("--gpus-per-node", "gpus_per_node", "v100:x")
            .unwrap_err(),
        overrides
            .set_command(vec!["a".to_owned(), "{runn}".to_owned()])
            .unwrap_err(),
    ];
    let shown = problems.map(|problem| problem.to_string());
    expect![[r#"
        25 has no unit
           --> command line:1:8
           1 │ --time=25
             │        ^^
          help: write "25s", "25m" or "25h"

        gpus_per_node is text
           --> command line:1:22
           1 │ --gpus-per-node=v100:x
             │                      ^ expected a whole number

        unknown placeholder {runn}
           --> command line:1:3
           1 │ a {runn}
             │   ^^^^^^ did you mean {run}?
          help: known are {data} {checkpoints} {resume} {resume_file} {logs} {run} {nodes} {gpus_per_node} {world_size} {repeat}; {{ is a brace"#]].assert_eq(&shown.join("\n\n"));
    overrides
        .set("--gpus-per-node", "gpus_per_node", "v100:2")
        .unwrap();
    assert_eq!(overrides.resources.gpu_type.unwrap().value, "v100");
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

          launcher        srun                          more than one rank is asked
          command         hostname                      asked: command line
          nodes           1                             one unless asked
          ranks per node  2                             asked: --ntasks-per-node
          cpus per rank   2                             4 CPUs for 2 ranks
          time a job      not asked                     local has the default
          python          as it is                      what the job finds
          checkpoints     all are kept                  deleting is asked for
          comes back on   timeout, preemption, node-failure  a run goes on to its end
          grace           2 min                         before the limit, for the last checkpoint
    "#]]
    .assert_eq(&plan(&input).unwrap().show(&facts));
}

fn place() -> JobPlace<'static> {
    JobPlace {
        yard: Path::new("/opt/yard"),
        run_folder: Path::new("/scratch/my runs/digits-k3f9"),
        output: "/scratch/my runs/digits-k3f9/logs/%j.conductor",
        token: "digits-k3f9.1.7Q",
    }
}

#[test]
fn scripts() {
    let digits = planned(DIGITS, &[], &laptop(2, vec![])).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=digits
        #SBATCH --nodes=1
        #SBATCH --ntasks-per-node=2
        #SBATCH --cpus-per-task=1
        #SBATCH --time=00:01:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --open-mode=append
        #SBATCH --requeue

        exec /opt/yard job conductor '/scratch/my runs/digits-k3f9' "$@"
    "##]]
    .assert_eq(&digits.script(&place()));
    let resnet = planned(RESNET, &[], &wilson()).unwrap();
    expect![[r##"
        #!/bin/bash
        #SBATCH --job-name=resnet50
        #SBATCH --partition=gpu_gce
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --cpus-per-task=32
        #SBATCH --gpus-per-node=v100:2
        #SBATCH --mem=192000M
        #SBATCH --time=01:00:00
        #SBATCH --chdir="/scratch/my runs/digits-k3f9"
        #SBATCH --output="/scratch/my runs/digits-k3f9/logs/%j.conductor"
        #SBATCH --comment=digits-k3f9.1.7Q
        #SBATCH --mail-user=me@example.org
        #SBATCH --mail-type=END,FAIL
        #SBATCH --open-mode=append
        #SBATCH --requeue
        #SBATCH --reservation=x

        exec /opt/yard job conductor '/scratch/my runs/digits-k3f9' "$@"
    "##]]
    .assert_eq(&resnet.script(&place()));
}

/// The environment that differs between tasks, and the commands, one table a launcher.
#[track_caller]
fn check_launch(text: &str, facts: &ClusterFacts, resume: Option<&str>, want: Expect) {
    let plan = planned(text, &[], facts).unwrap();
    let nodes = plan.nodes.value;
    let shape = JobShape {
        job: 17,
        restart: 1,
        nodes: (1..=nodes)
            .map(|n| NodeName::from(format!("n{n}")))
            .collect(),
        gpus: vec![plan.gpus_per_node.value; nodes as usize],
    };
    let rendezvous = Rendezvous {
        address: "127.0.0.1".to_owned(),
        port: 41_733,
    };
    let values = Values {
        data: PathBuf::from("/l/data"),
        checkpoints: PathBuf::from("/l/checkpoints"),
        resume: PathBuf::from("/l/resume"),
        resume_file: resume.map(PathBuf::from),
        logs: PathBuf::from("/r/tensorboard"),
        run: "digits-k3f9".to_owned(),
    };
    let mut shown = String::new();
    for rank in launch(&plan, &shape, &rendezvous, &values).unwrap() {
        shown += &format!(
            "task {} on node {}: {}\n",
            rank.task,
            rank.node,
            rank.argv.join(" ")
        );
        for (name, change) in &rank.env {
            let value = match change {
                EnvChange::Set(value) => format!("= {value}"),
                EnvChange::Default(value) => format!("?= {value}"),
                EnvChange::Remove => "removed".to_owned(),
            };
            let dull = name.starts_with("PET_") && name != "PET_NNODES";
            if !dull && (rank.task == 0 || !name.starts_with("YARD_")) {
                shown += &format!("  {name} {value}\n");
            }
        }
    }
    want.assert_eq(&shown);
}

#[test]
fn jax_ranks() {
    check_launch(
        DIGITS,
        &laptop(2, vec![]),
        Some("/l/resume/260.npz"),
        expect![[r#"
            task 0 on node 0: python train.py --read-checkpoints-from /l/resume --write-checkpoints-to /l/checkpoints --from /l/resume/260.npz
              JAX_COORDINATOR_ADDRESS = 127.0.0.1:41733
              JAX_COORDINATOR_PORT = 41733
              OMPI_MCA_orte_hnp_uri removed
              OMP_NUM_THREADS ?= 1
              PYTHONUNBUFFERED ?= 1
              SLURM_JOB_ID = 17
              SLURM_LOCALID = 0
              SLURM_NTASKS = 2
              SLURM_PROCID = 0
              SLURM_STEP_NODELIST ?= n1
              YARD_CHECKPOINTS = /l/checkpoints
              YARD_COORDINATOR = 127.0.0.1:41733
              YARD_DATA = /l/data
              YARD_GPUS_PER_NODE = 0
              YARD_LOCAL_PROCESS_ID = 0
              YARD_LOGS = /r/tensorboard
              YARD_NODES = 1
              YARD_NUM_PROCESSES = 2
              YARD_PROCESS_ID = 0
              YARD_REPEAT = 1
              YARD_RESUME = /l/resume
              YARD_RESUME_FILE = /l/resume/260.npz
              YARD_RUN = digits-k3f9
              YARD_WORLD_SIZE = 2
            task 1 on node 0: python train.py --read-checkpoints-from /l/resume --write-checkpoints-to /l/checkpoints --from /l/resume/260.npz
              JAX_COORDINATOR_ADDRESS = 127.0.0.1:41733
              JAX_COORDINATOR_PORT = 41733
              OMPI_MCA_orte_hnp_uri removed
              OMP_NUM_THREADS ?= 1
              PYTHONUNBUFFERED ?= 1
              SLURM_JOB_ID = 17
              SLURM_LOCALID = 1
              SLURM_NTASKS = 2
              SLURM_PROCID = 1
              SLURM_STEP_NODELIST ?= n1
        "#]],
    );
}

#[test]
fn jax_with_several_gpus_a_rank() {
    let text = "launcher = \"jax\"\ncommand = [\"x\"]\n[resources]\ngpus_per_node = 4\nranks_per_node = 2\n";
    check_launch(
        text,
        &laptop(8, gpus("a100", 4, 81_920)),
        None,
        expect![[r#"
            task 0 on node 0: x
              CUDA_DEVICE_ORDER ?= PCI_BUS_ID
              JAX_COORDINATOR_ADDRESS = 127.0.0.1:41733
              JAX_COORDINATOR_PORT = 41733
              JAX_LOCAL_DEVICE_IDS = 0,1
              OMPI_MCA_orte_hnp_uri removed
              OMP_NUM_THREADS ?= 4
              PYTHONUNBUFFERED ?= 1
              SLURM_JOB_ID = 17
              SLURM_LOCALID = 0
              SLURM_NTASKS = 2
              SLURM_PROCID = 0
              SLURM_STEP_NODELIST ?= n1
              YARD_CHECKPOINTS = /l/checkpoints
              YARD_COORDINATOR = 127.0.0.1:41733
              YARD_DATA = /l/data
              YARD_GPUS_PER_NODE = 4
              YARD_LOCAL_PROCESS_ID = 0
              YARD_LOGS = /r/tensorboard
              YARD_NODES = 1
              YARD_NUM_PROCESSES = 2
              YARD_PROCESS_ID = 0
              YARD_REPEAT = 1
              YARD_RESUME = /l/resume
              YARD_RESUME_FILE removed
              YARD_RUN = digits-k3f9
              YARD_WORLD_SIZE = 2
            task 1 on node 0: x
              CUDA_DEVICE_ORDER ?= PCI_BUS_ID
              JAX_COORDINATOR_ADDRESS = 127.0.0.1:41733
              JAX_COORDINATOR_PORT = 41733
              JAX_LOCAL_DEVICE_IDS = 2,3
              OMPI_MCA_orte_hnp_uri removed
              OMP_NUM_THREADS ?= 4
              PYTHONUNBUFFERED ?= 1
              SLURM_JOB_ID = 17
              SLURM_LOCALID = 1
              SLURM_NTASKS = 2
              SLURM_PROCID = 1
              SLURM_STEP_NODELIST ?= n1
        "#]],
    );
}

#[test]
fn torch_ranks() {
    let text = "launcher = \"srun\"\ncommand = [\"python\", \"t.py\"]\n[resources]\nnodes = 2\n";
    check_launch(
        text,
        &laptop(2, vec![]),
        None,
        expect![[r#"
        task 0 on node 0: python t.py
          LOCAL_RANK = 0
          LOCAL_WORLD_SIZE = 1
          MASTER_ADDR = 127.0.0.1
          MASTER_PORT = 41733
          NODE_RANK = 0
          OMP_NUM_THREADS ?= 1
          PYTHONUNBUFFERED ?= 1
          RANK = 0
          WORLD_SIZE = 2
          YARD_CHECKPOINTS = /l/checkpoints
          YARD_COORDINATOR = 127.0.0.1:41733
          YARD_DATA = /l/data
          YARD_GPUS_PER_NODE = 0
          YARD_LOCAL_PROCESS_ID = 0
          YARD_LOGS = /r/tensorboard
          YARD_NODES = 2
          YARD_NUM_PROCESSES = 2
          YARD_PROCESS_ID = 0
          YARD_REPEAT = 1
          YARD_RESUME = /l/resume
          YARD_RESUME_FILE removed
          YARD_RUN = digits-k3f9
          YARD_WORLD_SIZE = 2
        task 1 on node 1: python t.py
          LOCAL_RANK = 0
          LOCAL_WORLD_SIZE = 1
          MASTER_ADDR = 127.0.0.1
          MASTER_PORT = 41733
          NODE_RANK = 1
          OMP_NUM_THREADS ?= 1
          PYTHONUNBUFFERED ?= 1
          RANK = 1
          WORLD_SIZE = 2
    "#]],
    );
}

#[test]
fn lightning_ranks() {
    let text =
        "launcher = \"lightning\"\ncommand = [\"python\", \"t.py\"]\n[resources]\nnodes = 2\n";
    check_launch(
        text,
        &laptop(2, vec![]),
        None,
        expect![[r#"
        task 0 on node 0: python t.py
          LOCAL_RANK = 0
          LOCAL_WORLD_SIZE = 1
          MASTER_ADDR = 127.0.0.1
          MASTER_PORT = 41733
          NODE_RANK = 0
          OMP_NUM_THREADS ?= 1
          PYTHONUNBUFFERED ?= 1
          RANK = 0
          SLURM_NODELIST = n1,n2
          SLURM_NTASKS_PER_NODE = 1
          WORLD_SIZE = 2
          YARD_CHECKPOINTS = /l/checkpoints
          YARD_COORDINATOR = 127.0.0.1:41733
          YARD_DATA = /l/data
          YARD_GPUS_PER_NODE = 0
          YARD_LOCAL_PROCESS_ID = 0
          YARD_LOGS = /r/tensorboard
          YARD_NODES = 2
          YARD_NUM_PROCESSES = 2
          YARD_PROCESS_ID = 0
          YARD_REPEAT = 1
          YARD_RESUME = /l/resume
          YARD_RESUME_FILE removed
          YARD_RUN = digits-k3f9
          YARD_WORLD_SIZE = 2
        task 1 on node 1: python t.py
          LOCAL_RANK = 0
          LOCAL_WORLD_SIZE = 1
          MASTER_ADDR = 127.0.0.1
          MASTER_PORT = 41733
          NODE_RANK = 1
          OMP_NUM_THREADS ?= 1
          PYTHONUNBUFFERED ?= 1
          RANK = 1
          SLURM_NODELIST = n1,n2
          SLURM_NTASKS_PER_NODE = 1
          WORLD_SIZE = 2
    "#]],
    );
}

#[test]
fn one_process() {
    check_launch(
        "command = [\"./train\"]\n",
        &laptop(2, vec![]),
        None,
        expect![[r#"
            task 0 on node 0: ./train
              OMP_NUM_THREADS ?= 2
              PYTHONUNBUFFERED ?= 1
              YARD_CHECKPOINTS = /l/checkpoints
              YARD_COORDINATOR = 127.0.0.1:41733
              YARD_DATA = /l/data
              YARD_GPUS_PER_NODE = 0
              YARD_LOCAL_PROCESS_ID = 0
              YARD_LOGS = /r/tensorboard
              YARD_NODES = 1
              YARD_NUM_PROCESSES = 1
              YARD_PROCESS_ID = 0
              YARD_REPEAT = 1
              YARD_RESUME = /l/resume
              YARD_RESUME_FILE removed
              YARD_RUN = digits-k3f9
              YARD_WORLD_SIZE = 1
        "#]],
    );
}

#[test]
fn torchrun_agents() {
    let text = "launcher = \"torchrun\"\ncommand = [\"python3.11\", \"t.py\", \"{world_size}\"]\n[resources]\nnodes = 2\nranks_per_node = 2\n";
    check_launch(
        text,
        &laptop(8, vec![]),
        None,
        expect![[r#"
        task 0 on node 0: python3.11 -m torch.distributed.run --nnodes=2 --node_rank=0 --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=41733 t.py 4
          LOCAL_RANK removed
          LOCAL_WORLD_SIZE removed
          MASTER_ADDR removed
          MASTER_PORT removed
          NODE_RANK removed
          OMP_NUM_THREADS ?= 2
          PET_NNODES removed
          PYTHONUNBUFFERED ?= 1
          RANK removed
          WORLD_SIZE removed
          YARD_CHECKPOINTS = /l/checkpoints
          YARD_COORDINATOR = 127.0.0.1:41733
          YARD_DATA = /l/data
          YARD_GPUS_PER_NODE = 0
          YARD_LOCAL_PROCESS_ID = 0
          YARD_LOGS = /r/tensorboard
          YARD_NODES = 2
          YARD_NUM_PROCESSES = 2
          YARD_PROCESS_ID = 0
          YARD_REPEAT = 1
          YARD_RESUME = /l/resume
          YARD_RESUME_FILE removed
          YARD_RUN = digits-k3f9
          YARD_WORLD_SIZE = 4
        task 1 on node 1: python3.11 -m torch.distributed.run --nnodes=2 --node_rank=1 --nproc_per_node=2 --master_addr=127.0.0.1 --master_port=41733 t.py 4
          LOCAL_RANK removed
          LOCAL_WORLD_SIZE removed
          MASTER_ADDR removed
          MASTER_PORT removed
          NODE_RANK removed
          OMP_NUM_THREADS ?= 2
          PET_NNODES removed
          PYTHONUNBUFFERED ?= 1
          RANK removed
          WORLD_SIZE removed
    "#]],
    );
    let commands = [
        r#"["python", "-u", "t.py"]"#,
        r#"["/opt/bin/python", "-m", "my.module", "-x"]"#,
        r#"["python", "-X", "dev", "t.py"]"#,
        r#"["./train", "--fast"]"#,
        r#"["python", "-u", "-O", "t.py"]"#,
    ];
    let shown = commands.map(|command| {
        let text = format!("launcher = \"torchrun\"\ncommand = {command}\n");
        let plan = planned(&text, &[], &laptop(2, vec![])).unwrap();
        let shape = JobShape {
            job: 1,
            restart: 0,
            nodes: vec![NodeName::new("n1")],
            gpus: vec![0],
        };
        let rendezvous = Rendezvous {
            address: "::1".to_owned(),
            port: 1,
        };
        let values = Values {
            data: PathBuf::new(),
            checkpoints: PathBuf::new(),
            resume: PathBuf::new(),
            resume_file: None,
            logs: PathBuf::new(),
            run: String::new(),
        };
        let commands = launch(&plan, &shape, &rendezvous, &values).unwrap();
        commands[0].argv.join(" ")
    });
    expect![[r#"
        python -m torch.distributed.run --nnodes=1 --node_rank=0 --nproc_per_node=1 --master_addr=[::1] --master_port=1 t.py
        /opt/bin/python -m torch.distributed.run --nnodes=1 --node_rank=0 --nproc_per_node=1 --master_addr=[::1] --master_port=1 -m my.module -x
        torchrun --nnodes=1 --node_rank=0 --nproc_per_node=1 --master_addr=[::1] --master_port=1 --no_python python -X dev t.py
        torchrun --nnodes=1 --node_rank=0 --nproc_per_node=1 --master_addr=[::1] --master_port=1 --no_python ./train --fast
        torchrun --nnodes=1 --node_rank=0 --nproc_per_node=1 --master_addr=[::1] --master_port=1 --no_python python -u -O t.py"#]].assert_eq(&shown.join("\n"));
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

          launcher        none                          one process
          command         python train.py               asked: yard.toml:2
          nodes           1                             one unless asked
          ranks per node  1                             none is one process
          cpus per rank   32                            all 32 CPUs
          memory          8 GiB                         asked: --mem
          time a job      2 h                           asked: yard.toml:4
          partition       gpu_gce                       asked: SBATCH_PARTITION
          account         mu2e                          asked: config.toml:13, [cluster.wilson]
          qos             test                          asked: yard.toml:6, [cluster.wilson]
          python          venv /home/me/.config/trainyard/envs/torch  asked: config.toml:11
          checkpoints     all are kept                  deleting is asked for
          comes back on   timeout, preemption, node-failure  a run goes on to its end
          grace           2 min                         before the limit, for the last checkpoint
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
