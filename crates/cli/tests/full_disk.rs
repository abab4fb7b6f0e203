//! Disks that take nothing for a while, from outside.

use std::fs;
use std::path::{Path, PathBuf};
use testkit::{FailingDisk, TestEnv, skip, wait_until};

/// A small disk where the runs of the project `work` lie, if this user may mount one.
fn small_disk(env: &TestEnv, test: &str) -> Option<FailingDisk> {
    match FailingDisk::new(&env.trainyard_home().join("scratch/work"), 4) {
        Ok(disk) => Some(disk),
        Err(error) => {
            skip(test, &format!("no small disk can be mounted ({error})"));
            None
        }
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn a_full_disk_during_submission_leaves_nothing_half() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let Some(disk) = small_disk(&env, "a_full_disk_during_submission_leaves_nothing_half") else {
        return;
    };
    env.write("yard.toml", "name = \"loop\"\ncommand = [\"true\"]\n");
    env.write("big.bin", &"x".repeat(1 << 20));
    disk.fill().expect("it can be filled");
    let said = env.yard(&["run", "--on", "local"]).code(5);
    for part in ["  asked ", "  there ", "No space left", "  do "] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    let runs = env.trainyard_home().join("scratch/work");
    let left = || -> Vec<PathBuf> {
        let folders = children(&runs).into_iter();
        folders.filter(|path| path.is_dir()).collect()
    };
    assert_eq!(left(), Vec::<PathBuf>::new());
    assert!(env.yard(&["ls"]).success().contains("no runs yet"));
    disk.make_room().expect("it was filled");
    env.yard(&["run", "--on", "local"]).success();
    assert_eq!(left().len(), 1);
}

/// What an agent notes there for the case that all of the job is killed needs room that a training
/// which writes nothing there does not.
#[test]
fn a_full_node_disk_ends_no_run_that_writes_nothing_there() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let test = "a_full_node_disk_ends_no_run_that_writes_nothing_there";
    let disk = match FailingDisk::new(&env.root().join("tmp"), 4) {
        Ok(disk) => disk,
        Err(error) => return skip(test, &format!("no small disk can be mounted ({error})")),
    };
    disk.fill().expect("it can be filled");
    let said = env.yard(&["run", "--on", "local", "--", "true"]).success();
    assert!(said.contains("1 start"), "{said}");
}

mod slow {
    use super::*;
    use testkit::that_mention;

    /// Each step is noted outside of the disk that fails, once its checkpoint stands.
    fn write_run(env: &TestEnv) -> PathBuf {
        let ledger = env.root().join("ledger");
        let program = format!(
            r#"i=$(ls "$1" | sed 's/[^0-9]//g' | sort -n | tail -1); i=${{i:-0}}
while [ $i -lt 30 ]; do
  i=$((i+1)); echo "state $i" > "$2/.new"; mv "$2/.new" "$2/step-$i.pkl"
  echo $i >> {}; sleep 0.4
done
"#,
            ledger.display()
        );
        env.write("train.sh", &program);
        env.write(
            "yard.toml",
            r#"name = "loop"
command = ["sh", "train.sh", "{resume}", "{checkpoints}"]
resources = { time = "10s" }
checkpoints = { complete = "rename" }
resume = { grace = "4s" }
"#,
        );
        ledger
    }

    fn steps(ledger: &Path) -> Vec<u32> {
        let text = fs::read_to_string(ledger).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// What the run's starts have on the node.
    fn on_the_node(env: &TestEnv) -> Vec<PathBuf> {
        let roots = children(&env.root().join("tmp")).into_iter();
        let mut all: Vec<PathBuf> = roots.flat_map(|root| children(&root)).collect();
        all.retain(|path| path.to_string_lossy().contains("/loop-"));
        all
    }

    /// The node-local folders of the run's starts.
    fn node_folders(env: &TestEnv) -> Vec<PathBuf> {
        let mut folders = on_the_node(env);
        folders.retain(|path| path.is_dir());
        folders
    }

    #[test]
    fn a_run_folder_that_is_full_at_the_limit_costs_no_step() {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let test = "a_run_folder_that_is_full_at_the_limit_costs_no_step";
        let Some(disk) = small_disk(&env, test) else {
            return;
        };
        let ledger = write_run(&env);
        let said = std::thread::scope(|scope| {
            let run = scope.spawn(|| env.yard(&["run", "--on", "local"]));
            wait_until("some steps are done", || {
                steps(&ledger).len() >= 3 || run.is_finished()
            });
            disk.fill().expect("it can be filled");
            // Where not even its last events found room, the next start waits for some.
            let is_next = |path: &PathBuf| {
                let name = path.to_string_lossy();
                (path.is_dir() && !name.ends_with(".0")) || name.ends_with(".events")
            };
            wait_until("the first start gave up", || {
                on_the_node(&env).iter().any(is_next) || run.is_finished()
            });
            disk.make_room().expect("it was filled");
            run.join().expect("the command was waited for").success()
        });
        let mut done = steps(&ledger);
        let count = done.len();
        done.sort_unstable();
        done.dedup();
        assert_eq!(done.len(), count, "a step was done twice\n{said}");
        assert_eq!(done.last(), Some(&30), "{said}");
        assert!(said.contains("is taken from the node's own disk"), "{said}");
        assert!(said.contains("done in"), "{said}");
        assert_eq!(node_folders(&env), Vec::<PathBuf>::new());
    }

    #[test]
    fn the_only_copy_of_a_checkpoint_outlives_other_runs_and_yard_clean() {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let test = "the_only_copy_of_a_checkpoint_outlives_other_runs_and_yard_clean";
        let Some(disk) = small_disk(&env, test) else {
            return;
        };
        let ledger = write_run(&env);
        env.yard(&["run", "--on", "local", "--detach"]).success();
        wait_until("some steps are done", || steps(&ledger).len() >= 3);
        disk.fill().expect("it can be filled");
        let full_at = steps(&ledger).len();
        wait_until("a checkpoint finds no room", || {
            steps(&ledger).len() >= full_at + 3
        });
        env.yard(&["cancel", "loop"]).success();
        wait_until("its processes are gone", || {
            let all = that_mention(env.root());
            !all.iter().any(|(_, line)| line.contains("job agent"))
        });
        disk.make_room().expect("it was filled");
        let [folder] = node_folders(&env).try_into().expect("one folder is left");
        let folder: PathBuf = folder;
        env.write("other.toml", "name = \"other\"\ncommand = [\"true\"]\n");
        env.yard(&["run", "--on", "local", "other.toml"]).success();
        assert!(folder.exists());
        let said = env.yard(&["clean"]).success();
        assert!(
            folder.exists() && said.contains("the only copy of step-"),
            "{said}"
        );
        let said = env.yard(&["clean", "--force", "--dry-run"]).success();
        assert!(folder.exists() && said.contains("would remove"), "{said}");
        env.yard(&["clean", "--force"]).success();
        assert!(!folder.exists());
        let said = env.yard(&["clean"]).success();
        assert!(said.contains("nothing is left over"), "{said}");
    }
}
