//! GPUs of the embedded engine, which are pretended at the lowest edge: everything above NVIDIA's
//! library is the real one.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::expect;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Outcome, TestEnv, gpus_missing, skip, wait_until};

const TESLA: &str = "Tesla V100-SXM2-32GB";

/// A place with these GPUs and at least two CPUs, and their uuids; `None`, with the reason said,
/// where there can't be one.
fn env(test: &str, names: &[&str]) -> Option<(TestEnv, Vec<String>)> {
    let few = || {
        let cpus = sys::cpu::available().len();
        (cpus < 2).then(|| "two jobs at once need two CPUs".to_owned())
    };
    if let Some(reason) = gpus_missing().or_else(few) {
        skip(test, &reason);
        return None;
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // What a job sees must come from the engine.
    env.set_var("CUDA_VISIBLE_DEVICES", "left over");
    let uuids = env.pretend_gpus(names);
    Some((env, uuids))
}

/// Submits a job that writes its environment and then waits for [`go`]; returns its id.
#[track_caller]
fn submit(env: &TestEnv, args: &[&str]) -> String {
    env.write(
        "job.sh",
        "#!/bin/sh\nenv > env.new\nmv env.new env-$SLURM_JOB_ID\n\
         while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.02; done\n",
    );
    let mut all = vec!["--parsable", "--mem=10"];
    all.extend(args);
    all.push("job.sh");
    env.slurm("sbatch", &all).success().trim().to_owned()
}

/// Lets a job end.
fn go(env: &TestEnv, job: &str) {
    env.write(format!("go-{job}"), "");
}

/// The environment of a job, once it runs.
#[track_caller]
fn environment(env: &TestEnv, job: &str) -> BTreeMap<String, String> {
    let path = env.work().join(format!("env-{job}"));
    wait_until(&format!("job {job} runs"), || path.exists());
    let text = fs::read_to_string(path).unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The GPUs that a job sees, once it runs.
#[track_caller]
fn visible(env: &TestEnv, job: &str) -> Option<String> {
    environment(env, job).remove("CUDA_VISIBLE_DEVICES")
}

/// State and reason of a job.
fn stands(env: &TestEnv, job: &str) -> String {
    let args = ["-h", "-t", "all", "-o", "%T %r", "-j", job];
    env.slurm("squeue", &args).success().trim().to_owned()
}

#[track_caller]
fn wait_for(env: &TestEnv, job: &str, wanted: &str) {
    wait_until(&format!("job {job} is {wanted}"), || {
        stands(env, job) == wanted
    });
}

/// What an ended command said on its standard error.
fn said(outcome: &Outcome) -> &str {
    &outcome.stderr
}

#[test]
fn the_status_names_them() {
    let Some((env, _)) = env("the_status_names_them", &["NVIDIA H200", "NVIDIA H200"]) else {
        return;
    };
    env.yard(&["engine", "start"]).success();
    let text = env.yard(&["engine", "status"]).success();
    let machine = text.lines().find(|line| line.starts_with("machine"));
    let gpus = machine.unwrap().rsplit(" · ").next().unwrap();
    expect!["2 GPUs (2 × NVIDIA H200)"].assert_eq(gpus);
    let text = env.yard(&["engine", "status", "--json"]).success();
    let status: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        status["gpus"],
        serde_json::json!(["NVIDIA H200", "NVIDIA H200"])
    );
    let node = env.slurm("scontrol", &["show", "node"]).success();
    assert!(node.contains("Gres=gpu:nvidia_h200:2"), "{node}");
}

#[test]
fn a_job_sees_what_it_asked_for() {
    let Some((env, _)) = env("a_job_sees_what_it_asked_for", &[TESLA; 4]) else {
        return;
    };
    let two = submit(&env, &["--gpus-per-node=2"]);
    let seen = environment(&env, &two);
    let gpu_variables = |seen: &BTreeMap<String, String>| -> String {
        let about = |name: &str| name.contains("GPU") || name.contains("VISIBLE");
        let kept = seen.iter().filter(|(name, _)| about(name));
        kept.filter(|(name, _)| *name != "PRETENDED_GPUS")
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect()
    };
    expect![[r#"
        CUDA_VISIBLE_DEVICES=0,1
        GPU_DEVICE_ORDINAL=0,1
        ROCR_VISIBLE_DEVICES=0,1
        SLURM_GPUS_ON_NODE=2
        SLURM_GPUS_PER_NODE=2
        SLURM_JOB_GPUS=0,1
    "#]]
    .assert_eq(&gpu_variables(&seen));
    // A real Slurm sets nothing here and keeps the devices away by cgroups; without those, the
    // empty list is what keeps a program off the GPUs of others.
    let none = submit(&env, &[]);
    let seen = environment(&env, &none);
    expect![[r#"
        CUDA_VISIBLE_DEVICES=
        GPU_DEVICE_ORDINAL=
        ROCR_VISIBLE_DEVICES=
    "#]]
    .assert_eq(&gpu_variables(&seen));
    go(&env, &two);
    go(&env, &none);
    wait_for(&env, &two, "COMPLETED None");
    wait_for(&env, &none, "COMPLETED None");
}

#[test]
fn two_jobs_never_share_one() {
    let Some((env, _)) = env("two_jobs_never_share_one", &[TESLA; 3]) else {
        return;
    };
    let first = submit(&env, &["--gpus=2"]);
    assert_eq!(visible(&env, &first).as_deref(), Some("0,1"));
    // A CPU is free, and one GPU.
    let second = submit(&env, &["--gpus=2"]);
    wait_for(&env, &second, "PENDING Resources");
    go(&env, &first);
    assert_eq!(visible(&env, &second).as_deref(), Some("0,1"));
    let third = submit(&env, &["--gres=gpu:1"]);
    assert_eq!(visible(&env, &third).as_deref(), Some("2"));
    go(&env, &second);
    go(&env, &third);
    wait_for(&env, &third, "COMPLETED None");
    wait_for(&env, &second, "COMPLETED None");
}

/// A refusal without CPUs and memory, which differ between machines.
fn without_machine(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once("GiB, ") {
        Some((_, gpus)) => format!("  there   {gpus}\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn what_is_not_there_is_refused_at_once() {
    let Some((env, _)) = env("what_is_not_there_is_refused_at_once", &[TESLA; 4]) else {
        return;
    };
    env.write("job.sh", "#!/bin/sh\n");
    let refused = |args: &[&str]| {
        let outcome = env.slurm("sbatch", &[args, &["job.sh"]].concat()).code(1);
        env.normalise(said(&outcome))
    };
    expect![[r#"
        sbatch: error: Batch job submission failed: Requested node configuration is not available
        sbatch:   asked   5 GPUs
        sbatch:   there   this machine has 4 × Tesla V100-SXM2-32GB
        sbatch:   do      ask for what there is, or run it where such GPUs are
    "#]]
    .assert_eq(&refused(&["--gpus-per-node=5"]));
    expect![[r#"
        sbatch: error: Batch job submission failed: Requested node configuration is not available
        sbatch:   asked   1 a100 GPU
        sbatch:   there   this machine has 4 × Tesla V100-SXM2-32GB
        sbatch:   do      ask for what there is, or run it where such GPUs are
    "#]]
    .assert_eq(&refused(&["--gpus=a100:1"]));
    let train = |args: &[&str]| {
        let all = [&["run"], args, &["--", "true"]].concat();
        let outcome = env.yard(&all);
        assert_ne!(outcome.status, 0, "{}", outcome.snapshot());
        without_machine(said(&outcome))
    };
    expect![[r#"
        error: local has fewer than 5 GPUs
          asked   gpus_per_node = 5   (--gpus-per-node)
          there   4 Tesla V100-SXM2-32GB
          do      gpus_per_node = 4
    "#]]
    .assert_eq(&train(&["--gpus-per-node=5"]));
    expect![[r#"
        error: local has fewer than 1 a100
          asked   gpus_per_node = 1, gpu_type = "a100"   (--gpus-per-node)
          there   4 Tesla V100-SXM2-32GB
          do      gpu_type is one of Tesla V100-SXM2-32GB
    "#]]
    .assert_eq(&train(&["--gpus-per-node=a100:1"]));
    // A short name means the product.
    env.yard(&["run", "--gpus-per-node=v100:1", "--", "true"])
        .success();
    // Nothing was left behind that waits.
    assert_eq!(env.slurm("squeue", &["-h"]).success(), "");
}

/// Devices of GPUs in a folder, which have the numbers of no driver: to open one fails otherwise than
/// to be kept from it. The reason why there can't be any, if so.
fn pretend_devices(env: &mut TestEnv, count: usize) -> Result<PathBuf, String> {
    sys::device_cgroup::DeviceCgroup::probe().map_err(|error| error.to_string())?;
    let folder = env.root().join("dev");
    fs::create_dir(&folder).unwrap();
    for number in 0..count {
        let device = folder.join(format!("nvidia{number}"));
        let made = Command::new("mknod")
            .arg(&device)
            .args(["c", "240", &number.to_string()])
            .output()
            .map_err(|error| error.to_string())?;
        if !made.status.success() {
            return Err(String::from_utf8_lossy(&made.stderr).into_owned());
        }
    }
    env.set_var(sys::env_vars::TRAINYARD_TEST_DEV, &folder);
    env.set_var("PRETENDED_DEVICES", "1");
    Ok(folder)
}

#[test]
fn a_job_can_open_no_gpu_but_its_own() {
    let test = "a_job_can_open_no_gpu_but_its_own";
    let Some((mut env, uuids)) = env(test, &[TESLA; 3]) else {
        return;
    };
    let folder = match pretend_devices(&mut env, 3) {
        Ok(folder) => folder,
        Err(why) => return skip(test, &why),
    };
    // Not from the first on: the driver counts those that can be opened from 0.
    let _elsewhere = sys::gpus::lock(&uuids[0]).unwrap().unwrap();
    let look = format!(
        "for n in 0 1 2; do ( : < {}/nvidia$n ) 2>&1 | sed 's/.*: //'; done; \
         echo \"[$CUDA_VISIBLE_DEVICES] of [$SLURM_JOB_GPUS]\"",
        folder.display()
    );
    env.write(
        "job.sh",
        &format!(
            "#!/bin/bash\n#SBATCH --ntasks=2 --mem=10 --output=%x\n{look}\n\
             [ -z \"$SLURM_JOB_GPUS\" ] || srun --gpus-per-node=1 --ntasks=1 --output=step bash -c '{}'\n",
            look.replace('\'', "'\\''")
        ),
    );
    let run = |name: &str, args: &[&str]| {
        let mut all = vec!["--wait", "-J", name];
        all.extend(args);
        all.push("job.sh");
        env.slurm("sbatch", &all).success();
        fs::read_to_string(env.work().join(name)).unwrap()
    };
    expect![[r#"
        Operation not permitted
        No such device or address
        No such device or address
        [0,1] of [1,2]
    "#]]
    .assert_eq(&run("two", &["--gpus-per-node=2"]));
    expect![[r#"
        Operation not permitted
        No such device or address
        Operation not permitted
        [0] of [1,2]
    "#]]
    .assert_eq(&fs::read_to_string(env.work().join("step")).unwrap());
    expect![[r#"
        Operation not permitted
        Operation not permitted
        Operation not permitted
        [] of []
    "#]]
    .assert_eq(&run("none", &[]));
    let status = env.yard(&["engine", "status"]).success();
    assert!(!status.contains("not barred"), "{status}");
}

#[test]
fn each_task_of_a_step_has_its_own() {
    let Some((env, uuids)) = env("each_task_of_a_step_has_its_own", &[TESLA; 4]) else {
        return;
    };
    // Not from the first on: a GPU's index and its place in the job differ.
    let _elsewhere = sys::gpus::lock(&uuids[0]).unwrap().unwrap();
    env.write(
        "steps.sh",
        "#!/bin/sh\n#SBATCH --ntasks=2 --gpus-per-node=3 --mem=10\n\
         show='echo $SLURM_PROCID: $CUDA_VISIBLE_DEVICES of $SLURM_STEP_GPUS'\n\
         srun --gpus-per-task=1 --output=own-%t sh -c \"$show\"\n\
         srun --output=both-%t sh -c \"$show\"\n\
         srun --ntasks=1 --gpus-per-node=1 --output=one-%t sh -c \"$show\"\n",
    );
    env.slurm("sbatch", &["--wait", "steps.sh"]).success();
    let read = |name: &str| fs::read_to_string(env.work().join(name)).unwrap();
    assert_eq!(read("own-0"), "0: 1 of 1\n");
    assert_eq!(read("own-1"), "1: 2 of 2\n");
    assert_eq!(read("both-0"), "0: 1,2,3 of 1,2,3\n");
    assert_eq!(read("both-1"), "1: 1,2,3 of 1,2,3\n");
    assert_eq!(read("one-0"), "0: 1 of 1\n");
}

#[test]
fn each_rank_of_a_run_has_its_own() {
    let Some((env, _)) = env("each_rank_of_a_run_has_its_own", &[TESLA; 4]) else {
        return;
    };
    let work = env.work();
    let show = format!(
        "echo $CUDA_VISIBLE_DEVICES $LOCAL_RANK > {}/rank-$SLURM_PROCID",
        work.display()
    );
    env.yard(&[
        "run",
        "--launcher=srun",
        "--ntasks-per-node=2",
        "--gpus-per-node=2",
        "--",
        "sh",
        "-c",
        &show,
    ])
    .success();
    // Hidden peers would break direct copies between GPUs: a rank sees all, its own is the one of
    // its local rank.
    let read = |name: &str| fs::read_to_string(work.join(name)).unwrap();
    assert_eq!(read("rank-0"), "0,1 0\n");
    assert_eq!(read("rank-1"), "0,1 1\n");
}

#[test]
fn virtual_nodes_have_different_ones() {
    let Some((env, _)) = env("virtual_nodes_have_different_ones", &[TESLA; 2]) else {
        return;
    };
    env.write(
        "nodes.sh",
        "#!/bin/sh\n#SBATCH --nodes=2 --gpus-per-node=1 --mem=10\n\
         srun --output=node-%n sh -c 'echo $CUDA_VISIBLE_DEVICES $SLURM_GPUS_ON_NODE'\n",
    );
    env.slurm("sbatch", &["--wait", "nodes.sh"]).success();
    let read = |name: &str| fs::read_to_string(env.work().join(name)).unwrap();
    assert_eq!(read("node-0"), "0 1\n");
    assert_eq!(read("node-1"), "1 1\n");
    let job = submit(&env, &["--nodes=2", "--gpus-per-node=1"]);
    // The script runs on the first node.
    assert_eq!(visible(&env, &job).as_deref(), Some("0"));
    go(&env, &job);
    wait_for(&env, &job, "COMPLETED None");
}

#[test]
fn what_another_engine_holds_is_left_alone() {
    let Some((env, uuids)) = env("what_another_engine_holds_is_left_alone", &[TESLA; 2]) else {
        return;
    };
    let elsewhere = sys::gpus::lock(&uuids[0]).unwrap().unwrap();
    let one = submit(&env, &["--gpus=1"]);
    assert_eq!(visible(&env, &one).as_deref(), Some("1"));
    let next = submit(&env, &["--gpus=1"]);
    wait_for(&env, &next, "PENDING Resources");
    let note = |env: &TestEnv| -> Vec<String> {
        let text = env.yard(&["engine", "status"]).success();
        let notes = text.lines().filter(|line| line.contains("another engine"));
        notes.map(str::to_owned).collect()
    };
    expect![[r#"
        [
            "note      GPU 0 is in use by another engine of this machine: jobs wait for it",
        ]
    "#]]
    .assert_debug_eq(&note(&env));
    drop(elsewhere);
    // Nobody says so to the engine: it looks.
    assert_eq!(visible(&env, &next).as_deref(), Some("0"));
    assert_eq!(note(&env), Vec::<String>::new());
    go(&env, &one);
    go(&env, &next);
    wait_for(&env, &one, "COMPLETED None");
    wait_for(&env, &next, "COMPLETED None");
}

/// Ends the engine in some way while a job has the only GPU.
#[track_caller]
fn check_engine_gone(test: &str, end: impl FnOnce(&TestEnv, u32)) {
    let Some((env, uuids)) = env(test, &[TESLA]) else {
        return;
    };
    let free = || sys::gpus::lock(&uuids[0]).unwrap().is_some();
    let first = submit(&env, &["--gpus=1"]);
    assert_eq!(visible(&env, &first).as_deref(), Some("0"));
    let engine = env.engine_pid("local");
    end(&env, engine);
    wait_until("it is gone", || sys::process::start_time(engine).is_none());
    assert!(!free(), "another user's engine could take it now");
    let second = submit(&env, &["--gpus=1"]);
    wait_for(&env, &second, "PENDING Resources");
    let status = env.yard(&["engine", "status"]).success();
    assert!(!status.contains("another engine"), "{status}");
    go(&env, &first);
    assert_eq!(visible(&env, &second).as_deref(), Some("0"));
    assert!(!free(), "it belongs to the second job");
    go(&env, &second);
    wait_for(&env, &second, "COMPLETED None");
    wait_until("the GPU is free for others", free);
}

#[test]
fn a_killed_engine_keeps_the_gpus_of_its_jobs() {
    check_engine_gone("a_killed_engine_keeps_the_gpus_of_its_jobs", |_, engine| {
        sys::process::signal(engine, 9).unwrap();
    });
}

#[test]
fn a_stopped_engine_keeps_the_gpus_of_its_jobs() {
    check_engine_gone("a_stopped_engine_keeps_the_gpus_of_its_jobs", |env, _| {
        env.yard(&["engine", "stop"]).success();
    });
}

#[test]
fn a_driver_that_does_not_answer_is_said() {
    let Some((mut env, _)) = env("a_driver_that_does_not_answer_is_said", &[TESLA]) else {
        return;
    };
    env.set_var("PRETENDED_GPUS", "broken");
    env.yard(&["engine", "start"]).success();
    let text = env.yard(&["engine", "status"]).success();
    assert!(text.contains("nvidia-smi"), "{text}");
}

#[test]
fn a_run_samples_its_gpus_and_one_that_is_lost_is_no_end() {
    let test = "a_run_samples_its_gpus_and_one_that_is_lost_is_no_end";
    let Some((mut env, _)) = env(test, &[TESLA, TESLA]) else {
        return;
    };
    let in_use = env.write("use", "87 41 30123 250500 61 1380 2\nlost\n");
    env.set_var("PRETENDED_USE", &in_use);
    let errors = env.write("xid", "1 31\n0 13\n1 79\n");
    env.set_var("PRETENDED_XID", &errors);
    env.write(
        "yard.toml",
        "name = \"loop\"\ncommand = [\"sh\", \"-c\", \"until grep -q 'Xid 79' $YARD_LOGS/../links/*.events; do \
         sleep 0.1; done\"]\n[resources]\ngpus_per_node = 2\nranks_per_node = 1\n",
    );
    env.yard(&["run", "--on", "local"]).success();
    let mut samples = Vec::new();
    let folder = run_folder(&env);
    for file in fs::read_dir(folder.join("monitor")).unwrap() {
        let mut reader = watch::CsvReader::default();
        let text = fs::read(file.unwrap().path()).unwrap();
        reader.read(&text, |sample| samples.push(sample));
    }
    let of = |gpu| {
        let is_it = |sample: &&watch::Sample| sample.subject == watch::Subject::Gpu(gpu);
        samples.iter().find(is_it).unwrap()
    };
    use watch::Measure::{
        Busy, Clock, Ecc, GpuMemory, GpuMemoryTotal, MemoryBusy, MemoryClock, Power,
    };
    let first = [
        Busy,
        MemoryBusy,
        GpuMemory,
        GpuMemoryTotal,
        Power,
        Clock,
        Ecc,
    ];
    let values = first.map(|measure| of(0).get(measure).unwrap());
    assert_eq!(values, [87.0, 41.0, 30_123.0, 81_920.0, 250.5, 1380.0, 2.0]);
    assert_eq!(of(0).get(MemoryClock), None);
    assert_eq!(
        [Busy, Power, Clock].map(|measure| of(1).get(measure)),
        [None; 3]
    );
    let xid = [0, 1].map(|gpu| of(gpu).get(watch::Measure::Xid));
    assert_eq!(xid, [Some(13.0), Some(79.0)]);
    let words = "the driver reported Xid 79 of GPU 1 on";
    assert!(env.yard(&["show"]).success().contains(words));
    env.yard(&["report"]).success();
    let report = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains(words) && report.contains("has fallen off the bus"));
}

/// The run folder of the only run.
fn run_folder(env: &TestEnv) -> PathBuf {
    let shown = env.yard(&["show", "--json"]).success();
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    PathBuf::from(shown["folder"].as_str().unwrap())
}

/// The text of the only monitor file.
fn samples(folder: &Path) -> String {
    let files = fs::read_dir(folder.join("monitor"));
    let mut files = files.into_iter().flatten().flatten();
    let text = files.next().map(|file| fs::read_to_string(file.path()));
    text.and_then(Result::ok).unwrap_or_default()
}

/// NVIDIA's library tells Xid errors only to those who wait for them; the kernel's log has them too.
#[test]
fn an_error_of_a_gpu_in_the_kernels_log_is_said_while_the_run_goes_on() {
    let test = "an_error_of_a_gpu_in_the_kernels_log_is_said_while_the_run_goes_on";
    let Some((mut env, _)) = env(test, &[TESLA, TESLA]) else {
        return;
    };
    let Ok(mut kernel) = fs::File::options().write(true).open(sys::KERNEL_LOG) else {
        return skip(test, "the kernel's log can't be written here");
    };
    if sys::KernelLog::open(Path::new(sys::KERNEL_LOG)).is_none() {
        return skip(test, "the kernel's log can't be read here");
    }
    // Addresses that no other test has: all of the machine read this log.
    let domain = std::process::id() & 0xffff;
    env.set_var(
        "PRETENDED_PCI",
        format!("0000{domain:04X}:65:00.0;0000{domain:04X}:B1:00.0"),
    );
    let in_use = env.write(
        "use",
        "87 41 30123 250500 61 1380 0\n85 40 30123 250500 61 1380 0\n",
    );
    env.set_var("PRETENDED_USE", &in_use);
    env.write(
        "yard.toml",
        "name = \"loop\"\ncommand = [\"sh\", \"-c\", \"until grep -q 'Xid 79' $YARD_LOGS/../links/*.events; do \
         sleep 0.1; done\"]\n[resources]\ngpus_per_node = 2\nranks_per_node = 1\n",
    );
    env.yard(&["run", "--on", "local", "--detach"]).success();
    let folder = run_folder(&env);
    wait_until("it is sampled", || samples(&folder).contains("gpu 1"));
    let error = format!(
        "NVRM: Xid (PCI:{domain:04x}:b1:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"
    );
    kernel.write_all(error.as_bytes()).unwrap();
    env.yard(&["wait"]).success();
    let words = "the driver reported Xid 79 of GPU 1 on";
    let shown = env.yard(&["show"]).success();
    assert!(shown.contains(words), "{shown}");
    assert!(!shown.contains("of GPU 0"), "{shown}");
}

/// Each launcher's ranks on two nodes of four GPUs: what they know of the job's two on each.
#[test]
fn each_rank_has_the_list_of_the_job_s_gpus_of_its_node() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let rig = [
        "engine",
        "start",
        "rig",
        "--nodes",
        "2",
        "--gpus-per-node",
        "4",
    ];
    env.yard(&rig).success();
    // In the place of a user's torchrun, which starts the ranks of its node.
    let torchrun = env.write(
        "bin/torchrun",
        "#!/bin/sh\necho \"list=$CUDA_VISIBLE_DEVICES\"\n",
    );
    fs::set_permissions(&torchrun, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = torchrun.parent().unwrap().display();
    env.set_var("PATH", format!("{bin}:{path}"));
    for (launcher, per_node) in [("srun", 2), ("jax", 2), ("lightning", 2), ("torchrun", 1)] {
        let file = format!(
            "launcher = \"{launcher}\"\ncommand = [\"sh\", \"-c\", \"echo list=$CUDA_VISIBLE_DEVICES\"]\n\
             [resources]\nnodes = 2\ngpus_per_node = 2\ncpus_per_rank = 1\n"
        );
        env.write("yard.toml", &file);
        let run = env.yard(&["run", "--on", "rig", "--name", launcher, "yard.toml"]);
        let run = run.success();
        let logged = run.lines().filter(|line| line.ends_with("] list=0,1"));
        assert_eq!(logged.count(), 2 * per_node, "{launcher}: {run}");
    }
    env.yard(&["engine", "stop", "rig"]).success();
}
