//! Engines and supervisors that are killed.

use crate::Test;
use crate::house::{House, all, ended, is_there, until};
use api::Client;
use model::{ArraySpec, Outcome, WaitStatus};
use std::collections::BTreeMap;

pub const TESTS: &[Test] = &[
    (
        "kill::a_supervisor_starts_an_engine",
        a_supervisor_starts_an_engine,
    ),
    ("kill::a_running_job_goes_on", a_running_job_goes_on),
    ("kill::it_comes_back_by_itself", it_comes_back_by_itself),
    (
        "kill::nothing_lost_nothing_twice",
        nothing_lost_nothing_twice,
    ),
    (
        "kill::a_lost_supervisor_requeues",
        a_lost_supervisor_requeues,
    ),
    (
        "kill::what_forks_and_ends_over_and_over_ends_with_its_supervisor",
        forks_and_ends_over_and_over,
    ),
    ("kill::stopped_jobs_go_on", stopped_jobs_go_on),
    (
        "kill::a_program_called_like_the_engine_ends_with_its_job",
        called_like_the_engine,
    ),
    ("kill::an_engine_that_a_job_started_stays", started_by_a_job),
    (
        "kill::all_of_ours_at_once_and_nothing_runs_twice",
        all_at_once,
    ),
    (
        "kill::what_has_no_session_and_no_environment_ends_by_its_control_group",
        without_session_and_environment,
    ),
    ("kill::an_allocation_stays_its_clients", an_allocation),
    (
        "kill::a_former_program_stays_as_long_as_there_is_an_allocation",
        former_program,
    ),
    (
        "kill::supervisors_of_a_former_version_are_found",
        supervisors_of_a_former_version,
    ),
];

fn a_running_job_goes_on() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done; echo through",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    house.kill_engine(&client);
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!(outcome, Outcome::Completed);
    assert_eq!(row.restarts, 0);
    assert_eq!(house.text(&format!("slurm-{job}.out")), "through\n");
}

fn it_comes_back_by_itself() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    house.kill_engine(&client);
    std::fs::write(house.work().join("go"), "").unwrap();
    let mut again = None;
    until("an engine answers that nobody called", || {
        again = Client::connect_running(&house.dir()).unwrap();
        again.is_some()
    });
    let mut again = again.unwrap();
    assert_ne!(again.engine().unwrap().pid, client.engine().unwrap().pid);
    assert_eq!(ended(&mut again, job).0, Outcome::Completed);
}

/// Engine and fork server are killed together: only supervisors are left.
fn a_supervisor_starts_an_engine() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    house.kill_engine_and_fork_server(&client);
    assert!(Client::connect_running(&house.dir()).unwrap().is_none());
    std::fs::write(house.work().join("go"), "").unwrap();
    let mut again = None;
    until("an engine answers that nobody called", || {
        again = Client::connect_running(&house.dir()).unwrap();
        again.is_some()
    });
    assert_eq!(ended(&mut again.unwrap(), job).0, Outcome::Completed);
}

fn nothing_lost_nothing_twice() {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("echo $SLURM_ARRAY_TASK_ID >> runs.$SLURM_ARRAY_TASK_ID");
    let count = 150;
    submission.request.rare.array = Some(ArraySpec {
        indices: (0..count).collect(),
        step: 1,
        throttle: None,
    });
    client.submit(submission).unwrap();
    // Moments that no clock of ours chose: so many ends apart.
    for round in 1..=8 {
        let mut ends = 0;
        until("some more ended", || {
            ends = all(&mut client)
                .iter()
                .filter(|row| !row.state.is_live())
                .count();
            ends >= round * 12 + round % 3
        });
        house.kill_engine(&client);
        client.reconnect().unwrap();
    }
    until("all ended", || {
        let rows = all(&mut client);
        rows.len() == count as usize && rows.iter().all(|row| !row.state.is_live())
    });
    let mut wrong = BTreeMap::new();
    for task in 0..count {
        let text = house.text(&format!("runs.{task}"));
        if text != format!("{task}\n") {
            wrong.insert(task, text);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    for row in all(&mut client) {
        assert_eq!(row.restarts, 0, "{row:?}");
    }
}

fn a_lost_supervisor_requeues() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "echo $$ >> starts\n[ -n \"$SLURM_RESTART_COUNT\" ] || { touch begun; exec sleep 600; }",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    let holder = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    sys::process::signal(holder.pid, 9).unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!(outcome, Outcome::Completed);
    assert_eq!(row.restarts, 1);
    let first: u32 = house
        .text("starts")
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    until("what the lost one left behind is gone", || {
        sys::process::start_time(first).is_none()
    });
}

/// It was gone before a look at all processes came to its end, each time.
fn forks_and_ends_over_and_over() {
    let house = House::new();
    let mut client = house.client();
    let chain = "echo >> beats; sleep 0.001; sh chain &";
    std::fs::write(house.work().join("chain"), chain).unwrap();
    let job = house.submit(
        &mut client,
        "[ -n \"$SLURM_RESTART_COUNT\" ] || { setsid sh chain & exec sleep 600; }",
    );
    until("it runs", || is_there(&house.work(), "beats"));
    let holder = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    sys::process::signal(holder.pid, 9).unwrap();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    let length = || house.text("beats").len();
    until("no other one comes", || {
        let before = length();
        std::thread::sleep(std::time::Duration::from_millis(200));
        length() == before
    });
}

fn stopped_jobs_go_on() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    client.stop().unwrap();
    assert!(Client::connect_running(&house.dir()).unwrap().is_none());
    std::fs::write(house.work().join("go"), "").unwrap();
    let mut client = house.client();
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
}

fn an_allocation() {
    let house = House::new();
    let mut owner = house.client();
    let mut submission = house.script("");
    submission.script = None;
    let job = owner.submit(submission).unwrap();
    crate::house::running(&mut owner, job);
    house.kill_engine(&owner);
    // The next call finds the engine again, and the allocation is this connection's.
    crate::house::running(&mut owner, job);
    drop(owner);
    let mut client = house.client();
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
}

/// After an update `squeue` in the shell of an allocation was another Slurm's.
fn former_program() {
    let house = House::new();
    let mut owner = house.client();
    let mut submission = house.script("");
    submission.script = None;
    let job = owner.submit(submission).unwrap();
    crate::house::running(&mut owner, job);
    let former = house.dir().join("bin/former");
    std::fs::create_dir(&former).unwrap();
    house.kill_engine(&owner);
    crate::house::running(&mut owner, job);
    assert!(former.exists());
    drop(owner);
    let mut client = house.client();
    ended(&mut client, job);
    client.stop().unwrap();
    assert!(all(&mut house.client()).len() == 1);
    assert!(!former.exists());
}

/// They had a folder each, with a file for each line of the record.
fn supervisors_of_a_former_version() {
    let house = House::new();
    let mut client = house.client();
    let job = house.submit(
        &mut client,
        "touch begun; while [ ! -e go ]; do sleep 0.01; done",
    );
    until("it runs", || is_there(&house.work(), "begun"));
    client.stop().unwrap();
    let record = house.record(job);
    let holder = engine::record::read(&record).unwrap().unwrap().holder;
    let store = rusqlite::Connection::open(house.dir().join("store.sqlite")).unwrap();
    let sql = "INSERT INTO facts VALUES ('untagged_below', 100)";
    store.execute(sql, []).unwrap();
    store.close().unwrap();
    let former = house.dir().join(format!("jobs/{job}/0/batch/0"));
    std::fs::create_dir_all(&former).unwrap();
    let json = serde_json::to_vec(&holder).unwrap();
    std::fs::write(former.join("pid"), json).unwrap();
    std::fs::remove_file(&record).unwrap();

    let mut client = house.client();
    crate::house::running(&mut client, job);
    let exit = engine::spec::ExitFile {
        boot_id: holder.boot_id,
        at: model::Timestamp(sys::now()),
        tasks: vec![engine::spec::TaskExit {
            rank: 0,
            status: WaitStatus::exit(6),
            used: None,
        }],
        launch_error: None,
        ended_by: None,
        usage: None,
    };
    let json = serde_json::to_vec(&exit).unwrap();
    std::fs::write(former.join("exit"), json).unwrap();
    std::fs::write(house.work().join("go"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    let status = WaitStatus::exit(6);
    assert_eq!((outcome, row.restarts), (Outcome::Failed { status }, 0));
}

/// Its first arguments are those of the engine: it is cancelled like any other, and what a job
/// leaves behind ends with it.
fn called_like_the_engine() {
    let house = House::new();
    let mut client = house.client();
    // `sh engine serve FILE`: the words that engines are started with, after the program's name.
    let script = house.work().join("engine");
    std::fs::write(&script, "echo $$ > $2; while :; do sleep 0.05; done\n").unwrap();
    let alive = |name: &str| -> Option<u32> {
        let pid = house.text(name).trim().parse().ok()?;
        sys::process::start_time(pid).map(|_| pid)
    };
    let job = house.submit(&mut client, "exec sh engine serve first");
    until("it runs", || alive("first").is_some());
    let cancel = api::CancelRequest {
        selector: api::Selector::Job(job),
        signal: None,
        batch: false,
        full: false,
    };
    client.cancel(cancel).unwrap();
    let (outcome, _) = ended(&mut client, job);
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
    assert_eq!(alive("first"), None);

    let job = house.submit(
        &mut client,
        "sh engine serve second &\nwhile [ ! -s second ]; do sleep 0.01; done",
    );
    assert_eq!(ended(&mut client, job).0, Outcome::Completed);
    assert_eq!(alive("second"), None);
}

/// An engine is below the job whose command started it, and stays when the job ends or is lost.
fn started_by_a_job() {
    let house = House::new();
    let mut client = house.client();
    let cpus = client.facts().unwrap().cpus;
    let job = house.submit(
        &mut client,
        &format!(
            "touch begun; while [ ! -e go ]; do sleep 0.01; done
             '{}' connect '{}' > connected; touch through
             while [ ! -e end ]; do sleep 0.01; done",
            crate::house::program().display(),
            house.dir().display()
        ),
    );
    until("it runs", || is_there(&house.work(), "begun"));
    client.stop().unwrap();
    std::fs::write(house.work().join("go"), "").unwrap();
    until("the job started an engine", || {
        is_there(&house.work(), "through")
    });
    let mut client = house.client();
    let engine = client.engine().unwrap().pid;
    assert_eq!(house.text("connected"), format!("{engine}\n"));
    assert_eq!(
        client.facts().unwrap().cpus,
        cpus,
        "it is not bound as the job"
    );
    let holder = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    sys::process::signal(holder.pid, 9).unwrap();
    let begun = house.work().join("begun");
    std::fs::remove_file(begun).unwrap();
    std::fs::write(house.work().join("end"), "").unwrap();
    let (outcome, row) = ended(&mut client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 1));
    assert_eq!(client.engine().unwrap().pid, engine);
    sys::process::signal(engine, 15).unwrap();
    until("SIGTERM ends it", || {
        sys::process::start_time(engine).is_none()
    });
}

/// Whatever connects next starts the engine again; what the first start of the job left behind is
/// gone before the second begins, also what does not tell by its environment whose it is.
fn all_at_once() {
    let house = House::new();
    let mut client = house.client();
    let loop_for_ever = "while :; do sleep 0.05; done";
    let job = house.submit(
        &mut client,
        &format!(
            "if [ -n \"$SLURM_RESTART_COUNT\" ]; then
                 for pid in $(cat own unnamed); do
                     # Init may leave a zombie for a while.
                     case $(cat /proc/$pid/stat 2> errors) in
                         '' | *') Z '*) ;;
                         *) echo $pid >> twice ;;
                     esac
                 done
                 exit 0
             fi
             echo $$ > own
             env -i PATH=\"$PATH\" sh -c 'echo $$ > unnamed; {loop_for_ever}' &
             {loop_for_ever}"
        ),
    );
    until("it runs", || {
        ["own", "unnamed"].map(|name| house.text(name).ends_with('\n')) == [true, true]
    });
    let without = house.submit(&mut client, "exit 0");
    assert_eq!(ended(&mut client, without).0, Outcome::Completed);
    let mut client = kill_ours(&house, &client, job);
    let (outcome, row) = ended(&mut client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 1));
    assert_eq!(house.text("twice"), "");
}

/// Kills supervisor, fork server and engine of a job, which is stopped first so that it sees none of
/// it; a client of the next engine.
fn kill_ours(house: &House, client: &Client, job: model::JobId) -> Client {
    let holder = engine::record::read(&house.record(job))
        .unwrap()
        .unwrap()
        .holder;
    let engine = client.engine().unwrap().pid;
    sys::process::signal(engine, 19).unwrap();
    for fork_server in sys::process::children(engine) {
        sys::process::signal(fork_server, 9).unwrap();
    }
    sys::process::signal(holder.pid, 9).unwrap();
    house.kill_engine(client);
    house.client()
}

/// What left its session and cleared its environment is still in the memory control group of its step.
fn without_session_and_environment() {
    let house = House::new();
    let mut client = house.client();
    if sys::memory_cgroup::MemoryCgroup::probe().is_err() {
        println!("skipped: no memory control group can be made here");
        return;
    }
    let mut submission = house.script(
        "if [ -n \"$SLURM_RESTART_COUNT\" ]; then
             # Init may leave a zombie for a while.
             case $(cat /proc/$(cat left)/stat 2> errors) in
                 '' | *') Z '*) ;;
                 *) touch twice ;;
             esac
             exit 0
         fi
         setsid env -i sh -c 'echo $$ > left; while :; do sleep 0.02; done' &
         while :; do sleep 0.02; done",
    );
    submission.request.memory = Some(model::MemoryRequest::PerNode(64));
    let job = client.submit(submission).unwrap();
    until("it runs", || house.text("left").ends_with('\n'));
    let left: u32 = house.text("left").trim().parse().unwrap();
    let group = |pid| sys::control_group::of_process(pid, |name| name.starts_with("yard-"));
    assert!(group(left).is_some());
    let mut client = kill_ours(&house, &client, job);
    let (outcome, row) = ended(&mut client, job);
    assert_eq!((outcome, row.restarts), (Outcome::Completed, 1));
    assert!(!is_there(&house.work(), "twice"));
}
