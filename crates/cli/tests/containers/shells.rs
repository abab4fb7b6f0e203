//! Shells in the container of a run, or of an image.

use super::*;

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

#[test]
fn a_shell_saves_the_image_that_it_changed() {
    let Some(env) = with_image("a changed image") else {
        return;
    };
    // Of a run file only what is named beside: this one asks for more than there is here.
    let unread = env.write(
        "yard.toml",
        "command = [\"true\"]\n[resources]\nnodes = 64\n",
    );
    let change = "id -u; echo new > /etc/mark";
    let shell = ["shell", "--image", "image", "--save", "changed"];
    let shown = env.yard(&[&shell[..], &["--", "sh", "-c", change]].concat());
    assert_eq!(shown.success(), "0\n");
    let read = |image: &str| fs::read_to_string(env.work().join(image).join("etc/mark")).unwrap();
    assert_eq!(
        (read("image"), read("changed")),
        ("made of busybox\n".into(), "new\n".into())
    );
    fs::remove_file(unread).unwrap();
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
    // A run file names the image where the command does not.
    let text = "command = [\"true\"]\n[environment.container]\nimage = \"image\"\n";
    let named = env.write("yard.toml", text);
    let copy = ["shell", "--save", "of-the-file", "--", "sh", "-c", change];
    env.yard(&copy).success();
    assert_eq!(read("of-the-file"), "new\n");
    fs::remove_file(named).unwrap();
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
