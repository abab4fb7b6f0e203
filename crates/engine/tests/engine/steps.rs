//! Steps of running jobs.

use crate::Test;
use crate::house::{House, ended, is_there, limit, until};
use api::{Client, NewStep, Refusal, StepLaunch, StepRequestName, TaskFiles};
use engine::spec::{SupervisorAnswer, SupervisorCall};
use model::{JobId, JobState, Outcome, StepId, StepRequest, StepState, WaitStatus};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

pub const TESTS: &[Test] = &[
    ("steps::runs_beside_the_script", runs_beside_the_script),
    ("steps::a_second_one_waits", a_second_one_waits),
    ("steps::end_with_the_script", end_with_the_script),
    ("steps::an_allocation_without_a_script", an_allocation),
    (
        "steps::the_first_one_is_made_with_its_allocation",
        the_first_with_its_allocation,
    ),
    ("steps::past_its_limit_it_timed_out", past_its_limit),
    (
        "steps::one_with_a_limit_of_its_own_keeps_it_when_its_job_gets_another",
        keeps_its_limit,
    ),
    (
        "steps::a_limit_of_its_job_that_it_was_not_told_is_said_by_the_next_engine",
        a_limit_is_said_again,
    ),
    (
        "steps::an_allocation_past_its_limit_timed_out",
        allocation_past_its_limit,
    ),
];

/// A job that runs until the file `go` is there.
fn job(house: &House, client: &mut Client) -> JobId {
    let job = house.submit(
        client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    job
}

fn launch(house: &House, command: &str) -> StepLaunch {
    StepLaunch {
        command: ["sh", "-c", command].map(str::to_owned).to_vec(),
        environment: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        files: TaskFiles {
            chdir: house.work(),
            output: Some("step.%s.%t".to_owned()),
            input: Some("none".to_owned()),
            error: None,
            label: false,
        },
        umask: 0o022,
        ..StepLaunch::default()
    }
}

/// A step that asks for nothing but to be run.
fn of(launch: StepLaunch) -> NewStep {
    NewStep {
        launch,
        ..NewStep::default()
    }
}

fn step_ended(client: &mut Client, job: JobId, step: u32) -> WaitStatus {
    let mut found = None;
    until("the step ended", || {
        let steps = client.steps(job).unwrap();
        let step = steps
            .into_iter()
            .find(|row| row.step == StepId::Number(step));
        found = step.and_then(|row| match row.state {
            StepState::Ended { status, .. } => Some(status),
            StepState::Running => None,
        });
        found.is_some()
    });
    found.unwrap()
}

fn runs_beside_the_script() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let say = launch(
        &house,
        "echo $SLURM_JOB_ID.$SLURM_STEP_ID $SLURM_PROCID/$SLURM_NTASKS; exit 2",
    );
    let step = client.create_step(job, &of(say)).unwrap();
    assert_eq!(step.step, StepId::Number(0));
    assert_eq!(step_ended(&mut client, job, 0), WaitStatus::exit(2));
    assert_eq!(house.text("step.0.0"), format!("{job}.0 0/1\n"));
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

fn a_second_one_waits() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let wait = launch(
        &house,
        "touch step-begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    let create = |client: &mut Client, request: StepRequest, launch: StepLaunch| {
        let name = StepRequestName::default();
        let step = NewStep {
            name,
            request,
            launch,
        };
        client.create_step(job, &step)
    };
    create(&mut client, StepRequest::default(), wait.clone()).unwrap();
    let busy = create(&mut client, StepRequest::default(), wait.clone()).unwrap_err();
    assert_eq!(busy.refusal(), Some(&Refusal::Busy));
    let overlap = StepRequest {
        overlap: true,
        ..StepRequest::default()
    };
    let step = create(&mut client, overlap, launch(&house, "true")).unwrap();
    assert_eq!(step.step, StepId::Number(1));
    until("the first runs", || is_there(&house.work(), "step-begun"));
    std::fs::write(house.work().join("go"), "").unwrap();
    ended(&mut client, job);
    assert_eq!(client.steps(job).unwrap().len(), 3);
}

fn end_with_the_script() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let sleep = launch(&house, "touch step-begun; exec sleep 600");
    client.create_step(job, &of(sleep)).unwrap();
    until("the step runs", || is_there(&house.work(), "step-begun"));
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(step_ended(&mut client, job, 0), WaitStatus::signal(15));
}

fn an_allocation() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("");
    submission.script = None;
    let made = client.submit_and_see(submission.clone()).unwrap();
    let job = made.job;
    // Nothing is in its way: no other call is needed to know that it runs.
    assert!(matches!(made.now.unwrap().state, JobState::Running { .. }));
    crate::house::running(&mut client, job);
    let step = launch(&house, "exit 3");
    client.create_step(job, &of(step)).unwrap();
    let status = step_ended(&mut client, job, 0);
    client.release(job, status).unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Failed { status });
    // It ends with its connection.
    let mut owner = house.client();
    submission.token = "another".to_owned();
    let job = owner.submit(submission).unwrap();
    crate::house::running(&mut client, job);
    drop(owner);
    assert!(matches!(
        ended(&mut client, job).0,
        Outcome::Cancelled { .. }
    ));
}

fn the_first_with_its_allocation() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("");
    submission.script = None;
    submission
        .environment
        .push(("WHOSE".to_owned(), "the submission's".to_owned()));
    let mut step = of(launch(&house, "echo $WHOSE >> ran"));
    step.name.token = "first".to_owned();
    step.launch.environment.clear();
    submission.step = Some(Box::new(step.clone()));
    let made = client.submit_and_see(submission.clone()).unwrap();
    let job = made.job;
    assert_eq!(made.step.unwrap().step, StepId::Number(0));
    // As if the answer had been lost.
    let again = client.submit_and_see(submission.clone()).unwrap();
    assert_eq!(again.job, job);
    assert!(again.step.is_none());
    step.name.again = true;
    let again = client.create_step(job, &step).unwrap();
    assert_eq!(again.step, StepId::Number(0));
    let status = step_ended(&mut client, job, 0);
    client.release(job, status).unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(house.text("ran"), "the submission's\n");
    // One that waits has none yet.
    submission.token = "held".to_owned();
    submission.request.hold = true;
    let made = client.submit_and_see(submission).unwrap();
    assert!(made.step.is_none());
    assert!(client.steps(made.job).unwrap().is_empty());
}

fn past_its_limit() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let limited = StepLaunch {
        time: Some(1),
        ..launch(&house, "exec sleep 600")
    };
    let step = client.create_step(job, &of(limited));
    let step = step.unwrap().step;
    let state = |client: &mut Client| {
        let steps = client.steps(job).unwrap();
        let row = steps.into_iter().find(|row| row.step == step);
        row.unwrap().state
    };
    until("the step ended", || {
        state(&mut client) != StepState::Running
    });
    let StepState::Ended {
        status, timed_out, ..
    } = state(&mut client)
    else {
        unreachable!("it ended");
    };
    assert_eq!((status, timed_out), (WaitStatus::signal(15), true));
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

/// It ran on until its job's new limit.
fn keeps_its_limit() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let limited = StepLaunch {
        time: Some(2),
        ..launch(&house, "exec sleep 600")
    };
    client.create_step(job, &of(limited)).unwrap();
    limit(&mut client, job, 3600);
    assert_eq!(step_ended(&mut client, job, 0), WaitStatus::signal(15));
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

/// Its job had another limit, and the step ended by the former one.
fn a_limit_is_said_again() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let step = launch(&house, "exec sleep 600");
    client.create_step(job, &of(step)).unwrap();
    let record = house.record_of(&format!("{job}.0.0.0"));
    let holder = engine::record::read(&record).unwrap().unwrap().holder;
    sys::process::signal(holder.pid, 19).unwrap();
    limit(&mut client, job, 3600);
    house.kill_engine(&client);
    let mut client = house.client();
    sys::process::signal(holder.pid, 18).unwrap();
    let name = record.file_name().unwrap().to_str().unwrap();
    let socket = record.with_file_name(format!("{name}.sock"));
    let has_limit = || -> Option<bool> {
        let mut stream = UnixStream::connect(&socket).ok()?;
        let mut call = serde_json::to_vec(&SupervisorCall::Status).unwrap();
        call.push(b'\n');
        stream.write_all(&call).ok()?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).ok()?;
        match serde_json::from_str(&answer).ok()? {
            SupervisorAnswer::Status { deadline, .. } => Some(deadline.is_some()),
            _ => None,
        }
    };
    until("it knows the limit", || has_limit() == Some(true));
    std::fs::write(house.work().join("go"), "").unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

/// `srun -t`, outside a job: what it says of its last step comes at the limit, or after it.
fn allocation_past_its_limit() {
    let house = House::new();
    let mut client = house.client();
    // The job's limit, which Slurm rounds up to minutes, and the step's own.
    for (jobs, steps) in [(Some(3), None), (Some(60), Some(1))] {
        let mut submission = house.script("");
        submission.script = None;
        let limit = jobs.map(|seconds| model::TimeLimitRequest::Limit(model::Seconds(seconds)));
        submission.request.time = limit;
        let job = client.submit(submission).unwrap();
        let step = StepLaunch {
            time: steps,
            ..launch(&house, "exec sleep 600")
        };
        let step = client.create_step(job, &of(step));
        let StepId::Number(step) = step.unwrap().step else {
            unreachable!("it has a number");
        };
        // As `srun` does, which hears of the end before the engine does.
        let record = house.record_of(&format!("{job}.0.{step}.0"));
        let end = || {
            engine::record::read(&record)
                .unwrap()
                .and_then(|found| found.exit)
        };
        until("the step ended", || end().is_some());
        let status = end().unwrap().tasks[0].status;
        client.release(job, status).unwrap();
        let (outcome, _) = ended(&mut client, job);
        assert!(matches!(outcome, Outcome::Timeout { .. }), "{outcome:?}");
    }
}
