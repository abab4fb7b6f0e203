//! What can never run there, and flags that can't be read.

use super::*;

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
        (
            "launcher = \"torchrun\"\ncommand = [\"torchrun\", \"--nproc_per_node=4\", \"t.py\"]\n",
            &local,
        ),
        (
            "launcher = \"srun\"\ncommand = [\"/usr/bin/srun\", \"./train\"]\n",
            &local,
        ),
        (
            "launcher = \"torchrun\"\ncommand = [\"srun\", \"-n2\", \"torchrun\", \"t.py\"]\n",
            &local,
        ),
        (
            "command = [\"torchrun\", \"--nproc_per_node=2\", \"t.py\"]\n[resources]\nranks_per_node = 2\n",
            &local,
        ),
        (
            "command = [\"torchrun\", \"t.py\"]\n[resources]\nnodes = 2\nranks_per_node = 1\n",
            &laptop(8, vec![]),
        ),
        (
            "launcher = \"jax\"\nlauncher_options = [\"--fast\"]\ncommand = [\"t.py\"]\n",
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
        (
            "command = [\"x\"]\n[data]\nstage = [\"/x/a/data\", \"../b/data/set\", \"/x/b/data\"]\n",
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
          asked   nodes = 3, ranks_per_node = 1   (srun: 1 per node by default)
          there   2 CPUs, 23 GiB, no GPU
          do      at most 2 ranks in all: the nodes share this machine

        local has fewer than 4 CPUs
          asked   cpus_per_rank = 2 (yard.toml:4), ranks_per_node = 2   (yard.toml:3)
          there   2 CPUs, 23 GiB, no GPU
          do      cpus_per_rank = 1

        local has no node with 1 TiB of memory
          asked   memory = 1 TiB   (yard.toml:3)
          there   2 CPUs, 23 GiB, no GPU
          do      memory = "23G" or less

        wilson has 6 such nodes
          asked   nodes = 9   (yard.toml:3)
          there   4 nodes with 2 v100, 1 with 4 a100, 1 with 8 p100
          do      nodes = 6

        launcher none is one process, and nodes is 2
          asked   launcher = "none" (yard.toml:1), nodes = 2 (yard.toml:4)
          there   every other launcher starts several
          do      launcher = "srun" for a rank a GPU, or one node and one rank

        the command starts torchrun, which launcher torchrun stands for
          asked   launcher = "torchrun" (yard.toml:1), command = "torchrun --nproc_per_node=4 t.py" (yard.toml:2)
          there   the launcher starts the ranks, with all that they need to find each other
          do      leave it out of the command, which begins with python or the program; options that it is to have beside ours go into launcher_options

        the command starts srun, which launcher srun stands for
          asked   launcher = "srun" (yard.toml:1), command = "/usr/bin/srun ./train" (yard.toml:2)
          there   the launcher starts the ranks, with all that they need to find each other
          do      leave it out of the command, which begins with python or the program

        the command starts srun torchrun, which launcher torchrun stands for
          asked   launcher = "torchrun" (yard.toml:1), command = "srun -n2 torchrun t.py" (yard.toml:2)
          there   the launcher starts the ranks, with all that they need to find each other
          do      leave it out of the command, which begins with python or the program; options that it is to have beside ours go into launcher_options

        the command starts torchrun, and launcher srun would start that in each task
          asked   launcher = "srun" (there is more than one rank), command = "torchrun --nproc_per_node=2 t.py" (yard.toml:1)
          there   the launcher starts the ranks, with all that they need to find each other
          do      write launcher = "torchrun", and leave torchrun and its options out of the command, which begins with python or the program

        the command starts torchrun, and launcher srun would start that in each task
          asked   launcher = "srun" (there is more than one rank), command = "torchrun t.py" (yard.toml:1)
          there   the launcher starts the ranks, with all that they need to find each other
          do      write launcher = "torchrun", and leave torchrun and its options out of the command, which begins with python or the program

        launcher jax has no options
          asked   launcher = "jax" (yard.toml:1), launcher_options = ["--fast"] (yard.toml:2)
          there   torchrun, mpi, accelerate have a command line of their own
          do      leave launcher_options out; the program's own arguments stand in command

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
          do      give the run another name

        two sources of stage would be mixed on the nodes
          asked   stage has "/x/a/data" and "/x/b/data"   (yard.toml:3)
          there   {data}/data for the one, {data}/data for the other
          do      rename one, pack it, or stage a folder that has both"#]]
    .assert_eq(&shown.join("\n\n"));
}

#[test]
fn a_number_in_the_flag_of_the_time_limit_is_minutes() {
    let check = |text: &str, seconds| {
        let mut overrides = Overrides::default();
        overrides.set("-t", "time", text).unwrap();
        let time = overrides.resources.time.unwrap().value;
        assert_eq!(
            time,
            model::TimeLimitRequest::Limit(Seconds(seconds)),
            "{text}"
        );
    };
    check("10", 600);
    check("10:30", 630);
    check("1-12", 129_600);
    check("10s", 10);
}

#[test]
fn flags_that_are_not_understood() {
    let mut overrides = Overrides::default();
    let problems = [
        overrides.set("--time", "time", "25 parsecs").unwrap_err(),
        overrides
            .set("--gpus-per-node", "gpus_per_node", "v100:x")
            .unwrap_err(),
        overrides
            .set_command(vec!["a".to_owned(), "{runn}".to_owned()])
            .unwrap_err(),
    ];
    let shown = problems.map(|problem| problem.to_string());
    expect![[r#"
        time: "25 parsecs" is not a length of time
           --> command line:1:8
           1 │ --time=25 parsecs
             │        ^^^^^^^^^^
          help: write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"

        gpus_per_node is text
           --> command line:1:22
           1 │ --gpus-per-node=v100:x
             │                      ^ expected a whole number

        unknown placeholder {runn}
           --> command line:1:3
           1 │ a {runn}
             │   ^^^^^^ did you mean {run}?
          help: known are {data} {checkpoints} {resume} {resume_file} {logs} {run} {nodes} {gpus_per_node}
                {world_size} {repeat}; {{ is a brace"#]].assert_eq(&shown.join("\n\n"));
    overrides
        .set("--gpus-per-node", "gpus_per_node", "v100:2")
        .unwrap();
    assert_eq!(overrides.resources.gpu_type.unwrap().value, "v100");
}

/// One torchrun on each node, which starts the ranks there, is a person's own.
#[test]
fn a_launcher_that_is_started_once_on_a_node_is_taken() {
    let local = laptop(8, vec![]);
    for text in [
        "command = [\"torchrun\", \"--nproc_per_node=2\", \"t.py\"]\n",
        "launcher = \"none\"\ncommand = [\"srun\", \"torchrun\", \"t.py\"]\n",
    ] {
        assert!(planned(text, &[], &local).is_ok(), "{text}");
    }
}

#[test]
fn a_number_at_once_without_repeats_is_refused_as_a_flag_and_noted_of_a_run_file() {
    let local = laptop(8, vec![]);
    let flags = [("--at-once", "at_once", "2")];
    let refused = planned("command = [\"x\"]\n", &flags, &local).unwrap_err();
    expect![[r#"
        at_once is for repeats, and there are none
          asked   at_once = 2 (--at-once)
          there   without repeat it is one run
          do      add repeat = N, or leave at_once out"#]]
    .assert_eq(&refused);
    let plan = planned("command = [\"x\"]\nat_once = 2\n", &[], &local).unwrap();
    expect![[r#"
        [
            "at_once = 2 (yard.toml:2) is for several runs of one file, and this is one: --repeat N makes them, or yard sweep",
        ]
    "#]]
    .assert_debug_eq(&plan.notes);
}

/// The secret came last and counted, and the plan showed the other value.
#[test]
fn a_name_is_a_variable_or_a_secret() {
    let text = "command = [\"x\"]\n[environment]\nvariables = { HF_TOKEN = \"hf_1\" }\n\
        secrets = [\"WANDB_API_KEY\", \"HF_TOKEN\"]\n";
    let refused = planned(text, &[], &laptop(8, vec![])).unwrap_err();
    expect![[r#"
        HF_TOKEN is a variable and a secret
          asked   variables (yard.toml:3), secrets (yard.toml:4)
          there   a secret is read at submission; the value of a variable is shown in plans and records
          do      leave HF_TOKEN out of variables, or out of secrets if it is none"#]]
    .assert_eq(&refused);
}
