//! Commands whose engine is killed between their request and its answer: another takes over, and
//! what was requested is done once.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use api::{LONGEST_ANSWER, read_frame, write_frame};
use serde_json::Value;
use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use testkit::{TestEnv, wait_until};

/// When the engine is killed, as its client sees it.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// The request was not delivered.
    BeforeTheRequest,
    /// The request was delivered; that it was carried out is left to chance.
    AfterTheRequest,
    /// The request was carried out, and the answer is lost.
    AfterTheAnswer,
}

/// Takes the place of the engine's socket until a client sends the call, and kills the engine then.
fn kill_engine_at(env: &TestEnv, call: &str, moment: Moment) {
    let folder = env.engine_folder();
    let pid = api::Client::connect_running(&folder).unwrap();
    let pid = pid.unwrap().engine().unwrap().pid;
    let (socket, moved) = (folder.join("engine.sock"), folder.join("moved.sock"));
    // In its place at once: an engine whose socket is missing ends.
    let own = folder.join("own.sock");
    let listener = UnixListener::bind(&own).unwrap();
    fs::hard_link(&socket, &moved).unwrap();
    fs::rename(&own, &socket).unwrap();
    fs::write(env.work().join("go"), "").unwrap();
    for client in listener.incoming() {
        let (mut client, mut engine) = (client.unwrap(), UnixStream::connect(&moved).unwrap());
        while let Some(frame) = read_frame::<Value>(&mut client, LONGEST_ANSWER).unwrap() {
            let is_it = frame["call"] == call;
            if is_it && matches!(moment, Moment::BeforeTheRequest) {
                return kill(pid);
            }
            write_frame(&mut engine, &frame).unwrap();
            if is_it && matches!(moment, Moment::AfterTheRequest) {
                return kill(pid);
            }
            let answer: Value = read_frame(&mut engine, LONGEST_ANSWER).unwrap().unwrap();
            if is_it {
                return kill(pid);
            }
            write_frame(&mut client, &answer).unwrap();
        }
    }
}

fn kill(pid: u32) {
    sys::process::signal(pid, 9).unwrap();
    wait_until("the engine is dead", || {
        sys::process::start_time(pid).is_none()
    });
}

/// A job whose script runs the command once the engine's socket is another's.
#[track_caller]
fn check(command: &str, call: &str) {
    use Moment::{AfterTheAnswer, AfterTheRequest, BeforeTheRequest};
    for moment in [BeforeTheRequest, AfterTheRequest, AfterTheAnswer] {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let script = format!(
            "#!/bin/sh\ntouch begun\nwhile [ ! -e go ]; do sleep 0.02; done\n{command}\n\
             echo \"it ended with $?\"\n"
        );
        env.write("job.sh", &script);
        env.write("inner.sh", "#!/bin/sh\necho inner >> ran\n");
        env.slurm("sbatch", &["job.sh"]).success();
        let work = env.work();
        wait_until("it runs", || work.join("begun").exists());
        kill_engine_at(&env, call, moment);
        let text = |name: &str| fs::read_to_string(work.join(name)).unwrap_or_default();
        wait_until("the command is over", || {
            text("slurm-1.out").contains("it ended with")
        });
        let output = text("slurm-1.out");
        assert!(output.contains("it ended with 0"), "{moment:?}: {output}");
        wait_until("no job is left", || {
            env.slurm("squeue", &["--noheader"]).success().is_empty()
        });
        assert_eq!(text("ran"), "inner\n", "{moment:?}: {output}");
    }
}

#[test]
fn srun_makes_its_step_once() {
    check("srun sh inner.sh", "create_step");
}

#[test]
fn srun_with_a_job_of_its_own_makes_one() {
    check("unset SLURM_JOB_ID SLURM_JOBID; srun sh inner.sh", "submit");
}

#[test]
fn srun_whose_own_job_had_to_wait_makes_one_step() {
    check(
        "unset SLURM_JOB_ID SLURM_JOBID; srun --begin=now+1 sh inner.sh",
        "create_step",
    );
}

#[test]
fn srun_with_a_job_of_its_own_releases_it() {
    check(
        "unset SLURM_JOB_ID SLURM_JOBID; srun sh inner.sh",
        "release",
    );
}

#[test]
fn sbatch_queues_its_job_once() {
    check("sbatch inner.sh", "submit");
}

#[test]
fn sbatch_waits_for_its_job() {
    check("sbatch --wait inner.sh", "watch");
}
