//! `docs/launchers.md`

use super::table;
use model::{ClusterFacts, Comeback, GpuGroup, Internet, NodeGroup, Seconds};
use std::path::{Path, PathBuf};
use train::{
    Launch, Launcher, Overrides, Plan, PlanInput, Rendezvous, RunFile, Shape, Values, Variables,
    command_line, launch, plan,
};

/// The page.
pub fn page() -> String {
    let mut page = INTRO.to_owned();
    let row = |launcher: &Launcher| {
        let word = format!("[`{launcher}`](#{launcher})");
        let tasks = match launcher.shape() {
            Shape::Ranks if *launcher == Launcher::None => "one",
            Shape::Ranks => "a rank",
            Shape::Agents => "one a node",
            Shape::Head => "one, on the first node",
        };
        let options = if launcher.takes_options() { "yes" } else { "" };
        vec![
            word,
            tasks.to_owned(),
            options.to_owned(),
            launcher.doc().to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = Launcher::ALL.iter().map(row).collect();
    let head = [
        "launcher",
        "tasks of `srun`",
        "`launcher_options`",
        "what it does",
    ];
    page.push_str(&table(&head, &rows));
    let uneven = Launcher::ALL
        .iter()
        .filter(|launcher| launcher.takes_uneven());
    let uneven: Vec<String> = uneven.map(|launcher| format!("`{launcher}`")).collect();
    page.push_str(&COMMON.replace("LAUNCHERS", &uneven.join(", ")));
    for launcher in Launcher::ALL {
        page.push_str(&section(launcher));
    }
    page
}

const INTRO: &str = r#"# Launchers

<!-- Made of the launchers' own table (crates/train/src/launchers):
     UPDATE_EXPECT=1 cargo test --release -p yard-cli --bin yard reference -->

`launcher` in a [run file](run-file.md) says what starts the ranks of a training and how they find each
other. It sets the tasks of each node, the ranks' variables and the command line; the command itself
stays what one would write on a laptop: `command = ["train.py", "--lr", "0.1"]`. `yard plan` shows the
command line that a run becomes.

"#;

const COMMON: &str = r#"With every launcher:

- A command that begins with a `.py` file runs with the environment's Python; the file needs no `#!` line.
- `srun` gets nodes and tasks, CPUs for each task, and `--gpu-bind=none`: each rank sees all GPUs of
  its node that are the job's, as NCCL's direct copies need it, and takes the one of its local rank.
- `--distribution=block:block` counts ranks node by node and, on a node, socket by socket, as GPUs are
  numbered. Where the cluster binds tasks (`TaskPlugin=task/affinity`) each rank that is a task of its own
  is bound to its CPUs so.
- Each rank is bound to those of its task's CPUs that are at the socket of its GPUs, as the driver tells, where these
  are enough for all ranks there; also the ranks that an agent of `torchrun` or `accelerate` starts, once it has
  (`LOCAL_RANK` tells which each is), and those of `mpirun`, which itself runs with `--bind-to none`. What a program
  binds itself stays so.
- `CUDA_DEVICE_ORDER` is `PCI_BUS_ID` and `OMP_NUM_THREADS` the CPUs of a rank, unless they are set.
- Ranks meet at an address of the job's first node and at a port that was free there and was held until
  they started, so that two jobs on one node do not meet each other. `YARD_COORDINATOR` has it, for
  programs that have a way of their own.
- `SLURM_TMPDIR` is `{data}`, where a site does not set it itself: what `[data] stage` names lies there, at the same relative path.
- `source_dir`, `project_name`, `exp_name` and `scratch_dir` are the code's folder, the project, the run's name and `scratch/` in the run folder, unless they are set already; `$scratch_dir/hpc_outputs` and `$scratch_dir/$exp_name/checkpoints` are there.
- GPUs in all that the nodes do not divide (`gpus = 3` with `nodes = 2`) are asked for by the task, one
  for each rank; the cluster chooses how many each node has, at least one. LAUNCHERS take that,
  others refuse it.
- A rank that fails ends the others: `srun` runs with `--kill-on-bad-exit=1`. The first that failed is
  named, with its node, its exit code and what it said last. Of ranks of one node that fail within a second under
  torchrun, the lines in the log tell which, by their marks (`[rank5]:` of newer versions of torch, `PET_TEE=3`);
  without marks it is the one that torchrun saw first.
- A command that starts the launcher itself (`torchrun train.py` with `launcher = "torchrun"`), or another
  one in each of several ranks (`torchrun train.py` with two ranks a node and no `launcher`, `srun torchrun`),
  is refused: each rank would start it once more.

Below, each on two nodes with four GPUs. `FIRST_NODE`, `PORT` and `JOB.RESTART` stand for what only a
job knows; of a launcher with a task a node it is the first node's.

"#;

/// What one has to know beside the table, and its command line.
fn section(launcher: Launcher) -> String {
    let plan = sample(launcher);
    let line = command_line(&plan).unwrap_or_default();
    format!(
        "## `{launcher}`\n\n{}\n\n```\n{line}\n```\n\n{}",
        launcher.about(),
        variables(&plan)
    )
}

/// The variables of rank 1 that are not every launcher's.
fn variables(plan: &Plan) -> String {
    let shape = train::JobShape {
        job: 17,
        restart: 0,
        nodes: (1..=plan.nodes.value)
            .map(|node| model::NodeName::from(format!("n{node}")))
            .collect(),
        gpus: plan.gpus_of_nodes(),
        addresses: (1..=plan.nodes.value)
            .map(|node| format!("10.0.0.{node}"))
            .collect(),
    };
    let rendezvous = Rendezvous {
        address: "10.0.0.1".to_owned(),
        port: 41_733,
    };
    let nowhere = PathBuf::new;
    let values = Values {
        data: nowhere(),
        checkpoints: nowhere(),
        resume: nowhere(),
        resume_file: None,
        logs: nowhere(),
        run: String::new(),
        code: nowhere(),
        project: String::new(),
        scratch: nowhere(),
    };
    let Ok(Launch { ranks, .. }) = launch(plan, &shape, &rendezvous, &values) else {
        return String::new();
    };
    let of_all = |name: &str| {
        name.starts_with("YARD_")
            || [
                "OMP_NUM_THREADS",
                "PYTHONUNBUFFERED",
                "CUDA_DEVICE_ORDER",
                "SLURM_TMPDIR",
                "source_dir",
                "project_name",
                "scratch_dir",
                "exp_name",
            ]
            .contains(&name)
    };
    // The first task of the second node says most.
    let task = ranks.iter().find(|rank| rank.node == 1).or(ranks.first());
    let env = task.into_iter().flat_map(|rank| &rank.env);
    let set: Vec<String> = env
        .filter(|(name, _)| !of_all(name))
        .filter_map(|(name, change)| match change {
            train::EnvChange::Set(value) | train::EnvChange::Default(value) => {
                Some(format!("`{name}={value}`"))
            }
            train::EnvChange::Remove => None,
        })
        .collect();
    if set.is_empty() {
        return String::new();
    }
    let whose = match ranks.len() {
        2 => "task 1, on the second node,",
        _ => "rank 4, the first of the second node,",
    };
    format!(
        "Job 17 sets for {whose} where the first node is 10.0.0.1: {}.\n\n",
        set.join(", ")
    )
}

fn sample(launcher: Launcher) -> Plan {
    let shape = match launcher {
        Launcher::None => "",
        _ => "nodes = 2\ngpus_per_node = 4\n",
    };
    let text = format!(
        "launcher = \"{launcher}\"\ncommand = [\"train.py\", \"--write-to\", \"{{checkpoints}}\"]\n[resources]\n{shape}"
    );
    sample_of(&text, &[])
}

/// The plan of a run file for a cluster with these runtimes for containers.
pub(super) fn sample_of(text: &str, runtimes: &[model::ContainerRuntime]) -> Plan {
    let (file, _) = RunFile::parse(text, "yard.toml");
    let facts = ClusterFacts {
        name: "cluster".to_owned(),
        embedded: false,
        nodes: vec![NodeGroup {
            count: 4,
            cpus: 32,
            memory_mib: 1 << 18,
            gpus: vec![GpuGroup {
                kind: Some("v100".to_owned()),
                count: 4,
                memory_mib: Some(32_768),
            }],
        }],
        node_local: PathBuf::from("/tmp"),
        nodes_share_disk: false,
        internet: Internet::Compute,
        default_time: None,
        time_granularity: Seconds(60),
        comeback: Comeback::default(),
        containers: model::ContainerFacts {
            runtimes: runtimes.to_vec(),
            ..model::ContainerFacts::default()
        },
    };
    let planned = plan(&PlanInput {
        user_config: None,
        run_file: Some(&file),
        variables: &Variables::default(),
        overrides: &Overrides::default(),
        facts: &facts,
        base: Path::new("/"),
        default_name: "sample",
    });
    planned.expect("the sample fits its cluster")
}
