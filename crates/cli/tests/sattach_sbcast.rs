//! `sattach` and `sbcast`. What is expected was recorded from 22.05.8 by the command line that stands in
//! each test, masked only in ids and names of nodes.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use testkit::{TestEnv, skip, wait_until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// `srun -n1 sh -c 'read x; …' & sattach JOB.0`: what the step reads comes from either, what it writes
/// goes to both.
#[test]
fn the_streams_of_a_step_are_shared() {
    let env = env();
    let mut step: Command = env.command(&[
        "slurm",
        "srun",
        "-n1",
        "sh",
        "-c",
        "read line; echo got $line; exit 3",
    ]);
    let mut step = step
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let layout = || env.slurm("sattach", &["--layout", "1.0"]);
    wait_until("the step can be attached to", || layout().status == 0);
    let said = layout().success();
    assert!(
        said.starts_with("Job step layout:\n\t1 tasks, 1 nodes ("),
        "{said}"
    );
    assert!(said.ends_with("), 1 task(s): 0 \n"), "{said}");
    let mut attached = env
        .command(&["slurm", "sattach", "-l", "1.0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    attached
        .stdin
        .take()
        .unwrap()
        .write_all(b"typed\n")
        .unwrap();
    let mut line = String::new();
    BufReader::new(attached.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "0: got typed\n");
    let ended = attached.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(3));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(said, "sattach: error: task 0 exited with exit code 3\n");
    drop(step.stdin.take());
    let ended = step.wait_with_output().unwrap();
    assert_eq!(
        (ended.status.code(), &ended.stdout[..]),
        (Some(3), &b"got typed\n"[..])
    );
}

#[test]
fn steps_that_are_not_there() {
    let env = env();
    let said = env.slurm("sattach", &["99.0"]).code(1).stderr;
    assert_eq!(
        said,
        "sattach: error: Could not get job step info: Invalid job id specified\n"
    );
}

#[test]
fn a_file_is_copied_once() {
    let env = env();
    let program = env.write("program", "#!/bin/sh\necho ran\n");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let _told = env.slurm("salloc", &["-Q", "--no-shell"]).code(0);
    let there = env.work().join("there");
    let to = there.to_str().unwrap();
    let sbcast = |args: &[&str]| env.slurm("sbcast", &[&["-j1"], args].concat());
    let _silent = sbcast(&["program", to]).success();
    assert_eq!(
        std::fs::metadata(&there).unwrap().permissions().mode() & 0o777,
        0o755
    );
    let node = env.slurm("squeue", &["-h", "-o", "%N"]).success();
    let error = |text: &str| {
        format!(
            "sbcast: error: REQUEST_FILE_BCAST({}): {text}\n",
            node.trim()
        )
    };
    assert_eq!(
        sbcast(&["program", to]).code(17).stderr,
        error("File exists")
    );
    let _replaced = sbcast(&["-f", "-p", "-C", "program", to]).success();
    let times = [&program, &there].map(|file| std::fs::metadata(file).unwrap().modified().unwrap());
    assert_eq!(times[0], times[1]);
    let missing = sbcast(&["program", "/nodir/x"]).code(2).stderr;
    assert_eq!(missing, error("No such file or directory"));
    let none = sbcast(&["nosuch", to]).code(255).stderr;
    assert_eq!(
        none,
        "sbcast: error: Can't open `nosuch`: No such file or directory\n"
    );
    let unknown = env
        .slurm("sbcast", &["-j999", "program", to])
        .code(255)
        .stderr;
    assert_eq!(
        unknown,
        "sbcast: error: Slurm job 999 lookup error: Invalid job id specified\n"
    );
    env.slurm("scancel", &["1"]).success();
}

/// Only the node on which it ran had the file.
#[test]
fn each_node_with_a_tmp_of_its_own_gets_a_copy() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "lab", "--nodes", "3"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let status = env.yard(&["engine", "status", "lab"]).success();
    if status.contains("nodes have their own host names, /tmp") {
        let shared = env.work().join("shared");
        env.write("source", "hi\n");
        let script = format!(
            "#!/bin/sh\nsbcast source /tmp/sbcast-x && sbcast source {0} && srun -l -n3 cat /tmp/sbcast-x {0} | sort\n",
            shared.display()
        );
        env.write("job.sh", &script);
        let job = ["-W", "-N3", "-n3", "-o", "out", "job.sh"];
        let _number = env.slurm("sbatch", &job).success();
        let out = std::fs::read_to_string(env.work().join("out")).unwrap();
        assert_eq!(out, "0: hi\n0: hi\n1: hi\n1: hi\n2: hi\n2: hi\n");
        // From outside of the job too.
        let _number = env
            .slurm(
                "sbatch",
                &[
                    "-N2",
                    "-o",
                    "second",
                    "--wrap",
                    "until [ -e go ]; do sleep 0.1; done; srun -n2 cat /tmp/sbcast-y",
                ],
            )
            .success();
        wait_until("it runs", || {
            env.slurm("squeue", &["-h", "-t", "R", "-o", "%i"])
                .success()
                == "2\n"
        });
        let _silent = env
            .slurm("sbcast", &["-j2", "source", "/tmp/sbcast-y"])
            .success();
        env.write("go", "");
        wait_until("it is over", || {
            env.slurm("squeue", &["-h"]).success().is_empty()
        });
        let out = std::fs::read_to_string(env.work().join("second")).unwrap();
        assert_eq!(out, "hi\nhi\n");
        assert!(!std::path::Path::new("/tmp/sbcast-y").exists());
    } else {
        skip("a /tmp for each node", &status);
    }
    env.yard(&["engine", "stop", "lab"]).success();
}
