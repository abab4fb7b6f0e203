//! What `srun` and the views do while they run: signals, output that has no end of line, rooms that are taken,
//! lists that come again.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs::{self, File};
use std::process::{Child, Stdio};
use testkit::{TestEnv, VirtualCluster, skip, wait_until};

const YARD: &str = env!("CARGO_BIN_EXE_yard");

/// One node of four CPUs.
const NODE: &str = "[nodes.n]\nnames = \"n1\"\ncpus = 4\nmemory = \"4G\"\n[partition.all]\ndefault = true\nnodes = [\"n\"]\n";

/// A command that goes on, its output in the file `out`.
fn begun(env: &TestEnv, command: &str, args: &[&str]) -> Child {
    let out = File::create(env.work().join("out")).unwrap();
    let all = [&["slurm", command], args].concat();
    let mut command = env.command(&all);
    command.stdin(Stdio::null()).stdout(out);
    command.spawn().unwrap()
}

fn written(env: &TestEnv) -> String {
    fs::read_to_string(env.work().join("out")).unwrap()
}

/// `srun -n2 -O sh -c …`, and `kill -USR1` of srun.
#[test]
fn a_signal_to_srun_reaches_all_of_its_tasks() {
    let env = TestEnv::new(YARD);
    let task = "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.1; done";
    let mut srun = begun(&env, "srun", &["-n2", "-O", "sh", "-c", task]);
    wait_until("both tasks are ready", || {
        written(&env).matches("ready").count() == 2
    });
    sys::process::signal(srun.id(), 10).unwrap();
    assert_eq!(srun.wait().unwrap().code(), Some(3));
    assert_eq!(written(&env).matches("got").count(), 2);
}

/// A task that hears of Ctrl-C, and `kill -INT` of its `srun`.
fn interrupted(env: &TestEnv, option: &str, task: &str) -> Child {
    let task = format!("{task}; echo ready; until test -e go; do sleep 0.05; done; echo went on");
    let srun = begun(env, "srun", &[option, "-n1", "sh", "-c", &task]);
    wait_until("the task is ready", || written(env).contains("ready"));
    sys::process::signal(srun.id(), 2).unwrap();
    wait_until("the task heard of it", || written(env).contains("heard"));
    srun
}

#[test]
fn ctrl_c_is_passed_on_and_the_step_goes_on_without_status() {
    let env = TestEnv::new(YARD);
    let mut srun = interrupted(&env, "-X", "trap 'echo heard' INT");
    env.write("go", "");
    assert!(srun.wait().unwrap().success());
    assert_eq!(written(&env), "ready\nheard\nwent on\n");
}

/// It was killed in the same moment.
#[test]
fn a_task_that_ctrl_c_ends_hears_of_it_first() {
    let env = TestEnv::new(YARD);
    // SIGTERM follows at once.
    let task = "trap '' TERM; trap 'echo heard; exit 4' INT";
    let mut srun = interrupted(&env, "--quit-on-interrupt", task);
    assert_eq!(srun.wait().unwrap().code(), Some(4));
}

/// `srun -u`: what a task has written is passed on at once, also within a line.
#[test]
fn unbuffered_output_comes_before_its_line_ends() {
    let env = TestEnv::new(YARD);
    let task = "printf begun; while ! test -e go; do sleep 0.05; done; echo ' and done'";
    let mut srun = begun(&env, "srun", &["-u", "-n1", "sh", "-c", task]);
    wait_until("the beginning of the line is there", || {
        written(&env) == "begun"
    });
    env.write("go", "");
    assert!(srun.wait().unwrap().success());
    assert_eq!(written(&env), "begun and done\n");
}

/// `srun -I1` beside a job that has all CPUs.
#[test]
fn an_immediate_step_waits_for_no_room() {
    let lab = VirtualCluster::start(YARD, NODE);
    let hold = ["-n4", "-o", "/dev/null", "--wrap", "sleep 1000"];
    lab.slurm("sbatch", &hold).success();
    let said = lab.slurm("srun", &["-I1", "-n1", "true"]).code(1).stderr;
    assert_eq!(
        said.lines().next(),
        Some("srun: error: Unable to allocate resources: Requested nodes are busy"),
        "{said}"
    );
    let left = lab.slurm("squeue", &["-h", "-o", "%t"]).success();
    assert_eq!(left, "R\n", "the job that asked at once does not wait");
}

/// `salloc -n4 srun -n1 -c1 [--whole] …`: CPUs of the step on its node.
#[test]
fn a_whole_step_has_all_that_its_job_has_on_a_node() {
    let lab = VirtualCluster::start(YARD, NODE);
    let cpus_of = |options: &[&str]| {
        let step = "scontrol -o show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -o ' CPUs=[0-9]*'";
        let srun = ["-n4", "srun", "-n1"];
        let all = [&srun, options, &["sh", "-c", step]].concat();
        lab.slurm("salloc", &all).success()
    };
    assert_eq!(cpus_of(&["-c1"]), " CPUs=1\n");
    assert_eq!(cpus_of(&["-c1", "--whole"]), " CPUs=4\n");
}

/// `squeue -i 1` and `sinfo -i 1`: the list again and again, each time below the moment.
#[test]
fn lists_come_again_until_they_are_ended() {
    let lab = VirtualCluster::start(YARD, NODE);
    for (command, header) in [("squeue", "JOBID PARTITION"), ("sinfo", "PARTITION AVAIL")] {
        let mut lists = begun(&lab, command, &["-i", "1"]);
        wait_until("there are two lists", || {
            written(&lab).matches(header).count() >= 2
        });
        assert_eq!(lists.try_wait().unwrap(), None, "{command} goes on");
        sys::process::signal(lists.id(), 15).unwrap();
        lists.wait().unwrap();
        let text = written(&lab);
        let first = text.lines().next().unwrap();
        // `Fri Nov 27 00:01:02 2026`
        assert_eq!(first.split_whitespace().count(), 5, "{text}");
        assert!(text.contains("\n\n"), "a line between two lists: {text}");
    }
}

/// `printf … | scontrol`: as many letters as Slurm asks for.
#[test]
fn commands_that_are_read_one_by_one_may_be_short() {
    let env = TestEnv::new(YARD);
    let read = |name: &str, lines: &str| {
        let line = format!("printf '{lines}' | {YARD} slurm {name}");
        let output = env.program("bash", &["-c", &line]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let said = read(
        "scontrol",
        "det\\no\\nshow hostlist n1,n2\\nex\\nshow hostlist n3,n4\\n",
    );
    assert!(said.contains("\nn[1-2]\n"), "{said}");
    assert!(!said.contains("n[3-4]"), "it ended: {said}");
    let said = read(
        "sacctmgr",
        "quie\\nshow qos format=name -n\\n\\\\q\\nnosuch\\n",
    );
    assert!(said.contains("Name"), "{said}");
    assert!(!said.contains("nosuch"), "it ended: {said}");
}

/// A step over its memory on a machine where no control group can be made.
#[test]
fn memory_is_watched_without_control_groups() {
    if sys::process::user() != 0 {
        return skip(
            "memory_is_watched_without_control_groups",
            "only root can hide control groups",
        );
    }
    let env = TestEnv::new(YARD);
    let hidden = |line: &str| {
        let line = format!("mount -t tmpfs -o ro none /sys/fs/cgroup && {YARD} {line}");
        let output = env.program("unshare", &["-m", "sh", "-c", &line]).output();
        let output = output.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.code(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    let hog = "awk 'BEGIN { held = sprintf(\"%150000000s\", \"x\"); system(\"sleep 60\") }'";
    let (code, said) = hidden(&format!("slurm srun -n1 --mem=50 {hog}"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(": task 0: Out Of Memory\n"), "{said}");
    let (_, status) = hidden("engine status");
    let watched = "by a look at its processes twice a second";
    assert!(status.contains(watched), "the groups are hidden: {status}");
}

/// While others live, elements that have ended are not asked about: how they ended counts in the end.
#[test]
fn who_waits_for_an_array_hears_of_an_element_that_failed_before_the_others_ended() {
    let env = TestEnv::new(YARD);
    let waits = "test $SLURM_ARRAY_TASK_ID = 1 && exit 3; until test -e go; do sleep 0.05; done";
    let array = ["--parsable", "--array=1-3", "--wrap", waits];
    let job = env.slurm("sbatch", &array).success();
    let job = job.trim();
    wait_until("the first element has ended", || {
        let left = env.slurm("squeue", &["-h", "-r", "-o", "%K"]).success();
        left.lines().all(|element| element != "1")
    });
    let waiting = env.command(&["wait", job]).stdout(Stdio::piped()).spawn();
    let waiting = waiting.unwrap();
    env.write("go", "");
    let waited = waiting.wait_with_output().unwrap();
    assert_eq!(waited.status.code(), Some(1));
    let said = String::from_utf8(waited.stdout).unwrap();
    assert!(said.contains("not all of its elements completed"), "{said}");
    let again = env.yard(&["wait", job]).code(1);
    assert!(
        again.stdout.contains("not all of its elements"),
        "{}",
        again.stdout
    );
}

/// How many elements have ended is told while others wait for their end.
#[test]
fn who_follows_an_array_hears_of_its_ended_elements_while_others_live() {
    let env = TestEnv::new(YARD);
    env.write(
        "job.sh",
        "#!/bin/sh\n#SBATCH --array=1-2%1 --time=5\n\
         until test -e go-$SLURM_ARRAY_TASK_ID; do sleep 0.05; done\n",
    );
    let said = env.work().join("said");
    let mut follows = env.command(&["run", "job.sh"]);
    let follows = follows.stdout(Stdio::null());
    let mut follows = follows
        .stderr(File::create(&said).unwrap())
        .spawn()
        .unwrap();
    env.write("go-1", "");
    wait_until("the end of one is told", || {
        fs::read_to_string(&said).unwrap().contains("1 of 2 ended")
    });
    env.write("go-2", "");
    assert!(follows.wait().unwrap().success());
}
