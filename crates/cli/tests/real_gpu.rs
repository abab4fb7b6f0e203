//! A real GPU, where a driver answers: what the other tests of GPUs pretend, seen once with the driver, its
//! devices and a training by PyTorch.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::process::Command;
use sys::gpus::Gpu;
use testkit::{TestEnv, skip, wait_until};

/// A place, and the GPUs of this machine; `None`, with the reason said, where there are none.
fn env(test: &str) -> Option<(TestEnv, Vec<Gpu>)> {
    let gpus = sys::gpus::ask().unwrap();
    if gpus.is_empty() {
        skip(test, "no NVIDIA driver answers");
        return None;
    }
    Some((TestEnv::new(env!("CARGO_BIN_EXE_yard")), gpus))
}

/// Opens the device of each GPU.
const OPEN_ALL: &str = "\
for device in /dev/nvidia[0-9]*; do
  ( : <> $device ) 2>/dev/null && echo opened $device
done
exit 0
";

#[test]
fn a_job_sees_and_opens_no_gpu_but_its_own() {
    let test = "a_job_sees_and_opens_no_gpu_but_its_own";
    let Some((env, gpus)) = env(test) else {
        return;
    };
    let known = env.slurm("sinfo", &["-h", "-o", "%G"]).success();
    let count: usize = known
        .trim()
        .split(',')
        .filter_map(|gres| gres.rsplit(':').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(count, gpus.len(), "{known}");
    let list = |options: &[&str]| {
        let args = [&["--mem=500"], options, &["nvidia-smi", "-L"]].concat();
        let outcome = env.slurm("srun", &args);
        let of_gpus = outcome
            .stdout
            .lines()
            .filter(|line| line.starts_with("GPU "));
        of_gpus.map(str::to_owned).collect::<Vec<_>>()
    };
    if let Err(why) = sys::device_cgroup::DeviceCgroup::probe() {
        return skip(test, &why.to_string());
    }
    let seen = list(&["--gpus=1"]);
    assert!(
        seen.len() == 1 && gpus.iter().any(|gpu| seen[0].contains(&gpu.uuid)),
        "{seen:?}"
    );
    assert_eq!(list(&[]), Vec::<String>::new());
    let opened = |options: &[&str]| {
        let args = [&["--mem=500"], options, &["sh", "-c", OPEN_ALL]].concat();
        env.slurm("srun", &args).success().lines().count()
    };
    assert_eq!(opened(&["--gpus=1"]), 1);
    assert_eq!(opened(&[]), 0);
}

#[test]
fn gpus_are_given_once_on_a_machine() {
    let Some((env, gpus)) = env("gpus_are_given_once_on_a_machine") else {
        return;
    };
    let all = format!("--gpus={}", gpus.len());
    let submit = |script: &str| {
        let args = ["--parsable", "--mem=500", &all, "--wrap", script];
        env.slurm("sbatch", &args).success().trim().to_owned()
    };
    let first = submit("while [ ! -e go ]; do sleep 0.05; done");
    let second = submit("nvidia-smi -L");
    let stands = |job: &str| {
        let args = ["-h", "-t", "all", "-o", "%T %r", "-j", job];
        env.slurm("squeue", &args).success().trim().to_owned()
    };
    wait_until("the first runs", || stands(&first) == "RUNNING None");
    assert_eq!(stands(&second), "PENDING Resources");
    // What the machine has not is refused at once.
    let more = format!("--gpus={}", gpus.len() + 1);
    let said = env.slurm("srun", &[&more, "true"]).code(1).stderr;
    let there = format!("this machine has {} × {}", gpus.len(), gpus[0].name);
    assert!(said.contains(&there), "{said}");
    env.write("go", "");
    wait_until("the second ran", || stands(&second) == "COMPLETED None");
    let args = ["-nXP", "-o", "AllocTRES", "-j", &second];
    let used = env.slurm("sacct", &args).success();
    assert!(used.contains(&format!("gres/gpu={}", gpus.len())), "{used}");
}

/// Trains on the GPU that it sees, and says where it began.
const TRAIN: &str = r#"
import argparse, os, pathlib, time, torch, torch.distributed as dist
said = argparse.ArgumentParser()
said.add_argument("--resume")
said.add_argument("--out")
said = said.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
print("rank", dist.get_rank(), "of", dist.get_world_size(), "on", torch.cuda.get_device_name(), flush=True)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).cuda()
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer, step = torch.optim.AdamW(model.parameters(), 1e-3), 0
saved = pathlib.Path(said.resume).glob("*.pt") if said.resume else []
newest = max(saved, key=lambda path: int(path.stem.split("-")[1]), default=None)
if newest:
    state = torch.load(newest, map_location="cuda")
    model.load_state_dict(state["model"]), optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
print("begins at", step, flush=True)
data = torch.randn(256, 512, device="cuda")
while step < 200:
    optimizer.zero_grad()
    (model(data) - data).square().mean().backward()
    optimizer.step()
    step += 1
    time.sleep(0.2)
    if step % 20 == 0 and dist.get_rank() == 0:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        out = pathlib.Path(said.out)
        torch.save(state, out / "unfinished")
        (out / "unfinished").rename(out / f"step-{step}.pt")
print("trained to", step, flush=True)
dist.destroy_process_group()
"#;

#[test]
fn a_training_on_gpus_comes_back_after_its_limit() {
    let test = "a_training_on_gpus_comes_back_after_its_limit";
    let Some((env, gpus)) = env(test) else {
        return;
    };
    let has_torch = Command::new("python3")
        .args(["-c", "import torch; assert torch.cuda.is_available()"])
        .output();
    if !has_torch.is_ok_and(|output| output.status.success()) {
        return skip(test, "python3 has no PyTorch that finds a GPU");
    }
    env.write("train.py", TRAIN);
    env.write(
        "yard.toml",
        &format!(
            "name = \"gpu\"\nlauncher = \"torchrun\"\n\
             command = [\"python3\", \"train.py\", \"--resume\", \"{{resume}}\", \"--out\", \"{{checkpoints}}\"]\n\
             [resources]\ngpus = {}\ntime = \"40s\"\n",
            gpus.len()
        ),
    );
    let said = env.yard(&["run", "--on", "local"]).success();
    let name = format!("rank 0 of {} on {}", gpus.len(), gpus[0].name);
    assert!(said.contains(&name), "{said}");
    assert!(said.contains("coming back"), "{said}");
    assert!(said.contains("] begins at 0\n"), "{said}");
    assert!(said.contains("start 2      resumed at step "), "{said}");
    assert!(said.contains("] trained to 200\n"), "{said}");
    let again = said.matches("] begins at ").count();
    assert!(again >= 2, "{said}");
}
