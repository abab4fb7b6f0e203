//! Which cluster a run goes to, and how runs and jobs of every engine are named.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use std::path::Path;
use testkit::{FakeSlurm, TestEnv, skip};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// A folder with our program under Slurm's names.
fn own_names(env: &TestEnv, make: impl Fn(&Path, &Path) -> std::io::Result<()>) -> Option<()> {
    let folder = env.root().join("names");
    fs::create_dir_all(&folder).unwrap();
    for name in ["sinfo", "sbatch", "squeue", "scancel", "scontrol", "srun"] {
        let path = folder.join(name);
        let _ = fs::remove_file(&path);
        make(Path::new(env!("CARGO_BIN_EXE_yard")), &path).ok()?;
    }
    Some(())
}

#[test]
fn our_own_program_under_slurms_names_is_no_slurm() {
    let mut env = env();
    let empty = env.write("slurm.conf", "");
    env.set_var("SLURM_CONF", empty);
    env.set_var("PATH", env.root().join("names"));
    let clusters = |kind: &str| {
        let outcome = env.yard(&["cluster", "ls"]).code(0);
        assert!(
            !outcome.stderr.contains("answer"),
            "{kind}: {}",
            outcome.stderr
        );
        assert!(
            !outcome.stdout.contains("Slurm "),
            "{kind}: {}",
            outcome.stdout
        );
    };
    own_names(&env, |yard, name| std::os::unix::fs::symlink(yard, name)).unwrap();
    clusters("symlinks");
    own_names(&env, |yard, name| fs::copy(yard, name).map(drop)).unwrap();
    clusters("copies");
    match own_names(&env, |yard, name| fs::hard_link(yard, name)) {
        Some(()) => clusters("hard links"),
        None => skip("hard links", "the test's folder is on another file system"),
    }
}

#[test]
fn a_target_is_stated_and_does_not_move_by_itself() {
    let mut env = env();
    let first_line = |env: &TestEnv, flags: &[&str]| {
        let args = [&["run", "--detach"], flags, &["--", "true"]].concat();
        let printed = env.yard(&args).success();
        printed.lines().next().unwrap_or_default().to_owned()
    };
    let line = first_line(&env, &[]);
    assert!(line.ends_with("target by default: no Slurm here"), "{line}");

    // A Slurm begins to answer: the person decides.
    let _slurm = FakeSlurm::start(&mut env);
    let refused = env.yard(&["run", "--", "true"]).code(2);
    assert!(
        refused.stderr.contains("went to local until now"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("--on local or --on fake"),
        "{}",
        refused.stderr
    );
    let line = first_line(&env, &["--on", "local"]);
    assert!(line.ends_with("target by --on"), "{line}");
    let line = first_line(&env, &["--on", "fake"]);
    assert!(
        line.contains("· fake ·") && line.ends_with("target by --on"),
        "{line}"
    );

    let config = env.trainyard_home().join("config/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "on = \"local\"\n").unwrap();
    let line = first_line(&env, &[]);
    assert!(
        line.contains(" local (") && line.ends_with("config.toml:1"),
        "{line}"
    );
    fs::write(&config, "on = \"fake\"\n").unwrap();
    let line = first_line(&env, &[]);
    assert!(
        line.contains("· fake ·") && line.ends_with("config.toml:1"),
        "{line}"
    );
    // What goes on would bring its engine back.
    env.yard(&["wait", "local:1", "local:2", "local:3"])
        .success();
}

#[test]
fn run_refuses_what_plan_refuses_by_the_cluster_file() {
    let mut env = env();
    let slurm = FakeSlurm::start(&mut env);
    let file = env.trainyard_home().join("config/clusters/fake.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, FakeSlurm::CLUSTER_FILE).unwrap();
    for (asked, refused) in [
        ("--time=30m", None),
        ("--time=2h", Some("PartitionTimeLimit")),
        ("--nodes=2", Some("fake has 1 such nodes")),
        (
            "--partition=other",
            Some("Invalid partition name specified"),
        ),
    ] {
        let code = if refused.is_some() { 3 } else { 0 };
        let all = ["--on", "fake", asked, "--", "true"];
        let plan = env.yard(&[&["plan"], &all[..]].concat()).code(code);
        let before = slurm.asked("sbatch");
        let run = env
            .yard(&[&["run", "--detach"], &all[..]].concat())
            .code(code);
        let Some(refused) = refused else { continue };
        let shown = format!("{}{}", plan.stdout, plan.stderr);
        assert!(shown.contains(refused), "{asked}: {shown}");
        assert!(run.stderr.contains(refused), "{asked}: {}", run.stderr);
        assert_eq!(
            slurm.asked("sbatch"),
            before,
            "{asked}: nothing was submitted"
        );
    }
}

#[test]
fn what_a_cluster_reports_goes_before_its_file() {
    let mut env = env();
    let _slurm = FakeSlurm::start(&mut env);
    let file = env.trainyard_home().join("config/clusters/fake.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, FakeSlurm::CLUSTER_FILE.replace("1:00:00", "30:00")).unwrap();
    let args = ["run", "--detach", "--on", "fake", "--time=1h", "--", "true"];
    let said = env.yard(&args).success();
    // It is folded where it is long.
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    let difference = "partition main: MaxTime: 00:30:00 in the file, 01:00:00 reported";
    assert!(said.contains(difference), "{said}");
}

/// A Slurm that is set up here isn't asked what it has for a plan of another cluster.
#[test]
fn a_plan_for_a_file_asks_no_slurm() {
    let mut env = env();
    let slurm = FakeSlurm::start(&mut env);
    let own = env.write("twin.toml", FakeSlurm::CLUSTER_FILE);
    for on in [own.to_str().unwrap(), "wilson"] {
        let args = ["plan", "--on", on, "--nodes=1", "--time=30m", "--", "true"];
        let outcome = env.yard(&args);
        let shown = &outcome.stdout;
        assert!(shown.contains("nodes"), "{on}: {shown}{}", outcome.stderr);
        for command in ["sinfo", "scontrol"] {
            assert_eq!(slurm.asked(command), 0, "{on}: {command}");
        }
    }
}

#[test]
fn what_a_cluster_reports_refuses_and_its_file_holds_for_the_rest() {
    let mut env = env();
    let slurm = FakeSlurm::start(&mut env);
    let file = env.trainyard_home().join("config/clusters/fake.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let wrong = FakeSlurm::CLUSTER_FILE
        .replace("cpus = 4", "cpus = 8")
        .replace("default = true", "default = true\nmin_nodes = 2")
        .replace("1:00:00", "4:00:00")
        + "deny_accounts = [\"closed\"]\n[partition.old]\nnodes = \"node1\"\n";
    let check = |asked: &[&str], refused: &str| {
        let before = slurm.asked("sbatch");
        let all = [&["--on", "fake"], asked, &["--", "true"]].concat();
        let plan = env.yard(&[&["plan"], &all[..]].concat()).code(3);
        let run = env.yard(&[&["run", "--detach"], &all[..]].concat()).code(3);
        let shown = format!("{}{}", plan.stdout, plan.stderr);
        assert!(shown.contains(refused), "{asked:?}: {shown}");
        assert!(run.stderr.contains(refused), "{asked:?}: {}", run.stderr);
        assert_eq!(slurm.asked("sbatch"), before, "{asked:?}");
    };
    // Its own limit counts, also where there is no file.
    check(&["--time=2h"], "PartitionTimeLimit");
    check(&["--time=2h", "--partition=main"], "PartitionTimeLimit");
    let plans = |asked: &[&str]| {
        let all = [&["plan", "--on", "fake"], asked, &["--", "true"]].concat();
        env.yard(&all).success();
    };
    // A QOS of which nothing is known may lift it: one that is named, or the user's own.
    slurm.set_config("AccountingStorageType = accounting_storage/slurmdbd\n");
    plans(&["--time=2h", "--qos=long"]);
    plans(&["--time=2h"]);
    // The site may choose the partition of a job that names none, with a file and without one.
    slurm.set_config(
        "AccountingStorageType = accounting_storage/none\nJobSubmitPlugins = all_partitions\n",
    );
    check(&["--time=2h", "--partition=main"], "PartitionTimeLimit");
    plans(&["--time=2h"]);
    fs::write(&file, &wrong).unwrap();
    plans(&["--time=2h"]);
    check(&["--time=2h", "--partition=main"], "PartitionTimeLimit");
    slurm.set_config("AccountingStorageType = accounting_storage/none\n");
    check(&["--time=2h"], "PartitionTimeLimit");
    check(&["--partition=old"], "Invalid partition name specified");
    check(&["--account=closed"], "account");
    let plan = env.yard(&["plan", "--on", "fake", "--", "true"]).success();
    assert!(plan.contains("a node's 4 CPUs"), "{plan}");
    assert!(!plan.contains("a node's 8 CPUs"), "{plan}");
    let plan: Vec<&str> = plan.split_whitespace().collect();
    let plan = plan.join(" ");
    assert!(
        plan.contains("node1: CPUs: 8 in the file, 4 reported"),
        "{plan}"
    );
    let own_nodes = env
        .yard(&["plan", "--on", "fake", "--nodes=1", "--", "true"])
        .success();
    assert!(!own_nodes.contains("at least 2 nodes"), "{own_nodes}");
}

#[test]
fn jobs_of_every_engine_have_names() {
    let mut env = env();
    let script = env.write("job.sh", "#!/bin/sh\necho here\n");
    let script = script.to_str().unwrap();
    env.yard(&["run", "--on", "local", script]).success();
    let slurm = FakeSlurm::start(&mut env);
    slurm.set_jobs(&[(1, "RUNNING", "there"), (2, "PENDING", "later")]);

    let both = env.yard(&["show", "1"]).code(2);
    assert!(
        both.stderr
            .contains("local:1 (\"job.sh\"), fake:1 (\"there\")"),
        "{}",
        both.stderr
    );
    let local = env.yard(&["show", "local:1"]).success();
    assert!(
        local.contains("job.sh") && local.contains("COMPLETED"),
        "{local}"
    );
    for name in ["slurm:1", "fake:1", "there"] {
        let shown = env.yard(&["show", name]).success();
        assert!(
            shown.contains("there") && shown.contains("running"),
            "{name}: {shown}"
        );
    }
    // One engine alone has this number.
    let shown = env.yard(&["show", "2"]).success();
    assert!(shown.contains("later"), "{shown}");

    // Its own engine's jobs can be named while the other one does not answer.
    slurm.set_down(true);
    let local = env.yard(&["show", "local:1"]).success();
    assert!(local.contains("COMPLETED"), "{local}");
    let guess = env.yard(&["cancel", "1"]).code(2);
    assert!(guess.stderr.contains("local:1"), "{}", guess.stderr);
}
