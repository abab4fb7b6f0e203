//! Slurm's commands against an engine of their own: submission, arrays, dependencies, hold,
//! requeue, cancellation, where output goes.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::expect;
use std::fs;
use std::path::Path;
use testkit::{TestEnv, skip, wait_until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// Submits and returns the id.
#[track_caller]
fn submit(env: &TestEnv, args: &[&str]) -> String {
    let mut all = vec!["--parsable"];
    all.extend(args);
    env.slurm("sbatch", &all).success().trim().to_owned()
}

/// State of a job or element by its compact name, over or not.
fn state(env: &TestEnv, job: &str) -> String {
    let said = env
        .slurm("squeue", &["-h", "-t", "all", "-o", "%t", "-j", job])
        .success();
    said.lines().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn wait_for_state(env: &TestEnv, job: &str, wanted: &str) {
    wait_until(&format!("job {job} is {wanted}"), || {
        state(env, job) == wanted
    });
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// A value of `scontrol show job`.
#[track_caller]
fn shown(env: &TestEnv, job: &str, key: &str) -> String {
    let line = env.slurm("scontrol", &["-o", "show", "job", job]).success();
    line.split(' ')
        .find_map(|word| word.strip_prefix(&format!("{key}=")))
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn squeue_shows_files_by_their_whole_paths() {
    let env = env();
    let files = ["-o", "%x-%j.txt", "-e", "log/%A.err", "-i", "in"];
    let rest = ["-H", "-n1", "-t5", "--wrap", "true"];
    let named = submit(&env, &[&files[..], &rest].concat());
    let plain = submit(&env, &rest);
    let shown = |job: &str| {
        let names = "stdin:|,stdout:|,stderr:|";
        let said = env.slurm("squeue", &["-h", "-j", job, "-O", names]);
        said.success().trim().to_owned()
    };
    let work = env.work();
    let work = work.display();
    assert_eq!(
        shown(&named),
        format!("{work}/in|{work}/%x-%j.txt|{work}/log/%A.err|")
    );
    let own = format!("{work}/slurm-{plain}.out");
    assert_eq!(shown(&plain), format!("/dev/null|{own}|{own}|"));
    env.slurm("scancel", &[&named, &plain]).success();
}

#[test]
fn a_script_runs_and_its_output_stands_beside_it() {
    let env = env();
    env.write(
        "job.sh",
        "#!/bin/bash\n#SBATCH --job-name=greet\n#SBATCH --time=5\n\
         echo \"hello $1 from $SLURM_JOB_NAME\"\nsrun hostname >/dev/null && echo stepped\n",
    );
    let said = env.slurm("sbatch", &["job.sh", "you"]).success();
    assert_eq!(said, "Submitted batch job 1\n");
    wait_for_state(&env, "1", "CD");
    expect![[r#"
        hello you from greet
        stepped
    "#]]
    .assert_eq(&text(&env.work().join("slurm-1.out")));
    assert_eq!(shown(&env, "1", "ExitCode"), "0:0");
    assert_eq!(shown(&env, "1", "TimeLimit"), "00:05:00");
    assert_eq!(
        shown(&env, "1", "Command"),
        env.work().join("job.sh").to_string_lossy()
    );
}

#[test]
fn a_script_may_come_from_stdin_or_be_wrapped() {
    let env = env();
    let mut child = env.command(&["slurm", "sbatch", "-o", "in.out"]);
    let script = env.write("script", "#!/bin/sh\necho from stdin\n");
    child.stdin(fs::File::open(script).unwrap());
    let output = child.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let wrapped = submit(
        &env,
        &["-o", "%x-%j.out", "-J", "wr", "--wrap", "echo wrapped"],
    );
    wait_for_state(&env, "1", "CD");
    wait_for_state(&env, &wrapped, "CD");
    assert_eq!(text(&env.work().join("in.out")), "from stdin\n");
    assert_eq!(text(&env.work().join("wr-2.out")), "wrapped\n");
}

#[test]
fn wait_ends_with_the_jobs_exit_code() {
    let env = env();
    let outcome = env.slurm("sbatch", &["--wait", "--wrap", "exit 7"]);
    assert_eq!(outcome.code(7).stdout, "Submitted batch job 1\n");
    assert_eq!(shown(&env, "1", "ExitCode"), "7:0");
    assert_eq!(shown(&env, "1", "Reason"), "NonZeroExitCode");
    let killed = env.slurm("sbatch", &["--wait", "--wrap", "kill -9 $$"]);
    let _told = killed.code(1);
    assert_eq!(shown(&env, "2", "Reason"), "JobLaunchFailure");
}

#[test]
fn a_held_job_waits_until_it_is_released() {
    let env = env();
    let job = submit(&env, &["--hold", "--wrap", "true"]);
    let listed = env
        .slurm("squeue", &["-o", "%i|%j|%t|%r|%R|%Q", "-j", &job])
        .success();
    expect![[r#"
        JOBID|NAME|ST|REASON|NODELIST(REASON)|PRIORITY
        1|wrap|PD|JobHeldUser|(JobHeldUser)|0
    "#]]
    .assert_eq(&listed);
    env.slurm("scontrol", &["release", &job]).success();
    wait_for_state(&env, &job, "CD");
    let again = env.slurm("scontrol", &["hold", "77"]);
    assert_eq!(
        again.code(1).stderr,
        "Invalid job id specified for job 77\nslurm_suspend error: Invalid job id specified\n"
    );
}

#[test]
fn an_array_runs_each_element_once() {
    let env = env();
    let job = submit(
        &env,
        &[
            "--array=1-3,7%2",
            "-o",
            "%A-%a.out",
            "--wrap",
            "echo $SLURM_ARRAY_TASK_ID",
        ],
    );
    wait_for_state(&env, &job, "CD CD CD CD");
    for task in [1, 3, 7] {
        let path = env.work().join(format!("{job}-{task}.out"));
        assert_eq!(text(&path), format!("{task}\n"));
    }
    let ids = env
        .slurm("squeue", &["-h", "-t", "all", "-S", "i", "-o", "%i %F %K"])
        .success();
    expect![[r#"
        1_1 1 1
        1_2 1 2
        1_3 1 3
        1_7 1 7
    "#]]
    .assert_eq(&ids);
}

#[test]
fn every_element_knows_its_whole_array() {
    let env = env();
    let told = "echo $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX \
                $SLURM_ARRAY_TASK_STEP";
    for (array, elements, want) in [
        ("1-5:2", vec![1, 3, 5], "3 1 5 2\n"),
        ("1,3,5", vec![1, 3, 5], "3 1 5 1\n"),
        ("0-9%2", (0..10).collect(), "10 0 9 1\n"),
    ] {
        let job = submit(&env, &["-a", array, "-o", "%A-%a.out", "--wrap", told]);
        wait_for_state(&env, &job, vec!["CD"; elements.len()].join(" ").as_str());
        for element in elements {
            let path = env.work().join(format!("{job}-{element}.out"));
            assert_eq!(text(&path), want, "--array={array}, element {element}");
        }
    }
    // The array is over by now: an element that runs again still knows of it.
    env.slurm("scontrol", &["requeue", "1_3"]).success();
    wait_for_state(&env, "1_3", "CD");
    let again = text(&env.work().join("1-3.out"));
    assert_eq!(again.lines().last(), Some("3 1 5 2"));
}

/// Its supervisor waited in `open` and heard nothing.
#[test]
fn a_job_whose_output_is_a_pipe_without_a_reader_can_be_ended() {
    pipe_without_a_reader(&env());
}

/// There jobs call their supervisor, and so does the engine: no signal comes first.
#[test]
fn a_job_of_a_pretended_node_that_waits_for_a_reader_can_be_ended() {
    let mut env = env();
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "two");
    pipe_without_a_reader(&env);
}

#[track_caller]
fn pipe_without_a_reader(env: &TestEnv) {
    let made = std::process::Command::new("mkfifo")
        .arg(env.work().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let to_pipe = ["-o", "pipe", "--wrap", "echo hi"];
    let job = submit(env, &to_pipe);
    wait_for_state(env, &job, "R");
    env.slurm("scancel", &[&job]).success();
    wait_for_state(env, &job, "CA");
    // With a reader it runs.
    let job = submit(env, &to_pipe);
    wait_for_state(env, &job, "R");
    assert_eq!(fs::read_to_string(env.work().join("pipe")).unwrap(), "hi\n");
    wait_for_state(env, &job, "CD");
}

#[test]
fn elements_are_cancelled_by_index() {
    let env = env();
    let job = submit(&env, &["--hold", "--array=0-9", "--wrap", "true"]);
    env.slurm("scancel", &[&format!("{job}_[0-6]"), &format!("{job}_9")])
        .success();
    let left = env
        .slurm("squeue", &["-h", "-o", "%i", "-t", "PD"])
        .success();
    assert_eq!(left, format!("{job}_[7-8]\n"));
    env.slurm("scancel", &[&job]).success();
    assert_eq!(env.slurm("squeue", &["-h"]).success(), "");
}

#[test]
fn a_dependent_job_follows() {
    let env = env();
    let first = submit(&env, &["--hold", "--wrap", "exit 3"]);
    let after = submit(
        &env,
        &["-d", &format!("afternotok:{first}"), "--wrap", "true"],
    );
    let never = submit(&env, &["-d", &format!("afterok:{first}"), "--wrap", "true"]);
    assert_eq!(shown(&env, &after, "Reason"), "Dependency");
    assert_eq!(
        shown(&env, &after, "Dependency"),
        format!("afternotok:{first}(unfulfilled)")
    );
    env.slurm("scontrol", &["release", &first]).success();
    wait_for_state(&env, &after, "CD");
    wait_until("the other can never start", || {
        shown(&env, &never, "Reason") == "DependencyNeverSatisfied"
    });
    env.slurm("scancel", &[&never]).success();
    wait_for_state(&env, &never, "CA");
}

#[test]
fn a_running_job_is_cancelled_and_says_so() {
    let env = env();
    let job = submit(&env, &["--wrap", "echo up; exec sleep 600"]);
    let out = env.work().join("slurm-1.out");
    wait_until("it runs", || text(&out) == "up\n");
    assert_eq!(state(&env, &job), "R");
    env.slurm("scancel", &[&job]).success();
    wait_for_state(&env, &job, "CA");
    // As Slurm: what is over is no error, and neither is what never was.
    env.slurm("scancel", &[&job, "99999"]).success();
    let told = env.slurm("scancel", &["-v", "99999"]);
    expect![[r#"
        status 0
        -- stdout
        -- stderr
        scancel: Terminating job 99999
        scancel: error: Kill job error on job id 99999: Invalid job id specified
    "#]]
    .assert_eq(&told.snapshot());
    let filtered = env.slurm("scancel", &["-n", "nosuch", "99999"]);
    assert_eq!(
        filtered.code(1).stderr,
        "scancel: error: Kill job error on job id 99999: Invalid job id specified\n"
    );
}

#[test]
fn jobs_are_cancelled_by_name_and_state() {
    let env = env();
    for name in ["one", "two", "one"] {
        submit(&env, &["--hold", "-J", name, "--wrap", "true"]);
    }
    env.slurm("scancel", &["-n", "one", "-t", "PENDING"])
        .success();
    let left = env.slurm("squeue", &["-h", "-o", "%j"]).success();
    assert_eq!(left, "two\n");
    env.slurm("scancel", &["--me"]).success();
    assert_eq!(env.slurm("squeue", &["-h"]).success(), "");
}

#[test]
fn a_signal_reaches_the_batch_shell() {
    let env = env();
    let job = submit(
        &env,
        &[
            "--wrap",
            "trap 'echo caught; exit 0' USR1; echo up; while :; do sleep 0.05; done",
        ],
    );
    let out = env.work().join("slurm-1.out");
    wait_until("it runs", || text(&out) == "up\n");
    env.slurm("scancel", &["--batch", "-s", "USR1", &job])
        .success();
    wait_for_state(&env, &job, "CD");
    assert_eq!(text(&out), "up\ncaught\n");
}

#[test]
fn a_job_requeues_itself_once() {
    let env = env();
    env.write(
        "again.sh",
        "#!/bin/bash\n#SBATCH --requeue --open-mode=append -o again.out\n\
         echo \"start ${SLURM_RESTART_COUNT:-0}\"\n\
         [ -n \"$SLURM_RESTART_COUNT\" ] && exit 0\n\
         trap : TERM\nscontrol requeue $SLURM_JOB_ID\necho \"answered $?\" > answer\nsleep 600\n",
    );
    let job = submit(&env, &["again.sh"]);
    wait_for_state(&env, &job, "CD");
    // The job's end does not overtake its own command.
    assert_eq!(text(&env.work().join("answer")), "answered 0\n");
    let said = text(&env.work().join("again.out"));
    let lines: Vec<&str> = said.lines().collect();
    let [first, ended, .., second] = lines[..] else {
        panic!("{said}");
    };
    assert_eq!([first, second], ["start 0", "start 1"]);
    let begins = format!("slurmstepd: error: *** JOB {job} ON ");
    assert!(
        ended.starts_with(&begins) && ended.ends_with(" DUE TO JOB REQUEUE ***"),
        "{ended}"
    );
    assert_eq!(shown(&env, &job, "Restarts"), "1");
}

#[test]
fn a_step_of_a_script_that_fails_says_so() {
    let env = env();
    let wrap = "until test -e there; do sleep 0.1; done; exit 4";
    let job = submit(&env, &["-o", "out", "--wrap", wrap]);
    wait_for_state(&env, &job, "R");
    let step = [
        &format!("--jobid={job}"),
        "--overlap",
        "sh",
        "-c",
        "touch there; sleep 600",
    ];
    let said = env.slurm("srun", &step).stderr;
    let ends = " FAILED (non-zero exit code or other failure mode) ***";
    let is_said = |line: &str| line.contains("*** STEP 1.0 ON ") && line.ends_with(ends);
    assert!(said.lines().any(is_said), "{said}");
}

#[test]
fn what_can_never_fit_is_refused_with_what_there_is() {
    let env = env();
    let outcome = env.slurm("sbatch", &["-c", "100000", "--wrap", "true"]);
    let said = outcome.code(1).stderr;
    let first = said.lines().next().unwrap();
    assert_eq!(
        first,
        "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    );
    assert!(said.contains("asked"), "{said}");
    assert!(said.contains("there"), "{said}");
    let tested = env.slurm("sbatch", &["--test-only", "-N100000", "--wrap", "true"]);
    let said = tested.code(1).stderr;
    assert!(
        said.starts_with("allocation failure: Requested node configuration is not available\n"),
        "{said}"
    );
    assert_eq!(env.slurm("squeue", &["-h", "-t", "all"]).success(), "");
}

#[test]
fn a_question_is_answered_as_slurm_does_and_queues_nothing() {
    let env = env();
    let host = sys::host_name();
    let says = |command: &str, args: &[&str], want: &str| {
        let mut all = vec!["--test-only"];
        all.extend(args);
        let outcome = env.slurm(command, &all);
        assert_eq!(outcome.stdout, "", "{args:?}");
        let said = outcome.code(0).stderr;
        let (start, rest) = said.split_once(" at ").unwrap();
        let (moment, rest) = rest.split_once(' ').unwrap();
        assert_eq!(moment.len(), "2031-01-20T00:00:00".len(), "{said}");
        assert_eq!(
            format!("{start} at TIME {}", rest.replace(&host, "HOST")),
            want
        );
        moment.to_owned()
    };
    let line =
        "sbatch: Job 1 to start at TIME using 1 processors on nodes HOST in partition local\n";
    says("sbatch", &["--wrap", "true"], line);
    env.write("job.sh", "#!/bin/sh\n#SBATCH --begin=2031-01-20\ntrue\n");
    let moment = says("sbatch", &["job.sh"], line);
    assert_eq!(moment, "2031-01-20T00:00:00");
    says(
        "sbatch",
        &["--hold", "--parsable", "--array=1-4", "--wrap", "true"],
        line,
    );
    says("srun", &["true"], &line.replace("sbatch:", "srun:"));
    let quiet = env.slurm("sbatch", &["-Q", "--test-only", "--wrap", "true"]);
    assert_eq!(quiet.code(0).stderr, "");
    let refused = env.slurm("sbatch", &["--licenses=a", "--test-only", "--wrap", "true"]);
    assert_eq!(
        refused.code(1).stderr,
        "allocation failure: Invalid license specification\n\
         sbatch:   asked   --licenses=a\n\
         sbatch:   there   no licences are counted there\n\
         sbatch:   do      leave --licenses out\n"
    );
    assert_eq!(env.slurm("squeue", &["-h", "-t", "all"]).success(), "");
}

#[test]
fn sinfo_tells_of_this_machine() {
    let env = env();
    let host = sys::host_name();
    let said = |args: &[&str]| env.slurm("sinfo", args).success();
    assert_eq!(
        said(&["-h", "-o", "%P|%a|%D|%t|%N"]),
        format!("local*|up|1|idle|{host}\n")
    );
    assert_eq!(said(&["-h", "-p", "nosuch"]), "");
    assert_eq!(said(&["-h", "-N", "-O", "statelong:0"]), "idle\n");
    let nodes: serde_json::Value = serde_json::from_str(&said(&["--json"])).unwrap();
    assert_eq!(nodes["nodes"][0]["name"], host.as_str());
    let unknown = env.slurm("sinfo", &["-t", "nosuch"]).code(1).stderr;
    assert!(
        unknown.starts_with("sinfo: error: Bad state string: \"nosuch\"\n"),
        "{unknown}"
    );
    let unknown = env.slurm("sinfo", &["-M", "nosuch"]).code(1).stderr;
    assert!(
        unknown.starts_with("sinfo: error: No cluster 'nosuch' known by database.\n"),
        "{unknown}"
    );
}

#[test]
fn sacctmgr_keeps_what_it_is_told() {
    let env = env();
    let said = |args: &[&str]| env.slurm("sacctmgr", args).success();
    said(&["-i", "add", "account", "lab1", "description=a lab"]);
    said(&["-i", "add", "user", "ann", "account=lab1"]);
    said(&["-i", "add", "qos", "long", "maxwall=7-0"]);
    said(&["-i", "modify", "user", "ann", "set", "qos+=long"]);
    // What was answered is on disk: the next engine knows it.
    env.yard(&["engine", "stop"]).success();
    expect![[r#"
        ann|lab1|long,normal
    "#]]
    .assert_eq(&said(&[
        "-nP",
        "list",
        "user",
        "WithAssoc",
        "Format=User,Account,QOS",
        "name=ann",
    ]));
    let job = submit(&env, &["--hold", "-A", "lab1", "--wrap", "true"]);
    let refused = env
        .slurm("sacctmgr", &["-i", "delete", "account", "lab1"])
        .code(1)
        .stderr;
    assert!(
        refused.starts_with(" Error with request: Job(s) active"),
        "{refused}"
    );
    assert!(refused.contains(&format!("JobID = {job} ")), "{refused}");
    env.slurm("scancel", &[&job]).success();
    said(&["-i", "delete", "account", "lab1"]);
    let unanswered = env.slurm("sacctmgr", &["delete", "qos", "long"]);
    assert!(unanswered.code(1).stdout.ends_with("Changes Discarded\n"));
    assert!(said(&["-nP", "show", "qos", "format=name"]).contains("long"));
}

#[test]
fn scontrol_shows_nodes_partitions_and_steps() {
    let env = env();
    let host = sys::host_name();
    let said = |args: &[&str]| env.slurm("scontrol", args);
    let node = said(&["-o", "show", "node", &host]).success();
    assert!(node.contains("State=IDLE ThreadsPerCore="), "{node}");
    assert_eq!(
        said(&["show", "node", "nosuch"]).code(1).stdout,
        "Node nosuch not found\n"
    );
    let partition = said(&["--all", "--oneliner", "show", "partition"]).success();
    assert!(partition.contains("Default=YES"), "{partition}");
    assert_eq!(
        said(&["show", "partition", "x"]).code(1).stdout,
        "Partition x not found\n"
    );
    assert_eq!(
        said(&["show", "step"]).success(),
        "No job steps in the system\n"
    );
    assert_eq!(
        said(&["show", "res"]).success(),
        "No reservations in the system\n"
    );
    let job = submit(&env, &["--wrap", "sleep 600"]);
    wait_for_state(&env, &job, "R");
    let step = format!("StepId={job}.batch");
    wait_until("the step is there", || {
        said(&["show", "step", &job]).snapshot().contains(&step)
    });
    let mixed = env
        .slurm("sinfo", &["-h", "-t", "alloc", "-o", "%D"])
        .success();
    assert_eq!(mixed, "1\n");
    env.slurm("scancel", &[&job]).success();
    wait_for_state(&env, &job, "CA");
}

#[test]
fn commands_that_are_not_here_say_what_is() {
    let env = env();
    for name in ["sreport", "strigger", "scrontab"] {
        let said = env.slurm(name, &["-n", "1"]).code(1).stderr;
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 4, "{said}");
        let first = format!("{name}: error: {name} is not part of the embedded engine");
        assert_eq!(lines[0], first);
        assert_eq!(lines[1], format!("{name}:   asked   {name} -n 1"));
        assert!(
            lines[2].starts_with(&format!("{name}:   there   ")),
            "{said}"
        );
        assert!(
            lines[3].starts_with(&format!("{name}:   do      ")),
            "{said}"
        );
    }
}

#[test]
fn wrong_options_are_refused_without_an_engine() {
    let env = env();
    let outcome = env.slurm("sbatch", &["--nosuch", "--wrap", "true"]);
    expect![[r#"
        status 255
        -- stdout
        -- stderr
        sbatch: unrecognized option '--nosuch'
        Try "sbatch --help" for more information
    "#]]
    .assert_eq(&outcome.snapshot());
    let missing = env.slurm("sbatch", &["/nonexist"]);
    expect![[r#"
        status 1
        -- stdout
        -- stderr
        sbatch: error: Unable to open file /nonexist
    "#]]
    .assert_eq(&missing.snapshot());
    env.write("plain", "echo hi\n");
    let plain = env.slurm("sbatch", &["plain"]);
    expect![[r#"
        status 1
        -- stdout
        -- stderr
        sbatch: error: This does not look like a batch script.  The first
        sbatch: error: line must start with #! followed by the path to an interpreter.
        sbatch: error: For instance: #!/bin/sh
    "#]]
    .assert_eq(&plain.snapshot());
    let empty = env.slurm::<&str>("sbatch", &[]);
    expect![[r#"
        status 1
        -- stdout
        -- stderr
        sbatch: error: Batch script is empty!
    "#]]
    .assert_eq(&empty.snapshot());
    // Nothing of an engine was made.
    assert!(!env.trainyard_home().join("state").exists());
}

#[test]
fn the_environment_is_what_export_says() {
    let mut env = env();
    env.set_var("KEPT", "kept");
    env.set_var("LEFT", "left");
    submit(&env, &["-o", "a", "--wrap", "echo $KEPT,$LEFT"]);
    submit(
        &env,
        &[
            "-o",
            "b",
            "--export=KEPT,NEW=new",
            "--wrap",
            "echo $KEPT,$LEFT,$NEW",
        ],
    );
    submit(
        &env,
        &["-o", "c", "--export=NONE", "--wrap", "echo $KEPT,$LEFT"],
    );
    for job in ["1", "2", "3"] {
        wait_for_state(&env, job, "CD");
    }
    assert_eq!(text(&env.work().join("a")), "kept,left\n");
    assert_eq!(text(&env.work().join("b")), "kept,,new\n");
    assert_eq!(text(&env.work().join("c")), ",\n");
}

#[test]
fn a_job_without_the_callers_variables_has_those_of_a_login() {
    let mut env = env();
    env.set_var("OF_CALLER", "x");
    env.write(
        "job.sh",
        "#!/bin/bash\n#SBATCH --export=NONE\n\
         echo ${HOME:+home} ${USER:+user} ${SHELL:+shell} ${OF_CALLER:-nothing of the caller}\n",
    );
    submit(&env, &["job.sh"]);
    wait_for_state(&env, "1", "CD");
    assert_eq!(
        text(&env.work().join("slurm-1.out")),
        "home user shell nothing of the caller\n"
    );
}

/// As a real 22.05.8 lists them.
#[test]
fn steps_are_listed_with_that_of_the_script() {
    let env = env();
    submit(
        &env,
        &[
            "--wrap",
            "srun -J named squeue -h -s -j $SLURM_JOB_ID -o '%i %j'",
        ],
    );
    wait_for_state(&env, "1", "CD");
    let listed = text(&env.work().join("slurm-1.out"));
    let mut lines: Vec<&str> = listed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1.0 named", "1.batch batch"]);
}

#[test]
fn jobs_are_told_as_json() {
    let env = env();
    submit(
        &env,
        &["--hold", "-t", "1:30", "-J", "js", "--wrap", "true"],
    );
    let said = env.slurm("squeue", &["--json"]).success();
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    let job = &value["jobs"][0];
    assert_eq!(job["job_id"], 1);
    assert_eq!(job["name"], "js");
    assert_eq!(job["job_state"], "PENDING");
    assert_eq!(job["state_reason"], "JobHeldUser");
    assert_eq!(job["time_limit_seconds"], 120);
}

#[test]
fn node_lists_fold_and_unfold() {
    let env = env();
    let names = env.slurm("scontrol", &["show", "hostnames", "a[1-2],b"]);
    assert_eq!(names.success(), "a1\na2\nb\n");
    let list = env.slurm("scontrol", &["show", "hostlistsorted", "b2,b1,a"]);
    assert_eq!(list.success(), "a,b[1-2]\n");
    let wrong = env.slurm("scontrol", &["show", "hostnames", "n[5-1]"]);
    assert_eq!(wrong.code(0).stdout, "");
    let bad = env.slurm("scontrol", &["bad"]);
    assert_eq!(bad.code(1).stderr, "invalid keyword: bad\n");
}

#[test]
fn looking_starts_no_engine() {
    let env = env();
    let listed = env.slurm::<&str>("squeue", &[]).success();
    assert_eq!(
        listed,
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
    );
    let ping = env.slurm("scontrol", &["ping"]);
    assert!(ping.code(1).stdout.ends_with(" is DOWN\n"));
    let one = env.slurm("squeue", &["-j", "5"]);
    assert_eq!(
        one.code(1).stderr,
        "slurm_load_jobs error: Invalid job id specified\n"
    );
    let shown = env.slurm("scontrol", &["show", "job", "5"]);
    assert_eq!(
        shown.code(1).stderr,
        "slurm_load_jobs error: Invalid job id specified\n"
    );
}

/// A shell that edits its lines reads letter by letter: the end of input that came before it did
/// means nothing to it.
#[test]
fn a_terminal_ends_with_the_input_that_is_piped_into_srun() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let cases: [(&[&str], &str, &str); 3] = [
        (&["bash", "--norc", "-i"], "echo $((40+2))\n", "42"),
        (&["cat"], "a line\n", "a line"),
        (&["cat"], "no whole line", "no whole line"),
    ];
    for (program, input, want) in cases {
        let mut args = vec!["slurm", "srun", "--pty"];
        args.extend(program);
        let file = env.root().join("output");
        let mut command = env.command(&args);
        command
            .stdin(std::process::Stdio::piped())
            .stdout(std::fs::File::create(&file).unwrap());
        let mut srun = command.spawn().unwrap();
        let mut stdin = srun.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
        drop(stdin);
        testkit::wait_until("srun has ended", || srun.try_wait().unwrap().is_some());
        let output = std::fs::read_to_string(&file).unwrap();
        assert!(output.contains(want), "{program:?}: {output}");
    }
}

#[test]
fn a_jobs_name_fakes_no_row_and_moves_no_cursor() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let name = "a\x1b[2J\nJOBID 99\u{202e}";
    let job = submit(&env, &["-J", name, "--wrap", "true"]);
    for (command, args) in [
        ("squeue", &["-h", "-t", "all", "-o", "%j"][..]),
        ("sacct", &["-n", "-X", "-o", "jobname%60"]),
        ("sacct", &["-n", "-X", "-P", "-o", "jobname"]),
    ] {
        let shown = env.slurm(command, args).success();
        assert_eq!(shown.trim(), "a\\x1b[2J\\nJOBID 99\\u{202e}", "{command}");
        assert_eq!(shown.lines().count(), 1, "{command}");
    }
    wait_for_state(&env, &job, "CD");
}

/// `-M` with the own name, and `SLURM_CLUSTERS`.
#[test]
fn a_cluster_that_is_named_is_said() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let said = env.slurm("squeue", &["-M", "all"]).success();
    let first = said.lines().next().unwrap().to_owned();
    let name = first.strip_prefix("CLUSTER: ").unwrap().to_owned();
    let asked = ["-M", &name, "--wait", "--wrap", "true"];
    let said = env.slurm("sbatch", &asked).success();
    assert_eq!(said, format!("Submitted batch job 1 on cluster {name}\n"));
    env.set_var("SLURM_CLUSTERS", &name);
    let said = submit(&env, &["--wait", "--wrap", "true"]);
    assert_eq!(said, format!("2;{name}"));
    for command in ["squeue", "sinfo"] {
        let said = env.slurm(command, &[] as &[&str]).success();
        assert_eq!(said.lines().next(), Some(&*first), "{command}");
        let bare = env.slurm(command, &["-h"]).success();
        assert!(!bare.contains(&first), "{command}");
    }
}

/// `sacct -s R -S … -E …`: those that ran in that time, though they ended since.
#[test]
fn sacct_finds_a_job_by_the_states_that_it_was_in() {
    let env = env();
    let job = submit(&env, &["-t5", "--wrap", "sleep 1.2"]);
    wait_for_state(&env, &job, "CD");
    for (states, found) in [("R", 1), ("PD,R", 1), ("CD", 1), ("F", 0)] {
        let asked = ["-n", "-X", "-S", "now-1hour", "-E", "now", "-s", states];
        let rows = env.slurm("sacct", &asked).success();
        assert_eq!(rows.lines().count(), found, "{states}: {rows}");
    }
    let before = [
        "-n",
        "-X",
        "-S",
        "now-1hour",
        "-E",
        "now-30minutes",
        "-s",
        "R",
    ];
    assert_eq!(env.slurm("sacct", &before).success(), "");
}

#[test]
fn sacct_shows_each_start_of_a_requeued_job_and_what_was_used() {
    let env = env();
    env.write(
        "twice.sh",
        "#!/bin/bash\n[ \"$SLURM_RESTART_COUNT\" ] || { scontrol requeue $SLURM_JOB_ID; sleep 60; }\n\
         scontrol update jobid=$SLURM_JOB_ID jobname=again\n\
         srun bash -c 'for i in {1..20000}; do :; done'\nfor i in {1..20000}; do :; done\nexit 3\n",
    );
    let job = submit(
        &env,
        &["-c1", "--mem=100", "-t5", "--comment=of two", "twice.sh"],
    );
    wait_for_state(&env, &job, "F");
    let sacct = |args: &[&str]| {
        let mut all = vec!["-n", "-P", "-j", &job];
        all.extend(args);
        env.slurm("sacct", &all).success()
    };
    expect![[r#"
        1|REQUEUED|0:0|1|billing=1,cpu=1,mem=100M,node=1|00:05:00
        1.batch|CANCELLED|0:15|1|cpu=1,mem=100M,node=1|
        1|FAILED|3:0|1|billing=1,cpu=1,mem=100M,node=1|00:05:00
        1.batch|FAILED|3:0|1|cpu=1,mem=100M,node=1|
        1.0|COMPLETED|0:0|1|cpu=1,mem=100M,node=1|
    "#]]
    .assert_eq(&sacct(&[
        "-D",
        "-o",
        "jobid,state,exitcode,alloccpus,alloctres,timelimit",
    ]));
    assert_eq!(
        sacct(&["-X", "-o", "jobid,state,comment"]),
        "1|FAILED|of two\n"
    );
    assert_eq!(sacct(&["-X", "-s", "completed"]), "");
    assert_eq!(sacct(&["-DX", "-o", "jobname"]), "twice.sh\nagain\n");
    let named = |name| sacct(&["-DX", "-o", "state", "--name", name]);
    assert_eq!(named("twice.sh"), "REQUEUED\n");
    assert_eq!(named("again"), "FAILED\n");
    let addresses = sacct(&["-o", "maxvmsize,maxvmsizetask,avevmsize"]);
    let lines: Vec<Vec<&str>> = addresses
        .lines()
        .map(|line| line.split('|').collect())
        .collect();
    assert_eq!(lines[0], ["", "", ""]);
    for row in &lines[1..] {
        let size: u64 = row[0].trim_end_matches(['K', 'M', 'G']).parse().unwrap();
        assert!(size > 0 && row[0] == row[2] && row[1] == "0", "{addresses}");
    }
    let used = sacct(&["-o", "jobid,maxrss,totalcpu,priority,reason"]);
    let lines: Vec<Vec<&str>> = used.lines().map(|line| line.split('|').collect()).collect();
    let [start, batch, step] = &lines[..] else {
        panic!("{used}");
    };
    assert_eq!(start[1], "", "{used}");
    assert_ne!(start[3], "0", "{used}");
    for row in [batch, step] {
        let kib: u64 = row[1].trim_end_matches(['K', 'M']).parse().unwrap();
        assert!(kib > 0, "{used}");
    }
    assert_ne!(batch[2], "00:00.000", "{used}");
    let waiting = submit(&env, &["-H", "twice.sh"]);
    let row = env.slurm(
        "sacct",
        &[
            "-n",
            "-P",
            "-j",
            &waiting,
            "-o",
            "state,start,reason,alloctres",
        ],
    );
    assert_eq!(row.success(), "PENDING|Unknown|JobHeldUser|\n");
    env.slurm("scancel", &[&waiting]).success();
    wait_for_state(&env, &waiting, "CA");
    let row = env.slurm(
        "sacct",
        &["-X", "-n", "-P", "-j", &waiting, "-o", "state%8,elapsed"],
    );
    assert!(
        row.success().starts_with("CANCELLED by "),
        "a job that never started"
    );
}

/// `scontrol notify 1 hello there`, as 22.05 was seen to write it: in the name of slurmstepd, or of srun.
#[test]
fn a_line_reaches_the_user_of_a_job() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let wrap = "touch begun; while [ ! -e go ]; do sleep 0.02; done";
    env.slurm("sbatch", &["-o", "out", "--wrap", wrap])
        .success();
    let begun = env.work().join("begun");
    wait_until("the job runs", || begun.exists());
    env.slurm("scontrol", &["notify", "1", "hello", "there"])
        .success();
    let output = env.work().join("out");
    wait_until("the line is there", || {
        let text = std::fs::read_to_string(&output).unwrap_or_default();
        text == "slurmstepd: error: hello there\n"
    });
    env.write("go", "");
    let refused = env.slurm("scontrol", &["notify", "99", "hello"]).code(1);
    assert_eq!(
        refused.stderr,
        "job notify failure: Invalid job id specified\n"
    );
    wait_until("the job is over", || {
        env.slurm("squeue", &["-h"]).stdout.is_empty()
    });
}

#[test]
fn a_job_can_not_leave_the_cpus_that_it_requested() {
    let cpus = sys::cpu::available().len();
    if let Err(error) = sys::cpu_cgroup::CpuCgroup::probe() {
        return skip(
            "a_job_can_not_leave_the_cpus_that_it_requested",
            &error.to_string(),
        );
    }
    let env = env();
    env.write(
        "job.sh",
        "#!/bin/sh\n#SBATCH --output=out\ntaskset -p -c 0-1023 $$ > /dev/null\nnproc\nsrun nproc\n",
    );
    let run = |args: &[&str]| {
        let all = [&["--wait"], args, &["job.sh"]].concat();
        env.slurm("sbatch", &all).success();
        std::fs::read_to_string(env.work().join("out")).unwrap()
    };
    assert_eq!(run(&["-c1"]), "1\n1\n");
    if cpus > 1 {
        assert_eq!(run(&["-n1"]), "1\n1\n");
        // A step is kept to them once it has run for a moment.
        let escapes = "all='taskset -p -c 0-1023 '$$; \
                       until $all > /dev/null; test $(nproc) = 1; do sleep 0.01; done; \
                       $all > /dev/null; nproc";
        let step = env.slurm("srun", &["-n1", "sh", "-c", escapes]);
        assert_eq!(step.success(), "1\n");
        // The group of one step becomes that of the next, whose CPUs are others.
        for (each, want) in [("-c2", "2"), ("-c1", "1"), ("-c2", "2")] {
            let script = "#!/bin/sh\ntaskset -p -c 0-1023 $$ > /dev/null; nproc";
            env.write("few.sh", script);
            let few = ["--wait", "-o", "few", each, "few.sh"];
            env.slurm("sbatch", &few).success();
            assert_eq!(text(&env.work().join("few")).trim(), want);
        }
    }
}

/// Its supervisor took every process that it forked into the group of its CPUs, and heard of nothing else any more.
#[test]
fn a_step_that_forks_on_and_on_can_be_ended() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let step = "srun -n1 sh -c 'i=0; while :; do /bin/true; i=$((i+1)); \
                if [ $i = 200 ]; then touch forked; fi; done'";
    env.slurm("sbatch", &["-n1", "-o", "/dev/null", "--wrap", step])
        .success();
    testkit::wait_until("it has forked for a while", || {
        env.work().join("forked").exists()
    });
    env.slurm("scancel", &["1"]).success();
    testkit::wait_until("it is over", || {
        env.slurm("squeue", &["-h"]).success().is_empty()
    });
}
