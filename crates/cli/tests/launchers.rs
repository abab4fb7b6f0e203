//! Each launcher's real program on two virtual nodes, where it is installed. The folder of virtual
//! environments with the programs is `YARD_LAUNCHER_VENVS`: `torch` (with Lightning and Accelerate) and
//! `jax`; without it the system's `python3` is asked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::{TestEnv, skip};

const TORCH: &str = "\
import torch, torch.distributed as dist
dist.init_process_group('gloo')
t = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(t)
print('rank', dist.get_rank(), 'sum', int(t.item()), flush=True)
dist.barrier()
";
const JAX: &str = "\
import jax, jax.numpy as jnp
jax.distributed.initialize()
from jax.experimental.multihost_utils import process_allgather
t = process_allgather(jnp.ones(1) * (jax.process_index() + 1)).sum()
print('rank', jax.process_index(), 'sum', int(t), flush=True)
";
const ACCELERATE: &str = "\
import accelerate, torch
a = accelerate.Accelerator()
t = a.reduce(torch.ones(1) * (a.process_index + 1))
print('rank', a.process_index, 'sum', int(t.item()), flush=True)
a.wait_for_everyone()
";
const LIGHTNING: &str = "\
import torch, pytorch_lightning as pl
from pytorch_lightning.plugins.environments import SLURMEnvironment
from torch.utils.data import DataLoader, TensorDataset
class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.layer(batch[0]).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
t = pl.Trainer(accelerator='cpu', devices=1, num_nodes=2, max_steps=3, strategy='ddp', logger=False,
               enable_checkpointing=False, enable_progress_bar=False)
t.fit(Model(), DataLoader(TensorDataset(torch.ones(8, 4)), batch_size=2))
assert isinstance(t.strategy.cluster_environment, SLURMEnvironment)
s = t.strategy.reduce(torch.ones(1) * (t.global_rank + 1), reduce_op='sum')
print('rank', t.global_rank, 'sum', int(s.item()), flush=True)
";
const HOROVOD: &str = "\
import torch, horovod.torch as hvd
hvd.init()
t = hvd.allreduce(torch.ones(1) * (hvd.rank() + 1), op=hvd.Sum)
print('rank', hvd.rank(), 'sum', int(t.item()), flush=True)
";

/// The folder of a virtual environment with the programs, where one is named.
fn folder_of(venv: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("YARD_LAUNCHER_VENVS")?;
    Some(Path::new(&folder).join(venv))
}

/// The section of a run file that names it.
fn venv_of(venv: &str) -> String {
    folder_of(venv).map_or_else(String::new, |folder| {
        format!("[environment]\nvenv = {:?}\n", folder.display().to_string())
    })
}

/// A folder with the script, where the launcher's programs are there.
fn with_program(launcher: &str, venv: &str, modules: &str, script: &str) -> Option<TestEnv> {
    let python = folder_of(venv).map(|folder| folder.join("bin/python"));
    let python = python.unwrap_or_else(|| "python3".into());
    let program = match launcher {
        "mpi" => "mpirun",
        _ => "true",
    };
    let there = |command: &mut Command| {
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !there(Command::new(&python).args(["-c", &format!("import {modules}")]))
        || !there(Command::new(program).arg("--version"))
    {
        skip(
            launcher,
            &format!("{modules} of Python and {program} are needed"),
        );
        return None;
    }
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    // Torch 1.13 on Python 3.11.
    env.set_var("PET_REDIRECTS", "9:3");
    env.set_var("PET_TEE", "9:3");
    env.write("train.py", script);
    Some(env)
}

/// Runs the script on two nodes, a rank on each, and looks for the sum of both in each rank's words.
#[track_caller]
fn check(launcher: &str, venv: &str, modules: &str, script: &str) {
    let Some(env) = with_program(launcher, venv, modules, script) else {
        return;
    };
    let venv = venv_of(venv);
    let text = format!(
        "launcher = {launcher:?}\ncommand = [\"train.py\"]\n[resources]\nnodes = 2\ntime = \"5m\"\n{venv}"
    );
    env.write("yard.toml", &text);
    let printed = env.yard(&["run"]).success();
    for rank in 0..2 {
        assert!(printed.contains(&format!("rank {rank} sum 3")), "{printed}");
    }
}

#[test]
#[ignore = "needs torch, and takes 20 s"]
fn srun_with_torch() {
    check("srun", "torch", "torch", TORCH);
}

#[test]
#[ignore = "needs torch, and takes 20 s"]
fn torchrun() {
    check("torchrun", "torch", "torch", TORCH);
}

/// The agents agree on their ranks though one has more than the other.
#[test]
#[ignore = "needs torch, and takes 20 s"]
fn torchrun_on_three_gpus_of_two_nodes() {
    let Some(mut env) = with_program("torchrun", "torch", "torch", TORCH) else {
        return;
    };
    env.set_var("TRAINYARD_ENGINE", "wide");
    let engine = [
        "engine",
        "start",
        "wide",
        "--nodes",
        "2",
        "--cpus-per-node",
        "4",
    ];
    env.yard(&[&engine[..], &["--gpus-per-node", "2"]].concat())
        .success();
    let text = "launcher = \"torchrun\"\ncommand = [\"train.py\"]\n[resources]\ngpus = 3\nnodes = 2\n\
                cpus_per_rank = 1\ntime = \"5m\"\n";
    env.write("yard.toml", &format!("{text}{}", venv_of("torch")));
    let printed = env.yard(&["run", "--on", "wide"]).success();
    for rank in 0..3 {
        assert!(printed.contains(&format!("rank {rank} sum 6")), "{printed}");
    }
    env.yard(&["engine", "stop", "wide"]).success();
}

#[test]
#[ignore = "needs Lightning, and takes 20 s"]
fn lightning() {
    check("lightning", "torch", "pytorch_lightning", LIGHTNING);
}

#[test]
#[ignore = "needs JAX, and takes 10 s"]
fn jax() {
    check("jax", "jax", "jax", JAX);
}

#[test]
#[ignore = "needs Open MPI and torch, and takes 20 s"]
fn mpi_starts_its_daemons_through_srun() {
    check("mpi", "torch", "torch", TORCH);
}

#[test]
#[ignore = "needs Horovod, which takes long to build"]
fn horovod() {
    check("horovod", "horovod", "horovod.torch", HOROVOD);
}

#[test]
#[ignore = "needs Accelerate, and takes 20 s"]
fn accelerate() {
    check("accelerate", "torch", "accelerate", ACCELERATE);
}
