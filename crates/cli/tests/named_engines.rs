//! Several engines side by side, each with the cluster of a file or of flags.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::expect;
use std::process::Stdio;
use testkit::{TestEnv, wait_until};

const SCRIPT: &str = "#!/bin/sh\n#SBATCH --nodes=2 --gpus-per-node=4 --time=1\n\
echo \"on $SLURM_JOB_NODELIST\"\n\
srun sh -c 'echo \"rank $SLURM_PROCID: $CUDA_VISIBLE_DEVICES\"'\n";

#[test]
fn a_script_goes_to_the_engine_that_is_named() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("job.sh", SCRIPT);
    let started = env.yard(&["engine", "start", "sat", "--cluster", "satori"]);
    assert!(started.success().contains("64 nodes"));
    let shape = ["--nodes", "2", "--gpus-per-node", "4"];
    let mut start = vec!["engine", "start", "two"];
    start.extend(shape);
    env.yard(&start).success();
    for (name, nodes) in [("sat", "on node[0001-0002]"), ("two", "on node[1-2]")] {
        let run = env.yard(&["run", "--on", name, "job.sh"]).success();
        assert!(run.contains(nodes), "{run}");
        assert!(run.contains("rank 1: 0,1,2,3"), "{run}");
        // Each engine numbers its own jobs.
        let job = format!("{name}:1");
        let show = env.yard(&["show", &job]).success();
        assert!(
            show.contains(&format!("TRAINYARD_ENGINE={name} yard slurm")),
            "{show}"
        );
        assert!(env.yard(&["logs", &job]).success().contains(nodes));
        assert!(env.yard(&["wait", &job]).success().contains("COMPLETED"));
    }
    // The same name with another cluster is refused, and changes nothing.
    let other = env.yard(&["engine", "start", "two", "--nodes", "3"]);
    assert_ne!(other.status, 0, "{other:?}");
    let listed = env.yard(&["engine", "ls"]).success();
    assert!(
        listed.contains("sat") && listed.contains("2 nodes"),
        "{listed}"
    );
    for name in ["sat", "two"] {
        env.yard(&["engine", "stop", name]).success();
    }
    // It comes back as what it was.
    let jobs = env.yard(&["run", "--on", "two", "job.sh"]).success();
    assert!(
        jobs.contains("job 2") && jobs.contains("on node[1-2]"),
        "{jobs}"
    );
    env.yard(&["engine", "stop", "two"]).success();
}

/// Its folder was made first, and then no other cluster could have the name.
#[test]
fn a_cluster_of_which_no_engine_can_be_takes_no_name() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    for (file, text) in [("empty.toml", ""), ("mark.toml", "\u{feff}")] {
        env.write(file, text);
        let refused = env.yard(&["engine", "start", "y1", "--cluster", file]);
        let said = refused.code(2).snapshot();
        assert!(said.contains("it has no nodes"), "{said}");
        let checked = env.yard(&["cluster", "check", file]).success();
        assert!(checked.contains("there are no nodes"), "{checked}");
    }
    let listed = env.yard(&["engine", "ls"]).success();
    assert!(!listed.contains("y1"), "{listed}");
    let started = env.yard(&["engine", "start", "y1", "--nodes", "70000"]);
    let started = started.success();
    assert!(started.contains("70000 nodes"), "{started}");
    env.yard(&["engine", "stop", "y1"]).success();
}

#[test]
fn who_asks_for_a_job_of_a_stopped_engine_reads_that_it_is_stopped() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let start = ["engine", "start", "lab", "--nodes", "1"];
    env.yard(&start).success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    env.slurm("srun", &["true"]).success();
    env.yard(&["engine", "stop", "lab"]).success();
    for job in ["1", "lab:1"] {
        let refused = env.yard(&["wait", job]).code(1).snapshot();
        assert!(
            refused.contains("not asked, since stopped: lab")
                && refused.contains("yard engine start lab for a job there"),
            "{refused}"
        );
    }
    env.yard(&["engine", "start", "lab"]).success();
    let waited = env.yard(&["wait", "1"]).success();
    assert!(waited.contains("COMPLETED"), "{waited}");
    env.yard(&["engine", "stop", "lab"]).success();
}

#[test]
fn two_engines_under_one_name() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let start = |nodes: &str| env.command(&["engine", "start", "one", "--nodes", nodes]);
    // At the same moment: one of them makes it, and the other finds it.
    let both = [start("2"), start("2")];
    let both = both.map(|mut command| command.stdout(Stdio::null()).spawn().unwrap());
    for mut one in both {
        assert!(one.wait().unwrap().success());
    }
    let listed = env.yard(&["engine", "ls"]).success();
    assert_eq!(listed.matches("one").count(), 1, "{listed}");
    // Another cluster under the name is refused while it runs, and once it is stopped.
    for stopped in [false, true] {
        if stopped {
            env.yard(&["engine", "stop", "one"]).success();
        }
        let other = env.yard(&["engine", "start", "one", "--nodes", "3"]);
        assert_ne!(other.status, 0, "{other:?}");
        let want = "the engine one has another cluster";
        assert!(other.stderr.contains(want), "{}", other.stderr);
    }
}

/// What to do was a command that stands on the `PATH` of jobs alone.
#[test]
fn a_cluster_file_that_was_changed_is_taken_as_the_refusal_says() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let text = |cpus: u32| {
        format!(
            "[nodes.n]\ncount = 2\ncpus = {cpus}\nmemory = \"4000M\"\n\
             [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n"
        )
    };
    let file = env.write("lab.toml", &text(2)).display().to_string();
    let start = ["engine", "start", "lab", "--cluster", &file];
    env.yard(&start).success();
    env.yard(&["engine", "stop", "lab"]).success();
    env.write("lab.toml", &text(4));
    let refused = env.yard(&start).code(2).snapshot();
    let todo = "TRAINYARD_ENGINE=lab yard slurm scontrol reconfigure";
    assert!(refused.contains(todo), "{refused}");
    env.set_var(sys::env_vars::TRAINYARD_ENGINE, "lab");
    env.slurm("scontrol", &["reconfigure"]).success();
    env.yard(&start).success();
    let status = env.yard(&["engine", "status", "lab"]).success();
    assert!(status.contains("8 CPUs"), "{status}");
    env.yard(&["engine", "stop", "lab"]).success();
}

#[test]
fn an_engine_whose_cluster_was_removed_is_refused_and_not_given_this_machine() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.yard(&["engine", "stop", "two"]).success();
    let state = env.trainyard_home().join("state").join(sys::host_name());
    let (file, kept) = (state.join("two/cluster.toml"), state.join("kept"));
    std::fs::rename(&file, &kept).expect("its cluster is kept in its folder");
    // As a job of the engine asks.
    let asks = || {
        let mut command = env.command(&["slurm", "sinfo", "-h", "-o", "%D"]);
        command.env(sys::env_vars::TRAINYARD_ENGINE, state.join("two"));
        let output = command.output().expect("yard can be started");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let refused = asks();
    assert!(refused.contains("cluster.toml is not there"), "{refused}");
    assert!(refused.contains("put it back"), "{refused}");
    let started = env.yard(&["engine", "start", "two", "--nodes", "2"]);
    assert!(
        started.stderr.contains("no file of its cluster"),
        "{started:?}"
    );
    std::fs::rename(&kept, &file).expect("it is put back");
    assert_eq!(asks(), "2\n");
    env.yard(&["engine", "stop", "two"]).success();
}

/// The state of a job and why it waits.
fn state(env: &TestEnv, job: &str) -> String {
    let list = env.slurm("squeue", &["-h", "-j", job, "-t", "all", "-o", "%T %r"]);
    list.success().trim().to_owned()
}

#[test]
fn a_cpu_is_given_to_the_jobs_of_one_engine_at_a_time() {
    let first = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let mut second = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    second.set_var(sys::env_vars::TRAINYARD_CPU_LOCKS, first.root());
    let all = format!("-c{}", sys::cpu::available().len());
    let go = first.work().join("go");
    let until = format!("until [ -e {} ]; do sleep 0.05; done", go.display());
    let submit = |env: &TestEnv, cpus: &str, command: &str| {
        let job = env.slurm(
            "sbatch",
            &["--parsable", "-o/dev/null", cpus, "--wrap", command],
        );
        job.success().trim().to_owned()
    };
    let long = submit(&first, &all, &until);
    wait_until("it runs", || state(&first, &long) == "RUNNING None");
    let next = submit(&second, "-c1", "true");
    wait_until("it waits", || state(&second, &next) == "PENDING Resources");
    let notes = || second.yard(&["engine", "status"]).success();
    let others = "in use by another engine of this machine (process ";
    assert!(notes().contains(others));
    assert!(second.yard(&["why", &next]).success().contains(others));
    // The job's own supervisor holds its CPUs while no engine does.
    first.yard(&["engine", "stop"]).success();
    let later = submit(&second, "-c1", "true");
    wait_until("a pass was made", || {
        state(&second, &later).starts_with("PENDING Priority")
    });
    assert_eq!(state(&second, &next), "PENDING Resources");
    std::fs::write(&go, "").unwrap();
    // No engine says so to the other: it looks.
    for job in [&next, &later] {
        wait_until("it ran", || state(&second, job) == "COMPLETED None");
    }
    assert!(!notes().contains("another engine"));
}

#[test]
fn lint_and_plan_go_by_an_engines_own_cluster() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "long.sh",
        "#!/bin/bash\n#SBATCH --time=13:00:00\n#SBATCH --gres=gpu:1\ntrue\n",
    );
    env.yard(&["engine", "start", "sat", "--cluster", "satori"])
        .success();
    let of_site = env.yard(&["lint", "long.sh", "--on", "satori"]).success();
    let of_engine = env.yard(&["lint", "long.sh", "--on", "sat"]).success();
    assert!(
        of_site.contains("partition normal allows 12:00:00"),
        "{of_site}"
    );
    assert_eq!(of_engine, of_site);
    let plan = env.yard(&["plan", "--on", "sat", "--time", "13h", "--", "true"]);
    let words: Vec<&str> = plan.stdout.split_whitespace().collect();
    expect![
        "note: partition normal allows 12:00:00: a job that asks --time=13:00:00 is started, and ended at that limit; --time=12:00:00, and come back from a checkpoint"
    ]
    .assert_eq(&note_of(&words.join(" "), "partition normal"));
    let of_site = "command = [\"true\"]\n[cluster.satori.resources]\ntime = \"10m\"\n";
    env.write("yard.toml", of_site);
    let plan = env.yard(&["plan", "--on", "sat"]).success();
    let words: Vec<&str> = plan.split_whitespace().collect();
    expect![
        "note: [cluster.satori] is left out: this engine has the cluster file of satori and is called sat; write [cluster.sat], or start the engine as satori"
    ]
    .assert_eq(&note_of(&words.join(" "), "[cluster.satori]"));
    env.yard(&["engine", "stop", "sat"]).success();
}

/// The note of a plan that begins so, on one line.
fn note_of(plan: &str, begins: &str) -> String {
    let notes = plan.split("note: ").skip(1);
    let found = notes.map(str::trim).find(|note| note.starts_with(begins));
    format!("note: {}", found.unwrap_or("none of these"))
}

#[test]
fn engine_status_names_the_engines_that_run() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let said = || env.yard(&["engine", "status"]).stdout;
    let none = "no engine runs; yard engine start starts one, and so does yard run\n";
    assert_eq!(said(), none);
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    expect![[r#"
        this machine's own engine does not run; two does: yard engine status two
    "#]]
    .assert_eq(&said());
    env.yard(&["engine", "stop", "two"]).success();
    assert_eq!(said(), none);
}

#[test]
fn attach_and_shell_go_to_the_engine_of_the_run_and_not_to_the_default_one() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    // Each is job 1 of its engine.
    let script = "exec sleep 600";
    for (name, on) in [("loc", "local"), ("far", "two")] {
        let run = ["run", "-c1", "--on", on, "--name", name, "--detach", "--"];
        env.yard(&[&run[..], &["sh", "-c", script][..]].concat())
            .success();
        wait_until(&format!("{name} runs"), || {
            env.yard(&["ls"])
                .stdout
                .lines()
                .any(|line| line.contains(name) && line.contains("running"))
        });
    }
    let line = "basename $TRAINYARD_ENGINE; echo $SLURMD_NODENAME $YARD_RUN";
    let inside = env
        .yard(&["attach", "far", "--", "sh", "-c", line])
        .success();
    assert!(inside.contains("two\nnode1"), "{inside}");
    let inside = env
        .yard(&["attach", "loc", "--", "sh", "-c", line])
        .success();
    assert!(!inside.contains("two"), "{inside}");
    let inside = env
        .yard(&["shell", "--on", "two", "-c1", "--", "sh", "-c", line])
        .success();
    assert!(inside.contains("two\nnode"), "{inside}");
    for name in ["far", "loc"] {
        env.yard(&["cancel", name]).success();
    }
    for name in ["two", "local"] {
        // An engine that is stopped starts again when a job of its ends.
        wait_until("no job is left", || {
            let mut squeue = env.command(&["slurm", "squeue", "-h"]);
            if name != "local" {
                squeue.env("TRAINYARD_ENGINE", name);
            }
            squeue.output().unwrap().stdout.is_empty()
        });
        env.yard(&["engine", "stop", name]).success();
    }
}

#[test]
fn the_folders_that_a_shell_is_told_of_are_there() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("yard.toml", "");
    let line = "cd $YARD_DATA && cd $YARD_CHECKPOINTS && cd $SLURM_TMPDIR && echo all there";
    let shell = env.yard(&["shell", "-c1", "--", "sh", "-c", line]);
    assert!(shell.stdout.contains("all there"), "{shell:?}");
    env.yard(&["engine", "stop"]).success();
}

/// Its `srun` was refused for the array that the repeats are.
#[test]
fn a_shell_of_a_run_file_with_repeats_is_one() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("yard.toml", "repeat = 3\nat_once = 2\n");
    let shell = env.yard(&["shell", "-c1", "--", "echo", "one shell"]);
    assert_eq!(shell.status, 0, "{shell:?}");
    assert_eq!(shell.stdout, "one shell\n", "{shell:?}");
    env.yard(&["engine", "stop"]).success();
}

#[test]
fn a_shell_has_its_data_staged_until_it_ends() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("yard.toml", "[data]\nstage = [\"big/deep\"]\n");
    env.write("big/deep/file", "of the data");
    let line = "cd $YARD_CHECKPOINTS && cd $YARD_DATA && pwd && cat big/deep/file; exit 3";
    let shell = env.yard(&["shell", "-c1", "--", "sh", "-c", line]);
    assert_eq!(shell.status, 3, "{shell:?}");
    let (folder, text) = shell.stdout.split_once('\n').unwrap();
    assert_eq!(text, "of the data", "{shell:?}");
    assert!(shell.stderr.contains("stage in     11 B in"), "{shell:?}");
    assert!(!std::path::Path::new(folder).exists(), "{folder}");
    env.yard(&["engine", "stop"]).success();
}

#[test]
fn an_engine_is_removed_once_it_is_stopped_and_has_no_unfinished_job() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "rig", "--nodes", "2"])
        .success();
    let refused = |env: &TestEnv, words: &str| {
        let refused = env.yard(&["engine", "rm", "rig"]).code(1);
        assert!(refused.stderr.contains(words), "{}", refused.snapshot());
    };
    refused(&env, "do      yard engine stop rig");
    env.set_var("TRAINYARD_ENGINE", "rig");
    env.slurm("sbatch", &["--hold", "--wrap", "true"]).success();
    env.yard(&["engine", "stop", "rig"]).success();
    refused(&env, "rig has 1 unfinished job");
    env.slurm("scancel", &["1"]).success();
    env.yard(&["engine", "stop", "rig"]).success();
    env.yard(&["engine", "rm", "rig"]).success();
    let listed = env.yard(&["engine", "ls"]).success();
    assert!(!listed.contains("rig"), "{listed}");
    // The name is free.
    env.yard(&["engine", "start", "rig", "--nodes", "3"])
        .success();
    env.yard(&["engine", "stop", "rig"]).success();
    assert_eq!(env.yard(&["engine", "rm", "local"]).status, 2);
}

#[test]
fn looking_starts_no_engine_where_none_ever_ran() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    for words in [&["ls"][..], &["ls", "--live"], &["show"], &["why", "7"]] {
        let _said = env.yard(words);
        let state = env.trainyard_home().join("state");
        assert!(!state.exists(), "{words:?} made {}", state.display());
    }
}

#[test]
fn wait_gives_up_after_its_timeout_and_the_job_goes_on() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.slurm("sbatch", &["--wrap", "while :; do sleep 0.05; done"])
        .success();
    let left = env.yard(&["wait", "1", "--timeout", "1s"]).code(124);
    assert!(left.stderr.contains("goes on"), "{}", left.snapshot());
    env.slurm("scancel", &["1"]).success();
    assert_eq!(env.yard(&["wait", "1", "--timeout", "10m"]).status, 1);
    env.yard(&["engine", "stop"]).success();
}

/// `MaxJobCount`, `MaxStepCount` and `MaxTasksPerNode`: what an engine does not take, in Slurm's words; and the words of
/// the file that have no effect are said as it starts.
#[test]
fn counts_of_jobs_steps_and_tasks() {
    let text = "[nodes.n]\ncount = 2\ncpus = 8\n\
        [partition.main]\ndefault = true\nnodes = \"ALL\"\n\
        [scheduling]\nparameters = \"bf_continue,nonsense=7,bf_busy_nodes\"\n\
        [limits]\nmax_jobs = 3\nmax_steps = 2\nmax_tasks_per_node = 4\n";
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let file = env.write("counts.toml", text).display().to_string();
    let started = env.yard(&["engine", "start", "counts", "--cluster", &file]);
    let said = started.stderr.clone() + &started.stdout;
    started.success();
    assert!(said.contains("2 words without effect"), "{said}");
    env.set_var("TRAINYARD_ENGINE", "counts");
    let hold = ["-H", "--wrap", "true"];
    env.slurm("sbatch", &hold).success();
    env.slurm("sbatch", &hold).success();
    let full = env.slurm("sbatch", &hold);
    assert_ne!(full.status, 0);
    assert!(
        full.stderr.contains("Resource temporarily unavailable"),
        "{}",
        full.stderr
    );
    env.slurm("scancel", &["2"]).success();
    let steps = "srun -n9 -O true; srun true && srun true && srun true";
    let out = env.work().join("out");
    let at = out.display().to_string();
    // Its last step is refused, so that it fails.
    let job = ["-N2", "-n2", "-W", "-o", &at, "--wrap", steps];
    assert_ne!(env.slurm("sbatch", &job).status, 0);
    let said = std::fs::read_to_string(&out).unwrap_or_default();
    assert!(said.contains("Task count specification invalid"), "{said}");
    assert!(said.contains("Step limit reached for this job"), "{said}");
}
