//! An engine of several pretended nodes.

use crate::Test;
use crate::house::{House, ended, is_there, row, running, until};
use crate::trouble::{let_files_grow_to, wrapped};
use api::{
    CancelRequest, Client, EngineFolder, JobFilter, NewStep, NodeChange, Refusal, Selector,
    StepLaunch,
};
use model::{
    JobId, JobState, JobStateName, NodeName, Outcome, PendingReason, RequeueHold, StepState,
    UsageOwner,
};
use std::os::unix::fs::PermissionsExt;

pub const TESTS: &[Test] = &[
    ("clusters::two_partitions_and_a_lost_node", lost_node),
    (
        "clusters::a_lost_node_says_nothing_in_the_output_of_a_job_that_goes_on",
        lost_node_of_a_job_that_goes_on,
    ),
    (
        "clusters::usage_that_begins_anew_does_so_for_the_next_engine_too",
        usage_begins_anew,
    ),
    ("clusters::a_file_that_changes_under_jobs", reconfigured),
    (
        "clusters::a_job_that_is_cancelled_while_its_start_fails_stays_cancelled",
        cancelled_while_its_start_fails,
    ),
    (
        "clusters::a_job_is_requeued_while_its_epilog_runs",
        requeued_while_its_epilog_runs,
    ),
    (
        "clusters::a_job_is_requeued_while_it_is_being_cancelled",
        requeued_while_it_is_cancelled,
    ),
    (
        "clusters::a_failed_start_that_is_queued_again_is_no_lost_node",
        requeued_while_its_start_fails,
    ),
    (
        "clusters::a_step_behind_a_prolog_whose_end_could_not_be_noted_ends",
        prolog_that_could_not_be_noted,
    ),
    (
        "clusters::components_wait_again_with_the_first_whose_start_failed",
        components_whose_start_failed,
    ),
    (
        "clusters::a_component_whose_epilog_runs_after_a_failed_start_waits_again_after_a_crash",
        component_left_by_the_first,
    ),
];

const FILE: &str = r#"
[nodes.n]
names = "n[1-3]"
cpus = 2
memory = "4000M"
gpu = { type = "v100", count = 2 }
[partition.all]
default = true
nodes = "n[1-2]"
[partition.other]
nodes = "n3"
"#;

fn house(text: &str) -> House {
    let house = House::new();
    std::fs::create_dir(house.dir()).unwrap();
    std::fs::write(house.dir().join("cluster.toml"), text).unwrap();
    house
}

fn scancel(job: JobId) -> CancelRequest {
    CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    }
}

/// Two nodes with a prolog, and whose epilog says when it begins and waits for a word.
fn house_with_programs(prolog: &str) -> House {
    let house = House::new();
    let program = |name: &str, text: &str| {
        let path = house.work().join(name);
        std::fs::write(
            &path,
            format!("#!/bin/sh\ncd {}\n{text}\n", house.work().display()),
        )
        .unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let prolog = program("prolog", prolog);
    let epilog = program(
        "epilog",
        ": > after; while [ ! -e go ] && [ ! -e go$SLURM_JOB_ID ]; do sleep 0.01; done",
    );
    std::fs::create_dir(house.dir()).unwrap();
    let text = format!(
        "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 2\n[partition.all]\ndefault = true\nnodes = \"n[1-2]\"\n\
         [programs]\nprolog = {prolog:?}\nepilog = {epilog:?}\n"
    );
    std::fs::write(house.dir().join("cluster.toml"), text).unwrap();
    house
}

/// The cancel was answered, and the job waited again, held; once released it ran.
fn cancelled_while_its_start_fails() {
    let house = house_with_programs("exit 3");
    let mut client = house.client();
    let job = house.submit(&mut client, "true");
    until("its epilog runs", || is_there(&house.work(), "after"));
    client.cancel(scancel(job)).unwrap();
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
    assert_eq!(row.restarts, 0);
}

/// It was answered, and nothing came of it.
fn requeued_while_its_epilog_runs() {
    let house = house_with_programs("exit 0");
    let mut client = house.client();
    let job = house.submit(&mut client, "echo $SLURM_RESTART_COUNT >> runs");
    until("its epilog runs", || is_there(&house.work(), "after"));
    client.requeue(job, RequeueHold::No, None).unwrap();
    let cancelled = house.submit(&mut client, "touch begun; exec sleep 600");
    until("it runs", || is_there(&house.work(), "begun"));
    client.cancel(scancel(cancelled)).unwrap();
    let refused = client.requeue(cancelled, RequeueHold::No, Some(0));
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused.refusal(), Some(Refusal::Invalid { message }) if message.contains("is being cancelled")),
        "{refused}"
    );
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 1));
    assert_eq!(house.text("runs"), "\n1\n");
    let (outcome, _) = ended(&mut client, cancelled);
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
}

/// `scontrol requeue` was answered, and it stayed cancelled.
fn requeued_while_it_is_cancelled() {
    let house = house_with_programs("exit 0");
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "echo $SLURM_RESTART_COUNT >> runs; [ $SLURM_RESTART_COUNT ] || exec sleep 600",
    );
    until("it runs", || is_there(&house.work(), "runs"));
    client.cancel(scancel(job)).unwrap();
    client.requeue(job, RequeueHold::No, None).unwrap();
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 1));
    assert_eq!(house.text("runs"), "\n1\n");
}

/// That start was recorded as one whose node failed.
fn requeued_while_its_start_fails() {
    let house = house_with_programs("[ -e go ]");
    let mut client = house.client();
    let job = house.submit(&mut client, "true");
    until("its epilog runs", || is_there(&house.work(), "after"));
    client.requeue(job, RequeueHold::No, None).unwrap();
    std::fs::write(house.work().join("go"), "").unwrap();
    let filter = JobFilter::of(&[job]);
    let mut states = Vec::new();
    until("its first start is over", || {
        let histories = client.histories(filter.clone()).unwrap();
        let starts = histories.iter().flat_map(|it| &it.starts);
        states = starts.map(|start| start.state).collect();
        states
            .first()
            .is_some_and(|state| *state != JobStateName::Running)
    });
    assert_eq!(states[0], JobStateName::Requeued);
}

/// It waited for ever: no row tells that it waits for a prolog, nor that that ended.
fn prolog_that_could_not_be_noted() {
    let house = house_with_programs("while [ ! -e went ]; do sleep 0.01; done; exit 3");
    std::fs::write(house.work().join("go"), "").unwrap();
    house.client().stop().unwrap();
    let small = wrapped(&house, "trap '' XFSZ");
    let mut client = Client::connect_with(&house.dir(), &small).unwrap();
    let mut submission = house.script("");
    submission.script = None;
    let job = client.submit(submission).unwrap();
    running(&mut client, job);
    let launch = StepLaunch {
        command: vec!["/bin/true".to_owned()],
        ..StepLaunch::default()
    };
    let step = NewStep {
        launch,
        ..NewStep::default()
    };
    let step = client.create_step(job, &step).unwrap().step;
    let engine = client.engine().unwrap().pid;
    let written = std::fs::metadata(house.dir().join("store.sqlite-wal")).unwrap();
    let_files_grow_to(engine, &written.len().to_string());
    std::fs::write(house.work().join("went"), "").unwrap();
    let log = || std::fs::read_to_string(EngineFolder::new(house.dir()).log()).unwrap();
    until("that it failed could not be noted some times", || {
        log().matches("nothing was accepted").count() >= 2
    });
    let_files_grow_to(engine, "unlimited");
    until("the step is over", || {
        let steps = client.steps(job).unwrap();
        let row = steps.into_iter().find(|row| row.step == step);
        row.is_some_and(|row| row.state != StepState::Running)
    });
}

/// The others ran on, without a limit and with nobody to end them.
fn components_whose_start_failed() {
    let house = house_with_programs("exit 3");
    std::fs::write(house.work().join("go"), "").unwrap();
    let mut client = house.client();
    let mut submission = house.script("true");
    submission.later = vec![submission.request.clone()];
    let first = client.submit(submission).unwrap();
    let second = JobId(first.0 + 1);
    let reason = PendingReason::LaunchFailedRequeuedHeld;
    let held = JobState::Pending { reason };
    until("both wait", || {
        [first, second].map(|job| row(&mut client, job).state.clone())
            == [held.clone(), held.clone()]
    });
    let rows = [first, second].map(|job| row(&mut client, job).restarts);
    assert_eq!(rows, [1, 1]);
    assert_eq!(client.facts().unwrap().cpus_used, 0);
}

/// It ran on: that its start had failed was known to the killed engine alone.
fn component_left_by_the_first() {
    let house = house_with_programs("exit 3");
    let mut client = house.client();
    let mut submission = house.script("true");
    submission.later = vec![submission.request.clone()];
    let first = client.submit(submission).unwrap();
    let second = JobId(first.0 + 1);
    std::fs::write(house.work().join(format!("go{first}")), "").unwrap();
    let reason = PendingReason::LaunchFailedRequeuedHeld;
    let held = JobState::Pending { reason };
    until("the first waits", || row(&mut client, first).state == held);
    assert_ne!(row(&mut client, second).state, held);
    house.kill_engine_and_fork_server(&client);
    let mut client = house.client();
    std::fs::write(house.work().join("go"), "").unwrap();
    until("both wait", || {
        [first, second].map(|job| row(&mut client, job).state.clone())
            == [held.clone(), held.clone()]
    });
    assert_eq!(client.facts().unwrap().cpus_used, 0);
}

fn lost_node() {
    let house = house(FILE);
    let mut client = house.client();
    let mut big = house.script("echo $SLURM_JOB_NODELIST >> nodes; touch begun; exec sleep 600");
    big.request.min_nodes = Some(2);
    big.request.rare.requeue = Some(false);
    let big = client.submit(big).unwrap();
    until("it runs", || is_there(&house.work(), "begun"));
    assert_eq!(house.text("nodes"), "n[1-2]\n");
    // Its partition is full; the other is not.
    let mut waits = house.script("true");
    waits.request.min_nodes = Some(2);
    waits.request.exclusive = true;
    let waits = client.submit(waits).unwrap();
    let mut beside = house.script("echo $SLURMD_NODENAME $SLURM_JOB_PARTITION > beside");
    beside.request.partition = Some("other".to_owned());
    let beside = client.submit(beside).unwrap();
    assert_eq!(ended(&mut client, beside).0, Outcome::Completed);
    assert_eq!(house.text("beside"), "n3 other\n");
    let reason = PendingReason::Resources;
    assert_eq!(row(&mut client, waits).state, JobState::Pending { reason });
    let unknown = vec![NodeName::new("n9")];
    assert!(client.mark_nodes(unknown, NodeChange::Down, "x").is_err());
    let second = vec![NodeName::new("n2")];
    client
        .mark_nodes(second.clone(), NodeChange::Down, "broken")
        .unwrap();
    assert_eq!(ended(&mut client, big).0, Outcome::NodeFail);
    let node = &client.cluster().unwrap().nodes[1];
    assert_eq!(node.state.long(), "down");
    assert_eq!(node.reason.as_ref().unwrap().text, "broken");
    // It is still down for the next engine.
    house.kill_engine_and_fork_server(&client);
    let mut client = house.client();
    assert_eq!(client.cluster().unwrap().nodes[1].state.long(), "down");
    client.mark_nodes(second, NodeChange::Idle, "").unwrap();
    assert_eq!(ended(&mut client, waits).0, Outcome::Completed);
}

/// It said that it was cancelled.
fn lost_node_of_a_job_that_goes_on() {
    let house = house(FILE);
    let mut client = house.client();
    let mut job = house.script("touch begun; exec sleep 600");
    job.request.min_nodes = Some(2);
    job.request.rare.no_kill = true;
    job.request.rare.requeue = Some(false);
    job.request.output = Some("out".to_owned());
    let job = client.submit(job).unwrap();
    until("it runs", || is_there(&house.work(), "begun"));
    let first = vec![NodeName::new("n1")];
    client
        .mark_nodes(first, NodeChange::Down, "broken")
        .unwrap();
    ended(&mut client, job);
    assert!(is_there(&house.work(), "out"));
    assert_eq!(house.text("out"), "");
}

/// The former usage was back: nothing else changed, and nothing was written.
fn usage_begins_anew() {
    let priority = "[priority]\nfair_share = 1000\nhalf_life = \"00:00:00\"\n";
    let house = house(&format!("{FILE}{priority}"));
    let mut client = house.client();
    let job = house.submit(&mut client, "sleep 0.1");
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    let used = |client: &mut Client| {
        let rows = client.shares().unwrap();
        rows.iter().map(|row| row.usage).fold(0.0, f64::max)
    };
    assert!(used(&mut client) > 0.0);
    let account = "root".to_owned();
    client
        .reset_usage(vec![UsageOwner::Account { account }])
        .unwrap();
    assert_eq!(used(&mut client), 0.0);
    client.stop().unwrap();
    let mut client = house.client();
    assert_eq!(used(&mut client), 0.0);
}

fn reconfigured() {
    let house = house(FILE);
    let mut client = house.client();
    let file = house.dir().join("cluster.toml");
    let mut job = house.script("touch begun; until [ -e go ]; do sleep 0.05; done");
    job.request.rare.nodelist = std::sync::Arc::new(vec![NodeName::new("n2")]);
    let job = client.submit(job).unwrap();
    until("it runs", || is_there(&house.work(), "begun"));
    std::fs::write(&file, "[nodes.n]\ncpus = many").unwrap();
    let refused = client.reconfigure().unwrap_err().to_string();
    assert!(refused.contains("nothing was changed"), "{refused}");
    // An engine waits for no pipe, and holds no file without end.
    std::fs::remove_file(&file).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(pipe.unwrap().success());
    let of_pipe = client.reconfigure().unwrap_err().to_string();
    assert!(of_pipe.contains("it is no regular file"), "{of_pipe}");
    std::fs::remove_file(&file).unwrap();
    let endless = std::fs::File::create(&file).unwrap();
    endless.set_len(1 << 40).unwrap();
    let too_long = client.reconfigure().unwrap_err().to_string();
    assert!(
        too_long.contains("bytes; nothing was changed"),
        "{too_long}"
    );
    assert_eq!(client.cluster().unwrap().nodes.len(), 3);
    // The node that it runs on is no longer there, and its partition has a shorter limit.
    let smaller = FILE
        .replace("names = \"n[1-3]\"", "names = \"n1,n3\"")
        .replace("nodes = \"n[1-2]\"", "nodes = \"n1\"\nmax_time = \"1:00\"");
    std::fs::write(&file, smaller).unwrap();
    client.reconfigure().unwrap();
    assert_eq!(client.cluster().unwrap().nodes.len(), 2);
    running(&mut client, job);
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    let next = house.submit(&mut client, "echo $SLURMD_NODENAME > next");
    assert_eq!(ended(&mut client, next).0, Outcome::Completed);
    assert_eq!(house.text("next"), "n1\n");
}
