//! `yard init`, `yard help`, `yard man` and `yard completions` from outside.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::{Expect, expect};
use std::fs;
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// What `yard init` wrote: its lines that are no comments, and comments above those. The plan for a
/// cluster that has everything can be made of it.
#[track_caller]
fn check(env: &TestEnv, args: &[&str], want: Expect) {
    let mut all = vec!["init"];
    all.extend(args);
    let said = env.yard(&all).success();
    assert!(said.contains("yard.toml written"), "{said}");
    let text = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    let set = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    let missing = text
        .lines()
        .filter(|line| line.starts_with("# Not in this folder"));
    let notes = text
        .lines()
        .filter(|line| line.starts_with("# - ") || line.starts_with("#   "));
    let shown: Vec<&str> = set.chain(missing).chain(notes).collect();
    want.assert_eq(&(shown.join("\n") + "\n"));
    // Where containers run.
    let on = if text.contains("\nimage =") {
        "technion"
    } else {
        "ibex"
    };
    env.yard(&["plan", "--on", on]).success();
}

#[test]
fn of_what_is_in_the_folder() {
    let env = env();
    env.write("train.py", "");
    env.write("requirements.txt", "");
    env.write(
        "job.sbatch",
        "#!/bin/bash\n#SBATCH --time=1\npython train.py\n",
    );
    check(
        &env,
        &[],
        expect![[r#"
        command = ["python", "train.py"]
        requirements = "requirements.txt"
        # - job.sbatch is a batch script: yard init job.sbatch takes over what it asks for.
    "#]],
    );
}

#[test]
fn of_an_empty_folder() {
    check(
        &env(),
        &[],
        expect![[r#"
        command = ["python", "train.py"]
        # Not in this folder yet: train.py.
    "#]],
    );
}

#[test]
fn of_a_command() {
    let env = env();
    check(
        &env,
        &[
            "--", "python", "train.py", "--lr", "3", "--from", "{resume}",
        ],
        expect![[r#"
            command = ["python", "train.py", "--lr", "3", "--from", "{resume}"]
            # Not in this folder yet: train.py.
        "#]],
    );
}

#[test]
fn of_a_batch_script() {
    let env = env();
    env.write("train.py", "");
    env.write(
        "job.sbatch",
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4\n#SBATCH --gpus-per-node=4 -C v100\n\
         #SBATCH --cpus-per-task=6 --mem=180G --time=1-00:00:00\n#SBATCH -o out.%j\n\
         #SBATCH --reservation=r\nmodule load cuda/11.8\nconda activate torch\n\
         export LR=3\nsrun python train.py --x 1\n",
    );
    check(
        &env,
        &["job.sbatch"],
        expect![[r#"
            launcher = "srun"
            command = ["python", "train.py", "--x", "1"]
            nodes = 2
            ranks_per_node = 4
            gpus_per_node = 4
            cpus_per_rank = 6
            memory = "180G"
            time = "24h"
            constraint = "v100"
            sbatch = ["--reservation=r"]
            conda = "torch"
            modules = ["cuda/11.8"]
            variables = { LR = "3" }
            # - --output=out.%j is left out: what ranks print goes into the run's folder, a file a rank: yard
            #   logs.
        "#]],
    );
    let plan = ["plan", "--on", "ibex", "--beside", "job.sbatch"];
    let beside = env.yard(&plan).success();
    assert!(
        beside.contains("beside job.sbatch: the same allocation"),
        "{beside}"
    );
}

#[test]
fn of_a_call_of_a_launcher() {
    check(
        &env(),
        &[
            "--",
            "torchrun",
            "--nproc-per-node",
            "4",
            "train.py",
            "--lr",
            "3",
        ],
        expect![[r#"
            launcher = "torchrun"
            command = ["python", "train.py", "--lr", "3"]
            ranks_per_node = 4
            # Not in this folder yet: train.py.
        "#]],
    );
}

#[test]
fn a_script_that_prepares_before_it_trains() {
    let env = env();
    env.write(
        "job.sbatch",
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --array=1-3%2\n\
         srun -l bash -c 'hostname' | sort > $NODELIST\n\
         horovodrun -np $SLURM_NTASKS -H `cat $NODELIST` python /data/mnist.py\n",
    );
    check(
        &env,
        &["job.sbatch"],
        expect![[r#"
            launcher = "horovod"
            command = ["python", "/data/mnist.py"]
            repeat = 3
            at_once = 2
            nodes = 2
            ranks_per_node = 4
            # Not in this folder yet: /data/mnist.py.
            # - line 3 is left out: srun -l bash -c 'hostname' (a run starts one command: do it before, or in a
            #   script that is the command)
        "#]],
    );
}

#[test]
fn a_script_with_a_container_and_one_with_a_gap() {
    let env = env();
    env.write(
        "job.sbatch",
        "#!/bin/bash\nsrun --container-image=nvcr.io#nvidia/pytorch:24.01-py3 \\\n  \
         --container-mounts=/data:/data,/code:/code python train.py\n",
    );
    check(
        &env,
        &["job.sbatch"],
        expect![[r#"
        launcher = "srun"
        command = ["python", "train.py"]
        image = "docker://nvcr.io/nvidia/pytorch:24.01-py3"
        mounts = ["/data:/data", "/code:/code"]
        # Not in this folder yet: train.py.
    "#]],
    );
    let env = self::env();
    env.write(
        "job.sbatch",
        "#!/bin/bash\nsrun --container-image=<path to the image> /bin/bash -c \"python x.py\"\n",
    );
    env.yard(&["init", "job.sbatch"]).success();
    let text = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    assert!(text.contains("<path to the image>"), "{text}");
    assert!(
        text.contains("\ncommand = [\"python\", \"train.py\"]\n"),
        "{text}"
    );
}

/// No shell reads a run file, and not every line that is left out is a variable.
#[test]
fn paths_of_a_shell_and_lines_that_are_left_out() {
    let env = env();
    env.write(
        "job.sbatch",
        "#!/bin/bash\nsource ~/venv/bin/activate\ncd /proj/x\nexport A=1\nexport B=$(hostname)\n\
         export MASTER_ADDR=$(scontrol show hostnames | head -n1)\nsrun mkdir x\npython train.py\n",
    );
    env.yard(&["init", "job.sbatch"]).success();
    let text = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    let home = env.root().join("home");
    let venv = format!("\nvenv = \"{}/venv\"\n", home.display());
    assert!(text.contains(&venv), "{text}");
    assert!(text.contains("\nvariables = { A = \"1\" }\n"), "{text}");
    let notes = text
        .lines()
        .filter(|line| line.starts_with("# - ") || line.starts_with("#   "));
    let notes: Vec<&str> = notes.collect();
    expect![[r#"
        # - line 3 is left out: cd /proj/x (a run starts in its copy of the run file's folder: keep
        #   yard.toml where the code is)
        # - line 5 is left out: export B=$(hostname) (only the job knows it: set it in the program, or in a
        #   script that is the command)
        # - line 6 is left out: export MASTER_ADDR=$(scontrol show hostnames | head -n1) (the launcher sets
        #   it)
        # - line 7 is left out: srun mkdir x (a run starts one command: do it before, or in a script that is
        #   the command)"#]].assert_eq(&notes.join("\n"));
    let env = self::env();
    env.write(
        "job.sbatch",
        "#!/bin/bash\nsrun --container-image=/i.sqsh --container-mounts=$HOME:/home,/a:/b,$SCRATCH/x:/y \\\n  \
         python train.py\n",
    );
    env.yard(&["init", "job.sbatch"]).success();
    let text = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    let mounts = format!(
        "\nmounts = [\"{}:/home\", \"/a:/b\"]\n",
        env.root().join("home").display()
    );
    assert!(text.contains(&mounts), "{text}");
    assert!(
        text.contains("--container-mounts=$SCRATCH/x:/y is left out"),
        "{text}"
    );
}

/// The file is copied with the code, and what is no secret's name stays a variable.
#[test]
fn secrets_of_a_script_are_named_and_not_copied() {
    let env = env();
    env.write("train.py", "");
    env.write(
        "job.sbatch",
        "#!/bin/bash\nexport WANDB_API_KEY=abc123\nexport HF_TOKEN={abc123\nexport TOKENIZERS_PARALLELISM=false\n\
         wandb login abc123\nMY_PASSWORD=abc123 python train.py\n",
    );
    check(
        &env,
        &["job.sbatch"],
        expect![[r#"
            launcher = "none"
            command = ["python", "train.py"]
            variables = { TOKENIZERS_PARALLELISM = "false" }
            secrets = ["WANDB_API_KEY", "HF_TOKEN", "MY_PASSWORD"]
            # - line 2: WANDB_API_KEY seems to be a secret: its name is in [environment] secrets, and its value
            #   is not in this file. Export it in the shell in which yard run is started.
            # - line 3: HF_TOKEN seems to be a secret: its name is in [environment] secrets, and its value is
            #   not in this file. Export it in the shell in which yard run is started.
            # - line 6: MY_PASSWORD seems to be a secret: its name is in [environment] secrets, and its value is
            #   not in this file. Export it in the shell in which yard run is started.
            # - line 5 is left out: wandb login … (a run starts one command: do it before, or in a script that
            #   is the command)
        "#]],
    );
    let text = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    assert!(!text.contains("abc123"), "{text}");
}

#[test]
fn no_line_of_a_script_is_dropped_in_silence() {
    let env = env();
    env.write("train.py", "");
    env.write(
        "job.sbatch",
        "#!/bin/bash\nsource /opt/conda/etc/profile.d/conda.sh\nconda activate torch\nOUT=/scratch/exp\nNOW=$(date +%s)\n\
         cp -r /data/imagenet $SLURM_TMPDIR/\ntrap 'touch stop' USR1\npython prep.py\n\
         python train.py --out \"$OUT/a b\" --now $NOW\npython eval.py\ncp -r results ~/out\n\
         scontrol requeue $SLURM_JOB_ID\n",
    );
    check(
        &env,
        &["job.sbatch"],
        expect![[r#"
            launcher = "none"
            command = ["bash", "-c", 'exec python train.py --out "$OUT/a b" --now $NOW']
            conda = "torch"
            variables = { OUT = "/scratch/exp" }
            own_checkpoints = true
            # - line 9: a shell reads the command, since it has variables. Of what the script sets before it has
            #   what [environment] sets: set the rest in the command, or write the values.
            # - line 8: a further command that computes is left out, since a run starts one: python prep.py
            # - line 10: a further command that computes is left out, since a run starts one: python eval.py
            # - line 5 is left out: NOW=$(date +%s) (only the job knows it: set it in the program, or in a
            #   script that is the command)
            # - line 6 is left out: cp -r /data/imagenet $SLURM_TMPDIR/ (a run starts one command: do it before,
            #   or in a script that is the command)
            # - line 7 is left out: trap 'touch stop' USR1 ([resume] notify says how the program learns that its
            #   job is about to end)
            # - line 11 is left out: cp -r results ~/out (a run starts one command: do it before, or in a script
            #   that is the command)
        "#]],
    );
}

#[test]
fn nothing_is_overwritten() {
    let env = env();
    let path = env.write("yard.toml", "mine");
    let refused = env.yard(&["init"]).code(5);
    expect![[r#"
        error: yard.toml is not overwritten
          asked   a new run file in this folder
          there   a yard.toml, which stays as it is
          do      edit it, or move it away first
    "#]]
    .assert_eq(&refused.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(&path).unwrap();
    // A link that leads nowhere is there, too.
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    let _refused = env.yard(&["init"]).code(5);
    assert!(path.is_symlink());
}

#[test]
fn what_can_be_no_run_file_is_not_written() {
    let env = env();
    env.write("notes.txt", "hello");
    let _refused = env.yard(&["init", "notes.txt"]).code(2);
    let _refused = env.yard(&["init", "missing.sbatch"]).code(5);
    let _refused = env.yard(&["init", "--", "python", "{no_such}"]).code(2);
    env.write("bad.sh", "#!/bin/bash\n#SBATCH --nodes=many\n");
    let _refused = env.yard(&["init", "bad.sh"]).code(3);
    assert_eq!(fs::read_dir(env.work()).unwrap().count(), 2);
}

#[test]
fn help_man_pages_and_completions_know_the_same_commands() {
    let env = env();
    let help = env.yard(&["help", "init"]).success();
    assert_eq!(help, env.yard(&["init", "--help"]).success());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.yard(&["completions", shell]).success();
        assert!(
            script.contains("init") && script.contains("gpus-per-node"),
            "{shell}"
        );
    }
    let page = env.yard(&["man", "init"]).success();
    assert!(page.contains(".TH yard-init"), "{page}");
    let _refused = env.yard(&["man", "no-such"]).code(2);
    env.yard(&["man", "--out", "pages"]).success();
    let page_of_file = fs::read_to_string(env.work().join("pages/yard-init.1")).unwrap();
    assert_eq!(page, page_of_file);
    assert!(env.work().join("pages/yard-cluster-show.1").is_file());
}
