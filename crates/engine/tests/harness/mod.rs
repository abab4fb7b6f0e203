//! The harness of tests whose program is started again as an engine or a supervisor, which must
//! begin with one thread: they run one after another, on the main thread.

use std::process::ExitCode;

/// A test and its name.
pub type Test = (&'static str, fn());

/// The harness's own tests.
pub const TESTS: &[Test] = &[(
    "harness::tests_are_chosen_as_other_harnesses_do",
    tests_are_chosen,
)];

/// Options of other harnesses whose value is a word of its own.
const WITH_VALUE: &[&str] = &["--color", "--format", "--test-threads"];

/// Which tests are meant.
#[derive(Default)]
struct Choice<'a> {
    names: Vec<&'a str>,
    skipped: Vec<&'a str>,
    exact: bool,
}

impl<'a> Choice<'a> {
    fn of(args: &'a [String]) -> Choice<'a> {
        let mut choice = Choice::default();
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "--exact" => choice.exact = true,
                "--skip" => choice.skipped.extend(args.next()),
                option if WITH_VALUE.contains(&option) => drop(args.next()),
                option if option.starts_with('-') => {}
                name => choice.names.push(name),
            }
        }
        choice
    }

    fn has(&self, name: &str) -> bool {
        let is_one = |part: &&str| name == *part || (!self.exact && name.contains(*part));
        let is_meant = self.names.is_empty() || self.names.iter().any(is_one);
        is_meant && !self.skipped.iter().any(is_one)
    }
}

/// Runs the tests that are chosen and says how they went, the failed ones in the words of other
/// harnesses: `./test` runs again what is named so. A name that was given exactly must be there.
pub fn run(tests: Vec<Test>, args: &[String]) -> ExitCode {
    let choice = Choice::of(args);
    let unknown = |name: &&&str| !tests.iter().any(|test| test.0 == **name);
    if choice.exact
        && let Some(name) = choice.names.iter().find(unknown)
    {
        eprintln!("there is no test {name}");
        return ExitCode::FAILURE;
    }
    let mut failed = Vec::new();
    for (name, test) in tests {
        if !choice.has(name) {
            continue;
        }
        match std::panic::catch_unwind(test) {
            Ok(()) => eprintln!("test {name} ... ok"),
            Err(_) => {
                eprintln!("test {name} ... FAILED");
                failed.push(name);
            }
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("\nfailures:");
    for name in failed {
        eprintln!("    {name}");
    }
    ExitCode::FAILURE
}

fn tests_are_chosen() {
    check(&[], "jobs::one jobs::one_more slow::two");
    check(&["--skip", "slow::"], "jobs::one jobs::one_more");
    check(&["--include-ignored"], "jobs::one jobs::one_more slow::two");
    check(&["one", "two"], "jobs::one jobs::one_more slow::two");
    check(&["more", "--test-threads", "1"], "jobs::one_more");
    check(
        &["--exact", "--include-ignored", "jobs::one", "slow::two"],
        "jobs::one slow::two",
    );
    check(&["none"], "");
}

#[track_caller]
fn check(args: &[&str], want: &str) {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    let mut names = vec!["jobs::one", "jobs::one_more", "slow::two"];
    names.retain(|name| Choice::of(&args).has(name));
    assert_eq!(names.join(" "), want, "{args:?}");
}
