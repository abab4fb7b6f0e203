//! Requests for steps that are sent again because their answer never came.

use crate::Test;
use crate::house::{House, ended, is_there, until};
use api::{Answer, Call, Client, NewStep, StepLaunch, StepRequestName, TaskFiles};
use model::{JobId, Outcome, StepId, StepRecord, StepRequest, StepState, WaitStatus};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    (
        "step_requests::sent_again_it_is_the_same_step",
        sent_again_it_is_the_same_step,
    ),
    (
        "step_requests::written_and_not_started_it_is_made_anew",
        written_and_not_started,
    ),
    (
        "step_requests::whenever_the_engine_is_killed_it_runs_once",
        whenever_the_engine_is_killed,
    ),
    (
        "step_requests::with_its_allocation_it_runs_once_whenever_the_engine_is_killed",
        with_its_allocation,
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
            input: Some("none".to_owned()),
            ..TaskFiles::default()
        },
        umask: 0o022,
        ..StepLaunch::default()
    }
}

fn ask(client: &mut Client, job: JobId, token: &str, again: bool, launch: &StepLaunch) -> StepId {
    let call = Call::CreateStep {
        job,
        step: Box::new(NewStep {
            name: StepRequestName {
                token: token.to_owned(),
                again,
            },
            request: StepRequest {
                overlap: true,
                ..StepRequest::default()
            },
            launch: launch.clone(),
        }),
    };
    match client.call(&call).unwrap() {
        Answer::Step(record) => record.step,
        other => panic!("{other:?}"),
    }
}

fn steps(client: &mut Client, job: JobId) -> Vec<StepRecord> {
    let mut steps = client.steps(job).unwrap();
    steps.retain(|step| step.step != StepId::Batch);
    steps
}

fn all_ended(client: &mut Client, job: JobId) -> bool {
    let steps = steps(client, job);
    steps.iter().all(|step| step.state != StepState::Running)
}

fn finish(house: &House, client: &mut Client, job: JobId) {
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 0));
}

fn sent_again_it_is_the_same_step() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    let wait = launch(
        &house,
        "echo ran >> ran; while [ ! -e on ]; do sleep 0.01; done",
    );
    let first = ask(&mut client, job, "a", false, &wait);
    assert_eq!(ask(&mut client, job, "a", false, &wait), first);
    assert_eq!(ask(&mut client, job, "a", true, &wait), first);
    std::fs::write(house.work().join("on"), "").unwrap();
    until("it ended", || all_ended(&mut client, job));
    assert_eq!(ask(&mut client, job, "a", true, &wait), first);
    assert_eq!(house.text("ran"), "ran\n");
    assert_ne!(ask(&mut client, job, "b", false, &wait), first);
    // From before there were tokens.
    let (one, other) = (
        ask(&mut client, job, "", false, &wait),
        ask(&mut client, job, "", false, &wait),
    );
    assert_ne!(one, other);
    until("all ended", || all_ended(&mut client, job));
    finish(&house, &mut client, job);
}

fn written_and_not_started() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    // What it is asked for stays in its socket.
    for fork_server in sys::process::children(client.engine().unwrap().pid) {
        sys::process::signal(fork_server, 19).unwrap();
    }
    let step = launch(&house, "echo ran >> ran");
    let first = ask(&mut client, job, "a", false, &step);
    house.kill_engine_and_fork_server(&client);
    client.reconnect().unwrap();
    let second = ask(&mut client, job, "a", true, &step);
    assert_ne!(first, second, "the first one never ran");
    until("it ended", || all_ended(&mut client, job));
    assert_eq!(house.text("ran"), "ran\n");
    finish(&house, &mut client, job);
}

fn whenever_the_engine_is_killed() {
    let house = House::new();
    let mut client = house.client();
    let job = job(&house, &mut client);
    for moment in 0..16 {
        let engine = client.engine().unwrap().pid;
        let file = format!("ran.{moment}");
        let step = new_step(&house, &file);
        std::thread::scope(|scope| {
            scope.spawn(|| kill_after(engine, moment));
            runs_once(&house, &mut client, job, step, engine, &file);
        });
    }
    finish(&house, &mut client, job);
}

/// As `srun` outside a job: its step is asked for with the job, and by itself where the answer has none.
fn with_its_allocation() {
    let house = House::new();
    let mut client = house.client();
    for moment in 0..16 {
        let engine = client.engine().unwrap().pid;
        let file = format!("ran.{moment}");
        let mut step = new_step(&house, &file);
        let mut submission = house.script("");
        submission.script = None;
        submission.token = format!("job-at-{moment}");
        submission.environment = step.launch.environment.clone();
        submission.step = Some(Box::new(step.clone()));
        std::thread::scope(|scope| {
            scope.spawn(|| kill_after(engine, moment));
            let made = client.submit_and_see(submission).unwrap();
            crate::house::running(&mut client, made.job);
            step.name.again = true;
            runs_once(&house, &mut client, made.job, step, engine, &file);
            client.release(made.job, WaitStatus::exit(0)).unwrap();
            assert_eq!(ended(&mut client, made.job).0, Outcome::Completed);
        });
    }
}

fn new_step(house: &House, file: &str) -> NewStep {
    NewStep {
        name: StepRequestName {
            token: format!("step-of-{file}"),
            again: false,
        },
        launch: launch(house, &format!("echo ran >> {file}")),
        ..NewStep::default()
    }
}

fn kill_after(engine: u32, moment: u64) {
    std::thread::sleep(Duration::from_micros(moment * 100));
    let _gone = sys::process::signal(engine, 9);
}

/// Asks for the step as `srun` does: it is requested again where it is over and never began.
fn runs_once(
    house: &House,
    client: &mut Client,
    job: JobId,
    mut step: NewStep,
    engine: u32,
    file: &str,
) {
    let mut last = None;
    loop {
        let made = client.create_step(job, &step).unwrap().step;
        if last == Some(made) {
            break;
        }
        until("the engine is dead", || {
            sys::process::start_time(engine).is_none()
        });
        until("it ended", || all_ended(client, job));
        if !house.text(file).is_empty() {
            break;
        }
        last = Some(made);
        step.name.again = true;
    }
    assert_eq!(house.text(file), "ran\n");
}
