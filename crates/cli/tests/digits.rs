//! The example from outside: what a stranger sees who runs the README's first command.

mod support;

mod slow {
    use crate::support::run_digits;
    use testkit::TestEnv;

    #[test]
    fn comes_back_from_its_time_limit_and_ends_as_if_it_had_run_through() {
        let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let stopped = run_digits(&env, &[]);
        assert!(stopped.starts.len() >= 2, "two jobs or more: {stopped:?}");
        assert_eq!(stopped.starts[0].0, 0, "the first starts from nothing");
        for pair in stopped.starts.windows(2) {
            let ((_, last), (first, _)) = (pair[0], pair[1]);
            // It prints every 50th step and writes every 25th; the newest checkpoint may still have
            // been on its way out when the job was stopped.
            assert!(first.abs_diff(last) <= 50, "no step is lost: {stopped:?}");
        }
        assert!(stopped.accuracy >= 0.95, "{stopped:?}");

        let through = run_digits(&env, &["--time", "10m"]);
        assert_eq!(through.starts, [(0, 900)], "one job");
        assert_eq!(
            through.parameters, stopped.parameters,
            "the same to the bit"
        );
    }
}
