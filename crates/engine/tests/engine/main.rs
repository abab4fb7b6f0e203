//! Engines as processes of their own: this program is started again as the engine, which must
//! begin with one thread.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
#![expect(clippy::print_stderr, reason = "this is its own test harness")]
#![expect(clippy::print_stdout, reason = "a job reads what a client prints")]

extern crate yard_engine as engine;

mod bench;
mod clock;
mod clusters;
mod connections;
mod gone;
#[path = "../harness/mod.rs"]
mod harness;
mod histories;
mod house;
mod jobs;
mod keep;
mod kill;
mod no_room;
mod step_requests;
mod steps;
mod stopped;
mod stores;
mod suspend;
mod trouble;
mod upgrade;

pub use harness::Test;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use sys::env_vars::TRAINYARD_CPU_LOCKS;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == "engine") {
        if std::env::var_os(TRAINYARD_CPU_LOCKS).is_none() {
            // Tests that run at once don't wait for each other's jobs.
            let folder = Path::new(&args[3]).parent().unwrap();
            let mut own = Command::new(std::env::current_exe().unwrap());
            own.args(&args).env(TRAINYARD_CPU_LOCKS, folder);
            panic!("{}", own.exec());
        }
        return ExitCode::from(engine::serve(Path::new(&args[3])));
    }
    if args.first().is_some_and(|word| word == "connect") {
        // As `srun` has it: the engine must be ended by this signal all the same.
        let _blocked = sys::signals::SignalFd::block(&[15]).unwrap();
        let mut client = api::Client::connect(Path::new(&args[1])).unwrap();
        println!("{}", client.facts().unwrap().pid);
        return ExitCode::SUCCESS;
    }
    if args.iter().any(|word| word == "bench") {
        bench::run(args.iter().any(|word| word == "array"));
        return ExitCode::SUCCESS;
    }
    let tests = [
        harness::TESTS,
        jobs::TESTS,
        histories::TESTS,
        keep::TESTS,
        steps::TESTS,
        step_requests::TESTS,
        kill::TESTS,
        trouble::TESTS,
        no_room::TESTS,
        stores::TESTS,
        clock::TESTS,
        clusters::TESTS,
        connections::TESTS,
        gone::TESTS,
        stopped::TESTS,
        suspend::TESTS,
        upgrade::TESTS,
    ]
    .concat();
    harness::run(tests, &args)
}
