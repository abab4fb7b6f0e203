//! Job scripts of six sites beside run files of ours: both get the same nodes.
//!
//! The scripts are written anew from what the sites' own documents ask for. Where a run file's job
//! differs from the script's, the table says in what and why.

use model::cluster::ClusterFile;
use model::{Severity, SlurmVersion, Surroundings, Timestamp, sbatch};
use std::path::Path;
use yard_train::site::{Allocation, SitePlan, plan_for};
use yard_train::{JobPlace, Overrides, PlanInput, RunFile, Variables};

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/seeds");

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{SEEDS}/{name}")).expect("a seed can be read")
}

fn cluster(name: &str) -> ClusterFile {
    let site = name.split('-').next().expect("a name has a first part");
    let file = model::cluster::find(site).expect("a shipped cluster");
    file.expect("a shipped cluster file can be read")
}

fn of_script(name: &str, file: &ClusterFile) -> Allocation {
    let text = read(&format!("{name}.sbatch"));
    let zone = jiff::tz::TimeZone::UTC;
    let cwd = Path::new("/work");
    let surroundings = Surroundings::slurm(SlurmVersion::V22_05, Timestamp(0), &zone, cwd);
    let args = [format!("{name}.sbatch")];
    let (read, remarks) = sbatch::resolve(&args, &|_| None, Some(&text), &surroundings);
    let wrong = |remark: &&model::Diagnostic| remark.severity == Severity::Error;
    assert_eq!(remarks.iter().find(wrong), None);
    Allocation::of(&read.request, file)
}

fn of_run_file(name: &str, file: &ClusterFile) -> SitePlan {
    let text = read(&format!("{name}.toml"));
    let (run_file, problems) = RunFile::parse(&text, "yard.toml");
    assert_eq!(problems, []);
    let facts = file.facts(None);
    let input = PlanInput {
        user_config: None,
        run_file: Some(&run_file),
        variables: &Variables::default(),
        overrides: &Overrides::default(),
        facts: &facts,
        base: Path::new("/home/me/project"),
        default_name: "project",
    };
    plan_for(&input, file, None).expect("it can be planned")
}

/// Compares both jobs; `changed` are the fields that differ, each with its reason.
#[track_caller]
fn check(name: &str, changed: &[(&str, &str)]) {
    let file = cluster(name);
    let script = of_script(name, &file);
    let site = of_run_file(name, &file);
    let place = JobPlace {
        yard: Path::new("yard"),
        run_folder: Path::new("/run"),
        output: "",
        token: "",
    };
    let ours = Allocation::of(&site.plan.request(&place), &file);
    let found: Vec<String> = script
        .differences(&ours)
        .iter()
        .map(ToString::to_string)
        .collect();
    let said: Vec<&str> = changed.iter().map(|(what, _)| *what).collect();
    assert_eq!(found, said, "{name}\n{}", site.show());
    assert!(changed.iter().all(|(_, why)| !why.is_empty()));
}

const ALWAYS_ASKED: &str = "without it a job gets what the site happens to give, which may be a \
                            whole node's memory to wait for, or too little to train with";

#[test]
fn satori() {
    // GPUs are asked once: `--gres` and `--gpus-per-node` together are refused from 26.05 on.
    check("satori-4gpu", &[]);
    check("satori-2nodes", &[]);
    check(
        "satori-1gpu",
        &[(
            "cpus per node: 1 → 40",
            "a quarter of the node goes with a GPU",
        )],
    );
}

#[test]
fn ibex() {
    check(
        "ibex-single-node",
        &[(
            "constraint: cpu_intel_platinum_8260 → cpu_intel_platinum_8260&v100",
            "Slurm keeps the second of two --constraint, so that the script may get any GPU",
        )],
    );
    // Without its --nodes=2 Slurm 22.05 counts the tasks of one node, finds that they are fewer than
    // the GPUs, and refuses the script (`slurm_opt.c`).
    //
    // `--gpus-per-task=1` binds each task to one GPU, so that NCCL can't use the links between
    // them; ours sees all GPUs of its node and takes the one of its local rank.
    check("ibex-multi-node", &[]);
}

#[test]
fn cedar_and_plai() {
    check("cedar-standard", &[]);
    check("cedar-torchrun", &[]);
    check("plai-lightning", &[]);
}

#[test]
fn technion() {
    check("technion-2gpu", &[("memory: – → 250 GiB", ALWAYS_ASKED)]);
    check("technion-16gpu", &[("memory: – → 1000 GiB", ALWAYS_ASKED)]);
}

#[test]
fn wilson() {
    check("wilson-v100", &[("memory: – → 94 GiB", ALWAYS_ASKED)]);
}
