//! Job scripts of six sites beside run files of ours: both get the same nodes.
//!
//! The scripts are written anew from what the sites' own documents ask for. Where a run file's job
//! differs from the script's, and which of its options are dropped or changed, stands here with the
//! reason that a person is told (`yard plan FILE --on CLUSTER --beside SCRIPT`).

use cluster_file::ClusterFile;
use expect_test::{Expect, expect};
use model::{Severity, Timestamp, sbatch};
use std::path::Path;
use yard_train::site::{Beside, SitePlan, plan_for};
use yard_train::{Overrides, PlanInput, RunFile, Variables};

const SEEDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/seeds");

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{SEEDS}/{name}")).expect("a seed can be read")
}

fn cluster(name: &str) -> ClusterFile {
    let site = name.split('-').next().expect("a name has a first part");
    let file = cluster_file::find(site).expect("a shipped cluster");
    file.expect("a shipped cluster file can be read")
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
    plan_for(&input, file, None, "x86_64").expect("it can be planned")
}

/// Compares both jobs.
#[track_caller]
fn check(name: &str, want: Expect) {
    let file = cluster(name);
    let site = of_run_file(name, &file);
    let text = read(&format!("{name}.sbatch"));
    let (zone, cwd) = (jiff::tz::TimeZone::UTC, Path::new("/work"));
    let surroundings = cluster_file::surroundings(Some(&file), None, Timestamp(0), &zone, cwd);
    let args = [format!("{name}.sbatch")];
    let (script, remarks) = sbatch::resolve(&args, &|_| None, Some(&text), &surroundings);
    let wrong = |remark: &&model::Diagnostic| remark.severity == Severity::Error;
    assert_eq!(remarks.iter().find(wrong), None);
    let beside = Beside::of(&script, &site, &file, &surroundings, None);
    assert!(beside.changes.iter().all(|change| !change.why.is_empty()));
    want.assert_eq(&beside.show(name));
}

#[test]
fn satori() {
    // GPUs are asked once: `--gres` and `--gpus-per-node` together are refused from 26.05 on.
    check(
        "satori-4gpu",
        expect![[r#"

            beside satori-4gpu: the same allocation
              dropped  line 4: --output=train_4GPUs_%j.out: what ranks print goes into the run's folder, a file
                       a rank (yard logs)
              dropped  line 5: --error=train_4GPUs_%j.err: what ranks print goes into the run's folder, a file a
                       rank (yard logs)
              changed  line 7: --mail-type=ALL → --mail-type=END,FAIL: [notify] says who gets mail, and about
                       what
              dropped  line 9: --gpus-per-node=4: GPUs are requested twice, by --gres and by --gpus-per-node:
                       keep one
        "#]],
    );
    check(
        "satori-2nodes",
        expect![[r#"

            beside satori-2nodes: the same allocation
              dropped  line 5: --gpus-per-node=4: GPUs are requested twice, by --gres and by --gpus-per-node:
                       keep one
        "#]],
    );
    // A script that asks for no CPUs has one; a run file that says nothing takes a quarter of the node.
    check(
        "satori-1gpu",
        expect![[r#"

            beside satori-1gpu: the same allocation
              dropped  line 5: --gpus-per-node=1: GPUs are requested twice, by --gres and by --gpus-per-node:
                       keep one
        "#]],
    );
}

#[test]
fn ibex() {
    // Slurm keeps the second of two --constraint, so that the script may get any GPU.
    check(
        "ibex-single-node",
        expect![[r#"

            beside ibex-single-node: the same allocation
              changed  line 4: --gpus=8 → --gpus-per-node=8: a run asks for its GPUs by the node
              dropped  line 5: --constraint=v100: --constraint=cpu_intel_platinum_8260 comes later, and Slurm
                       keeps the last of two
              dropped  line 7: --gpus-per-task=1: it binds each task to its own GPU, so that tasks on a node
                       can't reach each other's; a run file gives each task its node's GPUs and a local rank
              changed  line 8: --cpus-per-gpu=6 → --cpus-per-task=6: from yard.toml:8
              dropped  line 12: --output=../results/%x/slurm-%j.out: what ranks print goes into the run's
                       folder, a file a rank (yard logs)
              dropped  line 13: --error=../results/%x/slurm-%j.err: what ranks print goes into the run's folder,
                       a file a rank (yard logs)
        "#]],
    );
    // Without its --nodes=2 Slurm 22.05 counts the tasks of one node, finds that they are fewer than
    // the GPUs, and refuses the script (`slurm_opt.c`).
    check(
        "ibex-multi-node",
        expect![[r#"

        beside ibex-multi-node: the same allocation
          changed  line 5: --gpus=8 → --gpus-per-node=4: a run asks for its GPUs by the node
          dropped  line 8: --gpus-per-task=1: it binds each task to its own GPU, so that tasks on a node
                   can't reach each other's; a run file gives each task its node's GPUs and a local rank
          changed  line 9: --cpus-per-gpu=6 → --cpus-per-task=6: ibex: 5-6 CPUs a v100 (policy)
          changed  line 10: --mem-per-gpu=90G → --mem=368640M: ibex: 64G-90G a v100 (policy), the upper end
    "#]],
    );
}

#[test]
fn cedar_and_plai() {
    check(
        "cedar-standard",
        expect![[r#"

            beside cedar-standard: the same allocation
              changed  line 8: --mem-per-gpu=10G → --mem=20480M: from yard.toml:9
        "#]],
    );
    check(
        "cedar-torchrun",
        expect![[r#"

            beside cedar-torchrun: the same allocation
              changed  line 8: --mem-per-gpu=10G → --mem=20480M: from yard.toml:10
        "#]],
    );
    check(
        "plai-lightning",
        expect![[r#"

            beside plai-lightning: the same allocation
              changed  line 8: --mem-per-gpu=10G → --mem=20480M: from yard.toml:9
        "#]],
    );
    // One run is one of its trials.
    check(
        "plai-sweep",
        expect![[r#"

            beside plai-sweep: the same allocation
              dropped  line 5: --array=1-20%10: a run file is one run: it is submitted once for each element
              changed  line 9: --mem-per-gpu=10G → --mem=10240M: from yard.toml:8
        "#]],
    );
}

#[test]
fn technion() {
    // Without --mem a job gets what the site happens to give, which may be a whole node's memory to
    // wait for, or too little to train with: a run file leaves it to the site only where it says so.
    check(
        "technion-2gpu",
        expect![[r#"

            beside technion-2gpu: the same allocation
              dropped  line 4: --output=slurm-%x-%j.out: what ranks print goes into the run's folder, a file a
                       rank (yard logs)
              changed  line 5: --ntasks=2 → --ntasks-per-node=2: one task per rank
              changed  line 6: --gpus=a100:2 → --gpus-per-node=a100:2: a run asks for its GPUs by the node
        "#]],
    );
    check(
        "technion-16gpu",
        expect![[r#"

            beside technion-16gpu: the same allocation
              changed  line 4: --ntasks=16 → --ntasks-per-node=8: one task per rank
              changed  line 5: --gpus=16 → --gpus-per-node=8: a run asks for its GPUs by the node
        "#]],
    );
}

#[test]
fn wilson() {
    check(
        "wilson-v100",
        expect![[r#"

            beside wilson-v100: the same allocation
              dropped  line 4: --output=job_%x_%A.out: what ranks print goes into the run's folder, a file a
                       rank (yard logs)
        "#]],
    );
}
