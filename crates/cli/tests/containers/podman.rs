//! Podman, whose containers are no descendants of what starts them.

use super::*;

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

/// By runc, which runs under control groups of either version, without the journal of a system; and with limits that
/// a machine can't refuse which is a container itself.
const CONTAINERS: &str = "[containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\n\
     [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\n";

/// Podman itself, with a storage of the environment's own; none where it is not installed or starts no container: many
/// machines let it do so to no user, or not to root.
fn with_podman(what: &str) -> Option<TestEnv> {
    let mut env = with_busybox(what)?;
    let storage = env.root().join("podman").display().to_string();
    let storage = format!(
        "[storage]\ndriver = \"vfs\"\ngraphroot = \"{storage}/graph\"\nrunroot = \"{storage}/run\"\n"
    );
    for (name, file, text) in [
        ("CONTAINERS_CONF", "containers.conf", CONTAINERS),
        ("CONTAINERS_STORAGE_CONF", "storage.conf", &storage),
    ] {
        let file = env.write(file, text).display().to_string();
        env.set_var(name, file);
    }
    let folder = format!("{}:O", env.work().join("image").display());
    let words = ["run", "--rm", "--network=host", "--rootfs", &folder, "echo"];
    let why = match env.program("podman", &words).output() {
        Ok(output) if output.status.success() => return Some(env),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    skip(
        what,
        &format!("a Podman that starts containers is needed: {why}"),
    );
    None
}

#[test]
fn ranks_of_two_nodes_in_podman() {
    let Some(mut env) = with_podman("a run in Podman") else {
        return;
    };
    let cluster = "[nodes.n]\ncount = 2\ncpus = 2\nmemory = \"2G\"\n\
         [partition.p]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"1:00:00\"\n";
    let file = env.write("lab.toml", cluster).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    let work = env.work();
    let write = |nodes: u32, ranks: u32, command: &str| {
        let text = format!(
            "launcher = \"srun\"\ncommand = [\"sh\", \"-c\", \"{command}\"]\n\
             [resources]\nnodes = {nodes}\nranks_per_node = {ranks}\ncpus_per_rank = 1\ntime = \"5m\"\n\
             [environment]\nvariables = {{ WORD = \"$\" }}\n\
             [environment.container]\nruntime = \"podman\"\nimage = \"image\"\n\
             mounts = [\"shared:/shared:ro\"]\nwritable = true\n"
        );
        fs::write(work.join("yard.toml"), text).unwrap();
    };
    env.write("shared/note", "seen\n");
    env.write("image/ch/environment", "RANK=77\nWORD=of the image\n");
    let says = "echo rank $RANK of $WORLD_SIZE with $WORD; cat /etc/mark /shared/note; \
                echo own > /etc/own; echo no > /shared/no || cat /etc/own; \
                echo weights > $YARD_CHECKPOINTS/step-$RANK";
    write(2, 1, says);
    let before = names_in_image(&env);
    let printed = env.yard(&["run", "--on", "lab"]).success();
    for rank in 0..2 {
        for line in [
            &*format!("rank {rank} of 2 with $"),
            "made of busybox",
            "seen",
            "own",
        ] {
            let line = format!("[{rank}] {line}");
            assert!(printed.contains(&line), "{line}: {printed}");
        }
    }
    assert_eq!(names_in_image(&env), before);
    let folder = env.yard(&["show", "--json"]).success();
    let folder: serde_json::Value = serde_json::from_str(&folder).unwrap();
    let folder = Path::new(folder["folder"].as_str().unwrap());
    for rank in 0..2 {
        let saved = folder.join(format!("checkpoints/step-{rank}"));
        assert_eq!(fs::read_to_string(saved).unwrap(), "weights\n");
    }
    // The variables of an image that Podman itself has built.
    env.write(
        "Dockerfile",
        "FROM scratch\nCOPY image /\nENV GREETING=\"of the image\" RANK=77\n",
    );
    let own = env.write(
        "own.toml",
        "launcher = \"srun\"\ncommand = [\"sh\", \"-c\", \"echo $GREETING, rank $RANK\"]\n[resources]\ntime = \"5m\"\n\
         [environment.container]\nruntime = \"podman\"\nimage = \"Dockerfile\"\n",
    );
    let printed = env.yard(&["run", "--on", "lab", own.to_str().unwrap()]);
    let printed = printed.success();
    assert!(printed.contains("[0] of the image, rank 0"), "{printed}");
    // The other ignores that it is told to end.
    write(
        1,
        2,
        "trap '' TERM; [ $RANK = 1 ] || exit 3; while :; do sleep 1; done",
    );
    let failed = env.yard(&["run", "--on", "lab"]).code(1).snapshot();
    assert!(failed.contains("exit code 3"), "{failed}");
    let run = env.yard(&["show", "--json"]).success();
    let run: serde_json::Value = serde_json::from_str(&run).unwrap();
    let name = format!("name=trainyard-{}", run["run"].as_str().unwrap());
    wait_until("the containers are gone", || {
        let listed = ["ps", "--all", "--quiet", "--filter", &name];
        let listed = env.program("podman", &listed).output().unwrap();
        listed.status.success() && listed.stdout.is_empty()
    });
    // A step brings its whole environment, over which the image's holds but for what is named.
    let bin = env.root().join("podman-alone");
    fs::create_dir(&bin).unwrap();
    for program in ["podman", "cp", "mv"] {
        let installed = Path::new("/usr/bin").join(program);
        std::os::unix::fs::symlink(installed, bin.join(program)).unwrap();
    }
    env.set_var("PATH", bin.display().to_string());
    for name in ["WORD", "KEPT"] {
        env.set_var(name, "of outside");
    }
    env.write("image/ch/environment", "WORD=of the image\nKEPT=no\n");
    env.set_var(sys::env_vars::TRAINYARD_ENGINE, "lab");
    let image = ["--container-image=./image", "--container-env=KEPT"];
    let words = ["/bin/sh", "-c", "echo $WORD, $KEPT"];
    // So in what can be written to, in a copy that stays and in one that is saved.
    let kept: [&[&str]; 4] = [
        &[],
        &["--container-writable"],
        &["--container-name=mine"],
        &["--container-save=./saved"],
    ];
    for options in kept {
        let step = env.slurm("srun", &[&image[..], options, &words].concat());
        assert_eq!(step.success(), "of the image, of outside\n", "{options:?}");
    }
    env.yard(&["engine", "stop", "lab"]).success();
}
