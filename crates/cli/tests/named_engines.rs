//! Several engines side by side, each with the cluster of a file or of flags.

use testkit::TestEnv;

const SCRIPT: &str = "#!/bin/sh\n#SBATCH --nodes=2 --gpus-per-node=4 --time=1\n\
echo \"on $SLURM_JOB_NODELIST\"\n\
srun sh -c 'echo \"rank $SLURM_PROCID: $CUDA_VISIBLE_DEVICES\"'\n";

#[test]
fn a_script_goes_to_the_engine_that_is_named() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("job.sh", SCRIPT);
    let started = env.yard(&["engine", "start", "sat", "--cluster", "satori"]);
    assert!(started.success().contains("64 nodes"));
    let shape = ["--nodes", "2", "--gpus-per-node", "4"];
    let mut start = vec!["engine", "start", "two"];
    start.extend(shape);
    env.yard(&start).success();
    for (name, nodes) in [("sat", "on node[0001-0002]"), ("two", "on node[1-2]")] {
        let run = env.yard(&["run", "--on", name, "job.sh"]).success();
        assert!(run.contains(nodes), "{run}");
        assert!(run.contains("rank 1: 0,1,2,3"), "{run}");
        // Each engine numbers its own jobs.
        let job = format!("{name}:1");
        let show = env.yard(&["show", &job]).success();
        assert!(
            show.contains(&format!("TRAINYARD_ENGINE={name} yard slurm")),
            "{show}"
        );
        assert!(env.yard(&["logs", &job]).success().contains(nodes));
        assert!(env.yard(&["wait", &job]).success().contains("COMPLETED"));
    }
    // The same name with another cluster is refused, and changes nothing.
    let other = env.yard(&["engine", "start", "two", "--nodes", "3"]);
    assert_ne!(other.status, 0, "{other:?}");
    let listed = env.yard(&["engine", "ls"]).success();
    assert!(
        listed.contains("sat") && listed.contains("2 nodes"),
        "{listed}"
    );
    for name in ["sat", "two"] {
        env.yard(&["engine", "stop", name]).success();
    }
    // It comes back as what it was.
    let jobs = env.yard(&["run", "--on", "two", "job.sh"]).success();
    assert!(
        jobs.contains("job 2") && jobs.contains("on node[1-2]"),
        "{jobs}"
    );
    env.yard(&["engine", "stop", "two"]).success();
}
