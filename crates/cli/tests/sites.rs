//! The examples of the sites' own jobs, each on that site's virtual twin: with the small program that
//! stands there in place of the one for GPUs, and planned with the real program's command line.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::{Expect, expect};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use testkit::TestEnv;

/// The examples, where they stand.
const SITES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sites");

/// What stands in for the container runtimes of the sites, and for torchrun.
const RUNTIME: &str = include_str!("support/container_runtime.sh");
const TORCHRUN: &str = include_str!("support/torchrun.py");
const WANDB: &str = include_str!("support/wandb.py");

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// An engine that pretends the site's cluster, with the examples in the working folder.
struct Twin {
    env: TestEnv,
    site: &'static str,
}

impl Twin {
    fn start(site: &'static str) -> Twin {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        copy(Path::new(SITES), &env.work());
        let bin = env.root().join("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in ["apptainer", "singularity", "enroot"] {
            fs::write(bin.join(name), RUNTIME).unwrap();
            fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        let agent = bin.join("wandb");
        fs::write(&agent, format!("#!/usr/bin/env python3\n{WANDB}")).unwrap();
        fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).unwrap();
        env.set_var("PATH", format!("{}:/usr/bin:/bin", bin.display()));
        env.set_var("WANDB_API_KEY", "not-a-key");
        for name in [
            "image.sif",
            "image.sqsh",
            "requirements.txt",
            "../env/bin/python",
        ] {
            env.write(name, "");
        }
        env.write("wandb/__main__.py", WANDB);
        env.write("torch/__init__.py", "");
        env.write("torch/distributed/__init__.py", "");
        env.write("torch/distributed/run.py", TORCHRUN);
        env.yard(&["engine", "start", site, "--cluster", site])
            .success();
        Twin { env, site }
    }

    /// Runs an example, and returns what was printed and the run's folder.
    fn run(&self, example: &str) -> (String, PathBuf) {
        let printed = self
            .env
            .yard(&["run", example, "--on", self.site])
            .success();
        let folder = printed
            .lines()
            .find_map(|line| line.trim().strip_prefix("kept in"));
        let folder = PathBuf::from(folder.unwrap_or_else(|| panic!("{printed}")).trim());
        assert!(printed.contains("trained on "), "{printed}");
        assert!(
            folder.join("checkpoints/step-000020.json").exists(),
            "{printed}"
        );
        (printed, folder)
    }

    /// The command line that the example becomes with the real program.
    #[track_caller]
    fn check_real(&self, example: &str, want: Expect) {
        let text = real(&fs::read_to_string(self.env.work().join(example)).unwrap());
        self.env.write("real.toml", &text);
        let plan = self.env.yard(&["plan", "real.toml", "--on", self.site]);
        let shown = plan.success();
        let mut lines = shown
            .lines()
            .skip_while(|line| !line.starts_with("  command line"));
        let first = lines.next().unwrap_or_default();
        let more = lines.take_while(|line| line.starts_with("   "));
        let row: Vec<&str> = std::iter::once(first).chain(more).map(str::trim).collect();
        let row = row.join(" ");
        let row = row.trim_start_matches("command line").trim();
        let row = row.rsplit_once(" what ").map_or(row, |(row, _)| row);
        want.assert_eq(&self.env.normalise(&format!("{}\n", row.trim())));
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _ = self.env.yard(&["engine", "stop", self.site]);
    }
}

/// The example with what its comments have for the real program: its command in place of the small
/// one, and the rest beside.
fn real(text: &str) -> String {
    let mut lines = Vec::new();
    let mut in_command = false;
    for line in text.lines() {
        in_command |= line.starts_with("command = ");
        if !in_command {
            lines.push(line.strip_prefix("#   ").unwrap_or(line));
        }
        in_command &= !line.ends_with(']');
    }
    lines.join("\n")
}

#[test]
fn satoris_horovod_on_two_nodes() {
    let twin = Twin::start("satori");
    let (printed, _) = twin.run("satori-horovod.toml");
    for rank in 0..8 {
        let (local, node) = (rank % 4, rank / 4 + 1);
        let line = format!("rank {rank} of 8, local rank {local} on node000{node}, GPUs 0,1,2,3,");
        assert!(printed.contains(&line), "{printed}");
    }
    twin.check_real(
        "satori-horovod.toml",
        expect![[r#"
        srun -N 2 -n 8 python /data/ImageNet/pytorch_mnist.py
    "#]],
    );
}

#[test]
fn ibexs_single_node_with_checkpoints_and_tensorboard() {
    let twin = Twin::start("ibex");
    let (printed, folder) = twin.run("ibex-single-node.toml");
    assert!(
        printed.contains("rank 7 of 8, local rank 7 on gpu2"),
        "{printed}"
    );
    assert!(fs::read_dir(folder.join("tensorboard")).unwrap().count() > 0);
    let shown = twin.env.yard(&["show", "@"]).success();
    assert!(shown.contains("loss"), "{shown}");
    // At its last step, as who tries `--from` first does.
    let name = "horovod-single-node-benchmark";
    let words = ["run", "ibex-single-node.toml", "--from", name, "--on"];
    let again = twin.env.yard(&[&words[..], &["ibex"]].concat()).success();
    assert!(
        again.contains("nothing is left to train: step 20 of 20"),
        "{again}"
    );
    twin.check_real("ibex-single-node.toml", expect![[r#"
        srun -N 1 -n 8 python pytorch-examples/imagenet/train.py --data-dir /local/reference/CV/ILSVR/classification-localization/data/jpeg --read-checkpoints-from {resume} --write-checkpoints-to {checkpoints} --tensorboard-logging-dir {logs}
    "#]]);
}

#[test]
fn plais_jobs_with_and_without_a_container() {
    let twin = Twin::start("plai");
    for (kind, ranks) in [("standard", 1), ("lightning", 4), ("torchrun", 4)] {
        for example in [
            format!("plai-{kind}.toml"),
            format!("plai-{kind}-container.toml"),
        ] {
            let (printed, folder) = twin.run(&example);
            let last = format!("rank {} of {ranks}, local rank", ranks - 1);
            assert!(printed.contains(&last), "{example}: {printed}");
            let has_image = folder.join("code/image.sif").exists();
            assert_eq!(
                has_image,
                !example.contains("container"),
                "of a run in it an image is no code"
            );
            assert!(
                printed.contains("trained on 40 points"),
                "{example}: {printed}"
            );
        }
    }
    twin.check_real("plai-lightning.toml", expect![[r#"
        srun -N 2 -n 4 python train_lightning.py --num_nodes=2 --gpus=2 --data {data}/datasets/points
    "#]]);
    twin.check_real("plai-torchrun.toml", expect![[r#"
        srun -N 2 -n 2 python -m torch.distributed.run --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=FIRST_NODE:PORT --rdzv_id=JOB.RESTART --rdzv_conf=is_host=1 --max_restarts=3 train_ddp.py --data {data}/datasets/points
    "#]]);
    twin.check_real("plai-standard-container.toml", expect![[r#"
        srun -N 1 -n 1 singularity exec --cleanenv --contain --nv --writable-tmpfs --home=NODE_LOCAL/home --bind=/dev/shm --bind=NODE_LOCAL/tmp:/tmp --bind=RUN_FOLDER:RUN_FOLDER --bind=NODE_LOCAL:NODE_LOCAL --bind={data}/datasets:/data --bind=NODE_LOCAL/db:/db --bind=NODE_LOCAL/workdir:/workdir --bind=RUN_FOLDER:/scratch_storage --pwd=CODE NODE_LOCAL/image/image.sif python3 train.py --data {data}/datasets/points
    "#]]);
}

/// Trials of a sweep are the elements of one array; a sweep in the run file wins, with a note.
#[test]
fn plais_sweeps_with_and_without_a_container() {
    let twin = Twin::start("plai");
    let check = |example: &str, name: &str, sweep: &str, note: Option<&str>| {
        let given = "user/line/a1b2c3";
        let words = ["sweep", example, "--wandb", given, "--trials", "2"];
        let printed = twin.env.yard(&[&words[..], &["--on", "plai"]].concat());
        let printed = printed.success();
        assert!(note.is_none_or(|note| printed.contains(note)), "{printed}");
        for trial in 1..=2 {
            let log = twin.env.yard(&["logs", &format!("{name}.{trial}")]);
            let log = log.success();
            let began = format!("sweep {sweep} trial {trial}");
            assert!(log.contains(&began), "{log}");
            assert!(log.contains("trained on 100 points"), "{log}");
        }
    };
    check("plai-sweep.toml", "sweep", "user/line/a1b2c3", None);
    let note = "the sweep user/line/k3f9x2 of plai-sweep-container.toml:5 is taken, and not";
    let (example, own) = ("plai-sweep-container.toml", "user/line/k3f9x2");
    check(example, "sweep-container", own, Some(note));
    let refused = [
        "sweep",
        "plai-sweep.toml",
        "--wandb",
        "a1b2c3",
        "--trials",
        "3",
    ];
    let refused = twin.env.yard(&refused).code(2).snapshot();
    assert!(
        refused.contains("a sweep is named ENTITY/PROJECT/ID"),
        "{refused}"
    );
}

#[test]
fn technions_container_on_sixteen_gpus() {
    let twin = Twin::start("technion");
    let (printed, _) = twin.run("technion-pyxis.toml");
    let note = "technion runs containers with pyxis; on this machine enroot runs them";
    assert!(printed.contains(note), "{printed}");
    assert!(
        printed.contains("rank 15 of 16, local rank 7 on dgx02"),
        "{printed}"
    );
    twin.check_real("technion-pyxis.toml", expect![[r#"
        srun -N 2 -n 16 enroot start --mount NODE_LOCAL/tmp:/tmp:none:x-create=auto,rbind --mount RUN_FOLDER:RUN_FOLDER:none:x-create=auto,rbind --mount NODE_LOCAL:NODE_LOCAL:none:x-create=auto,rbind --mount $TEST/work:/code:none:x-create=auto,rbind --env HOME=NODE_LOCAL/home $TEST/work/image.sqsh /bin/sh -c 'cd "$0" && exec "$@"' CODE python -u /code/examples/tensorflow/tensorflow_synthetic_benchmark.py
    "#]]);
}

/// Two ranks on one node and one on the other, with each kind of launcher: ranks as tasks, and an agent
/// a node.
#[test]
fn technions_three_gpus_on_two_nodes() {
    let twin = Twin::start("technion");
    let example = fs::read_to_string(twin.env.work().join("technion-uneven.toml")).unwrap();
    let options = "\"torchrun\"\nlauncher_options = [\"--max_restarts=0\"]";
    let torchrun = example.replace("\"horovod\"", options);
    twin.env.write("torchrun-uneven.toml", &torchrun);
    for example in ["technion-uneven.toml", "torchrun-uneven.toml"] {
        let (printed, _) = twin.run(example);
        for (rank, local, node) in [(0, 0, 1), (1, 1, 1), (2, 0, 2)] {
            let line = format!("rank {rank} of 3, local rank {local} on dgx0{node}");
            assert!(printed.contains(&line), "{example}: {printed}");
        }
    }
    let plan = twin
        .env
        .yard(&["plan", "technion-uneven.toml", "--on", "technion"]);
    let plan = plan.success();
    assert!(plan.contains("3 a100 on 2 nodes = 3 ranks"), "{plan}");
    let lightning = example.replace("\"horovod\"", "\"lightning\"");
    twin.env.write("lightning.toml", &lightning);
    let refused = twin
        .env
        .yard(&["plan", "lightning.toml", "--on", "technion"]);
    let refused = refused.code(2).snapshot();
    assert!(
        refused.contains("launcher lightning starts the same number of ranks on every node"),
        "{refused}"
    );
}

#[test]
fn wilsons_container_on_one_gpu() {
    let twin = Twin::start("wilson");
    let (printed, _) = twin.run("wilson-apptainer.toml");
    assert!(
        printed.contains("rank 0 of 1, local rank 0 on wcgpu"),
        "{printed}"
    );
    twin.check_real("wilson-apptainer.toml", expect![[r#"
        srun -N 1 -n 1 apptainer exec --cleanenv --contain --nv --home=/work1/my-project --bind=/dev/shm --bind=NODE_LOCAL/tmp:/tmp --bind=RUN_FOLDER:RUN_FOLDER --bind=NODE_LOCAL:NODE_LOCAL --bind=/work1/my-project:/work1/my-project --pwd=CODE $TEST/work/image.sif python mnist/main.py --epochs=3
    "#]]);
}

/// A site's modules are not on a machine that has none: the twin says so and goes on.
#[test]
fn a_twin_without_modules_leaves_them_out() {
    let twin = Twin::start("wilson");
    let text = "command = [\"true\"]\n[environment]\nmodules = [\"cuda/12\"]\n";
    twin.env.write("modules.toml", text);
    let printed = twin
        .env
        .yard(&["run", "modules.toml", "--on", "wilson"])
        .success();
    let note = "modules are left out, since this machine has no module command: cuda/12";
    assert!(printed.contains(note), "{printed}");
}

#[test]
fn each_example_is_planned_and_linted_for_its_site() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    copy(Path::new(SITES), &env.work());
    for name in ["image.sif", "image.sqsh", "requirements.txt"] {
        env.write(name, "");
    }
    let mut seen = 0;
    for entry in fs::read_dir(SITES).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Some(site) = name
            .strip_suffix(".toml")
            .map(|stem| stem.split('-').next().unwrap())
        else {
            continue;
        };
        env.yard(&["plan", &name, "--on", site]).success();
        env.yard(&["lint", &name, "--on", site]).success();
        seen += 1;
    }
    assert!(seen >= 8, "{seen} examples");
}
