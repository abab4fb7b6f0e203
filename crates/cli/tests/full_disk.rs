//! Disks that take nothing for a while, from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
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

/// Starts an engine that a file which must not grow does not end, and returns its process.
fn start_engine(env: &TestEnv) -> String {
    start_engine_with(env, "")
}

fn start_engine_with(env: &TestEnv, options: &str) -> String {
    let yard = env!("CARGO_BIN_EXE_yard");
    let script = format!("trap '' XFSZ; exec '{yard}' engine start {options}");
    let start = env.program("sh", &["-c", &script]).output();
    let said = String::from_utf8(start.expect("there is a shell").stdout);
    let said = said.expect("it is text");
    let process = said.split("process ").nth(1).expect("it is named");
    process.split(',').next().unwrap_or_default().to_owned()
}

/// From now on none of its files grows beyond 2 MiB: its store says then what it says on a full disk.
fn let_no_file_grow(env: &TestEnv, process: &str) {
    limit_files(env, process, "2097152");
}

fn limit_files(env: &TestEnv, process: &str, bytes: &str) {
    let limit = ["--pid", process, &format!("--fsize={bytes}:")];
    let mut prlimit = env.program("prlimit", &limit);
    assert!(prlimit.status().expect("it is installed").success());
}

/// Leaves the store not even room for one more line of a script.
fn fill_store(env: &TestEnv) {
    for lines in [20_000, 2_000, 200, 20, 1, 1] {
        let text = format!("#!/bin/sh\n{}", "# much to store\n".repeat(lines));
        env.write("big.sh", &text);
        let submit = || {
            let submitted = env.slurm("sbatch", &["-H", "big.sh"]);
            submitted.status
        };
        while submit() == 0 {}
    }
}

#[test]
fn what_is_cancelled_on_a_full_disk_goes_on_until_there_is_room() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let engine = start_engine(&env);
    env.slurm("sbatch", &["--wrap", "sleep 1000"]).success();
    let run = ["run", "-d", "--on", "local", "--cpus-per-task", "1"];
    env.yard(&[&run[..], &["--", "sleep", "1000"]].concat())
        .success();
    let listed = || env.yard(&["ls"]).success();
    wait_until("both run", || listed().matches("running").count() == 2);
    let_no_file_grow(&env, &engine);
    fill_store(&env);
    let mark = || {
        let runs = children(&env.trainyard_home().join("scratch/work"));
        runs[0].join("links/cancelled").exists()
    };
    // What little was left of the last page may hold the end of one job.
    let first = env.slurm("scancel", &["1"]);
    let ended = first.status == 0;
    if !ended {
        let words = "the engine's store can't be written, and nothing was changed";
        assert!(first.stderr.contains(words), "{first:?}");
    }
    let said = env.yard(&["cancel", "sleep"]).code(5);
    for part in ["nothing was changed", "  do      make room there"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert!(
        !mark(),
        "the run goes on, and its folder says that it was cancelled"
    );
    let states = || {
        let options = ["-X", "-n", "-P", "-o", "jobid,state", "-j", "1,2"];
        env.slurm("sacct", &options).success()
    };
    assert!(states().contains("2|RUNNING"), "{}", states());
    env.yard(&["engine", "stop"]).success();
    env.yard(&["engine", "start"]).success();
    let now = states();
    assert!(now.contains("2|RUNNING"), "{now}");
    assert_eq!(now.contains("1|RUNNING"), !ended, "{now}");
    // Slurm has no word for a job that is over already.
    env.slurm("scancel", &["1"]).success();
    env.yard(&["cancel", "sleep"]).success();
    assert!(mark());
    wait_until("both have ended", || {
        states().matches("CANCELLED").count() == 2
    });
}

/// It failed at once, and with it the script.
#[test]
fn a_step_that_finds_no_room_is_asked_for_again() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let engine = start_engine(&env);
    let script =
        "#!/bin/sh\ntouch begun\nwhile [ ! -e full ]; do sleep 0.05; done\nsrun echo through\n";
    env.write("steps.sh", script);
    env.slurm("sbatch", &["-o", "said", "steps.sh"]).success();
    wait_until("it runs", || env.work().join("begun").exists());
    limit_files(&env, &engine, "0");
    env.write("full", "");
    let said = || fs::read_to_string(env.work().join("said")).unwrap_or_default();
    wait_until("it says why it waits", || {
        said().contains("retrying (the engine's store can't be written")
    });
    limit_files(&env, &engine, "unlimited");
    wait_until("it has run", || said().contains("\nthrough\n"));
}

/// It failed at once, where one that the living engine refuses waits.
#[test]
fn a_step_is_asked_for_again_while_the_next_engine_can_not_open_its_store() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let engine = start_engine(&env);
    let script =
        "#!/bin/sh\ntouch begun\nwhile [ ! -e killed ]; do sleep 0.05; done\nsrun echo through\n";
    env.write("steps.sh", script);
    env.slurm("sbatch", &["-o", "said", "steps.sh"]).success();
    wait_until("it runs", || env.work().join("begun").exists());
    let hosts = children(&env.trainyard_home().join("state"));
    let log = hosts[0].join("main/store.sqlite-wal");
    let aside = env.root().join("store.sqlite-wal");
    fs::rename(&log, &aside).expect("it is there");
    // No store is opened with a folder for its log.
    fs::create_dir(&log).expect("its name is free");
    let mut kill = env.program("kill", &["-9", &engine]);
    assert!(kill.status().expect("it is installed").success());
    env.write("killed", "");
    let said = || fs::read_to_string(env.work().join("said")).unwrap_or_default();
    wait_until("it says why it waits", || {
        said().contains("step creation temporarily disabled, retrying (engine in")
    });
    fs::remove_dir(&log).expect("it is empty");
    fs::rename(&aside, &log).expect("its name is free");
    wait_until("it has run", || said().contains("\nthrough\n"));
}

/// It had lasted until there was room, and its account was charged for that.
#[test]
fn a_job_that_ends_on_a_full_disk_ended_when_its_script_did() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let engine = start_engine(&env);
    let script = "#!/bin/sh\ntouch begun\nwhile [ ! -e full ]; do sleep 0.05; done\ndate +%s > new\nmv new over\n";
    env.write("job.sh", script);
    env.slurm("sbatch", &["job.sh"]).success();
    wait_until("it runs", || env.work().join("begun").exists());
    limit_files(&env, &engine, "0");
    env.write("full", "");
    let over = || {
        let text = fs::read_to_string(env.work().join("over")).unwrap_or_default();
        text.trim().parse::<i64>().ok()
    };
    wait_until("it is over for four seconds", || {
        over().is_some_and(|over| sys::now() / 1000 >= over + 4)
    });
    let rows = |fields: &str| {
        let mut sacct = env.command(&["slurm", "sacct", "-n", "-P", "-o", fields]);
        let done = sacct.env("SLURM_TIME_FORMAT", "%s").output();
        String::from_utf8(done.expect("it runs").stdout).expect("it is text")
    };
    assert!(rows("state").starts_with("RUNNING"), "{}", rows("state"));
    limit_files(&env, &engine, "unlimited");
    wait_until("that is written", || rows("state").starts_with("COMPLETED"));
    let ends = rows("end");
    let over = over().expect("it was written");
    for end in ends.lines() {
        let end: i64 = end.parse().expect("a moment");
        assert!((over..=over + 2).contains(&end), "{over}: {ends}");
    }
}

/// One is over, so that they are ended one by one.
#[test]
fn repeats_that_a_full_disk_lets_go_on_are_not_marked_as_cancelled() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let engine = start_engine(&env);
    env.write(
        "yard.toml",
        "name = \"many\"\nrepeat = 3\n\
         command = [\"sh\", \"-c\", \"[ {repeat} = 1 ] || exec sleep 1000\"]\n\
         [resources]\ncpus_per_rank = 1\n",
    );
    env.yard(&["run", "-d", "--on", "local"]).success();
    let states = || {
        let squeue = env
            .slurm("squeue", &["-h", "-r", "-n", "many", "-o", "%T"])
            .success();
        squeue.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    wait_until("one is over and two run", || {
        states() == ["RUNNING", "RUNNING"]
    });
    let_no_file_grow(&env, &engine);
    fill_store(&env);
    let said = env.yard(&["cancel", "many"]).code(5);
    assert!(said.stderr.contains("nothing was changed"), "{said:?}");
    let marks = || {
        let scratch = env.trainyard_home().join("scratch");
        let runs = children(&scratch.join("work"));
        let below = runs.iter().flat_map(|run| children(run));
        let all = runs.iter().cloned().chain(below);
        all.filter(|run| run.join("links/cancelled").exists())
            .count()
    };
    assert_eq!(states(), ["RUNNING", "RUNNING"]);
    assert_eq!(marks(), 0);
    env.yard(&["engine", "stop"]).success();
    env.yard(&["engine", "start"]).success();
    env.yard(&["cancel", "many"]).success();
    assert_eq!(marks(), 2);
    wait_until("all have ended", || states().is_empty());
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

/// By the document of before no job is judged: it isn't true any more.
#[test]
fn a_changed_cluster_that_can_not_be_written_is_not_taken_for_the_former() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // The document is large, and what changes of it is not.
    let features: Vec<String> = (0..1200).map(|at| format!("\"{at:01000}\"")).collect();
    let file = format!(
        "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\nfeatures = [{}]\n\
         [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1:00:00\"\n",
        features.join(", ")
    );
    env.write("lab.toml", &file);
    let engine = start_engine_with(&env, "lab --cluster lab.toml");
    let update = |time: &str| {
        let mut command = env.command(&["slurm", "scontrol", "update", "PartitionName=main"]);
        let done = command
            .arg(format!("MaxTime={time}"))
            .env("TRAINYARD_ENGINE", "lab")
            .output();
        let done = done.expect("it runs");
        assert!(done.status.success(), "{done:?}");
    };
    env.write("job.sh", "#!/bin/sh\n#SBATCH --time=3:00:00\ntrue\n");
    let plan = || env.yard(&["plan", "job.sh", "--on", "lab"]);
    update("9:00:00");
    plan().success();
    limit_files(&env, &engine, "1048576");
    update("30:00");
    let said = plan().code(5).stderr;
    for part in ["  asked   lab", "could not write ", "make room there"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    limit_files(&env, &engine, "unlimited");
    wait_until("it is known again", || {
        let said = plan();
        said.status == 3 && said.stdout.contains("PartitionTimeLimit")
    });
    env.yard(&["engine", "stop", "lab"]).success();
}

/// What can't be taken back is not changed.
#[test]
fn a_cluster_whose_document_can_not_be_emptied_stays_as_it_is() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "lab.toml",
        "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\n\
         [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1:00:00\"\n",
    );
    let _engine = start_engine_with(&env, "lab --cluster lab.toml");
    let hosts = children(&env.trainyard_home().join("state"));
    let document = hosts[0].join("lab/cluster.now.toml");
    let update = |time: &str| {
        let mut command = env.command(&["slurm", "scontrol", "update", "PartitionName=main"]);
        command.arg(format!("MaxTime={time}"));
        let done = command.env("TRAINYARD_ENGINE", "lab").output();
        done.expect("it runs").status.success()
    };
    env.write("job.sh", "#!/bin/sh\n#SBATCH --time=3:00:00\ntrue\n");
    let takes_the_job = || {
        let said = env.yard(&["plan", "job.sh", "--on", "lab"]);
        said.status == 0
    };
    assert!(update("9:00:00") && takes_the_job());
    // What is opened for writing there is no file.
    fs::rename(&document, document.with_extension("kept")).expect("it is there");
    fs::create_dir(&document).expect("it was moved");
    assert!(!update("30:00"));
    fs::remove_dir(&document).expect("it is empty");
    fs::rename(document.with_extension("kept"), &document).expect("it was moved");
    assert!(takes_the_job());
    assert!(update("30:00") && !takes_the_job());
    env.yard(&["engine", "stop", "lab"]).success();
}

/// In Slurm it is lost without a word.
#[test]
fn output_of_a_step_that_a_full_disk_does_not_take_is_said_to_be_lost() {
    let test = "output_of_a_step_that_a_full_disk_does_not_take_is_said_to_be_lost";
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // Before the engine starts: one that was there before does not see the disk.
    let disk = match FailingDisk::new(&env.work().join("small"), 1) {
        Ok(disk) => disk,
        Err(error) => return skip(test, &format!("no small disk can be mounted ({error})")),
    };
    disk.fill().expect("it can be filled");
    let srun = |options: &[&str], out: Stdio| {
        let words = ["slurm", "srun", "-n2"];
        let command = ["sh", "-c", "seq 9; seq 9; exit 0"];
        let mut srun = env.command(&[&words[..], options, &command].concat());
        let done = srun.stdout(out).output().expect("it runs");
        let said = String::from_utf8(done.stderr).expect("a text");
        assert!(done.status.success(), "{said}");
        said
    };
    let full = fs::File::options().write(true).open("/dev/full");
    let said = srun(&[], full.expect("a device of Linux").into());
    assert_eq!(
        said,
        "srun: error: output of the step is lost, it can't be written: No space left on device\n"
    );
    let said = srun(&["--label", "--output=small/out"], Stdio::piped());
    for rank in 0..2 {
        let lost = format!(
            "slurmstepd: error: task {rank}: lines of its output are lost: No space left on device\n"
        );
        assert_eq!(said.matches(&lost).count(), 1, "{said}");
    }
}

/// Nothing of it ran: it failed for what passes.
#[test]
fn a_job_waits_for_room_for_its_processes() {
    let test = "a_job_waits_for_room_for_its_processes";
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "lab", "--nodes", "1"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let hosts = children(&env.trainyard_home().join("state"));
    let engine = hosts[0].join("lab");
    if !engine.join("nodes/hosts").exists() {
        return skip(test, "nodes are not isolated here");
    }
    let disk = match FailingDisk::new(&engine.join("nodes/node1/jobs"), 1) {
        Ok(disk) => disk,
        Err(error) => return skip(test, &format!("no small disk can be mounted ({error})")),
    };
    // One that was there before does not see the disk.
    for verb in ["stop", "start"] {
        env.yard(&["engine", verb, "lab"]).success();
    }
    disk.fill().expect("it can be filled");
    env.slurm("sbatch", &["--wrap", "true"]).success();
    let log = engine.join("engine.log");
    wait_until("it waits for room", || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        said.contains("waits for room for its job's processes")
    });
    disk.make_room().expect("it was filled");
    let state = || {
        env.slurm("sacct", &["-X", "-n", "-P", "-o", "state"])
            .stdout
    };
    wait_until("it has run", || state() == "COMPLETED\n");
    env.yard(&["engine", "stop", "lab"]).success();
}
