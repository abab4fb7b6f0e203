//! The sealed environment itself. Any program will do in place of `yard`.

use yard_testkit::TestEnv;

#[test]
fn commands_see_only_what_is_set_here() {
    let mut env = TestEnv::new("/usr/bin/env");
    env.set_var("GIVEN", "1");
    let printed = env.yard::<&str>(&[]).success();
    let kept = ["PATH=", "PIP_", "SSL_CERT_"];
    let is_proxy = |line: &str| {
        let name = line.split('=').next().unwrap_or_default();
        name.to_ascii_lowercase().ends_with("_proxy")
    };
    let mut lines: Vec<String> = printed
        .lines()
        .filter(|line| !is_proxy(line) && !kept.iter().any(|start| line.starts_with(start)))
        .map(|line| env.normalise(line))
        .collect();
    lines.sort_unstable();
    let expected = [
        "GIVEN=1",
        "HOME=$TEST/home",
        "LANG=C.UTF-8",
        "PWD=$TEST/work",
        "SLURM_CONF=/dev/null",
        "TMPDIR=$TEST/tmp",
        "TRAINYARD_CPU_LOCKS=$TEST",
        "TRAINYARD_HOME=$TEST/yard",
        "TZ=UTC",
        "USER=tester",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_status_and_a_signal_are_told_apart() {
    let env = TestEnv::new("/bin/sh");
    let outcome = env.yard(&["-c", "echo out; echo err >&2; exit 3"]).code(3);
    assert_eq!(
        outcome.snapshot(),
        "status 3\n-- stdout\nout\n-- stderr\nerr\n"
    );
    assert_eq!(env.yard(&["-c", "kill -9 $$"]).status, 137);
}

mod slow {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;
    use yard_testkit::{TestEnv, that_mention};

    #[test]
    fn a_process_that_is_left_fails_the_test_and_is_ended() {
        let mut env = TestEnv::new("/bin/true");
        env.end_within(Duration::from_millis(100));
        let root = env.root().to_owned();
        let mut left = env
            .program("sleep", &["1000"])
            .spawn()
            .expect("sleep can be started");
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(env)));
        let message = dropped.expect_err("the drop fails");
        let message = message.downcast_ref::<String>().expect("with a message");
        assert!(message.starts_with("processes were left: ["), "{message}");
        assert!(message.contains("\"sleep 1000\""), "{message}");
        assert_eq!(that_mention(&root), []);
        left.wait().expect("it was killed");
    }
}
