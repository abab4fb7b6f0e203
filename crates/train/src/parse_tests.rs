//! Messages on a run file's mistakes.

use crate::{RunFile, render};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::path::Path;

#[track_caller]
fn check(text: &str, want: Expect) {
    let (_, problems) = RunFile::parse(text, "yard.toml");
    let shown = problems
        .iter()
        .map(|problem| render(problem, text, "yard.toml"));
    want.assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_whole_file_is_understood() {
    let text = r#"
        name = "resnet50"
        launcher = "torchrun"
        command = ["python", "train.py", "--data", "{data}/imagenet"]
        repeat = 1
        [resources]
        nodes = 2
        gpus_per_node = 4
        gpu_type = "v100"
        time = "24:00:00"
        memory = "90GB"
        sbatch = ["--reservation=x"]
        [environment]
        modules = ["cuda/10.1.243"]
        conda = "../env"
        [data]
        stage = ["datasets/imagenet.tar"]
        [checkpoints]
        keep = 3
        complete = "marker"
        marker = "done"
        [resume]
        on = ["timeout", "preemption", "node-failure"]
        grace = "2m"
        notify = "SIGUSR1"
        args = ["--resume", "{resume_file}"]
        [notify]
        mail = "me@example.org"
        on = ["end", "fail"]
        [cluster.ibex]
        resources.constraint = "cpu_intel_platinum_8260"
        [cluster.plai.resources]
        gpus_per_node = "a100:2"
    "#;
    check(text, expect![[""]]);
    let (run_file, _) = RunFile::parse(text, "yard.toml");
    let ibex = &run_file.clusters["ibex"].resources.constraint;
    expect![[r#"
        Some(
            Resolved {
                value: "cpu_intel_platinum_8260",
                source: ClusterSection {
                    cluster: "ibex",
                    file: "yard.toml",
                    line: 31,
                },
            },
        )
    "#]]
    .assert_debug_eq(ibex);
    let plai = &run_file.clusters["plai"].resources;
    assert_eq!(plai.gpu_type.as_ref().unwrap().value, "a100");
    assert_eq!(plai.gpus_per_node.as_ref().unwrap().value, 2);
}

#[test]
fn unknown_keys_name_the_nearest() {
    check(
        "comand = [\"x\"]\n[resources]\ngpus_per_nodes = 4\nwall = \"1h\"\n[resume]\nlauncher = \"srun\"\n",
        expect![[r#"
            error: unknown key comand
               --> yard.toml:1:1
               1 │ comand = ["x"]
                 │ ^^^^^^ did you mean command?
              help: a run file takes name, launcher, launcher_options, command, repeat, at_once, resources,
                    environment, after, data, checkpoints, resume, watch, notify, services, cluster

            error: unknown key gpus_per_nodes
               --> yard.toml:3:1
               3 │ gpus_per_nodes = 4
                 │ ^^^^^^^^^^^^^^ did you mean gpus_per_node?
              help: [resources] takes nodes, ranks_per_node, gpus_per_node, gpus, gpu_type, gpu_memory,
                    cpus_per_rank, cpus_per_gpu, memory, memory_per_gpu, memory_per_cpu, time, account, qos,
                    partition, exclusive, constraint, sbatch

            error: unknown key wall
               --> yard.toml:4:1
               4 │ wall = "1h"
                 │ ^^^^
              help: [resources] takes nodes, ranks_per_node, gpus_per_node, gpus, gpu_type, gpu_memory,
                    cpus_per_rank, cpus_per_gpu, memory, memory_per_gpu, memory_per_cpu, time, account, qos,
                    partition, exclusive, constraint, sbatch

            error: launcher is no key of [resume]
               --> yard.toml:6:1
               6 │ launcher = "srun"
                 │ ^^^^^^^^ stands below [resume], and belongs to no section
              help: write it above the first line that begins with [
        "#]],
    );
}

#[test]
fn a_key_of_a_section_below_a_cluster() {
    check(
        "[cluster.wilson]\naccount = \"x\"\n",
        expect![[r#"
            error: account belongs to [cluster.wilson.resources]
               --> yard.toml:2:1
               2 │ account = "x"
                 │ ^^^^^^^
              help: write it below the line [cluster.wilson.resources]
        "#]],
    );
}

#[test]
fn a_key_of_a_section_above_it() {
    check(
        "time = \"1h\"\n[resource]\nnodes = 2\n",
        expect![[r#"
            error: time belongs to [resources]
               --> yard.toml:1:1
               1 │ time = "1h"
                 │ ^^^^
              help: write it below the line [resources]

            error: unknown key resource
               --> yard.toml:2:2
               2 │ [resource]
                 │  ^^^^^^^^ did you mean resources?
              help: a run file takes name, launcher, launcher_options, command, repeat, at_once, resources,
                    environment, after, data, checkpoints, resume, watch, notify, services, cluster
        "#]],
    );
}

/// TOML has a key in the section that begins above it.
#[test]
fn a_key_below_the_wrong_section() {
    check(
        "[resources]\nname = \"x\"\nstage = [\"a\"]\n[cluster.wilson.resources]\nlauncher = \"srun\"\n",
        expect![[r#"
            error: name is no key of [resources]
               --> yard.toml:2:1
               2 │ name = "x"
                 │ ^^^^ stands below [resources], and belongs to no section
              help: write it above the first line that begins with [

            error: stage is no key of [resources]
               --> yard.toml:3:1
               3 │ stage = ["a"]
                 │ ^^^^^ stands below [resources], and belongs to [data]
              help: write it below the line [data]

            error: launcher is no key of [cluster.wilson.resources]
               --> yard.toml:5:1
               5 │ launcher = "srun"
                 │ ^^^^^^^^ stands below [cluster.wilson.resources], and belongs to no section
              help: write it right below the line [cluster.wilson]
        "#]],
    );
}

#[test]
fn a_type_without_a_number_and_an_image_without_a_place() {
    check(
        "[resources]\ngpus_per_node = \"v100\"\nmemory = \"16\"\n[environment]\nmodules = \"cuda gcc\"\n\
         [environment.container]\nimage = \"python:3.12\"\n",
        expect![[r#"
            error: gpus_per_node is "v100"
               --> yard.toml:2:17
               2 │ gpus_per_node = "v100"
                 │                 ^^^^^^ expected a whole number or "TYPE:N"
              help: write "v100:1" with the number of them, or gpu_type = "v100"

            error: memory: 16 has no unit
               --> yard.toml:3:10
               3 │ memory = "16"
                 │          ^^^^
              help: write "16M" or "16G"

            error: modules is one text
               --> yard.toml:5:11
               5 │ modules = "cuda gcc"
                 │           ^^^^^^^^^^ expected an array of texts
              help: write modules = ["cuda", "gcc"]

            error: "python:3.12" does not say where the image is
               --> yard.toml:7:9
               7 │ image = "python:3.12"
                 │         ^^^^^^^^^^^^^
              help: write "docker://python:3.12" for an image in a registry, "./python:3.12" for a file or
                    folder
        "#]],
    );
    for image in ["docker://python:3.12", "./a:b", "/a:b", "torch.sif"] {
        let text = format!("[environment.container]\nimage = {image:?}\n");
        assert_eq!(RunFile::parse(&text, "yard.toml").1, [], "{image}");
    }
}

#[test]
fn units() {
    check(
        "[resources]\ntime = 24\nmemory = 90\ngpu_memory = \"32\"\n[resume]\ngrace = \"2 minutes\"\n",
        expect![[r#"
            error: time = 24 has no unit
               --> yard.toml:2:8
               2 │ time = 24
                 │        ^^ expected text with a unit
              help: write "24s", "24m" or "24h"

            error: memory = 90 has no unit
               --> yard.toml:3:10
               3 │ memory = 90
                 │          ^^ expected text with a unit
              help: write "90M", "90G" or "90T"

            error: gpu_memory: 32 has no unit
               --> yard.toml:4:14
               4 │ gpu_memory = "32"
                 │              ^^^^
              help: write "32M" or "32G"

            error: grace: "2 minutes" is not a length of time
               --> yard.toml:6:9
               6 │ grace = "2 minutes"
                 │         ^^^^^^^^^^^
              help: write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
        "#]],
    );
    check(
        "[resources]\ntime = 24:00:00\n",
        expect![[r#"
            error: invalid time, expected hour between 00 and 23
               --> yard.toml:2:8
               2 │ time = 24:00:00
                 │        ^^^^^^^^
              help: a run file is written in TOML: text stands in quotes, https://toml.io
        "#]],
    );
    check(
        "[resources]\ntime = 12:00:00\n",
        expect![[r#"
        error: time is a date or a time of day
           --> yard.toml:2:8
           2 │ time = 12:00:00
             │        ^^^^^^^^ expected text
          help: write "12:00:00"
    "#]],
    );
}

#[test]
fn types() {
    check(
        "command = \"python train.py --lr 0.1\"\nlauncher = 3\n[resources]\nnodes = 0\nranks_per_node = \"two\"\nexclusive = \"yes\"\nsbatch = [\"reservation\"]\n[data]\nstage = [1]\n",
        expect![[r#"
            error: command is one text
               --> yard.toml:1:11
               1 │ command = "python train.py --lr 0.1"
                 │           ^^^^^^^^^^^^^^^^^^^^^^^^^^ expected an array of texts
              help: write command = ["python", "train.py", "--lr", "0.1"]; no shell reads it

            error: launcher is a whole number
               --> yard.toml:2:12
               2 │ launcher = 3
                 │            ^ expected text, such as one of srun, none, torchrun, lightning, jax, mpi, horovod, accelerate, deepspeed

            error: nodes is 0
               --> yard.toml:4:9
               4 │ nodes = 0
                 │         ^ expected a whole number of at least 1

            error: ranks_per_node is text
               --> yard.toml:5:18
               5 │ ranks_per_node = "two"
                 │                  ^^^^^ expected a whole number

            error: exclusive is text
               --> yard.toml:6:13
               6 │ exclusive = "yes"
                 │             ^^^^^ expected true or false

            error: "reservation" is not an option of sbatch
               --> yard.toml:7:10
               7 │ sbatch = ["reservation"]
                 │          ^^^^^^^^^^^^^^^
              help: write each option with its value as one text, such as "--reservation=x"

            error: stage holds a whole number
               --> yard.toml:9:10
               9 │ stage = [1]
                 │          ^ expected text
              help: write "1"
        "#]],
    );
    check(
        "resources = 3\ncommand = []\ncluster = 1\n",
        expect![[r#"
        error: resources is not a table
           --> yard.toml:1:13
           1 │ resources = 3
             │             ^
          help: write [resources] on a line of its own and its keys below

        error: command is empty
           --> yard.toml:2:11
           2 │ command = []
             │           ^^
          help: write command = ["python", "train.py"]

        error: cluster is not a table
           --> yard.toml:3:11
           3 │ cluster = 1
             │           ^
          help: write [cluster.NAME] and below it what differs there
    "#]],
    );
}

#[test]
fn words() {
    check(
        "launcher = \"torchrum\"\n[resume]\non = [\"timeuot\"]\nnotify = \"TERM\"\n[checkpoints]\nkeep = \"some\"\ncomplete = \"marker\"\n",
        expect![[r#"
            error: unknown launcher "torchrum"
               --> yard.toml:1:12
               1 │ launcher = "torchrum"
                 │            ^^^^^^^^^^ did you mean torchrun?
              help: launcher is one of srun, none, torchrun, lightning, jax, mpi, horovod, accelerate, deepspeed

            error: unknown on "timeuot"
               --> yard.toml:3:7
               3 │ on = ["timeuot"]
                 │       ^^^^^^^^^ did you mean timeout?
              help: on is one of timeout, preemption, node-failure

            error: unknown notify "TERM"
               --> yard.toml:4:10
               4 │ notify = "TERM"
                 │          ^^^^^^
              help: notify is one of none, file, SIGTERM, SIGUSR1

            error: unknown keep "some"
               --> yard.toml:6:8
               6 │ keep = "some"
                 │        ^^^^^^
              help: keep is one of all

            error: complete = "marker" without a marker
               --> yard.toml:7:12
               7 │ complete = "marker"
                 │            ^^^^^^^^
              help: write marker = "NAME", the file that the program writes last
        "#]],
    );
    check("launcher = \"horovod\"\n", expect![""]);
    check(
        "repeat = 5\n[environment]\ncontainer = \"x.sif\"\n",
        expect![[r#"
            error: environment.container is not a table
               --> yard.toml:3:13
               3 │ container = "x.sif"
                 │             ^^^^^^^
              help: write [environment.container] on a line of its own and its keys below
        "#]],
    );
    check(
        "name = \"../x\"\n",
        expect![[r#"
        error: "../x" can't name a run
           --> yard.toml:1:8
           1 │ name = "../x"
             │        ^^^^^^
          help: letters, digits, - _ and . are fine, at most 64, the first a letter or a digit
    "#]],
    );
    check(
        "[environment]\nconda = \"a\"\nvenv = \"b\"\n",
        expect![[r#"
            error: venv beside conda
               --> yard.toml:3:8
               3 │ venv = "b"
                 │        ^^^
              help: one of venv, requirements and conda; modules go with any
        "#]],
    );
}

#[test]
fn placeholders() {
    check(
        "command = [\"python\", \"t.py\", \"--out\", \"{checkpoint}/x\"]\n[resume]\nargs = [\"{trial.lr}\"]\n",
        expect![[r#"
            error: unknown placeholder {checkpoint}
               --> yard.toml:1:40
               1 │ command = ["python", "t.py", "--out", "{checkpoint}/x"]
                 │                                        ^^^^^^^^^^^^ did you mean {checkpoints}?
              help: known are {data} {checkpoints} {resume} {resume_file} {logs} {run} {nodes} {gpus_per_node}
                    {world_size} {repeat}; {{ is a brace

            error: unknown placeholder {trial.lr}
               --> yard.toml:3:10
               3 │ args = ["{trial.lr}"]
                 │          ^^^^^^^^^^
              help: known are {data} {checkpoints} {resume} {resume_file} {logs} {run} {nodes} {gpus_per_node}
                    {world_size} {repeat}; {{ is a brace
        "#]],
    );
}

#[test]
fn clusters_take_the_same_keys() {
    check(
        "[cluster.ibex]\nresources.tme = \"1h\"\ncluster = 1\n",
        expect![[r#"
            error: unknown key tme
               --> yard.toml:2:11
               2 │ resources.tme = "1h"
                 │           ^^^ did you mean time?
              help: [resources] takes nodes, ranks_per_node, gpus_per_node, gpus, gpu_type, gpu_memory,
                    cpus_per_rank, cpus_per_gpu, memory, memory_per_gpu, memory_per_cpu, time, account, qos,
                    partition, exclusive, constraint, sbatch

            error: unknown key cluster
               --> yard.toml:3:1
               3 │ cluster = 1
                 │ ^^^^^^^
              help: [cluster.ibex] takes name, launcher, launcher_options, command, repeat, at_once, resources,
                    environment, after, data, checkpoints, resume, watch, notify, services
        "#]],
    );
}

#[test]
fn broken_toml() {
    check(
        "name = \nlauncher = \"srun\n[resources\n",
        expect![[r#"
            error: string values must be quoted, expected literal string
               --> yard.toml:1:8
               1 │ name = 
                 │        ^
              help: a run file is written in TOML: text stands in quotes, https://toml.io

            error: invalid basic string, expected `"`
               --> yard.toml:2:17
               2 │ launcher = "srun
                 │                 ^
              help: a run file is written in TOML: text stands in quotes, https://toml.io

            error: unclosed table, expected `]`
               --> yard.toml:3:11
               3 │ [resources
                 │           ^
              help: a run file is written in TOML: text stands in quotes, https://toml.io
        "#]],
    );
    check(
        "name = \"a\"\nname = \"b\"\n",
        expect![[r#"
            error: duplicate key
               --> yard.toml:2:1
               2 │ name = "b"
                 │ ^^^^
              help: a run file is written in TOML: text stands in quotes, https://toml.io
        "#]],
    );
    check(
        "\tname = 'ü' # ä\n",
        expect![[r#"
        error: "ü" can't name a run
           --> yard.toml:1:9
           1 │  name = 'ü' # ä
             │         ^^^
          help: letters, digits, - _ and . are fine, at most 64, the first a letter or a digit
    "#]],
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "([a-z]{0,5}|[ =\\[\\]\"'{}.\n0-9üa]|resources|time|nodes|command){0,30}") {
        let (_, problems) = RunFile::parse(&text, "yard.toml");
        for problem in problems {
            prop_assert!(!render(&problem, &text, "yard.toml").is_empty());
        }
    }
}

#[test]
fn the_config_has_what_all_runs_share() {
    let text = "name = \"x\"\n[resources]\nacount = \"lab\"\ntime = 5\n[data]\nstage = [\"x\"]\n[cluster.ibex.resource]\nqos = \"x\"\n";
    let (_, problems) = RunFile::parse_user_config(text, "config.toml", Path::new("/c"));
    let shown = problems
        .iter()
        .map(|problem| render(problem, text, "config.toml"));
    expect![[r#"
        error: name belongs to one run
           --> config.toml:1:1
           1 │ name = "x"
             │ ^^^^
          help: write it into the run file: the config holds what all runs share

        error: unknown key acount
           --> config.toml:3:1
           3 │ acount = "lab"
             │ ^^^^^^ did you mean account?
          help: [resources] takes nodes, ranks_per_node, gpus_per_node, gpus, gpu_type, gpu_memory,
                cpus_per_rank, cpus_per_gpu, memory, memory_per_gpu, memory_per_cpu, time, account, qos,
                partition, exclusive, constraint, sbatch

        error: time = 5 has no unit
           --> config.toml:4:8
           4 │ time = 5
             │        ^ expected text with a unit
          help: write "5s", "5m" or "5h"

        error: data belongs to one run
           --> config.toml:5:2
           5 │ [data]
             │  ^^^^
          help: write it into the run file: the config holds what all runs share

        error: unknown key resource
           --> config.toml:7:15
           7 │ [cluster.ibex.resource]
             │               ^^^^^^^^ did you mean resources?
          help: [cluster.ibex] takes resources, environment, checkpoints, resume, watch, notify, services
    "#]].assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}
