//! What each rank is started with, by every launcher.

use super::*;
use crate::{EnvChange, JobShape, PLACEHOLDERS, RankCommand, Rendezvous, Values, env_vars, launch};
use model::NodeName;
use std::collections::BTreeSet;

/// The environment that differs between tasks, and the commands, one table a launcher.
#[track_caller]
fn check_launch(text: &str, facts: &ClusterFacts, resume: Option<&str>, want: Expect) {
    let mut shown = String::new();
    for rank in ranks(text, facts, resume) {
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

fn ranks(text: &str, facts: &ClusterFacts, resume: Option<&str>) -> Vec<RankCommand> {
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
    launch(&plan, &shape, &rendezvous, &values).unwrap()
}

#[test]
fn every_placeholder_is_in_the_variable_that_the_table_says() {
    for known in PLACEHOLDERS {
        let text = format!("command = [\"x\", \"{{{}}}\"]\n", known.name);
        for rank in ranks(&text, &laptop(2, vec![]), Some("/l/resume/260.npz")) {
            let value = EnvChange::Set(rank.argv[1].clone());
            assert_eq!(rank.env.get(known.variable), Some(&value), "{}", known.name);
        }
    }
}

#[test]
fn every_variable_of_ours_that_ranks_get_is_in_the_table() {
    let table: BTreeSet<&str> = env_vars::OF_RANKS.iter().map(|(name, _)| *name).collect();
    let mut found: BTreeSet<String> = BTreeSet::new();
    for rank in ranks(DIGITS, &laptop(2, vec![]), None) {
        found.extend(
            rank.env
                .into_keys()
                .filter(|name| name.starts_with("YARD_")),
        );
    }
    // Of one value of `[resume] notify` alone, by whoever writes the file.
    found.insert(env_vars::YARD_STOP_FILE.to_owned());
    assert_eq!(
        found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        table
    );
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
