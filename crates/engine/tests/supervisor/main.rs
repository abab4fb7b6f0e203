//! Supervisors and the fork server as processes of their own: this program is started again as each,
//! because both must begin with one thread, which a test harness doesn't have.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
#![expect(clippy::print_stderr, reason = "this is its own test harness")]

extern crate yard_engine as engine;

mod bench;
mod fork_server;
#[path = "../harness/mod.rs"]
mod harness;
mod step;
mod steps;
mod streams;

use engine::spec::StepSpec;
pub use harness::Test;
use std::path::Path;
use std::process::ExitCode;

/// The spec that a file holds.
fn spec(path: &str) -> StepSpec {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("supervise") => return engine::supervisor::main(&spec(&args[1])),
        Some("fork_server") => return fork_server::engine(Path::new(&args[1])),
        Some("engine") => return fork_server::successor(Path::new(&args[3])),
        Some("bench") => return bench::run(args.get(1)),
        _ => {}
    }
    let tests = [
        harness::TESTS,
        steps::TESTS,
        streams::TESTS,
        fork_server::TESTS,
    ]
    .concat();
    harness::run(tests, &args)
}
