//! The example on two nodes of a real Slurm, with the same conductor, agents and rank wrapper.

mod support;

mod slow {
    use crate::support::{run_digits, run_digits_while};
    use std::path::Path;
    use testkit::{RealSlurm, SlurmShape, TestEnv, skip, wait_until};

    /// How many checkpoints of a run are complete.
    fn checkpoints(run: &Path) -> usize {
        let entries = std::fs::read_dir(run.join("checkpoints"))
            .into_iter()
            .flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
            .count()
    }

    #[test]
    fn digits_comes_back_from_a_requeue_on_two_real_nodes() {
        if let Some(reason) = RealSlurm::missing() {
            return skip(
                "digits_comes_back_from_a_requeue_on_two_real_nodes",
                &reason,
            );
        }
        let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());

        // Its own limit is rounded up to a minute there; what ends the job early is a person.
        let flags = [
            "--on",
            "rig",
            "--nodes",
            "2",
            "--ntasks-per-node",
            "1",
            "--time",
            "10m",
        ];
        let run = run_digits_while(&env, &flags, |folder| {
            wait_until("checkpoints are out", || checkpoints(folder) >= 3);
            let job = slurm
                .run("squeue", &["--noheader", "--format=%i"])
                .success();
            slurm.run("scontrol", &["requeue", job.trim()]).success();
        });
        let [(0, stopped), (resumed, 900)] = run.starts[..] else {
            panic!("two starts, the second to the end: {run:?}");
        };
        assert!(resumed > 0, "not from the beginning: {run:?}");
        // It prints every 50th step and writes every 25th; the newest one may still have been on
        // its way out when the job was stopped.
        assert!(resumed.abs_diff(stopped) <= 50, "no step is lost: {run:?}");
        assert!(run.accuracy >= 0.95, "{run:?}");

        let here = run_digits(&env, &["--on", "local", "--time", "10m"]);
        assert_eq!(
            here.parameters, run.parameters,
            "the same as on one machine"
        );
    }

    #[test]
    fn a_batch_script_runs_on_a_real_slurm_as_here() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("a_batch_script_runs_on_a_real_slurm_as_here", &reason);
        }
        let slurm = RealSlurm::start(SlurmShape { nodes: 1, cpus: 2 }).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        env.write(
            env.trainyard_home().join("config/config.toml"),
            "poll = \"1s\"\n",
        );
        env.write(
            "job.sh",
            "#!/bin/sh\n#SBATCH --output=out-%j\necho \"it is $WORD\"\n",
        );
        env.write(
            "array.sh",
            "#!/bin/sh\n#SBATCH --array=1-2 --output=el-%a\necho \"element $SLURM_ARRAY_TASK_ID\"\n",
        );
        env.set_var("WORD", "here");
        for on in ["local", "rig"] {
            let run = env.yard(&["run", "--on", on, "--time", "2m", "job.sh"]);
            let text = run.success();
            assert!(text.contains("it is here"), "{on}: {text}");
            assert!(text.contains("COMPLETED"), "{on}: {text}");
        }
        let last = slurm
            .run("squeue", &["--noheader", "--states=all", "--format=%i"])
            .success();
        assert_eq!(
            env.yard(&["logs", &format!("rig:{}", last.trim())])
                .success(),
            "it is here\n"
        );
        let array = env.yard(&["run", "--on", "rig", "array.sh"]).success();
        assert!(array.contains("all 2 elements completed"), "{array}");
        // Both have Slurm's own MaxArraySize.
        for (array, taken) in [
            ("0-1000", true),
            ("0-1001", false),
            ("1001", false),
            ("0-1000000%5", false),
        ] {
            let array = format!("--array={array}");
            let args = ["--hold", &array, "--wrap", "true"];
            let (real, here) = (slurm.run("sbatch", &args), env.slurm("sbatch", &args));
            assert_eq!(real.status == 0, taken, "{array}: {}", real.snapshot());
            assert_eq!(here.status, real.status, "{array}: {}", here.snapshot());
            let first = |stderr: &str| stderr.lines().next().map(str::to_owned);
            assert_eq!(first(&here.stderr), first(&real.stderr), "{array}");
        }
    }

    /// Two GPUs on one node and one on the other: ranks as tasks, an agent a node, and ranks that meet by
    /// our key-value store, each with the GPUs of its node and no others.
    #[test]
    fn three_gpus_on_two_real_nodes() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("three_gpus_on_two_real_nodes", &reason);
        }
        let shape = SlurmShape { nodes: 2, cpus: 8 };
        let slurm = RealSlurm::start_with_gpus(shape, 4).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        env.write("train.py", include_str!("../../../examples/sites/train.py"));
        env.write("torch/__init__.py", "");
        env.write("torch/distributed/__init__.py", "");
        env.write(
            "torch/distributed/run.py",
            include_str!("support/torchrun.py"),
        );
        for (launcher, more) in [
            ("srun", ""),
            ("torchrun", "launcher_options = [\"--max_restarts=0\"]\n"),
            ("horovod", ""),
        ] {
            let text = format!(
                "launcher = {launcher:?}\n{more}command = [\"train.py\"]\n[resources]\ngpus = 3\nnodes = 2\n\
                 cpus_per_rank = 2\nmemory = \"400M\"\ntime = \"10m\"\n"
            );
            env.write("yard.toml", &text);
            let printed = env.yard(&["run", "--on", "rig"]).success();
            for (rank, local, node, gpus) in [(0, 0, 1, "0,1"), (1, 1, 1, "0,1"), (2, 0, 2, "0")] {
                let line = format!(
                    "rank {rank} of 3, local rank {local} on node{node}, GPUs {gpus}, from step 0"
                );
                assert!(printed.contains(&line), "{launcher}: {printed}");
            }
            assert!(printed.contains("trained on 100 points"), "{printed}");
        }
        // Slurm fills the first node.
        let text = std::fs::read_to_string(env.work().join("yard.toml")).expect("it was written");
        env.write("yard.toml", &text.replace("gpus = 3", "gpus = 5"));
        let printed = env.yard(&["run", "--on", "rig"]).success();
        for line in [
            "rank 3 of 5, local rank 3 on node1, GPUs 0,1,2,3,",
            "rank 4 of 5, local rank 0 on node2, GPUs 0,",
        ] {
            assert!(printed.contains(line), "{printed}");
        }
    }

    /// The ranks meet at the first node's address all the same, and a program that asks for its name hears why
    /// there is none.
    #[test]
    fn a_node_whose_own_name_does_not_resolve_is_said_and_reached_by_its_address() {
        let test = "a_node_whose_own_name_does_not_resolve_is_said_and_reached_by_its_address";
        if let Some(reason) = RealSlurm::missing() {
            return skip(test, &reason);
        }
        let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).expect("a Slurm comes up");
        slurm.forget_names().expect("the names can be taken away");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        env.set_var("SLURM_CONF", slurm.conf());
        env.write("train.py", include_str!("../../../examples/sites/train.py"));
        env.write(
            "by_name.py",
            "import os, socket\nsocket.create_connection((os.environ['SLURMD_NODENAME'], 1))\n",
        );
        let run = |program: &str| {
            let text = format!(
                "launcher = \"srun\"\ncommand = [{program:?}]\n[resources]\nnodes = 2\ncpus_per_rank = 2\n\
                 memory = \"400M\"\ntime = \"10m\"\n[environment]\n\
                 variables = {{ RES_OPTIONS = \"timeout:1 attempts:1\" }}\n"
            );
            env.write("yard.toml", &text);
            env.yard(&["run", "--on", "rig"])
        };
        let printed = run("train.py").success();
        assert!(printed.contains("trained on 100 points"), "{printed}");
        let note = "note: the name node1 does not resolve there: ranks get ";
        assert!(printed.contains(note), "{printed}");
        let printed = run("by_name.py").code(1).snapshot();
        assert!(printed.contains(note), "{printed}");
        assert!(printed.contains("YARD_COORDINATOR has"), "{printed}");
    }
}
