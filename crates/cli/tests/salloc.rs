//! `salloc`: an allocation beside a command, in Slurm's words. What is expected was recorded from
//! 22.05.8 by the command line that stands in each test, masked only in ids and names of nodes.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use testkit::{TestEnv, wait_until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// Starts `salloc` and leaves it running.
fn start(env: &TestEnv, args: &[&str]) -> Child {
    let mut command: Command = env.command(&[&["slurm", "salloc"], args].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

fn listed(env: &TestEnv) -> String {
    env.slurm("squeue", &["-h", "-o", "%i %t"]).success()
}

fn wait_until_listed(env: &TestEnv, want: &str) {
    wait_until(&format!("squeue lists {want:?}"), || listed(env) == want);
}

#[track_caller]
fn check(env: &TestEnv, args: &[&str], code: i32, stdout: &str, stderr: &str) {
    let outcome = env.slurm("salloc", args).code(code);
    assert_eq!(
        (outcome.stdout.as_str(), outcome.stderr.as_str()),
        (stdout, stderr),
        "{args:?}"
    );
}

#[test]
fn a_command_has_its_allocation_until_it_ends() {
    let env = env();
    let around = |job: u32| {
        format!(
            "salloc: Granted job allocation {job}\nsalloc: Relinquishing job allocation {job}\n"
        )
    };
    check(&env, &["true"], 0, "", &around(1));
    check(&env, &["-Q", "true"], 0, "", "");
    check(&env, &["sh", "-c", "exit 7"], 7, "", &around(3));
    // A user who kills the command has it end well.
    check(&env, &["sh", "-c", "kill -9 $$"], 0, "", &around(4));
    check(&env, &["sh", "-c", "kill -TERM $$"], 1, "", &around(5));
    check(&env, &["-D", "/", "pwd"], 0, "/\n", &around(6));
    let missing = "salloc: Granted job allocation 7\n\
         salloc: error: _fork_command: Unable to find command \"nosuchcommand\"\n\
         salloc: Relinquishing job allocation 7\n";
    check(&env, &["nosuchcommand"], 1, "", missing);
    let step = ["-Q", "-n1", "sh", "-c", "srun -l echo step $SLURM_JOB_ID"];
    check(&env, &step, 0, "0: step 8\n", "");
    wait_until_listed(&env, "");
    let states = env
        .slurm("sacct", &["-XnPo", "jobid,jobname,state,exitcode"])
        .success();
    assert!(states.contains("1|interactive|COMPLETED|0:0\n"), "{states}");
    assert!(states.contains("3|interactive|FAILED|7:0\n"), "{states}");
}

/// `salloc -n2 --ntasks-per-node=2 -J nm env | grep ^SLURM | sort`, whose job on the real one has a
/// node of two CPUs.
#[test]
fn variables_are_those_that_slurm_sets() {
    let env = env();
    let said = env.slurm(
        "salloc",
        &[
            "-Q",
            "-n1",
            "--ntasks-per-node=1",
            "--mem=100",
            "-J",
            "nm",
            "env",
        ],
    );
    let said = said.success();
    let mut names: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("SLURM") && !line.starts_with("SLURM_CONF="))
        .filter_map(|line| line.split('=').next())
        .collect();
    names.sort_unstable();
    let want = "SLURM_CLUSTER_NAME SLURM_JOBID SLURM_JOB_CPUS_PER_NODE SLURM_JOB_ID SLURM_JOB_NAME \
                SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_JOB_PARTITION SLURM_MEM_PER_NODE \
                SLURM_NNODES SLURM_NODELIST SLURM_NODE_ALIASES SLURM_NPROCS SLURM_NTASKS \
                SLURM_NTASKS_PER_NODE SLURM_SUBMIT_DIR SLURM_SUBMIT_HOST SLURM_TASKS_PER_NODE";
    assert_eq!(names.join(" "), want);
    assert!(said.contains("SLURM_JOB_NAME=nm\n"), "{said}");
}

#[test]
fn without_a_shell_it_stays_until_it_is_cancelled() {
    let env = env();
    check(
        &env,
        &["--no-shell"],
        0,
        "",
        "salloc: Granted job allocation 1\n",
    );
    assert_eq!(
        env.slurm("squeue", &["-h", "-o", "%i %j %t"]).success(),
        "1 no-shell R\n"
    );
    // Also beyond the engine that gave it.
    env.yard(&["engine", "stop"]).success();
    assert_eq!(
        env.slurm("srun", &["--jobid=1", "-n1", "echo", "in it"])
            .success(),
        "in it\n"
    );
    env.slurm("scancel", &["1"]).success();
    wait_until_listed(&env, "");
}

#[test]
fn a_cancelled_allocation_leaves_its_command_unless_told() {
    let env = env();
    let script = "scancel $SLURM_JOB_ID; squeue -h -j $SLURM_JOB_ID; cat; echo still";
    let revoked = |job: u32| {
        format!(
            "salloc: Granted job allocation {job}\nsalloc: Job allocation {job} has been revoked.\n"
        )
    };
    // Its input stays open until the word is out, so that the two can't come in another order.
    let mut child = {
        let mut command = env.command(&["slurm", "salloc", "sh", "-c", script]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut words = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("revoked") {
        assert!(words.read_line(&mut said).unwrap() > 0, "{said}");
    }
    assert_eq!(said, revoked(1));
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), &output.stdout[..]),
        (Some(0), &b"still\n"[..])
    );
    check(
        &env,
        &[
            "-K",
            "sh",
            "-c",
            "scancel $SLURM_JOB_ID; sleep 60; echo still",
        ],
        1,
        "",
        &revoked(2),
    );
}

#[test]
fn what_waits_can_be_given_up() {
    let env = env();
    let revoked = "salloc: Job allocation 2 has been revoked.\n";
    let _told = env.slurm("salloc", &["--exclusive", "--no-shell"]).code(0);
    let busy = "salloc: error: Unable to allocate resources: Requested nodes are busy\n";
    check(
        &env,
        &["--immediate=1", "true"],
        1,
        "",
        &format!("{busy}{revoked}"),
    );
    let mut waiting = start(&env, &["true"]);
    let mut words = BufReader::new(waiting.stderr.take().unwrap());
    let mut said = String::new();
    while !said.ends_with("queued and waiting for resources\n") {
        assert!(words.read_line(&mut said).unwrap() > 0, "{said}");
    }
    assert_eq!(listed(&env), "3 PD\n1 R\n");
    // Ctrl-C.
    sys::process::signal(waiting.id(), 2).unwrap();
    words.read_to_string(&mut said).unwrap();
    let status = waiting.wait().unwrap();
    let want = "salloc: Pending job allocation 3\n\
                salloc: job 3 queued and waiting for resources\n\
                salloc: Job allocation 3 has been revoked.\n\
                salloc: Job aborted due to signal\n";
    assert_eq!(said, want);
    assert_eq!(status.code(), Some(1));
    wait_until_listed(&env, "1 R\n");
}

/// What the controller answers with the number of a job that can't start on idle nodes either.
#[test]
fn what_keeps_a_job_waiting_is_said_first() {
    let mut env = env();
    let file = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\nmemory = \"8000M\"\n\
                [partition.main]\ndefault = true\nnodes = \"ALL\"\n\
                [partition.short]\nnodes = \"ALL\"\nmax_time = \"30:00\"\nmax_nodes = 1\n\
                [partition.down]\nnodes = \"ALL\"\nstate = \"down\"\n\
                [limits]\nenforce_partition_limits = \"no\"\n";
    let file = env.write("lab.toml", file).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let drain = ["update", "nodename=n2", "state=drain", "reason=x"];
    env.slurm("scontrol", &drain).success();
    let config = "Requested partition configuration not available now";
    let cases = [
        ("-p short -t 31", config),
        ("-p short -N2", config),
        ("-p down", "Partition in DOWN state"),
        ("-H", "Job is in held state, pending scheduler release"),
        (
            "-w n2",
            "Required node not available (down, drained or reserved)",
        ),
    ];
    for (job, (options, why)) in (1..).zip(cases) {
        let options: Vec<&str> = options.split(' ').collect();
        let mut waiting = start(&env, &[&options[..], &["true"]].concat());
        let mut words = BufReader::new(waiting.stderr.take().unwrap());
        let mut said = String::new();
        while !said.ends_with("queued and waiting for resources\n") {
            assert!(words.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let want = format!(
            "salloc: {why}\nsalloc: Pending job allocation {job}\n\
             salloc: job {job} queued and waiting for resources\n"
        );
        assert_eq!(said, want, "{options:?}");
        sys::process::signal(waiting.id(), 2).unwrap();
        assert_eq!(waiting.wait().unwrap().code(), Some(1));
    }
}

#[test]
fn a_terminal_that_disappears_ends_it() {
    let env = env();
    let mut child = start(&env, &["cat"]);
    // Open until the end is seen: nothing else ends the command.
    let input = child.stdin.take();
    wait_until_listed(&env, "1 R\n");
    sys::process::signal(child.id(), 1).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let want = "salloc: Granted job allocation 1\nsalloc: Relinquishing job allocation 1\n";
    assert_eq!(said, want);
    wait_until_listed(&env, "");
    drop(input);
    // Killed, it can't say anything: the engine sees its connection go.
    let mut child = start(&env, &["cat"]);
    let input = child.stdin.take();
    wait_until_listed(&env, "2 R\n");
    child.kill().unwrap();
    let _killed = child.wait().unwrap();
    wait_until_listed(&env, "");
    drop(input);
}

/// The keys of a terminal reach the command, and its shell's jobs; `ps` shows whose the terminal is.
#[test]
fn the_terminal_is_the_commands() {
    let env = env();
    let yard = env!("CARGO_BIN_EXE_yard");
    let line = format!(
        "{yard} slurm salloc -Q sh -c 'ps -o tpgid=,pgid= -p $$; tty >/dev/null && echo terminal'"
    );
    let output = env
        .program("script", &["-qec", &line, "/dev/null"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let mut lines = said.lines();
    let groups: Vec<&str> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    assert_eq!(groups[0], groups[1], "{said}");
    assert_eq!(lines.next().map(str::trim), Some("terminal"), "{said}");
}

#[test]
fn slurms_words() {
    let env = env();
    check(
        &env,
        &["-D", "/nodir", "pwd"],
        1,
        "",
        "salloc: error: chdir(/nodir): No such file or directory\n",
    );
    let unknown =
        "salloc: unrecognized option '--bogus'\nTry \"salloc --help\" for more information\n";
    check(&env, &["--bogus", "true"], 255, "", unknown);
    let said = env.slurm("salloc", &["-N9999", "true"]).code(1).stderr;
    let first = said.lines().next();
    let want =
        "salloc: error: Job submit/allocate failed: Requested node configuration is not available";
    assert_eq!(first, Some(want));
}
