//! The example on two nodes of a real Slurm, with the same conductor, agents and rank wrapper.

mod support;

mod slow {
    use crate::support::run_digits;
    use testkit::{RealSlurm, SlurmShape, TestEnv, skip};

    #[test]
    fn digits_runs_on_two_real_nodes() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("digits_runs_on_two_real_nodes", &reason);
        }
        let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());

        let flags = ["--on", "rig", "--nodes", "2", "--ntasks-per-node", "1"];
        let run = run_digits(&env, &flags);
        assert!(run.accuracy >= 0.95, "{run:?}");
        assert_eq!(run.starts.last().map(|(_, last)| *last), Some(900));

        let here = run_digits(&env, &["--on", "local", "--time", "10m"]);
        assert_eq!(
            here.parameters, run.parameters,
            "the same as on one machine"
        );
    }
}
