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
