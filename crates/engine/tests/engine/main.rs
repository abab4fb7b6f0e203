//! Engines as processes of their own: this program is started again as the engine, which must
//! begin with one thread.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]
#![expect(clippy::print_stderr, reason = "this is its own test harness")]

extern crate yard_engine as engine;

mod bench;
mod house;
mod jobs;
mod kill;
mod steps;
mod trouble;

use std::path::Path;
use std::process::ExitCode;

/// A test and its name.
pub type Test = (&'static str, fn());

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|word| word == "engine") {
        return engine::serve(Path::new(&args[3]));
    }
    if args.iter().any(|word| word == "bench") {
        bench::run(args.iter().any(|word| word == "array"));
        return ExitCode::SUCCESS;
    }
    let filter = args.iter().find(|arg| !arg.starts_with('-'));
    let tests = [jobs::TESTS, steps::TESTS, kill::TESTS, trouble::TESTS].concat();
    let mut failed = Vec::new();
    for (name, test) in tests {
        if filter.is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        match std::panic::catch_unwind(test) {
            Ok(()) => eprintln!("test {name} ... ok"),
            Err(_) => failed.push(name),
        }
    }
    for name in &failed {
        eprintln!("test {name} ... FAILED");
    }
    ExitCode::from(u8::from(!failed.is_empty()))
}
