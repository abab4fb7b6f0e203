//! Jobs from submission to their end.

use crate::Test;
use crate::house::{House, all, ended, is_there, limit, row, running, until};
use api::{CancelRequest, Refusal, Selector};
use model::{
    ArraySpec, JobState, Outcome, PendingReason, Request, Seconds, SignalSpec, SignalTarget,
    TimeLimitRequest, WaitStatus,
};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

pub const TESTS: &[Test] = &[
    ("jobs::arguments_and_umask", arguments_and_umask),
    ("jobs::runs_and_is_recorded", runs_and_is_recorded),
    ("jobs::knows_its_environment", knows_its_environment),
    ("jobs::fails_with_its_status", fails_with_its_status),
    ("jobs::an_array", an_array),
    ("jobs::the_same_token_is_the_same_job", the_same_token),
    ("jobs::cancelled", cancelled),
    (
        "jobs::one_that_is_being_ended_is_over_to_who_cancels_it",
        cancelled_twice,
    ),
    ("jobs::many_cancelled_at_once", many_cancelled_at_once),
    ("jobs::bytes_that_are_no_text", bytes_that_are_no_text),
    ("jobs::held_and_released", held_and_released),
    ("jobs::requeued_from_within", requeued_from_within),
    ("jobs::time_limit", time_limit),
    ("jobs::what_never_fits_is_refused", never_fits),
    ("jobs::the_cluster_shows_its_use", the_cluster_shows_its_use),
    ("jobs::dependency", dependency),
    ("jobs::two_clients_one_engine", two_clients_one_engine),
    ("jobs::two_virtual_nodes", two_virtual_nodes),
    (
        "jobs::what_forks_and_ends_over_and_over_ends_with_its_job",
        forks_over_and_over,
    ),
];

fn scancel(job: model::JobId) -> CancelRequest {
    CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    }
}

fn runs_and_is_recorded() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(&mut client, "echo hello; pwd");
    let (outcome, row) = ended(&mut client, job);
    assert_eq!(outcome, Outcome::Completed);
    assert_eq!(row.restarts, 0);
    let text = house.text(&format!("slurm-{job}.out"));
    assert_eq!(text, format!("hello\n{}\n", house.work().display()));
    let steps = client.steps(job).unwrap();
    assert_eq!(steps.len(), 1);
}

/// It was gone before a look at all processes came to its end, and lived on as another one.
fn forks_over_and_over() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "perl -MPOSIX -e 'setsid; open(F, \">lock\"); flock(F, 2); open(B, \">begun\"); close B; \
         for (;;) { my $p = fork; POSIX::_exit(0) if $p }' & until [ -e begun ]; do sleep 0.02; done",
    );
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    // Each that it forks has the lock.
    let lock = std::fs::File::open(house.work().join("lock")).unwrap();
    assert!(lock.try_lock().is_ok());
}

fn knows_its_environment() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "echo $SLURM_JOB_ID $SLURM_JOB_NAME $SLURM_NNODES $SLURM_JOB_PARTITION \
         ${SLURM_RESTART_COUNT-unset} $SLURM_PROCID; echo $TRAINYARD_ENGINE; command -v srun",
    );
    ended(&mut client, job);
    let text = house.text(&format!("slurm-{job}.out"));
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("1 test 1 local unset 0"));
    let engine = house.dir().canonicalize().unwrap();
    assert_eq!(lines.next(), engine.to_str());
    assert!(lines.next().unwrap().ends_with("/slurm/srun"));
}

fn arguments_and_umask() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("echo \"$@\"; umask");
    submission.args = ["a b", "c"].map(str::to_owned).to_vec();
    submission.umask = 0o077;
    let job = client.submit(submission).unwrap();
    ended(&mut client, job);
    assert_eq!(house.text(&format!("slurm-{job}.out")), "a b c\n0077\n");
}

fn bytes_that_are_no_text() {
    let house = House::new();
    let mut client = house.client();
    let odd = sys::odd_text::text(OsStr::from_bytes(b"a\xff\xc3b"));
    let mut submission = house.script("printf '%s ' \"$ODD\" \"$1\" > read");
    submission.environment.push(("ODD".to_owned(), odd.clone()));
    submission.args = vec![odd.clone()];
    submission.request.output = Some(odd);
    let job = client.submit(submission).unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    let read = std::fs::read(house.work().join("read")).unwrap();
    assert_eq!(read, b"a\xff\xc3b a\xff\xc3b ");
    assert!(house.work().join(OsStr::from_bytes(b"a\xff\xc3b")).exists());
}

fn many_cancelled_at_once() {
    let house = House::new();
    let mut client = house.client();
    let jobs: Vec<model::JobId> = (0..20)
        .map(|_| house.submit(&mut client, "exec sleep 600"))
        .collect();
    let never = model::JobId(jobs[19].0 + 1);
    let all = jobs.iter().chain([&never]);
    let refusals = client
        .cancel_each(all.map(|job| scancel(*job)).collect())
        .unwrap();
    assert_eq!(refusals.len(), 21);
    assert!(refusals[..20].iter().all(Option::is_none));
    assert_eq!(refusals[20], Some(Refusal::NoSuchJob { job: never }));
    for job in jobs {
        let (outcome, _) = ended(&mut client, job);
        assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
    }
}

fn fails_with_its_status() {
    let house = House::new();
    let mut client = house.client();
    let failed = house.submit(&mut client, "exit 3");
    let killed = house.submit(&mut client, "kill -9 $$");
    let failed = ended(&mut client, failed).0;
    let status = WaitStatus::exit(3);
    assert_eq!(failed, Outcome::Failed { status });
    let killed = ended(&mut client, killed).0;
    let status = WaitStatus::signal(9);
    assert_eq!(killed, Outcome::Failed { status });
    let mut submission = house.script("true");
    submission.request.chdir = "/no/such/folder".into();
    let job = client.submit(submission).unwrap();
    let outcome = ended(&mut client, job).0;
    assert!(!matches!(outcome, Outcome::Completed), "{outcome:?}");
}

fn an_array() {
    let house = House::new();
    let mut client = house.client();
    let mut submission =
        house.script("echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT");
    submission.request.rare.array = Some(ArraySpec {
        indices: vec![1, 3, 5, 7],
        step: 1,
        throttle: None,
    });
    let job = client.submit(submission).unwrap();
    until("all four ended", || {
        let rows = all(&mut client);
        rows.len() == 4 && rows.iter().all(|row| !row.state.is_live())
    });
    for task in [1, 3, 5, 7] {
        let text = house.text(&format!("slurm-{job}_{task}.out"));
        assert_eq!(text, format!("{job} {task} 4\n"));
    }
}

fn the_same_token() {
    let house = House::new();
    let mut client = house.client();
    let submission = house.script("echo once >> runs");
    let job = client.submit(submission.clone()).unwrap();
    assert_eq!(client.submit(submission.clone()).unwrap(), job);
    ended(&mut client, job);
    assert_eq!(client.submit(submission).unwrap(), job);
    assert_eq!(all(&mut client).len(), 1);
    assert_eq!(house.text("runs"), "once\n");
}

fn cancelled() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(&mut client, "touch begun; exec sleep 600");
    until("it runs", || is_there(&house.work(), "begun"));
    client.cancel(scancel(job)).unwrap();
    let (outcome, _) = ended(&mut client, job);
    let status = WaitStatus::signal(15);
    let by = sys::process::user();
    assert_eq!(outcome, Outcome::cancelled(by, status));
    let again = client.cancel(scancel(job)).unwrap_err();
    assert_eq!(again.refusal(), Some(&Refusal::AlreadyEnded { job }));
}

fn cancelled_twice() {
    let house = House::new();
    let mut client = house.client();
    let deaf = "trap '' TERM; touch begun; while :; do sleep 0.05; done";
    let job = house.submit(&mut client, deaf);
    until("it runs", || is_there(&house.work(), "begun"));
    client.cancel(scancel(job)).unwrap();
    assert!(row(&mut client, job).state.is_ending());
    let again = client.cancel(scancel(job)).unwrap_err();
    assert_eq!(again.refusal(), Some(&Refusal::AlreadyEnded { job }));
}

fn held_and_released() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("true");
    submission.request.hold = true;
    let job = client.submit(submission).unwrap();
    let reason = PendingReason::JobHeldUser;
    assert_eq!(row(&mut client, job).state, JobState::Pending { reason });
    client.hold(job, false, false).unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

fn requeued_from_within() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "echo ${SLURM_RESTART_COUNT:-0} >> starts\n\
         [ -n \"$SLURM_RESTART_COUNT\" ] || { touch first; exec sleep 600; }",
    );
    until("it runs", || is_there(&house.work(), "first"));
    client
        .requeue(job, model::RequeueHold::No, Some(0))
        .unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!(outcome, Outcome::Completed);
    assert_eq!(row.restarts, 1);
    assert_eq!(house.text("starts"), "0\n1\n");
    // Said twice, it counts once.
    client
        .requeue(job, model::RequeueHold::No, Some(0))
        .unwrap();
    assert_eq!(all(&mut client).len(), 1);
}

fn time_limit() {
    let house = House::new();
    let mut client = house.client();
    let mut submission =
        house.script("trap 'touch warned' USR1; touch begun; sleep 600 & while :; do wait; done");
    submission.request.time = Some(TimeLimitRequest::Limit(Seconds(6000)));
    submission.request.rare.signal = Some(SignalSpec {
        signal: 10,
        before: Seconds(600),
        target: SignalTarget::BatchShell,
        borrows: false,
    });
    let job = client.submit(submission).unwrap();
    until("it can be warned", || is_there(&house.work(), "begun"));
    // The warning is due at once, then the end.
    limit(&mut client, job, 599);
    until("it is warned", || is_there(&house.work(), "warned"));
    limit(&mut client, job, 1);
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Timeout { .. }), "{outcome:?}");
}

fn the_cluster_shows_its_use() {
    let house = House::new();
    let mut client = house.client();
    let cluster = client.cluster().unwrap();
    let node = &cluster.nodes[0];
    assert_eq!(node.state.long(), "idle");
    assert_eq!(
        cluster.partitions[0].nodes,
        std::slice::from_ref(&node.name)
    );
    let mut submission = house.script("sleep 600");
    submission.request.cpus_per_task = Some(node.cpus);
    let job = client.submit(submission).unwrap();
    let node = client.cluster().unwrap().nodes.remove(0);
    assert_eq!((node.state.long().as_str(), node.jobs), ("allocated", 1));
    let request = CancelRequest {
        selector: Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    };
    client.cancel(request).unwrap();
    assert!(matches!(
        ended(&mut client, job).0,
        Outcome::Cancelled { .. }
    ));
    assert_eq!(client.cluster().unwrap().nodes[0].state.long(), "idle");
}

fn never_fits() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("true");
    submission.request.tasks = Some(100_000);
    let refused = client.submit(submission).unwrap_err();
    assert!(matches!(refused.refusal(), Some(Refusal::NeverFits(_))));
    assert_eq!(all(&mut client).len(), 0);
}

fn dependency() {
    let house = House::new();
    let mut client = house.client();
    let first = house.submit(&mut client, "sleep 0.2; echo first >> order; exit 1");
    let mut submission = house.script("echo second >> order");
    submission.request.rare.dependency = Some(format!("afterany:{first}"));
    let second = client.submit(submission).unwrap();
    let mut submission = house.script("echo never >> order");
    submission.request.rare.dependency = Some(format!("afterok:{first}"));
    let never = client.submit(submission).unwrap();
    assert_eq!(ended(&mut client, second).0, Outcome::Completed);
    assert_eq!(house.text("order"), "first\nsecond\n");
    let reason = PendingReason::DependencyNeverSatisfied;
    assert_eq!(row(&mut client, never).state, JobState::Pending { reason });
    let mut submission = house.script("true");
    submission.request.rare.dependency = Some("afterok:x".to_owned());
    let refused = client.submit(submission).unwrap_err();
    assert!(refused.to_string().contains("Job dependency problem"));
    // As a real one does it: a job that never was is as one that was forgotten.
    let mut submission = house.script("true");
    submission.request.rare.dependency = Some("afterok:4711".to_owned());
    let at_once = client.submit(submission).unwrap();
    assert_eq!(ended(&mut client, at_once).0, Outcome::Completed);
}

fn two_clients_one_engine() {
    let house = House::new();
    let pids: Vec<u32> = std::thread::scope(|scope| {
        let one = || house.client().engine().unwrap().pid;
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(one)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
}

fn two_virtual_nodes() {
    let house = House::new();
    let mut client = house.client();
    if client.facts().unwrap().cpus < 2 {
        return;
    }
    let mut submission = house.script("echo $SLURM_JOB_NUM_NODES $SLURM_NTASKS; exec sleep 600");
    submission.request = Request {
        min_nodes: Some(2),
        tasks: Some(2),
        ..submission.request
    };
    let job = client.submit(submission).unwrap();
    running(&mut client, job);
    let JobState::Running { allocation, .. } = row(&mut client, job).standing.state else {
        panic!("it runs")
    };
    assert_eq!(allocation.nodes.len(), 2);
    assert_ne!(allocation.nodes[0].cpus, allocation.nodes[1].cpus);
    client.cancel(scancel(job)).unwrap();
    ended(&mut client, job);
}
