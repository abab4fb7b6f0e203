//! The harness of tests whose program is started again as an engine or a supervisor, which must
//! begin with one thread: they run one after another, on the main thread.

use std::process::ExitCode;

/// A test and its name.
pub type Test = (&'static str, fn());

/// Runs those whose name holds the first argument that is no option, and says how they went.
pub fn run(tests: Vec<Test>, args: &[String]) -> ExitCode {
    let filter = args.iter().find(|arg| !arg.starts_with('-'));
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
