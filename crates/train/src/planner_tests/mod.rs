//! Small run files, planned: what the tests of plans, scripts and launches share.

mod containers;
mod launches;
mod plans;
mod refusals;
mod scripts;
mod shapes;

use crate::{JobPlace, Overrides, Plan, PlanInput, RunFile, Variables, command_line, plan};
use expect_test::{Expect, expect};
use model::{ClusterFacts, GpuGroup, Internet, NodeGroup, Seconds};
use std::path::{Path, PathBuf};

fn gpus(kind: &str, count: u32, memory_mib: u64) -> Vec<GpuGroup> {
    vec![GpuGroup {
        kind: Some(kind.to_owned()),
        count,
        memory_mib: Some(memory_mib),
    }]
}

fn laptop(cpus: u32, gpus: Vec<GpuGroup>) -> ClusterFacts {
    ClusterFacts {
        name: "local".to_owned(),
        embedded: true,
        nodes: vec![NodeGroup {
            count: 1,
            cpus,
            memory_mib: 23_552,
            gpus,
        }],
        node_local: PathBuf::from("/tmp"),
        nodes_share_disk: false,
        internet: Internet::Compute,
        default_time: None,
        time_granularity: Seconds(1),
        comeback: model::Comeback::default(),
        containers: model::ContainerFacts::default(),
    }
}

fn wilson() -> ClusterFacts {
    let group = |count, cpus, gpus| NodeGroup {
        count,
        cpus,
        memory_mib: 192_000,
        gpus,
    };
    ClusterFacts {
        name: "wilson".to_owned(),
        embedded: false,
        nodes: vec![
            group(4, 32, gpus("v100", 2, 32_768)),
            group(1, 64, gpus("a100", 4, 81_920)),
            group(1, 32, gpus("p100", 8, 16_384)),
        ],
        node_local: PathBuf::from("/scratch"),
        nodes_share_disk: false,
        internet: Internet::Login,
        default_time: Some(model::TimeLimitRequest::Limit(Seconds(3600))),
        time_granularity: Seconds(60),
        comeback: model::Comeback::default(),
        containers: model::ContainerFacts::default(),
    }
}

fn overrides(flags: &[(&str, &str, &str)]) -> Overrides {
    let mut overrides = Overrides::default();
    for (flag, key, text) in flags {
        overrides.set(flag, key, text).unwrap();
    }
    overrides
}

fn planned(text: &str, flags: &[(&str, &str, &str)], facts: &ClusterFacts) -> Result<Plan, String> {
    let (run_file, problems) = RunFile::parse(text, "yard.toml");
    assert_eq!(problems, []);
    let input = PlanInput {
        user_config: None,
        run_file: Some(&run_file),
        variables: &Variables::default(),
        overrides: &overrides(flags),
        facts,
        base: Path::new("/home/me/digits"),
        default_name: "digits",
    };
    plan(&input).map_err(|refusal| refusal.to_string())
}

#[track_caller]
fn check(text: &str, flags: &[(&str, &str, &str)], facts: &ClusterFacts, want: Expect) {
    let shown = match planned(text, flags, facts) {
        Ok(plan) => plan.show(facts),
        Err(refusal) => format!("error: {refusal}\n"),
    };
    want.assert_eq(&shown);
}

const DIGITS: &str = r#"launcher = "jax"
command = ["python", "train.py", "--read-checkpoints-from", "{resume}", "--write-checkpoints-to", "{checkpoints}"]
[resources]
ranks_per_node = 2
time = "25s"
[environment]
requirements = "./../digits/requirements.txt"
[resume]
args = ["--from", "{resume_file}"]
"#;

const RESNET: &str = r#"name = "resnet50"
launcher = "torchrun"
command = ["python", "train.py", "--data-dir", "{data}/imagenet"]
[resources]
nodes = 2
gpus_per_node = 2
gpu_type = "V100"
[environment]
modules = ["cuda/12.4"]
conda = "../env"
[data]
stage = ["datasets/imagenet.tar"]
[notify]
mail = "me@example.org"
[cluster.wilson]
resources.partition = "gpu_gce"
resources.sbatch = ["--reservation=x"]
"#;

fn place() -> JobPlace<'static> {
    JobPlace {
        yard: Path::new("/opt/yard"),
        run_folder: Path::new("/scratch/my runs/digits-k3f9"),
        output: "/scratch/my runs/digits-k3f9/logs/%j.conductor",
        token: "digits-k3f9.1.7Q",
    }
}
