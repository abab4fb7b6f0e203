//! Containers: Charliecloud for real where it is installed, with an image made of busybox; the other
//! runtimes by a stand-in that checks what it is called with.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

#[path = "../support/busybox_image.rs"]
mod busybox_image;
mod podman;
mod shells;
mod stand_ins;
mod steps;

use busybox_image::{PATH, with_busybox, with_image};
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
    let note = "$LEFT in the command is empty, unless the image sets it";
    assert!(printed.contains(note), "{printed}");
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
    // What is mounted may come with the job: it is a note.
    fs::create_dir(env.work().join("image")).unwrap();
    let names = "image = \"image\"\nmounts = [\"no-sets\"]\nhome = \"no-home\"";
    env.write("yard.toml", &run_file(names));
    let shown = env.yard(&["plan"]).snapshot();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let work = env.work().display().to_string();
    for (key, name) in [("mounts", "no-sets"), ("home", "no-home")] {
        let note = format!("{key} names what is not there: {work}/{name}");
        assert!(shown.contains(&note), "{shown}");
    }
    let secret = "command = [\"true\"]\n[environment]\nsecrets = [\"NO_SUCH_TOKEN\"]\n";
    env.write("yard.toml", secret);
    let shown = env.yard(&["run"]).code(2).snapshot();
    assert!(
        shown.contains("the secret NO_SUCH_TOKEN is not known"),
        "{shown}"
    );
}
