//! What each rank is started with, by every launcher.

use super::*;
use crate::{
    EnvChange, JobShape, Launch, Launcher, PLACEHOLDERS, RankCommand, Rendezvous, Values, env_vars,
    launch,
};
use model::NodeName;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The environment that differs between tasks, and the commands, one table a launcher.
#[track_caller]
fn check_launch(text: &str, facts: &ClusterFacts, resume: Option<&str>, want: Expect) {
    let mut shown = String::new();
    let Launch { head, ranks } = launched(text, facts, resume, "127.0.0.1");
    for rank in head.into_iter().chain(ranks) {
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

pub(super) fn ranks(text: &str, facts: &ClusterFacts, resume: Option<&str>) -> Vec<RankCommand> {
    launched(text, facts, resume, "127.0.0.1").ranks
}

fn launched(text: &str, facts: &ClusterFacts, resume: Option<&str>, address: &str) -> Launch {
    let plan = planned(text, &[], facts).unwrap();
    let nodes = plan.nodes.value;
    let shape = JobShape {
        job: 17,
        restart: 1,
        nodes: (1..=nodes)
            .map(|n| NodeName::from(format!("n{n}")))
            .collect(),
        gpus: plan.gpus_of_nodes(),
        addresses: (1..=nodes).map(|n| format!("10.0.0.{n}")).collect(),
    };
    let rendezvous = Rendezvous {
        address: address.to_owned(),
        port: 41_733,
    };
    let values = Values {
        data: PathBuf::from("/l/data"),
        checkpoints: PathBuf::from("/l/checkpoints"),
        resume: PathBuf::from("/l/resume"),
        resume_file: resume.map(PathBuf::from),
        logs: PathBuf::from("/r/tensorboard"),
        run: "digits-k3f9".to_owned(),
        code: PathBuf::from("/r/code"),
        project: "shop".to_owned(),
        scratch: PathBuf::from("/r/scratch"),
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
              SLURM_TMPDIR ?= /l/data
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
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
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
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
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
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
            task 1 on node 1: python t.py
              LOCAL_RANK = 0
              LOCAL_WORLD_SIZE = 1
              MASTER_ADDR = 127.0.0.1
              MASTER_PORT = 41733
              NODE_RANK = 1
              OMP_NUM_THREADS ?= 1
              PYTHONUNBUFFERED ?= 1
              RANK = 1
              SLURM_TMPDIR ?= /l/data
              WORLD_SIZE = 2
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
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
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
              WORLD_SIZE = 2
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
              SLURM_TMPDIR ?= /l/data
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
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
            task 0 on node 0: python3.11 -m torch.distributed.run --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=127.0.0.1:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 t.py 4
              LOCAL_RANK removed
              LOCAL_WORLD_SIZE removed
              MASTER_ADDR removed
              MASTER_PORT removed
              NODE_RANK removed
              OMP_NUM_THREADS ?= 2
              PET_NNODES removed
              PYTHONUNBUFFERED ?= 1
              RANK removed
              SLURM_TMPDIR ?= /l/data
              TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE ?= [${role_name}${local_rank}:${rank}]:
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
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
            task 1 on node 1: python3.11 -m torch.distributed.run --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=127.0.0.1:41733 --rdzv_id=17.1 --rdzv_conf=is_host=0 t.py 4
              LOCAL_RANK removed
              LOCAL_WORLD_SIZE removed
              MASTER_ADDR removed
              MASTER_PORT removed
              NODE_RANK removed
              OMP_NUM_THREADS ?= 2
              PET_NNODES removed
              PYTHONUNBUFFERED ?= 1
              RANK removed
              SLURM_TMPDIR ?= /l/data
              TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE ?= [${role_name}${local_rank}:${rank}]:
              WORLD_SIZE removed
              exp_name ?= digits
              project_name ?= shop
              scratch_dir ?= /r/scratch
              source_dir ?= /r/code
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
        let launch = launched(&text, &laptop(2, vec![]), None, "::1");
        launch.ranks[0].argv.join(" ")
    });
    expect![[r#"
        python -m torch.distributed.run --nnodes=1 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=[::1]:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 t.py
        /opt/bin/python -m torch.distributed.run --nnodes=1 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=[::1]:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 -m my.module -x
        torchrun --nnodes=1 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=[::1]:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 --no_python python -X dev t.py
        torchrun --nnodes=1 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=[::1]:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 --no_python ./train --fast
        torchrun --nnodes=1 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=[::1]:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 --no_python python -u -O t.py"#]].assert_eq(&shown.join("\n"));
}

/// What a table of launchers would repeat: only what differs from launcher `srun`.
#[track_caller]
fn check_others(launcher: &str, more: &str, want: Expect) {
    let text = |launcher: &str, more: &str| {
        format!(
            "launcher = \"{launcher}\"\ncommand = [\"python\", \"t.py\", \"--lr\", \"1\"]\n{more}\n[resources]\nnodes = 2\nranks_per_node = 2\n"
        )
    };
    let facts = laptop(8, vec![]);
    let plain = ranks(&text("srun", ""), &facts, None);
    let Launch { head, ranks } = launched(&text(launcher, more), &facts, None, "127.0.0.1");
    let mut shown = String::new();
    for (title, rank) in head
        .iter()
        .map(|head| ("head", head))
        .chain(ranks.iter().map(|rank| ("task", rank)))
    {
        shown += &format!(
            "{title} {} on node {}: {}\n",
            rank.task,
            rank.node,
            rank.argv.join(" ")
        );
        let of_srun = plain
            .iter()
            .find(|plain| plain.task == rank.task && title == "task")
            .map(|plain| &plain.env);
        for (name, change) in &rank.env {
            if of_srun.and_then(|env| env.get(name)) != Some(change) {
                let _ = writeln!(shown, "  {name} {change:?}");
            }
        }
    }
    want.assert_eq(&shown);
}

#[test]
fn horovod_ranks() {
    check_others(
        "horovod",
        "",
        expect![[r#"
        task 0 on node 0: python t.py --lr 1
          HOROVOD_CONTROLLER Set("gloo")
          HOROVOD_CPU_OPERATIONS Set("gloo")
          HOROVOD_CROSS_RANK Set("0")
          HOROVOD_CROSS_SIZE Set("2")
          HOROVOD_GLOO_IFACE Default("lo")
          HOROVOD_GLOO_RENDEZVOUS_ADDR Set("127.0.0.1")
          HOROVOD_GLOO_RENDEZVOUS_PORT Set("41733")
          HOROVOD_HOSTNAME Set("n1")
          HOROVOD_LOCAL_RANK Set("0")
          HOROVOD_LOCAL_SIZE Set("2")
          HOROVOD_RANK Set("0")
          HOROVOD_SIZE Set("4")
          OMPI_COMM_WORLD_RANK Remove
          PMIX_RANK Remove
          PMI_RANK Remove
        task 1 on node 0: python t.py --lr 1
          HOROVOD_CONTROLLER Set("gloo")
          HOROVOD_CPU_OPERATIONS Set("gloo")
          HOROVOD_CROSS_RANK Set("0")
          HOROVOD_CROSS_SIZE Set("2")
          HOROVOD_GLOO_IFACE Default("lo")
          HOROVOD_GLOO_RENDEZVOUS_ADDR Set("127.0.0.1")
          HOROVOD_GLOO_RENDEZVOUS_PORT Set("41733")
          HOROVOD_HOSTNAME Set("n1")
          HOROVOD_LOCAL_RANK Set("1")
          HOROVOD_LOCAL_SIZE Set("2")
          HOROVOD_RANK Set("1")
          HOROVOD_SIZE Set("4")
          OMPI_COMM_WORLD_RANK Remove
          PMIX_RANK Remove
          PMI_RANK Remove
        task 2 on node 1: python t.py --lr 1
          HOROVOD_CONTROLLER Set("gloo")
          HOROVOD_CPU_OPERATIONS Set("gloo")
          HOROVOD_CROSS_RANK Set("1")
          HOROVOD_CROSS_SIZE Set("2")
          HOROVOD_GLOO_IFACE Default("lo")
          HOROVOD_GLOO_RENDEZVOUS_ADDR Set("127.0.0.1")
          HOROVOD_GLOO_RENDEZVOUS_PORT Set("41733")
          HOROVOD_HOSTNAME Set("n2")
          HOROVOD_LOCAL_RANK Set("0")
          HOROVOD_LOCAL_SIZE Set("2")
          HOROVOD_RANK Set("2")
          HOROVOD_SIZE Set("4")
          OMPI_COMM_WORLD_RANK Remove
          PMIX_RANK Remove
          PMI_RANK Remove
        task 3 on node 1: python t.py --lr 1
          HOROVOD_CONTROLLER Set("gloo")
          HOROVOD_CPU_OPERATIONS Set("gloo")
          HOROVOD_CROSS_RANK Set("1")
          HOROVOD_CROSS_SIZE Set("2")
          HOROVOD_GLOO_IFACE Default("lo")
          HOROVOD_GLOO_RENDEZVOUS_ADDR Set("127.0.0.1")
          HOROVOD_GLOO_RENDEZVOUS_PORT Set("41733")
          HOROVOD_HOSTNAME Set("n2")
          HOROVOD_LOCAL_RANK Set("1")
          HOROVOD_LOCAL_SIZE Set("2")
          HOROVOD_RANK Set("3")
          HOROVOD_SIZE Set("4")
          OMPI_COMM_WORLD_RANK Remove
          PMIX_RANK Remove
          PMI_RANK Remove
    "#]],
    );
}

#[test]
fn mpi_ranks() {
    check_others(
        "mpi",
        "launcher_options = [\"--tag-output\"]",
        expect![[r#"
            head 0 on node 0: mpirun -np 4 --map-by slot --bind-to none --tag-output
              OMPI_ALLOW_RUN_AS_ROOT Default("1")
              OMPI_ALLOW_RUN_AS_ROOT_CONFIRM Default("1")
              SLURM_CPUS_PER_TASK Set("4")
              SLURM_GPU_BIND Set("none")
              SLURM_JOB_NODELIST Set("n1,n2")
              SLURM_JOB_NUM_NODES Set("2")
              SLURM_MPI_TYPE Remove
              SLURM_NNODES Set("2")
              SLURM_NODELIST Set("n1,n2")
              SLURM_NPROCS Remove
              SLURM_NTASKS Set("4")
              SLURM_NTASKS_PER_NODE Remove
              SLURM_OVERLAP Set("1")
              SLURM_TASKS_PER_NODE Set("2(x2)")
              SRUN_CPUS_PER_TASK Set("4")
            task 0 on node 0: python t.py --lr 1
            task 1 on node 0: python t.py --lr 1
            task 2 on node 1: python t.py --lr 1
            task 3 on node 1: python t.py --lr 1
        "#]],
    );
}

/// Each rank of a current Accelerate that found no GPU trained alone.
#[test]
fn accelerate_agents_without_gpus() {
    check_others(
        "accelerate",
        "",
        expect![[r#"
        task 0 on node 0: python -m accelerate.commands.launch --multi_gpu --mixed_precision=no --dynamo_backend=no --num_machines=2 --num_processes=4 --machine_rank=0 --main_process_ip=127.0.0.1 --main_process_port=41733 t.py --lr 1
          ACCELERATE_USE_CPU Default("true")
          LOCAL_RANK Remove
          LOCAL_WORLD_SIZE Remove
          MASTER_ADDR Remove
          MASTER_PORT Remove
          NODE_RANK Remove
          RANK Remove
          WORLD_SIZE Remove
          YARD_NUM_PROCESSES Set("2")
        task 1 on node 1: python -m accelerate.commands.launch --multi_gpu --mixed_precision=no --dynamo_backend=no --num_machines=2 --num_processes=4 --machine_rank=1 --main_process_ip=127.0.0.1 --main_process_port=41733 t.py --lr 1
          ACCELERATE_USE_CPU Default("true")
          LOCAL_RANK Remove
          LOCAL_WORLD_SIZE Remove
          MASTER_ADDR Remove
          MASTER_PORT Remove
          NODE_RANK Remove
          RANK Remove
          WORLD_SIZE Remove
          YARD_LOCAL_PROCESS_ID Set("0")
          YARD_NUM_PROCESSES Set("2")
    "#]],
    );
}

#[test]
fn accelerate_agents() {
    check_others(
        "accelerate",
        "launcher_options = [\"--config_file=c.yaml\"]",
        expect![[r#"
            task 0 on node 0: python -m accelerate.commands.launch --num_machines=2 --num_processes=4 --machine_rank=0 --main_process_ip=127.0.0.1 --main_process_port=41733 --config_file=c.yaml t.py --lr 1
              LOCAL_RANK Remove
              LOCAL_WORLD_SIZE Remove
              MASTER_ADDR Remove
              MASTER_PORT Remove
              NODE_RANK Remove
              RANK Remove
              WORLD_SIZE Remove
              YARD_NUM_PROCESSES Set("2")
            task 1 on node 1: python -m accelerate.commands.launch --num_machines=2 --num_processes=4 --machine_rank=1 --main_process_ip=127.0.0.1 --main_process_port=41733 --config_file=c.yaml t.py --lr 1
              LOCAL_RANK Remove
              LOCAL_WORLD_SIZE Remove
              MASTER_ADDR Remove
              MASTER_PORT Remove
              NODE_RANK Remove
              RANK Remove
              WORLD_SIZE Remove
              YARD_LOCAL_PROCESS_ID Set("0")
              YARD_NUM_PROCESSES Set("2")
        "#]],
    );
}

#[test]
fn deepspeed_ranks() {
    check_others(
        "deepspeed",
        "",
        expect![[r#"
        task 0 on node 0: python t.py --local_rank=0 --lr 1
          CROSS_RANK Set("0")
          CROSS_SIZE Set("2")
          LOCAL_SIZE Set("2")
        task 1 on node 0: python t.py --local_rank=1 --lr 1
          CROSS_RANK Set("0")
          CROSS_SIZE Set("2")
          LOCAL_SIZE Set("2")
        task 2 on node 1: python t.py --local_rank=0 --lr 1
          CROSS_RANK Set("1")
          CROSS_SIZE Set("2")
          LOCAL_SIZE Set("2")
        task 3 on node 1: python t.py --local_rank=1 --lr 1
          CROSS_RANK Set("1")
          CROSS_SIZE Set("2")
          LOCAL_SIZE Set("2")
    "#]],
    );
}

/// As the page of launchers shows them.
/// What of their environment says where ranks stand, where nodes have different numbers of GPUs.
#[test]
fn uneven_nodes() {
    let mut shown = String::new();
    for launcher in ["srun", "torchrun", "jax", "horovod"] {
        let text = format!(
            "launcher = {launcher:?}\ncommand = [\"python\", \"t.py\"]\n[resources]\ngpus = 3\nnodes = 2\n"
        );
        let Launch { head, ranks } = launched(&text, &wilson(), None, "10.0.0.1");
        for task in head.iter().chain(&ranks) {
            let says = |name: &&String| {
                let parts = [
                    "RANK",
                    "SIZE",
                    "TASKS",
                    "PROCID",
                    "LOCALID",
                    "CPUS",
                    "LOCAL_DEVICE",
                ];
                parts.iter().any(|part| name.contains(part)) && !name.contains("PET_")
            };
            let own = task.env.iter().filter(|(name, _)| says(name));
            let own = own.filter_map(|(name, change)| match change {
                EnvChange::Set(value) => Some(format!("{name}={value}")),
                EnvChange::Default(_) | EnvChange::Remove => None,
            });
            let own: Vec<String> = own.collect();
            shown += &format!(
                "{launcher} {} on node {}: {}\n",
                task.task,
                task.node,
                task.argv.join(" ")
            );
            shown += &format!("  {}\n", own.join(" "));
        }
    }
    expect![[r#"
        srun 0 on node 0: python t.py
          LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 NODE_RANK=0 RANK=0 WORLD_SIZE=3 YARD_WORLD_SIZE=3
        srun 1 on node 0: python t.py
          LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 NODE_RANK=0 RANK=1 WORLD_SIZE=3 YARD_WORLD_SIZE=3
        srun 2 on node 1: python t.py
          LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 NODE_RANK=1 RANK=2 WORLD_SIZE=3 YARD_WORLD_SIZE=3
        torchrun 0 on node 0: python -m torch.distributed.run --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:41733 --rdzv_id=17.1 --rdzv_conf=is_host=1 t.py
          YARD_WORLD_SIZE=3
        torchrun 1 on node 0: 
          YARD_WORLD_SIZE=3
        torchrun 2 on node 1: python -m torch.distributed.run --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:41733 --rdzv_id=17.1 --rdzv_conf=is_host=0 t.py
          YARD_WORLD_SIZE=3
        jax 0 on node 0: python t.py
          SLURM_LOCALID=0 SLURM_NTASKS=3 SLURM_PROCID=0 YARD_WORLD_SIZE=3
        jax 1 on node 0: python t.py
          SLURM_LOCALID=1 SLURM_NTASKS=3 SLURM_PROCID=1 YARD_WORLD_SIZE=3
        jax 2 on node 1: python t.py
          SLURM_LOCALID=0 SLURM_NTASKS=3 SLURM_PROCID=2 YARD_WORLD_SIZE=3
        horovod 0 on node 0: python t.py
          HOROVOD_CROSS_RANK=0 HOROVOD_CROSS_SIZE=2 HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=2 HOROVOD_RANK=0 HOROVOD_SIZE=3 YARD_WORLD_SIZE=3
        horovod 1 on node 0: python t.py
          HOROVOD_CROSS_RANK=0 HOROVOD_CROSS_SIZE=1 HOROVOD_LOCAL_RANK=1 HOROVOD_LOCAL_SIZE=2 HOROVOD_RANK=1 HOROVOD_SIZE=3 YARD_WORLD_SIZE=3
        horovod 2 on node 1: python t.py
          HOROVOD_CROSS_RANK=1 HOROVOD_CROSS_SIZE=2 HOROVOD_LOCAL_RANK=0 HOROVOD_LOCAL_SIZE=1 HOROVOD_RANK=2 HOROVOD_SIZE=3 YARD_WORLD_SIZE=3
    "#]].assert_eq(&shown);
}

#[test]
fn command_lines() {
    let mut shown = String::new();
    for launcher in Launcher::ALL {
        for command in [
            r#"["train.py", "--to", "{checkpoints}"]"#,
            r#"["./train", "a b"]"#,
        ] {
            let nodes = if launcher == Launcher::None { 1 } else { 2 };
            let text = format!(
                "launcher = \"{launcher}\"\ncommand = {command}\n[resources]\nnodes = {nodes}\n"
            );
            let plan = planned(&text, &[], &laptop(8, vec![])).unwrap();
            let _ = writeln!(shown, "{launcher}: {}", command_line(&plan).unwrap());
        }
    }
    expect![[r#"
        srun: srun -N 2 -n 2 python3 train.py --to {checkpoints}
        srun: srun -N 2 -n 2 ./train 'a b'
        none: srun -N 1 -n 1 python3 train.py --to {checkpoints}
        none: srun -N 1 -n 1 ./train 'a b'
        torchrun: srun -N 2 -n 2 python3 -m torch.distributed.run --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=FIRST_NODE:PORT --rdzv_id=JOB.RESTART --rdzv_conf=is_host=1 train.py --to {checkpoints}
        torchrun: srun -N 2 -n 2 torchrun --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=FIRST_NODE:PORT --rdzv_id=JOB.RESTART --rdzv_conf=is_host=1 --no_python ./train 'a b'
        lightning: srun -N 2 -n 2 python3 train.py --to {checkpoints}
        lightning: srun -N 2 -n 2 ./train 'a b'
        jax: srun -N 2 -n 2 python3 train.py --to {checkpoints}
        jax: srun -N 2 -n 2 ./train 'a b'
        mpi: mpirun -np 2 --map-by slot --bind-to none python3 train.py --to {checkpoints}
        mpi: mpirun -np 2 --map-by slot --bind-to none ./train 'a b'
        horovod: srun -N 2 -n 2 python3 train.py --to {checkpoints}
        horovod: srun -N 2 -n 2 ./train 'a b'
        accelerate: srun -N 2 -n 2 python3 -m accelerate.commands.launch --multi_gpu --mixed_precision=no --dynamo_backend=no --num_machines=2 --num_processes=2 --machine_rank=0 --main_process_ip=FIRST_NODE --main_process_port=PORT train.py --to {checkpoints}
        accelerate: srun -N 2 -n 2 accelerate launch --multi_gpu --mixed_precision=no --dynamo_backend=no --num_machines=2 --num_processes=2 --machine_rank=0 --main_process_ip=FIRST_NODE --main_process_port=PORT --no_python ./train 'a b'
        deepspeed: srun -N 2 -n 2 python3 train.py --local_rank=0 --to {checkpoints}
        deepspeed: srun -N 2 -n 2 ./train 'a b'
    "#]].assert_eq(&shown);
}

#[test]
fn a_script_runs_with_the_environments_python_under_every_launcher() {
    for launcher in Launcher::ALL {
        for (environment, python) in [
            ("", "python3"),
            ("[environment]\nvenv = \"v\"\n", "python"),
            ("[environment]\nmodules = [\"python/3.11\"]\n", "python"),
        ] {
            let text =
                format!("launcher = \"{launcher}\"\ncommand = [\"sub/train.py\"]\n{environment}");
            for rank in ranks(&text, &laptop(2, vec![]), None) {
                assert_eq!(rank.argv[0], python, "{launcher} {environment}");
                assert!(!rank.argv.iter().any(|word| word == "--no_python"));
            }
        }
    }
}

#[test]
fn every_launcher_has_one_row() {
    for launcher in Launcher::ALL {
        assert!(!launcher.word().is_empty());
        let same = Launcher::ALL.iter().filter(|other| **other == launcher);
        assert_eq!(same.count(), 1, "{launcher}");
        let stored = serde_json::to_value(launcher).unwrap();
        assert_eq!(stored, launcher.word());
    }
}
