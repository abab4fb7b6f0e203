//! Containers: Charliecloud for real where it is installed, with an image made of busybox; the other
//! runtimes by a stand-in that checks what it is called with.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

#[path = "support/busybox_image.rs"]
mod busybox_image;

use busybox_image::{PATH, with_image};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::{RealSlurm, SlurmShape, TestEnv, skip, wait_until};

/// What a container leaves as it is: all names below the image's folder.
fn names_in_image(env: &TestEnv) -> Vec<String> {
    let listed = Command::new("find")
        .arg(env.work().join("image"))
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut names: Vec<String> = listed.lines().map(str::to_owned).collect();
    names.sort();
    names
}

const RUN_FILE: &str = r#"
launcher = "srun"
command = ["sh", "./train.sh"]
[resources]
nodes = 2
time = "2m"
[data]
stage = ["in"]
[environment]
variables = { WHERE = "{data}/in" }
secrets = ["HF_TOKEN"]
[environment.container]
image = "image"
mounts = ["shared:/shared/deep"]
"#;

const TRAIN: &str = r#"set -e
cat /etc/mark "$WHERE" /shared/deep/note
test ${#HF_TOKEN} = 9
echo "rank $RANK of $WORLD_SIZE on $SLURMD_NODENAME in $(pwd)"
echo "path $PATH home $HOME $(ls -a "$HOME" | grep -c .)"
echo weights > "$YARD_CHECKPOINTS/step-$RANK"
"#;

#[test]
fn ranks_of_two_nodes_in_charliecloud() {
    let Some(mut env) = with_image("a run in Charliecloud") else {
        return;
    };
    env.write("yard.toml", RUN_FILE);
    env.write("train.sh", TRAIN);
    env.write("in", "staged\n");
    env.write("shared/note", "mounted\n");
    env.set_var("HF_TOKEN", "two\nlines");
    let before = names_in_image(&env);
    let printed = env.yard(&["run"]).success();
    assert_eq!(names_in_image(&env), before);
    for rank in 0..2 {
        assert!(
            printed.contains(&format!("[{rank}] made of busybox")),
            "{printed}"
        );
        assert!(printed.contains(&format!("[{rank}] staged")), "{printed}");
        assert!(printed.contains(&format!("[{rank}] mounted")), "{printed}");
        assert!(printed.contains(&format!("rank {rank} of 2")), "{printed}");
    }
    let run = only_run(&env);
    for name in ["step-0", "step-1"] {
        assert!(
            run.join("checkpoints").join(name).exists(),
            "{name}: {printed}"
        );
    }
    // The run is over: what was in a file of the user alone is nowhere now.
    assert!(!run.join("secrets.json").exists());
    for (path, text) in texts_below(&run) {
        assert!(
            !text.contains("two\nlines") && !text.contains("two\\nlines"),
            "{path:?}"
        );
    }
}

/// Has every start of `ch-run` leave its words in the file that is returned.
fn note_command_lines(env: &mut TestEnv) -> PathBuf {
    let noted = env.work().join("words");
    let script = format!(
        "#!/bin/bash\nprintf '%s\\n' \"$*\" >>{}\nexec /usr/bin/ch-run \"$@\"\n",
        noted.display()
    );
    let program = env.write("bin/ch-run", script.as_str());
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
    noted
}

#[test]
fn what_a_run_sets_holds_over_the_images_variables() {
    let Some(mut env) = with_image("variables in Charliecloud") else {
        return;
    };
    let of_image = "GREETING=of the image\nRANK=77\nHF_TOKEN=none\nHOME=/no\nLEFT='of the image'\n";
    env.write("image/ch/environment", of_image);
    env.set_var("HF_TOKEN", "two\nlines");
    let noted = note_command_lines(&mut env);
    let line = "echo $GREETING rank $RANK token ${#HF_TOKEN} left $LEFT home $(ls -d \"$HOME\").";
    let run_file = |line: &str| {
        format!(
            "launcher = \"srun\"\ncommand = [\"sh\", \"-c\", '{line}']\n[environment]\n\
             variables = {{ GREETING = \"of the run file\" }}\nsecrets = [\"HF_TOKEN\"]\n\
             [environment.container]\nimage = \"image\"\n"
        )
    };
    env.write("yard.toml", run_file(line).as_str());
    let printed = env.yard(&["run"]).success();
    let said = "of the run file rank 0 token 9 left of the image home /";
    assert!(printed.contains(said), "{printed}");
    let shown = env.yard(&["shell", "--", "sh", "-c", line]).success();
    assert!(
        shown.contains("of the run file rank 77 token 9 left"),
        "{shown}"
    );
    env.set_var("GREETING", "of the step");
    let step = [
        "--container-image=./image",
        "--container-env=HF_TOKEN,UNSET",
        "sh",
        "-c",
        "echo $GREETING ${#HF_TOKEN} $RANK",
    ];
    let shown = env.slurm("srun", &step).success();
    assert_eq!(shown, "of the image 9 77\n");
    let noted = fs::read_to_string(noted).unwrap();
    assert_eq!(noted.matches("--set-env=/proc/self/fd/").count(), 3);
    assert!(
        !noted.contains("lines") && !noted.contains("of the run file "),
        "{noted}"
    );
}

/// The same run file on a Slurm that is none of ours.
#[test]
fn ranks_of_two_real_nodes_in_charliecloud() {
    let Some(mut env) = with_image("a run in Charliecloud on a real Slurm") else {
        return;
    };
    if let Some(reason) = RealSlurm::missing() {
        return skip("a run in Charliecloud on a real Slurm", &reason);
    }
    let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 2 }).unwrap();
    env.set_var("SLURM_CONF", slurm.conf());
    env.set_var("HF_TOKEN", "two\nlines");
    env.write("yard.toml", RUN_FILE);
    env.write("train.sh", TRAIN);
    env.write("in", "staged\n");
    env.write("shared/note", "mounted\n");
    let before = names_in_image(&env);
    let printed = env.yard(&["run", "--on", "rig"]).success();
    assert_eq!(names_in_image(&env), before);
    for rank in 0..2 {
        for words in ["made of busybox", "staged", "mounted"] {
            assert!(printed.contains(&format!("[{rank}] {words}")), "{printed}");
        }
        assert!(printed.contains(&format!("rank {rank} of 2")), "{printed}");
        let step = format!("checkpoints/step-{rank}");
        assert!(only_run(&env).join(step).exists(), "{printed}");
    }
}

/// As Podman's: its container is no child of `podman run`, which hands SIGTERM on and waits, and `podman kill` ends it.
const LOOSE: &str = r#"#!/bin/bash
at=$(dirname "$0")/containers
mkdir -p "$at"
case $1 in
  run)
    while [ "$1" != --rootfs ]; do
      case $1 in --name=*) name=${1#*=} ;; esac
      shift
    done
    shift 2
    (setsid bash -c 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec "$@"' "$at/$name" "$@" &)
    until [ -s "$at/$name" ]; do sleep 0.05; done
    pid=$(cat "$at/$name")
    trap 'kill -TERM $pid' TERM
    while kill -0 "$pid"; do sleep 0.1; done 2>/dev/null ;;
  kill) kill -KILL "$(cat "$at/$2")" ;;
  rm) rm "$at/$3" ;;
esac
"#;

/// `scancel` ends the processes of a step on a real Slurm, of which such a container is none.
#[test]
fn a_container_of_podman_ends_with_its_run_on_a_real_slurm() {
    if let Some(reason) = RealSlurm::missing() {
        return skip("a container that outlives podman run", &reason);
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let program = env.write("bin/podman", LOOSE);
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
    fs::create_dir_all(env.work().join("folder")).unwrap();
    let slurm = RealSlurm::start(SlurmShape { nodes: 1, cpus: 2 }).unwrap();
    env.set_var("SLURM_CONF", slurm.conf());
    env.write(
        "yard.toml",
        "launcher = \"srun\"\n\
         command = [\"bash\", \"-c\", \"trap '' TERM; while :; do sleep 1; done\"]\n\
         [resources]\nranks_per_node = 2\ntime = \"5m\"\n\
         [environment.container]\nimage = \"folder\"\nruntime = \"podman\"\n",
    );
    let mut run = env.command(&["run", "--on", "rig"]).spawn().unwrap();
    let containers = bin.join("containers");
    let pids = || -> Vec<u32> {
        let notes = fs::read_dir(&containers).into_iter().flatten().flatten();
        let texts = notes.filter_map(|note| fs::read_to_string(note.path()).ok());
        texts.filter_map(|text| text.trim().parse().ok()).collect()
    };
    wait_until("both containers", || pids().len() == 2);
    let pids = pids();
    env.yard(&["cancel", "@"]).success();
    wait_until("the run is over", || run.try_wait().unwrap().is_some());
    wait_until("the containers are gone", || {
        pids.iter()
            .all(|pid| sys::process::start_time(*pid).is_none())
    });
    assert_eq!(fs::read_dir(&containers).unwrap().count(), 0);
}

/// The folder of the only run.
fn only_run(env: &TestEnv) -> PathBuf {
    let scratch = env.trainyard_home().join("scratch");
    let projects = fs::read_dir(scratch).unwrap().flatten();
    let runs = projects.flat_map(|project| fs::read_dir(project.path()).into_iter().flatten());
    let runs: Vec<PathBuf> = runs
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("run.json").is_file())
        .collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.into_iter().next().unwrap()
}

fn texts_below(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            texts.extend(texts_below(&path));
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            texts.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    texts
}

#[test]
fn a_shell_has_what_the_ranks_have() {
    let Some(mut env) = with_image("a shell in Charliecloud") else {
        return;
    };
    env.write("yard.toml", RUN_FILE);
    env.set_var("HF_TOKEN", "two\nlines");
    env.write("shared/note", "mounted\n");
    env.write("in", "staged\n");
    let line = "cat /etc/mark /shared/deep/note; echo token ${#HF_TOKEN} job $SLURM_JOB_ID.; cat $YARD_DATA/in; pwd";
    let shown = env.yard(&["shell", "--", "sh", "-c", line]).success();
    assert!(
        shown.contains("made of busybox\nmounted\ntoken 9 job 1.\nstaged\n"),
        "{shown}"
    );
    let shells = env.trainyard_home().join("scratch/.yard/shells");
    assert_eq!(fs::read_dir(shells).unwrap().count(), 0);
    let ended = env.yard(&["shell", "--", "sh", "-c", "exit 5"]);
    assert_eq!(ended.status, 5, "{ended:?}");
}

/// Its folder has the values of its secrets until the node has read them.
#[test]
fn what_a_killed_shell_left_is_found_and_removed() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("HF_TOKEN", "secret");
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[environment]\nsecrets = [\"HF_TOKEN\"]\n",
    );
    let all = [
        "-N1",
        "--exclusive",
        "--wrap",
        "while [ ! -e go ]; do sleep 0.05; done",
    ];
    env.slurm("sbatch", &all).success();
    wait_until("the node is taken", || {
        env.slurm("squeue", &["-h", "-t", "R"])
            .success()
            .lines()
            .count()
            == 1
    });
    let mut shell = env.command(&["shell", "--", "true"]);
    let mut shell = shell.stderr(Stdio::null()).spawn().unwrap();
    let shells = env.trainyard_home().join("scratch/.yard/shells");
    let file = || {
        let folder = fs::read_dir(&shells).ok()?.flatten().next()?;
        Some(folder.path().join("shell.json")).filter(|file| file.exists())
    };
    wait_until("the shell waits", || file().is_some());
    let said = env.yard(&["clean"]).success();
    assert!(said.contains("a yard shell that is not over"), "{said}");
    assert!(file().is_some());
    shell.kill().unwrap();
    shell.wait().unwrap();
    let said = env.yard(&["clean"]).success();
    assert!(said.contains("what a killed yard shell left"), "{said}");
    assert_eq!(fs::read_dir(&shells).unwrap().count(), 0);
    env.write("go", "");
    wait_until("no job is left", || {
        env.slurm("squeue", &["-h"]).success().is_empty()
    });
}

/// With an environment that is made for it, on a terminal, and by its exit code.
#[test]
fn a_shell_on_a_terminal_with_a_made_environment() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("requirements.txt", "# none\n");
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[environment]\nrequirements = \"requirements.txt\"\n",
    );
    let yard = env!("CARGO_BIN_EXE_yard");
    let inner =
        "tty >/dev/null && echo terminal; python3 -c \"import sys; print(sys.prefix)\"; exit 7";
    let line = format!("{yard} shell -- sh -c '{inner}'");
    let output = env
        .program("script", &["-qec", &line, "/dev/null"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(said.contains("terminal\r\n"), "{said}");
    let made = env.trainyard_home().join("cache/environments");
    assert!(said.contains(&*made.to_string_lossy()), "{said}");
    // Where nodes alone reach the registries, it is not made on this machine.
    let cluster = "internet = \"compute\"\n[nodes.n]\ncount = 1\ncpus = 2\nmemory = \"4000M\"\n\
                   [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n";
    let cluster = env.write("nodes.toml", cluster).display().to_string();
    env.yard(&["engine", "start", "nodes", "--cluster", &cluster])
        .success();
    let shell = ["shell", "--on", "nodes", "--", "true"];
    env.yard(&shell).success();
    env.write("requirements.txt", "# other\n");
    let refused = env.yard(&shell).code(3).snapshot();
    assert!(
        refused.contains("the environment of the shell is not made yet"),
        "{refused}"
    );
    env.yard(&["run", "--on", "nodes"]).success();
    env.yard(&shell).success();
    env.yard(&["engine", "stop", "nodes"]).success();
}

/// As Pyxis has them, by whichever runtime is there.
#[test]
fn steps_and_scripts_with_an_image() {
    let Some(mut env) = with_image("steps in Charliecloud") else {
        return;
    };
    env.write("shared/note", "mounted\n");
    env.write("image/ch/environment", "OF_IMAGE=image\nKEPT=image\n");
    env.set_var("OF_IMAGE", "outside");
    env.set_var("KEPT", "outside");
    env.set_var("OWN", "outside");
    let image = "--container-image=./image";
    let line = "cat /etc/mark /m/note; echo $SLURM_PROCID of $SLURM_NTASKS in $PWD: \
                $OF_IMAGE $KEPT $OWN.";
    let step = [
        "-N2",
        image,
        "--container-mounts=./shared:/m",
        "--container-workdir=/etc",
    ];
    let command = ["--container-env=KEPT,OWN", "sh", "-c", line];
    let before = names_in_image(&env);
    let shown = env.slurm("srun", &[&step[..], &command].concat()).success();
    assert_eq!(names_in_image(&env), before);
    for task in 0..2 {
        let said = format!("{task} of 2 in /etc: image outside outside.");
        assert!(shown.contains(&said), "{shown}");
    }
    // Lines of two tasks come in any order.
    for line in ["made of busybox\n", "mounted\n"] {
        assert_eq!(shown.matches(line).count(), 2, "{shown}");
    }

    // The image itself stays as it is, unless a name keeps the container.
    let write = "echo changed > /etc/mark && cat /etc/mark";
    let written = env.slurm("srun", &[image, "--container-writable", "sh", "-c", write]);
    assert_eq!(written.success(), "changed\n");
    let named = "--container-name=mine";
    let written = env.slurm("srun", &[image, named, "sh", "-c", write]);
    assert_eq!(written.success(), "changed\n");
    let again = env.slurm("srun", &["--container-name=mine:exec", "cat", "/etc/mark"]);
    assert_eq!(again.success(), "changed\n");
    let kept = env.slurm("srun", &[image, "cat", "/etc/mark"]);
    assert_eq!(kept.success(), "made of busybox\n");
    let saved = env.slurm(
        "srun",
        &[image, "--container-save=./new", "sh", "-c", write],
    );
    assert_eq!(saved.success(), "changed\n");
    let new = fs::read_to_string(env.work().join("new/etc/mark")).unwrap();
    assert_eq!(new, "changed\n");

    // A script is in the container as a whole; the commands of an allocation are not.
    let script = "#!/bin/sh\n#SBATCH --container-image=./image\n#SBATCH -o out\n\
                  cat /etc/mark; echo \"with $1 and $OWN\"\n";
    env.write("job.sh", script);
    env.slurm("sbatch", &["--wait", "job.sh", "an argument"])
        .success();
    let out = fs::read_to_string(env.work().join("out")).unwrap();
    assert_eq!(out, "made of busybox\nwith an argument and outside\n");
    env.write(
        "bash.sh",
        "#!/bin/bash\n#SBATCH --container-image=./image\n#SBATCH -o out\ntrue\n",
    );
    let _failed = env.slurm("sbatch", &["--wait", "bash.sh"]).code(1);
    let out = fs::read_to_string(env.work().join("out")).unwrap();
    assert!(out.contains("/bin/bash: No such file"), "{out}");
    let inner = "cat /etc/mark 2>/dev/null; srun cat /etc/mark";
    let shown = env.slurm("salloc", &["-Q", image, "sh", "-c", inner]);
    assert_eq!(shown.success(), "made of busybox\n");
}

#[test]
fn steps_without_what_they_need_are_refused() {
    let Some(env) = with_image("refused steps in Charliecloud") else {
        return;
    };
    let check = |options: &[&str], words: &str| {
        let shown = env.slurm("srun", &[options, &["true"]].concat());
        let shown = shown.code(1).snapshot();
        assert!(shown.contains(words), "{shown}");
    };
    let image = "--container-image=./image";
    check(&["--container-image=./imagee"], "imagee is not there");
    check(&["--container-image=./image.sif"], "charliecloud can't run");
    check(&[image, "--container-entrypoint"], "knows no entry points");
    check(
        &[image, "--container-mounts=a:/b"],
        "pyxis: mount source must be",
    );
    check(
        &["--container-name=no:exec"],
        "there is no container \"no\"",
    );
    check(&[image, "--container-save=image"], "is there already");
    check(
        &["--container-image=docker://127.0.0.1:1/a"],
        "its registry does not answer",
    );
    let shown = env
        .slurm("srun", &["--container-mounts=/a", "true"])
        .snapshot();
    let words = "ignoring --container-mounts because neither --container-image nor";
    assert!(shown.contains(words), "{shown}");
}

#[test]
fn a_shell_saves_the_image_that_it_changed() {
    let Some(env) = with_image("a changed image") else {
        return;
    };
    let change = "id -u; echo new > /etc/mark";
    let shell = ["shell", "--image", "image", "--save", "changed"];
    let shown = env.yard(&[&shell[..], &["--", "sh", "-c", change]].concat());
    assert_eq!(shown.success(), "0\n");
    let read = |image: &str| fs::read_to_string(env.work().join(image).join("etc/mark")).unwrap();
    assert_eq!(
        (read("image"), read("changed")),
        ("made of busybox\n".into(), "new\n".into())
    );
    let again = ["shell", "--image", "changed", "--", "cat", "/etc/mark"];
    assert_eq!(env.yard(&again).success(), "new\n");
    let shown = env
        .yard(&[&shell[..], &["--", "true"]].concat())
        .code(2)
        .snapshot();
    assert!(shown.contains("changed is there already"), "{shown}");
    // What only a mount could show is unpacked, once.
    let packed = ["shell", "--image", "image", "--save", "packed.sqsh"];
    env.yard(&[&packed[..], &["--", "sh", "-c", change]].concat())
        .success();
    for made in [true, false] {
        let read = ["shell", "--image", "packed.sqsh", "--", "cat", "/etc/mark"];
        let shown = env.yard(&read).success();
        assert!(shown.ends_with("new\n"), "{shown}");
        assert_eq!(shown.contains("kept for next time"), made, "{shown}");
    }
    let listed = env.yard(&["cache", "ls"]).success();
    assert_eq!(listed.matches("packed.sqsh").count(), 1, "{listed}");
    let missing = ["shell", "--image", "no.sqsh", "--", "true"];
    let shown = env.yard(&missing).code(1).snapshot();
    assert!(shown.contains("no.sqsh is not there"), "{shown}");
    let sif = [
        "shell", "--image", "image", "--save", "new.sif", "--", "true",
    ];
    let shown = env.yard(&sif).code(2).snapshot();
    assert!(
        shown.contains("it saves a folder or a .sqsh file"),
        "{shown}"
    );
}

#[test]
fn a_failure_and_a_missing_program_are_named() {
    let Some(env) = with_image("failures in Charliecloud") else {
        return;
    };
    let run_file = |command: &str| {
        format!("command = {command}\n[environment.container]\nimage = \"image\"\n")
    };
    env.write(
        "yard.toml",
        &run_file("[\"sh\", \"-c\", \"echo gone; exit 7\"]"),
    );
    let shown = env.yard(&["run"]).code(1).snapshot();
    assert!(shown.contains("exit code 7"), "{shown}");
    env.write("yard.toml", &run_file("[\"no-such-program\"]"));
    let shown = env.yard(&["run"]).code(1).snapshot();
    assert!(shown.contains("no-such-program"), "{shown}");
}

#[test]
fn what_is_not_there_is_refused_before_anything_is_submitted() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let run_file = |container: &str| {
        format!(
            "command = [\"true\"]\n[environment.container]\nruntime = \"charliecloud\"\n{container}\n"
        )
    };
    env.write("yard.toml", &run_file("image = \"imagee\""));
    let shown = env.yard(&["plan"]).code(2).snapshot();
    assert!(shown.contains("imagee is not there"), "{shown}");
    let secret = "command = [\"true\"]\n[environment]\nsecrets = [\"NO_SUCH_TOKEN\"]\n";
    env.write("yard.toml", secret);
    let shown = env.yard(&["run"]).code(2).snapshot();
    assert!(
        shown.contains("the secret NO_SUCH_TOKEN is not known"),
        "{shown}"
    );
}

/// Stands in for a runtime.
const STAND_IN: &str = include_str!("support/container_runtime.sh");

/// Puts it on the `PATH` by the name of a runtime's program.
fn stand_in_for(env: &mut TestEnv, program: &str) {
    let path = env.write(format!("bin/{program}"), STAND_IN);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = env.work().join("bin");
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
}

/// The runtimes that are not run for real: that they get what they take, and what a rank finds inside.
#[test]
fn stand_ins_of_the_other_runtimes() {
    let runtimes = [
        ("apptainer", "image.sif"),
        ("singularity", "image.sif"),
        ("enroot", "image.sqsh"),
        ("podman", "folder"),
    ];
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let bin = env.work().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, image) in runtimes {
        let program = bin.join(name);
        fs::write(&program, STAND_IN).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        if image.contains('.') {
            env.write(image, "");
        } else {
            fs::create_dir_all(env.work().join(image)).unwrap();
        }
    }
    env.set_var("PATH", format!("{}:{PATH}", bin.display()));
    env.set_var("HF_TOKEN", "two\nlines");
    env.set_var("OUTSIDE", "1");
    for (runtime, image) in runtimes {
        let text = format!(
            "launcher = \"srun\"\ncommand = [\"sh\", \"-c\", \"echo rank $RANK of $WORLD_SIZE job \
             $SLURM_JOB_ID own $OWN token ${{#HF_TOKEN}} outside $OUTSIDE.; pwd\"]\n\
             [resources]\nnodes = 2\n[environment]\nvariables = {{ OWN = \"1\" }}\n\
             secrets = [\"HF_TOKEN\"]\n[environment.container]\nimage = \"{image}\"\n\
             runtime = \"{runtime}\"\n"
        );
        env.write("yard.toml", text.as_str());
        let shown = env.yard(&["run"]).snapshot();
        for rank in 0..2 {
            assert!(
                shown.contains(&format!("rank {rank} of 2 job ")),
                "{runtime}: {shown}"
            );
        }
        assert!(
            shown.contains("own 1 token 9 outside ."),
            "{runtime}: {shown}"
        );
        assert!(!shown.contains(&format!("{runtime}:")), "{shown}");
    }
}

/// Starts a run in a container, whose only rank waits until `shared/go` is there.
fn start_in_container(env: &TestEnv, image: &str, runtime: &str) {
    let text = format!(
        "launcher = \"srun\"\n\
         command = [\"sh\", \"-c\", \"echo >$SHARED/begun; until [ -e $SHARED/go ]; do sleep 0.1; done\"]\n\
         [environment]\nvariables = {{ SHARED = \"{shared}\", OWN = \"1\" }}\n\
         secrets = [\"HF_TOKEN\"]\n[environment.container]\nimage = \"{image}\"\n\
         runtime = \"{runtime}\"\nmounts = [\"{shared}\"]\n",
        shared = env.work().join("shared").display()
    );
    fs::create_dir_all(env.work().join("shared")).unwrap();
    for name in ["begun", "go"] {
        let _ = fs::remove_file(env.work().join("shared").join(name));
    }
    env.write("yard.toml", text.as_str());
    env.yard(&["run", "-d"]).success();
    wait_until(&format!("the rank is started in {runtime}"), || {
        env.work().join("shared/begun").exists()
    });
}

/// Ends the run of [`start_in_container`].
fn end_in_container(env: &TestEnv) {
    env.write("shared/go", "");
    env.yard(&["wait", "@"]).success();
}

#[test]
fn attach_is_inside_the_ranks_container() {
    let Some(mut env) = with_image("yard attach in Charliecloud") else {
        return;
    };
    env.set_var("HF_TOKEN", "two\nlines");
    start_in_container(&env, "image", "charliecloud");
    let line = "cat /etc/mark; echo own $OWN token ${#HF_TOKEN} rank $RANK. of $YARD_RUN; pwd";
    let attached = env.yard(&["attach", "@", "--", "sh", "-c", line]).code(0);
    assert!(
        attached.stderr.contains("note: in a container of ")
            && attached.stderr.contains("/image by charliecloud"),
        "{attached:?}"
    );
    assert_eq!(
        attached.stdout,
        format!(
            "made of busybox\nown 1 token 9 rank . of {}\n{}\n",
            only_run(&env).file_name().unwrap().display(),
            only_run(&env).join("code").display()
        )
    );
    // The shell is one that the image has, whatever the person's own is.
    env.set_var("SHELL", "/no/such/shell");
    env.yard(&["attach", "@"]).success();
    end_in_container(&env);
}

/// Pyxis by our own `srun`, which runs its containers with the first runtime that is there: Enroot comes first.
#[test]
fn attach_with_stand_ins_of_the_other_runtimes() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("HF_TOKEN", "two\nlines");
    env.set_var("OUTSIDE", "1");
    env.write("image.sif", "");
    env.write("image.sqsh", "");
    fs::create_dir_all(env.work().join("folder")).unwrap();
    for (program, runtime, image) in [
        ("enroot", "enroot", "image.sqsh"),
        ("enroot", "pyxis", "image.sqsh"),
        ("apptainer", "apptainer", "image.sif"),
        ("podman", "podman", "folder"),
    ] {
        stand_in_for(&mut env, program);
        start_in_container(&env, image, runtime);
        let line = "echo home $HOME run $YARD_RUN rank $RANK.";
        let attached = env.yard(&["attach", "@", "--", "sh", "-c", line]).code(0);
        let said = format!("{image} by {runtime}");
        assert!(attached.stderr.contains(&said), "{attached:?}");
        let shown = env.yard(&["show", "--json"]).success();
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        let run = shown["run"].as_str().unwrap();
        let want = format!("/home run {run} rank .\n");
        assert!(attached.stdout.ends_with(&want), "{runtime}: {attached:?}");
        end_in_container(&env);
    }
}

#[test]
fn apptainer_makes_gpus_visible_where_there_are_some() {
    let what = "GPUs in Apptainer";
    if let Some(reason) = testkit::gpus_missing() {
        return skip(what, &reason);
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "apptainer");
    env.write("image.sif", "");
    env.pretend_gpus(&["Tesla V100-SXM2-32GB"]);
    for (gpus, seen) in [(1, "GPUs 1 of"), (0, "GPUs of")] {
        env.write(
            "yard.toml",
            &format!(
                "command = [\"sh\", \"-c\", \"echo GPUs $STAND_IN_GPUS of $CUDA_VISIBLE_DEVICES.\"]\n\
                 [resources]\ngpus_per_node = {gpus}\n\
                 [environment.container]\nimage = \"image.sif\"\nruntime = \"apptainer\"\n"
            ),
        );
        let shown = env.yard(&["run", "--on", "local"]).success();
        assert!(shown.contains(seen), "{shown}");
    }
}

/// As sites with Pyxis write it: `srun` mounts before any process of the ranks runs.
#[test]
fn a_folder_of_the_node_is_there_before_srun_starts_the_container() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "enroot");
    env.write("image.sqsh", "");
    env.write(
        "yard.toml",
        "launcher = \"srun\"\n\
         command = [\"sh\", \"-c\", \"echo rank $RANK, there $(ls -d $YARD_DATA/../db)\"]\n\
         [resources]\nnodes = 2\n\
         [environment.container]\nimage = \"image.sqsh\"\nruntime = \"pyxis\"\n\
         mounts = [\"{local}/db:/db\"]\n",
    );
    let shown = env.yard(&["run"]).success();
    for rank in 0..2 {
        assert!(shown.contains(&format!("rank {rank}, there /")), "{shown}");
    }
    let line = "echo shell, there $(ls -d $YARD_DATA/../db)";
    let shown = env.yard(&["shell", "--", "sh", "-c", line]).success();
    assert!(shown.contains("shell, there /"), "{shown}");
    let run_file = fs::read_to_string(env.work().join("yard.toml")).unwrap();
    env.write("set/x", "");
    env.write(
        "yard.toml",
        format!("{run_file}[data]\nstage = [\"set\"]\n").as_str(),
    );
    let refused = env.yard(&["shell", "--", "true"]).code(3).snapshot();
    assert!(
        refused.contains("asked   [data] stage (from ./yard.toml:10)"),
        "{refused}"
    );
}

/// Its address is that of the node, and the program comes from the image.
#[test]
fn a_service_runs_in_the_runs_container() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "apptainer");
    env.write("image.sif", "");
    env.set_var("OUTSIDE", "1");
    env.write(
        "yard.toml",
        "name = \"beside\"\ncommand = [\"sh\", \"-c\", \"until grep -q service-ended \
         $YARD_LOGS/../links/*.events; do sleep 0.1; done\"]\n\
         [environment]\nvariables = { OWN = \"1\" }\n\
         [environment.container]\nimage = \"image.sif\"\nruntime = \"apptainer\"\n\
         [services.look]\ncommand = [\"sh\", \"-c\", \"echo own $OWN outside $OUTSIDE. job \
         $SLURM_JOB_ID\"]\n",
    );
    env.yard(&["run", "--on", "local"]).success();
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let folder = shown["folder"].as_str().unwrap();
    let log = fs::read_to_string(format!("{folder}/logs/1.0.service-look")).unwrap();
    assert!(log.starts_with("own 1 outside . job 1"), "{log}");
}

#[test]
fn a_runtime_that_is_not_there_is_refused_before_anything_is_submitted() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    stand_in_for(&mut env, "singularity");
    let write = |runtime: &str, modules: &str| {
        env.write(
            "yard.toml",
            &format!(
                "command = [\"true\"]\n[environment]\nmodules = [{modules}]\n[environment.container]\n\
                 image = \"docker://python:3.12\"\nruntime = \"{runtime}\"\n"
            ),
        );
    };
    write("apptainer", "");
    for words in [&["plan"][..], &["run", "--on", "local"]] {
        let refused = env.yard(words);
        assert_eq!(refused.status, 3, "{refused:?}");
        for part in [
            "has no apptainer to run the container",
            "asked   runtime = \"apptainer\" (yard.toml:6)",
            "there   no apptainer on PATH; there is singularity",
            "do      leave runtime out, which takes singularity",
        ] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
    }
    write("apptainer", "\"tools/3\"");
    let noted = env.yard(&["plan"]).success();
    assert!(
        noted.contains("whether the modules bring apptainer"),
        "{noted:?}"
    );
    write("apptainer", "\"apptainer/1.2\"");
    let silent = env.yard(&["plan"]).success();
    assert!(!silent.contains("whether"), "{silent:?}");
    // By the file of a cluster that has another one.
    write("charliecloud", "");
    let refused = env.yard(&["plan", "--on", "wilson"]);
    assert!(
        refused.stderr.contains("apptainer by the cluster file"),
        "{refused:?}"
    );
    write("singularity", "");
    let noted = env.yard(&["plan", "--on", "wilson"]).success();
    assert!(noted.contains("answer to singularity too"), "{noted:?}");
}
